"""The lines of Kafka's ``DumpLogSegments``, to the byte.

One pure function per kind of line; ``files`` selects the lines. Source: ``org.apache.kafka.tools.DumpLogSegments`` and
its output for the golden files.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_tools.protocol.enums import CODECS, TIMESTAMP_TYPES
from kafka_tools.records.batches import BatchView
from kafka_tools.records.record import Headers, Record
from kafka_tools.storage.indexes import AbortedTransaction
from kafka_tools.storage.snapshots import ProducerStateEntry

_BOOLEANS = ("false", "true")


def batch_start(view: BatchView) -> str:
    """The first half of a batch's line. Kafka prints only this if the second half fails."""
    if view.magic < 2:
        return f"offset: {view.last_offset}"
    horizon = view.delete_horizon_ms
    return (
        f"baseOffset: {view.base_offset} lastOffset: {view.last_offset} count: {view.record_count} "
        f"baseSequence: {view.base_sequence} lastSequence: {view.last_sequence} producerId: {view.producer_id} "
        f"producerEpoch: {view.producer_epoch} partitionLeaderEpoch: {view.partition_leader_epoch} "
        f"isTransactional: {_BOOLEANS[view.is_transactional]} isControl: {_BOOLEANS[view.is_control]} "
        f"deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'}"
    )


def batch_end(view: BatchView, crc_ok: bool) -> str:
    """The second half of a batch's line. Kafka must know the codec."""
    return (
        f" position: {view.file_position} {TIMESTAMP_TYPES[view.timestamp_type]}: {view.max_timestamp} "
        f"size: {view.size_bytes} magic: {view.magic} compresscodec: {CODECS[view.codec]} crc: {view.crc} "
        f"isvalid: {_BOOLEANS[crc_ok]}\n"
    )


def record_metadata(record: Record, timestamp_type: str, magic: int) -> str:
    """``| offset: ...`` of a record, without a line end."""
    key, value = record.key, record.value
    start = (
        f"| offset: {record.offset} {timestamp_type}: {record.timestamp} "
        f"keySize: {-1 if key is None else len(key)} valueSize: {-1 if value is None else len(value)}"
    )
    if magic >= 2:
        return f"{start} sequence: {record.sequence} headerKeys: {header_keys(record.headers)}"
    return f"{start} isValid: {_BOOLEANS[bool(record.crc_ok)]} crc: {record.crc}"


def header_keys(headers: Headers) -> str:
    """Only the names, joined by commas. An empty name leaves nothing between two commas."""
    return f"[{','.join([name for name, _ in headers])}]" if headers else "[]"


def contents(key: str | None, payload: str | None, prefix: str) -> str:
    """`` key: K payload: P``, without a part that is null. ``prefix`` comes before the first part."""
    text = ""
    if key is not None:
        text = f"{prefix}key: {key}"
        prefix = " "
    return text if payload is None else f"{text}{prefix}payload: {payload}"


def aborted_transaction(entry: AbortedTransaction) -> str:
    """An entry of a .txnindex."""
    return (
        f"version: {entry.version} producerId: {entry.producer_id} firstOffset: {entry.first_offset} "
        f"lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}\n"
    )


def producer(entry: ProducerStateEntry) -> str:
    """A producer of a snapshot, with sequences only if it has a batch."""
    start = entry.transaction_start
    line = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
        f"coordinatorEpoch: {entry.coordinator_epoch} "
        f"currentTxnFirstOffset: {'OptionalLong.empty' if start is None else f'OptionalLong[{start}]'} "
        f"lastTimestamp: {entry.timestamp}"
    )
    if entry.has_batch:
        line += (
            f" firstSequence: {entry.first_sequence} lastSequence: {entry.last_sequence} "
            f"lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
        )
    return line + "\n"


def gaps(path: str, pairs: Iterable[tuple[int, int]]) -> str:
    """Kafka's report of missing offsets, for stderr."""
    lines = [f"Non-consecutive offsets in {path}", *(f"  {a} is followed by {b}" for a, b in pairs)]
    return "\n".join(lines) + "\n"
