"""Lines as records, by the properties of Kafka's LineMessageReader and in its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.commands.console.line_reader import LineReader, LineRecord, LineSplitter
from kafka_tools.errors import InputError, UsageError


def parse(line: str, **properties: str) -> tuple[object, ...]:
    """(key, value, headers) of a line."""
    reader = LineReader({key.replace("_", "."): value for key, value in properties.items()})
    record: LineRecord = reader.parse(line.encode())
    return record.key, record.value, record.headers


def split(*chunks: bytes) -> list[bytes]:
    splitter = LineSplitter()
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.end()


def test_line_is_the_value() -> None:
    assert parse("a\tb") == (None, b"a\tb", ())


def test_bytes_that_are_no_text_arrive_as_they_are() -> None:
    assert LineReader({}).parse(b"\xff\x00\xfe").value == b"\xff\x00\xfe"


def test_key_and_headers_stand_before_the_value() -> None:
    record = parse("h1:v1,h2:v2\tkey\tvalue\tmore", parse_key="true", parse_headers="TRUE ")
    assert record == (b"key", b"value\tmore", (("h1", b"v1"), ("h2", b"v2")))
    assert parse("h:\tv", parse_headers="true") == (None, b"v", (("h", b""),))


def test_separators_may_be_longer_than_a_character() -> None:
    assert parse("k::v::w", parse_key="true", key_separator="::") == (b"k", b"v::w", ())


def test_header_separator_is_a_regular_expression() -> None:
    record = parse(
        "a:1;b:2,,", parse_headers="true", headers_delimiter="|", headers_separator="[;,]", ignore_error="true"
    )
    assert record == (None, b"a:1;b:2,,", ())
    record = parse("a:1;b:2,,|v", parse_headers="true", headers_delimiter="|", headers_separator="[;,]")
    assert record == (None, b"v", (("a", b"1"), ("b", b"2")))


def test_groups_of_the_header_separator_make_no_headers() -> None:
    for separator in ("(,)|(;)", "([,;])", "[,;]"):
        record = parse("a:1,b:2;c:3,\tv", parse_headers="true", headers_separator=separator)
        assert record == (None, b"v", (("a", b"1"), ("b", b"2"), ("c", b"3"))), separator
    assert parse(",\tv", parse_headers="true") == (None, b"v", ())
    record = parse("ab\tv", parse_headers="true", headers_separator="x*", ignore_error="true")
    assert record == (None, b"v", (("a", None), ("b", None)))


def test_null_marker_makes_null_of_each_part() -> None:
    record = parse("a:N\tN\tN", parse_key="true", parse_headers="true", null_marker="N")
    assert record == (None, None, (("a", None),))
    assert parse("N\tk\tv", parse_key="true", parse_headers="true", null_marker="N") == (b"k", b"v", ())
    assert parse("N", null_marker="N") == (None, None, ())
    assert parse("", null_marker="") == (None, None, ())


@pytest.mark.parametrize(
    ("line", "properties", "text"),
    [
        ("novalue", {"parse_key": "true"}, "No key separator found on line number 1: 'novalue'"),
        ("x", {"parse_headers": "true"}, "No headers delimiter found on line number 1: 'x'"),
        ("a,b:c\tv", {"parse_headers": "true"}, "No header key separator found in pair 'a' on line number 1"),
        (
            "N:1\tv",
            {"parse_headers": "true", "null_marker": "N"},
            "Header keys should not be equal to the null marker 'N' as they can't be null",
        ),
    ],
)
def test_missing_separator_is_reported_as_kafka_does(line: str, properties: dict[str, str], text: str) -> None:
    with pytest.raises(InputError, match=text):
        parse(line, **properties)


def test_ignore_error_takes_what_is_there() -> None:
    assert parse("novalue", parse_key="true", ignore_error="true") == (None, b"novalue", ())
    assert parse("a,b:c\tv", parse_headers="true", ignore_error="true") == (None, b"v", (("a", None), ("b", b"c")))


def test_line_numbers_count() -> None:
    reader = LineReader({"parse.key": "true"})
    reader.parse(b"k\tv")
    with pytest.raises(InputError, match="line number 2"):
        reader.parse(b"x")


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"headers.delimiter": ","}, "headers.delimiter and headers.separator must differ"),
        ({"headers.delimiter": ":"}, "headers.delimiter and headers.key.separator must differ"),
        ({"headers.separator": ":"}, "headers.separator and headers.key.separator must differ"),
        ({"null.marker": "\t"}, "null.marker and key.separator must differ"),
        ({"null.marker": ","}, "null.marker and headers.separator must differ"),
        ({"null.marker": ":"}, "null.marker and headers.key.separator must differ"),
        ({"parse.kye": "true"}, "unknown reader property 'parse.kye'"),
        ({"headers.separator": "["}, "invalid regular expression"),
    ],
)
def test_properties_that_cannot_work_are_refused(properties: dict[str, str], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        LineReader(properties)


def test_lines_end_as_for_javas_reader() -> None:
    assert split(b"a\nb\r\nc\rd") == [b"a", b"b", b"c", b"d"]
    assert split(b"a\r", b"\nb\n") == [b"a", b"b"]
    assert split(b"\n\n") == [b"", b""]
    assert split(b"") == []
    assert split(b"a\r\r\n\n") == [b"a", b"", b""]


@given(st.lists(st.binary(max_size=8)))
def test_chunks_do_not_change_lines(chunks: list[bytes]) -> None:
    assert split(*chunks) == split(b"".join(chunks))


def test_a_line_of_many_chunks_stays_whole() -> None:
    chunk = b"x" * 65536
    assert split(*[chunk] * 200, b"\n") == [chunk * 200]
