"""Options of the data sources: every wrong one is refused by name."""

from __future__ import annotations

import pytest

from kafka_tools.errors import InputError
from kafka_tools.spark.options import DEFAULT_RANGE_BYTES, parse_options
from kafka_tools.spark.rows import BATCH_COLUMNS, spark_schema


def test_defaults() -> None:
    options = parse_options({"path": "/logs"}, BATCH_COLUMNS)
    assert options.paths == ("/logs",)
    assert options.topics == ()
    assert options.columns == BATCH_COLUMNS
    assert (options.range_bytes, options.check_crc, options.count_legacy) == (DEFAULT_RANGE_BYTES, True, False)


def test_names_are_taken_in_any_case_and_paths_once() -> None:
    given = {
        "PATHS": '["/a", "file:///b", "/a"]',
        "TOPICS": "orders-*, payments",
        "CHECKCRC": "False",
        "rangebytes": "4096",
    }
    options = parse_options(given, BATCH_COLUMNS)
    assert options.paths == ("/a", "/b")
    assert options.topics == ("orders-*", "payments")
    assert (options.check_crc, options.range_bytes) == (False, 4096)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "no log directory is given"),
        ({"path": "/a", "topcis": "x"}, "option 'topcis' does not exist: the options are path, paths, topics"),
        ({"path": "/a", "columns": "topic,tpoic"}, "column 'tpoic' does not exist: the columns are topic, partition"),
        ({"path": "/a", "columns": " , "}, "no column is chosen"),
        ({"path": "/a", "checkCrc": "yes"}, "option 'checkCrc' is 'yes': true or false is expected"),
        ({"path": "/a", "rangeBytes": "64M"}, "option 'rangeBytes' is '64M': a number of bytes is expected"),
        ({"path": "/a", "rangeBytes": "10"}, "option 'rangeBytes' is '10'"),
        ({"paths": "/a,/b"}, "option 'paths' is no JSON array"),
        ({"paths": "[1]"}, "option 'paths' is no JSON array of strings"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, str], text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_options(given, BATCH_COLUMNS)
    assert str(caught.value).startswith(text)


def test_the_schema_names_every_column_with_its_type() -> None:
    schema = spark_schema(BATCH_COLUMNS)
    assert schema.startswith("`topic` string, `partition` int, ")
    assert "`max_timestamp` timestamp" in schema
    assert len(schema.split(", ")) == len(BATCH_COLUMNS)
