"""The objects of ``kafka-dump-log -o json`` and ``-o jsonl``: one per file, batch, record, entry and finding.

One pure function per kind of object, which returns a line of JSON. ``schemas/dump-log.v1.schema.json`` describes the
objects: keys keep their order and meaning, and new ones are added at the end. Names are those of the Spark tables.
``files`` selects the objects. ``columns`` creates the lines of records with numpy; the tests compare the two.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from json.encoder import encode_basestring as quoted
from typing import Any

from kafka_tools.protocol.enums import CODECS, TIMESTAMP_TYPES
from kafka_tools.records.batches import BatchView
from kafka_tools.records.record import Headers, Record
from kafka_tools.records.text import java_text
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.indexes import AbortedTransaction, OffsetEntry, TimeEntry
from kafka_tools.storage.snapshots import LeaderEpoch, ProducerStateEntry

Field = Callable[[str, bytes | None], str]
"""(name, bytes) -> a member of a JSON object: ``"key":"text"``, ``"key_base64":"..."`` or ``"key":null``."""
Contents = Callable[[int, bytes | None, bytes | None], str]
"""(offset, key, value) -> the members of a record that show its contents, joined by commas."""

_BOOLEANS = ("false", "true")


# Bytes


def as_text(name: str, data: bytes | None) -> str:
    """Any bytes as text."""
    return f'"{name}":null' if data is None else f'"{name}":{quoted(java_text(data))}'


def as_base64(name: str, data: bytes | None) -> str:
    """Base64 under another name, to distinguish it from text."""
    if data is None:
        return f'"{name}":null'
    return f'"{name}_base64":"{binascii.b2a_base64(data, newline=False).decode("ascii")}"'


def as_is(name: str, data: bytes | None) -> str:
    """Text if the bytes are UTF-8, else base64, so that nothing is lost."""
    if data is None:
        return f'"{name}":null'
    try:
        return f'"{name}":{quoted(data.decode())}'
    except UnicodeDecodeError:
        return as_base64(name, data)


FIELDS: dict[str, Field] = {"auto": as_is, "text": as_text, "base64": as_base64}


class PlainContents:
    """Keys and values as ``field`` shows them. A class, so that ``columns`` can recognise it."""

    def __init__(self, field: Field) -> None:
        self.field = field

    def __call__(self, offset: int, key: bytes | None, value: bytes | None) -> str:
        return f"{self.field('key', key)},{self.field('value', value)}"


# Objects


def file_line(path: str, kind: str, size_bytes: int, base_offset: int | None = None, epoch: int | None = None) -> str:
    """The file of the following objects. ``base_offset``: the offset in its name."""
    return (
        f'{{"type":"file","file":{quoted(path)},"kind":"{kind}","base_offset":{_number(base_offset)},'
        f'"epoch":{_number(epoch)},"size_bytes":{size_bytes}}}\n'
    )


def batch_line(view: BatchView, crc_ok: bool, *, base_offset: int | None, record_count: int | None) -> str:
    """A batch. ``base_offset`` and ``record_count`` are None if a wrapper of magic 0 or 1 is unreadable."""
    codec = view.codec
    return (
        f'{{"type":"batch","position":{view.file_position},"size_bytes":{view.size_bytes},'
        f'"base_offset":{_number(base_offset)},"last_offset":{view.last_offset},"record_count":{_number(record_count)},'
        f'"magic":{view.magic},"codec":"{CODECS[codec] if codec < len(CODECS) else f"unknown({codec})"}",'
        f'"crc":{view.crc},"crc_ok":{_BOOLEANS[crc_ok]},'
        f'"timestamp_type":"{TIMESTAMP_TYPES[view.timestamp_type]}","base_timestamp_ms":{view.base_timestamp},'
        f'"max_timestamp_ms":{view.max_timestamp},"producer_id":{view.producer_id},'
        f'"producer_epoch":{view.producer_epoch},"base_sequence":{view.base_sequence},'
        f'"last_sequence":{view.last_sequence},"leader_epoch":{view.partition_leader_epoch},'
        f'"is_transactional":{_BOOLEANS[view.is_transactional]},"is_control":{_BOOLEANS[view.is_control]},'
        f'"delete_horizon_ms":{_number(view.delete_horizon_ms)}}}\n'
    )


def record_start(record: Record) -> str:
    """A record before its contents, without the closing brace."""
    key, value = record.key, record.value
    start = (
        f'{{"type":"record","offset":{record.offset},"timestamp_ms":{record.timestamp},'
        f'"key_size":{-1 if key is None else len(key)},"value_size":{-1 if value is None else len(value)},'
        f'"sequence":{record.sequence}'
    )
    if record.crc is None:
        return start
    return f'{start},"crc":{record.crc},"crc_ok":{_BOOLEANS[bool(record.crc_ok)]}'


def header_keys(headers: Headers) -> str:
    """``"header_keys":[...]``, which ``--deep-iteration`` shows for headers."""
    return f'"header_keys":[{",".join([quoted(name) for name, _ in headers])}]' if headers else '"header_keys":[]'


def header_values(headers: Headers, field: Field) -> str:
    """``"headers":[{"key":...,"value":...},...]``, which all options that print contents show for headers."""
    if not headers:
        return '"headers":[]'
    return (
        f'"headers":[{",".join([f"""{{"key":{quoted(name)},{field("value", value)}}}""" for name, value in headers])}]'
    )


def record_line(record: Record, field: Field, contents: Contents | None, *, skip_metadata: bool = False) -> str:
    """A record of a batch that is not a control batch. ``contents`` None: only sizes."""
    if contents is None:
        return f"{record_start(record)},{header_keys(record.headers)}}}\n"
    shown = contents(record.offset, record.key, record.value)
    if skip_metadata:
        return f'{{"type":"record","offset":{record.offset},{shown}}}\n'
    return f"{record_start(record)},{header_values(record.headers, field)},{shown}}}\n"


def control_line(record: Record, kind: str, version: int, data: str) -> str:
    """A control record. ``kind`` is Kafka's name of its type, ``data`` its value as JSON."""
    return f"{record_start(record)},{header_keys(record.headers)},{control_member(kind, version, data)}}}\n"


