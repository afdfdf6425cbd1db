"""Bytes of records as plain values, by the name of a decoder.

``auto`` gives text if the bytes are UTF-8, else base64, so that every record can be restored exactly.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol.enums import INTERNAL_TOPICS

Decoded = tuple[Any, str | None]
"""A plain value and its encoding: text, replaced (text with lost bytes), base64, hex, json, integer,
internal; None for null."""
INTERNAL = "internal"
DEEPEST = 200
"""Levels of a JSON document. A deeper one is shown as text."""


def _auto(data: bytes) -> Decoded:
    try:
        return data.decode("utf-8"), "text"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode(), "base64"


def _text(data: bytes) -> Decoded:
    shown, encoding = _auto(data)
    return (shown, encoding) if encoding == "text" else (data.decode("utf-8", "replace"), "replaced")


def _json(data: bytes) -> Decoded:
    found = parsed_json(data)
    return _auto(data) if found is NOT_JSON else (found, "json")


def _integer(data: bytes) -> Decoded:
    return (int.from_bytes(data, "big", signed=True), "integer") if len(data) in (1, 2, 4, 8) else _auto(data)


DECODERS: dict[str, Callable[[bytes], Decoded]] = {
    "auto": _auto,
    "text": _text,
    "json": _json,
    "integer": _integer,
    "hex": lambda data: (data.hex(), "hex"),
    "base64": lambda data: (base64.b64encode(data).decode(), "base64"),
}
"""Name -> decoder. A decoder that does not fit the bytes gives what ``auto`` gives; the encoding says so."""
NOT_JSON = object()


def parsed_json(data: bytes) -> Any:
    """The value of a JSON text; NOT_JSON for other bytes, for numbers of thousands of digits, and too many levels."""
    if data.count(b"[") + data.count(b"{") > DEEPEST and _depth(data) > DEEPEST:
        return NOT_JSON
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return NOT_JSON


def _depth(data: bytes) -> int:
    """An upper bound of the levels: brackets inside texts count as well."""
    level = deepest = 0
    for byte in data:
        if byte in b"[{":
            level += 1
            deepest = max(deepest, level)
        elif byte in b"]}":
            level -= 1
    return deepest


class Decoders:
    """The decoders of keys, values and headers. Records of Kafka's internal topics have their own by default."""

    def __init__(self, topic: str, key: str | None = None, value: str | None = None, header: str | None = None) -> None:
        """Names in ``DECODERS``; None means the default."""
        self._is_internal = topic in INTERNAL_TOPICS
        self._names = {"key": key, "value": value}
        self._header = DECODERS[header or "auto"]
        self._topic = topic

    def is_plain(self, field: str) -> bool:
        """Whether the bytes of a key or value are compared as they are."""
        return self._names[field] in ("text", "auto", None) and not self.uses_internal(field)

    def of(self, record: ConsumedRecord, field: str) -> Decoded:
        """The key or value of a record."""
        data = record.key if field == "key" else record.value
        if data is None:
            return None, None
        if self.uses_internal(field):
            document = self._internal(record)
            return _auto(data) if document is None else (document[field], INTERNAL)
        return DECODERS[self._names[field] or "auto"](data)

    def document(self, record: ConsumedRecord, field: str) -> Any:
        """The key or value as a document, for paths; None if it is no JSON."""
        if self.uses_internal(field):
            document = self._internal(record)
            return None if document is None else document[field]
        data = record.key if field == "key" else record.value
        found = NOT_JSON if data is None else parsed_json(data)
        return None if found is NOT_JSON else found

    def header(self, value: bytes | None) -> Decoded:
        """The value of a header."""
        return (None, None) if value is None else self._header(value)

    def uses_internal(self, field: str) -> bool:
        """Whether a record of one of Kafka's internal topics is decoded."""
        return self._is_internal and self._names[field] is None

    def _internal(self, record: ConsumedRecord) -> dict[str, Any] | None:
        from kafka_tools.messages.internal import decoded

        try:
            return decoded(self._topic, record)
        except KafkaToolsError:
            return None  # shown as bytes: a record of a newer release


def row_of(record: ConsumedRecord, decoders: Decoders) -> dict[str, Any]:
    """The record as a row of the kind ``messages``."""
    (key, key_encoding), (value, value_encoding) = decoders.of(record, "key"), decoders.of(record, "value")
    headers = []
    for name, data in record.headers:
        shown, encoding = decoders.header(data)
        headers.append({"name": name, "value": shown, "encoding": encoding})
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms if record.timestamp_ms >= 0 else None,
        "key": key,
        "key_encoding": key_encoding,
        "value": value,
        "value_encoding": value_encoding,
        "headers": headers,
    }
