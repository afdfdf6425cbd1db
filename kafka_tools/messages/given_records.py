"""Records that people give: JSON lines as ``kafka-tools messages -o jsonl`` prints them, or CSV."""

from __future__ import annotations

import base64
import binascii
import csv
import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.messages.decoders import NOT_JSON, parsed_json

LONGEST_LINE_BYTES = 64 * 1024 * 1024
"""Maximum length of a line. Longer lines must be a mistake."""
_MEMBERS = {
    "topic", "partition", "offset", "timestamp_ms", "key", "key_encoding", "value", "value_encoding", "headers",
}  # fmt: skip
_EXACT = ("text", "base64", "hex", "json")


class GivenRecord(NamedTuple):
    """A record to send. ``partition`` and ``timestamp_ms`` are None if the input has none."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


def records_of_json_lines(stream: BinaryIO) -> Iterator[GivenRecord]:
    """The record of each line; empty lines are skipped. Raises InputError with the number of the line."""
    for number, line in enumerate(_lines(stream), 1):
        if not line.strip():
            continue
        row = parsed_json(line)
        if row is NOT_JSON or not isinstance(row, dict):
            raise InputError(f"invalid line {number}: expected a JSON object with key and value")
        yield _record(row, f"line {number}")


def records_of_csv(stream: BinaryIO) -> Iterator[GivenRecord]:
    """The record of each line after the heading, whose columns are the members of JSON lines.

    An empty cell is null, unless the column of its encoding says that it is text.
    """
    csv.field_size_limit(LONGEST_LINE_BYTES)
    lines = csv.reader(_text_lines(stream))
    try:
        heading = next(lines, None)
        if not heading or not {"key", "value"} & set(heading) or len(set(heading)) < len(heading):
            raise InputError(f"invalid heading of CSV: expected columns such as {', '.join(sorted(_MEMBERS))}")
        for cells in lines:
            if not cells:
                continue
            if len(cells) != len(heading):
                raise InputError(f"invalid line {lines.line_num}: it has {len(cells)} cells, not {len(heading)}")
            yield _record(_row(dict(zip(heading, cells, strict=True)), lines.line_num), f"line {lines.line_num}")
    except csv.Error as error:
        raise InputError(f"invalid line {lines.line_num}: {error}") from error


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(LONGEST_LINE_BYTES + 1):
        if len(line) > LONGEST_LINE_BYTES:
            raise InputError(f"a line of the input is longer than {LONGEST_LINE_BYTES} bytes")
        yield line


def _text_lines(stream: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(_lines(stream), 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"invalid line {number}: not UTF-8 text at byte {error.start}") from error


def _row(cells: Mapping[str, str], number: int) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, cell in cells.items():
        if name in ("key", "value"):
            row[name] = cell if cell or cells.get(f"{name}_encoding") else None
        elif not cell:
            row[name] = None
        elif name in ("partition", "timestamp_ms", "offset"):
            row[name] = int(cell) if len(cell) < 20 and cell.lstrip("-").isdecimal() and cell.isascii() else cell
        elif name == "headers":
            row[name] = parsed_json(cell.encode())
        else:
            row[name] = cell
    return row


def _record(row: Mapping[str, Any], place: str) -> GivenRecord:
    unknown = row.keys() - _MEMBERS
    if unknown:
        raise InputError(
            f"invalid {place}: unknown member '{sorted(unknown)[0]}'", hint=f"use {', '.join(sorted(_MEMBERS))}"
        )
    headers = []
    given = row.get("headers") or []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise InputError(f"invalid headers in {place}: expected a list of objects with name and value")
    for each in given:
        if not isinstance(each.get("name"), str):
            raise InputError(f"invalid header in {place}: expected a name")
        headers.append((each["name"], _bytes(each.get("value"), each.get("encoding"), f"header in {place}")))
    return GivenRecord(
        _bytes(row.get("key"), row.get("key_encoding"), f"key in {place}"),
        _bytes(row.get("value"), row.get("value_encoding"), f"value in {place}"),
        tuple(headers),
        _number(row.get("partition"), f"partition in {place}", 2**31),
        _number(row.get("timestamp_ms"), f"timestamp_ms in {place}", 2**63),
    )


def _number(value: Any, place: str, limit: int) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise InputError(f"invalid {place}: expected a whole number")
    return value


def _bytes(value: Any, encoding: Any, place: str) -> bytes | None:
    if value is None:
        return None
    if encoding is None:
        encoding = "text" if isinstance(value, str) else "json"
    if encoding not in _EXACT:
        raise InputError(
            f"invalid {place}: the encoding '{encoding}' does not contain all bytes",
            hint="print the messages without a decoder",
        )
    if encoding == "json":
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if not isinstance(value, str):
        raise InputError(f"invalid {place}: expected a text")
    try:
        if encoding == "text":
            return value.encode()
        return bytes.fromhex(value) if encoding == "hex" else base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error) as error:
        raise InputError(f"invalid {place}: not {encoding}") from error