def control_member(kind: str, version: int, data: str) -> str:
    """The member ``control`` of a control record."""
    return f'"control":{{"type":"{kind}","version":{version},"data":{data}}}'


def offset_entry_line(entry: OffsetEntry) -> str:
    """An entry of an ``.index``."""
    return f'{{"type":"index_entry","offset":{entry.offset},"position":{entry.position}}}\n'


def time_entry_line(entry: TimeEntry) -> str:
    """An entry of a ``.timeindex``."""
    return f'{{"type":"timeindex_entry","timestamp_ms":{entry.timestamp},"offset":{entry.offset}}}\n'


def aborted_transaction_line(entry: AbortedTransaction) -> str:
    """An entry of a ``.txnindex``."""
    return (
        f'{{"type":"txnindex_entry","version":{entry.version},"producer_id":{entry.producer_id},'
        f'"first_offset":{entry.first_offset},"last_offset":{entry.last_offset},'
        f'"last_stable_offset":{entry.last_stable_offset}}}\n'
    )


def producer_line(entry: ProducerStateEntry) -> str:
    """A producer of a snapshot. Without a batch, its sequences and offsets are null."""
    batch = entry.has_batch
    return (
        f'{{"type":"producer","producer_id":{entry.producer_id},"producer_epoch":{entry.producer_epoch},'
        f'"coordinator_epoch":{entry.coordinator_epoch},"current_txn_first_offset":{_number(entry.transaction_start)},'
        f'"last_timestamp_ms":{entry.timestamp},"first_sequence":{entry.first_sequence if batch else "null"},'
        f'"last_sequence":{entry.last_sequence if batch else "null"},'
        f'"last_offset":{entry.last_offset if batch else "null"},'
        f'"offset_delta":{entry.offset_delta if batch else "null"}}}\n'
    )


def leader_epoch_line(entry: LeaderEpoch) -> str:
    """An entry of a ``leader-epoch-checkpoint``."""
    return f'{{"type":"leader_epoch","leader_epoch":{entry.epoch},"start_offset":{entry.start_offset}}}\n'


def topic_id_line(topic_id: str) -> str:
    """The contents of ``partition.metadata``."""
    return f'{{"type":"partition_metadata","topic_id":{quoted(topic_id)}}}\n'


def sanity_line(passed: bool) -> str:
    """The result of ``--index-sanity-check``."""
    return f'{{"type":"sanity_check","passed":{_BOOLEANS[passed]}}}\n'


def finding_line(finding: Finding) -> str:
    """A finding, after the object that it is about."""
    assert finding.path is not None  # a dump is about files
    return (
        f'{{"type":"finding","file":{quoted(finding.path)},"kind":"{finding.kind}","severity":"{finding.severity}",'
        f'"position":{_number(finding.position)},"offset":{_number(finding.offset)},"text":{quoted(finding.text)}}}\n'
    )


def end_line(position: int, next_offset: int | None) -> str:
    """The end of reading a log: the byte after its last batch, and the next offset (None without a batch)."""
    return f'{{"type":"end","position":{position},"next_offset":{_number(next_offset)}}}\n'


def document_line(document: Any) -> str:
    """Any other object."""
    import json

    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)
