"""Options of the data sources: every wrong one is refused by name."""

from __future__ import annotations

import pytest

from kafka_tools.errors import InputError
from kafka_tools.spark.columns.tables import BATCH_COLUMNS, CONTENT_COLUMNS, RECORD_COLUMNS, spark_schema
from kafka_tools.spark.options import BATCH_OPTIONS, DEFAULT_RANGE_BYTES, FILE_OPTIONS, RECORD_OPTIONS, parse_options
from kafka_tools.spark.selection import Selection


def test_defaults() -> None:
    options = parse_options({"path": "/logs"}, BATCH_COLUMNS)
    assert options.paths == ("/logs",)
    assert options.selection == Selection()
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
    assert options.selection.topics == ("orders-*", "payments")
    assert (options.check_crc, options.range_bytes) == (False, 4096)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "no log directory: use load"),
        ({"path": "/a", "topcis": "x"}, "unknown option 'topcis': expected one of path, paths, topics"),
        ({"path": "/a", "columns": "topic,tpoic"}, "unknown column 'tpoic': expected one of topic, partition"),
        ({"path": "/a", "columns": " , "}, "no column selected"),
        ({"path": "/a", "checkCrc": "yes"}, "invalid option 'checkCrc' 'yes': expected true or false"),
        ({"path": "/a", "rangeBytes": "64M"}, "invalid option 'rangeBytes' '64M': expected a number of bytes"),
        ({"path": "/a", "rangeBytes": "10"}, "invalid option 'rangeBytes' '10'"),
        ({"paths": "/a,/b"}, "invalid option 'paths': expected a JSON array"),
        ({"path": "/a", "partitions": "1,x"}, "invalid option 'partitions' '1,x': expected numbers, for example 0,4-7"),
        ({"path": "/a", "minOffset": "-1"}, "invalid option 'minOffset' '-1': expected an offset of at least 0"),
        (
            {"path": "/a", "since": "noon"},
            "invalid option 'since' 'noon': expected milliseconds since 1970 or a time such as 2026-01-31",
        ),
        ({"path": "/a", "startingOffsets": "5"}, "invalid option 'startingOffsets' '5': expected earliest or latest"),
        ({"path": "/a", "content": "true"}, "unknown option 'content'"),
        (
            {"path": "ftp://a/b"},
            "cannot read 'ftp://': expected a local path or one of s3://, gs://, abfss://, hdfs://",
        ),
        ({"path": "s3://key:secret@bucket/x"}, "invalid s3:// path: options and credentials belong in the"),
        ({"path": "s3://bucket/x?secret_key=y"}, "invalid s3:// path: options and credentials belong"),
        ({"paths": "[1]"}, "invalid option 'paths': expected a JSON array of strings"),
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


def test_what_is_chosen_by_offset_time_and_partition() -> None:
    given = {
        "path": "s3a://bucket/logs/",
        "partitions": "0, 4-7",
        "minOffset": "10",
        "maxOffset": "20",
        "since": "2026-01-31T12:00:00+01:00",
        "until": "1769857200001",
    }
    options = parse_options(given, BATCH_COLUMNS)
    assert options.paths == ("s3://bucket/logs",)
    assert options.selection == Selection((), None, ((0, 0), (4, 7)), 10, 20, 1769857200000, 1769857200001)
    wanted = [n for n in range(10) if options.selection.has_partition("any", n)]
    assert wanted == [0, 4, 5, 6, 7]


def test_contents_are_columns_only_when_asked_for() -> None:
    def columns(**given: str) -> tuple[str, ...]:
        options = parse_options({"path": "/a", **given}, RECORD_COLUMNS, RECORD_OPTIONS, CONTENT_COLUMNS)
        return tuple(column.name for column in options.columns)

    assert columns()[-1] == "detail"
    assert columns(content="true")[-3:] == ("key", "value", "headers")
    assert columns(columns="value,offset") == ("value", "offset")


def test_each_table_has_its_own_options() -> None:
    assert "countLegacy" in BATCH_OPTIONS and "countLegacy" not in RECORD_OPTIONS
    with pytest.raises(InputError, match="unknown option 'minOffset'"):
        parse_options({"path": "/a", "minOffset": "1"}, BATCH_COLUMNS, FILE_OPTIONS)
