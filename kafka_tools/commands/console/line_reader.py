"""Lines of standard input as records: the reader that ``kafka-console-producer --reader-property`` configures.

Works on bytes: a value that is not UTF-8 arrives as it was typed (Kafka's tool replaces what it cannot decode). Lines
end as for Java's ``readLine``: LF, CR LF or CR. Knows no producer. Properties, defaults and texts follow
``org.apache.kafka.tools.LineMessageReader`` of Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kafka_tools.errors import InputError, UsageError

PROPERTIES = (
    "parse.key",
    "key.separator",
    "parse.headers",
    "headers.delimiter",
    "headers.separator",
    "headers.key.separator",
    "ignore.error",
    "null.marker",
)
_LINE_END = re.compile(rb"\r\n|\r|\n")


class LineRecord(NamedTuple):
    """The record of one line, with headers in the order of the line."""

    value: bytes | None
    key: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class LineSplitter:
    """Splits a stream of bytes into lines of any length. A last line without a line end counts.

    ``begun_bytes``: the length so far of the incomplete line.
    """

    def __init__(self) -> None:
        self.begun_bytes = 0
        self._parts: list[bytes] = []
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes."""
        if self._after_cr:
            # The CR already ended a line. An LF after it belongs to it.
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            lines = _LINE_END.split(data)
            self._after_cr = data.endswith(b"\r")
        else:
            lines = data.split(b"\n")
        rest = lines.pop()
        if lines:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts = []
            self.begun_bytes = 0
        if rest:
            self._parts.append(rest)
            self.begun_bytes += len(rest)
        return lines

    def end(self) -> list[bytes]:
        """The last line, if the stream did not end with a line end."""
        last, self._parts = b"".join(self._parts), []
        return [last] if last else []


class LineReader:
    """Parses lines by ``properties`` (Kafka's names). Raises UsageError for contradictory properties."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        for name in properties:
            if name not in PROPERTIES and name != "topic":
                raise UsageError(f"unknown reader property '{name}'", hint=f"use one of {', '.join(PROPERTIES)}")
        self._parse_key = _is_true(properties, "parse.key")
        self._parse_headers = _is_true(properties, "parse.headers")
        self._ignore_error = _is_true(properties, "ignore.error")
        key_separator = properties.get("key.separator", "\t")
        delimiter = properties.get("headers.delimiter", "\t")
        separator = properties.get("headers.separator", ",")
        header_key_separator = properties.get("headers.key.separator", ":")
        marker = properties.get("null.marker")
        _refuse_equal("headers.delimiter", delimiter, "headers.separator", separator)
        _refuse_equal("headers.delimiter", delimiter, "headers.key.separator", header_key_separator)
        _refuse_equal("headers.separator", separator, "headers.key.separator", header_key_separator)
        _refuse_equal("null.marker", marker, "key.separator", key_separator)
        _refuse_equal("null.marker", marker, "headers.separator", separator)
        _refuse_equal("null.marker", marker, "headers.delimiter", delimiter)
        _refuse_equal("null.marker", marker, "headers.key.separator", header_key_separator)
        self._key_separator = _bytes(key_separator)
        self._delimiter = _bytes(delimiter)
        self._header_key_separator = _bytes(header_key_separator)
        self._marker = None if marker is None else _bytes(marker)
        try:
            # Kafka reads this separator as a regular expression.
            self._separator = re.compile(_bytes(separator))
        except re.error as error:
            raise UsageError(f"headers.separator: invalid regular expression '{separator}': {error}") from error
        self._is_plain = not (self._parse_key or self._parse_headers)
        self.line_number = 0

    def parse(self, line: bytes) -> LineRecord:
        """The record of the next line. Raises InputError, with Kafka's text, if a separator is missing."""
        self.line_number += 1
        if self._is_plain:
            return LineRecord(None if line == self._marker else line, None, ())
        headers, start = self._part(self._parse_headers, line, 0, self._delimiter, "headers delimiter")
        key, start = self._part(self._parse_key, line, start, self._key_separator, "key separator")
        value = line[start:]
        return LineRecord(
            None if value == self._marker else value,
            None if key == self._marker else key,
            tuple(self._headers(headers)) if headers is not None and headers != self._marker else (),
        )

    def _part(self, wanted: bool, line: bytes, start: int, separator: bytes, name: str) -> tuple[bytes | None, int]:
        """(text before the separator, start of the rest); (None, ``start``) if the part is not wanted or missing."""
        if not wanted:
            return None, start
        end = line.find(separator, start)
        if end >= 0:
            return line[start:end], end + len(separator)
        if self._ignore_error:
            return None, start
        raise InputError(f"No {name} found on line number {self.line_number}: '{_shown(line)}'")

    def _headers(self, text: bytes) -> Iterator[tuple[str, bytes | None]]:
        for pair in _java_split(self._separator, text):
            name, found, value = pair.partition(self._header_key_separator)
            if not found:
                if not self._ignore_error:
                    raise InputError(
                        f"No header key separator found in pair '{_shown(pair)}' on line number {self.line_number}"
                    )
                yield _text(pair), None
                continue
            if name == self._marker:
                marker = _shown(name)
                raise InputError(
                    f"Header keys should not be equal to the null marker '{marker}' as they can't be null "
                    f"(line number {self.line_number})"
                )
            yield _text(name), None if value == self._marker else value


def _java_split(separator: re.Pattern[bytes], text: bytes) -> list[bytes]:
    """As ``Pattern.split``: drops empty parts at the end. Groups of the separator are not parts."""
    parts, start = [], 0
    for match in separator.finditer(text):
        if match.end():  # nothing before the first byte separates nothing
            parts.append(text[start : match.start()])
            start = match.end()
    if not parts:
        return [text]
    parts.append(text[start:])
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().lower() == "true"


def _refuse_equal(first: str, value: str | None, second: str, other: str) -> None:
    if value == other:
        raise UsageError(f"{first} and {second} must differ")


def _bytes(text: str) -> bytes:
    # Arguments that are not UTF-8 contain surrogates. They become the original bytes.
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    """A header's name, which is UTF-8 in the protocol."""
    return data.decode("utf-8", "replace")


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
