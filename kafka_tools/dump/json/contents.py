"""Keys and values as JSON, by the decoders of kafka-dump-log, and control records as JSON.

Uses the decoders of the text, so that both show the same. If a decoder cannot read a record, its key and value are
shown as bytes, together with a ``decode_error``. The cluster's metadata is then masked, because an unreadable record
may contain a secret. A metadata record of a later release is shown as type, version and bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring as quoted
from typing import Any

from kafka_tools.dump import internal_decoders
from kafka_tools.dump.decoders import Decoder, FieldDecoder
from kafka_tools.dump.java_json import java_json
from kafka_tools.dump.json.lines import Contents, Field, PlainContents, as_base64
from kafka_tools.errors import CorruptBatch, LogError, WireError
from kafka_tools.protocol.as_json import to_json
from kafka_tools.protocol.feature_levels import NEWER
from kafka_tools.protocol.schema import Stored, nested_structs
from kafka_tools.records.control import NAMES, control_type, control_value
from kafka_tools.records.framing import NewerRecord, framed, framed_name, known_version, newer_record
from kafka_tools.records.record import Record
from kafka_tools.records.text import java_text
from kafka_tools.shown_text import MASK


def internal(name: str, field: Field) -> Contents:
    """Records of an internal topic, by the name of its decoder in ``internal_decoders``."""
    if name == "cluster_metadata":
        from kafka_tools.protocol.stored import cluster_metadata

        return _framed(cluster_metadata.RECORDS, field, may_be_secret=True)
    if name == "remote_log_metadata":
        from kafka_tools.protocol.stored import remote_log_metadata

        return _framed(remote_log_metadata.RECORDS, field)
    decoder: Decoder = getattr(internal_decoders, name)()
    return CoordinatorContents(decoder, field)


class CoordinatorContents:
    """Contents from a coordinator's decoder, whose texts are JSON or an error."""

    def __init__(self, decoder: Decoder, field: Field) -> None:
        self.decoder = decoder
        self._field = field

    def __call__(self, offset: int, key: bytes | None, value: bytes | None) -> str:
        field = self._field
        if key is None:
            return _raw(field, key, value, f"the record at offset {offset} has no key")
        shown, payload = self.decoder(offset, key, value)
        if shown is None or shown[0] != "{":
            return _raw(field, key, value, shown or "there is no key")
        if payload is not None and payload[0] == "{":
            return f'"key":{shown},"value":{payload}'
        if value is None:
            return f'"key":{shown},"value":null'
        return f'"key":{shown},{field("value", value)},"decode_error":{quoted(payload or "there is no value")}'


def _framed(records: Mapping[int, type[Stored]], field: Field, *, may_be_secret: bool = False) -> Contents:
    def contents(offset: int, key: bytes | None, value: bytes | None) -> str:
        if value is None:
            return _raw(field, key, value, f"the record at offset {offset} has no value")
        try:
            message, version = framed(value, records)
            data = to_json(message, known_version(type(message), version))
            document = {"type": framed_name(type(message)), "version": version, "data": data}
        except (WireError, CorruptBatch) as error:
            newer = newer_record(value, records)
            if newer is not None and newer.type >= 0:
                return (
                    f'{field("key", key)},"value":{_newer(newer, records)},"decode_error":{quoted(f"{newer}: {NEWER}")}'
                )
            return _raw(field, key, MASK.encode() if may_be_secret else value, str(error.__cause__ or error))
        return f'{field("key", key)},"value":{java_json(document)}'

    return contents


def _newer(newer: NewerRecord, records: Mapping[int, type[Stored]]) -> str:
    """The bytes of a record of a later release. The bytes of a type with secrets are masked."""
    cls = records.get(newer.type)
    name = f"UNKNOWN({newer.type})" if cls is None else framed_name(cls)
    is_secret = cls is not None and any(
        field.secret or field.config_value for struct in nested_structs(cls) for field in struct.FIELDS
    )
    data = as_base64("data", newer.body) if not is_secret else f'"data":{quoted(MASK)}'
    return f'{{"type":{quoted(name)},"version":{newer.version},{data}}}'


def plain(key_decoder: FieldDecoder, value_decoder: FieldDecoder, field: Field) -> Contents:
    """The decoders' results. Numbers stay numbers; ``field`` shows bytes, and text of Kafka's string decoder."""
    if key_decoder is java_text and value_decoder is java_text:
        return PlainContents(field)

    def contents(offset: int, key: bytes | None, value: bytes | None) -> str:
        try:
            return f"{_decoded('key', key, key_decoder, field)},{_decoded('value', value, value_decoder, field)}"
        except Exception as error:  # noqa: BLE001 - an error of a Python decoder affects only this record
            return _raw(field, key, value, f"{type(error).__name__}: {error}")

    return contents


def _decoded(name: str, data: bytes | None, decode: FieldDecoder, field: Field) -> str:
    if data is None or decode is java_text:
        return field(name, data)
    found = decode(data)
    if isinstance(found, bytes | bytearray | memoryview):
        return field(name, bytes(found))
    return f'"{name}":{json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)}'


def _raw(field: Field, key: bytes | None, value: bytes | None, problem: str) -> str:
    return f'{field("key", key)},{field("value", value)},"decode_error":{quoted(problem)}'


def control(record: Record) -> tuple[str, int, str]:
    """(type, version of the value, value as JSON) of a control record. Raises LogError for a record that is not one."""
    try:
        number = control_type(record.key)
        if not 0 <= number < len(NAMES):
            return f"UNKNOWN({number})", 0, "null"
        message, version = control_value(number, record.value)
    except CorruptBatch as error:
        raise LogError(f"cannot read the control record at offset {record.offset}: {error}") from error
    document: dict[str, Any] = to_json(message, version)
    return NAMES[number], version, java_json(document)
