"""One batch after compaction: ``MemoryRecords.filterTo`` with the filter of Kafka's ``Cleaner``.

A batch keeps its first and last offset, its producer's numbers and its codec. If compaction removes all its records, it
stays without records if it contains a producer's last sequence, or the last offset before the high watermark. Messages
of magic 0 and 1 are written as batches of magic 2, as in Kafka since 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, NamedTuple

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.enums import TimestampType
from kafka_tools.records import v2
from kafka_tools.records.batches import BatchView
from kafka_tools.records.build import BatchBuilder, set_times
from kafka_tools.records.record import Record
from kafka_tools.storage.cleaner.offset_map import OffsetMap
from kafka_tools.storage.cleaner.transactions import CleanedTransactions
from kafka_tools.storage.producer_state import ProducerEntry

Step = int | Callable[[], Any] | None
"""The values that a generator yields: a count of bytes that were read or written, or a slow function that uses only its
own bytes or files. The caller sends back the function's result.
"""

_PIECE = 128
"""The number of records between two yields, which take a few milliseconds at most."""
_LATEST_MS = 2**63 - 1
"""The latest time that a batch can contain."""
LONG_BYTES = 128 * 1024
"""Batches from this size on are decompressed and compressed by the caller, as a ``Step``."""


class Dropped:
    """The records that a round removed although no newer record replaces them."""

    without_key = 0


class Retention(NamedTuple):
    """The state by which one round keeps or removes records; times in milliseconds."""

    offsets: OffsetMap
    transactions: CleanedTransactions
    now_ms: int
    delete_retention_ms: int
    """May be as large as an int64, so that tombstones stay forever."""
    high_watermark: int
    """The batch before it stays, with or without records, to keep the end of the log."""
    producers: Mapping[int, ProducerEntry]
    """The current state of the producers, by id."""
    dropped: Dropped
    keep_legacy_deletes: bool = True
    """Whether tombstones of magic 0 and 1, which have no horizon of their own, stay in this segment."""


def rewritten(view: BatchView, retention: Retention) -> Generator[Step, Any, bytes | None]:
    """The bytes of a batch after compaction, None if nothing stays. Raises CorruptBatch, UnsupportedCodec."""
    discardable = retention.transactions.may_discard(view)
    horizon = view.delete_horizon_ms
    discarded = discardable and (not view.is_control or (horizon is not None and horizon <= retention.now_ms))
    stays_empty = _has_last_sequence(view, retention) or view.last_offset + 1 == retention.high_watermark
    if discarded:
        return _without_records(view) if stays_empty else None
    records: list[Record] = []
    seen = 0
    tombstones = False
    for record in (yield from records_of(view)):
        seen += 1
        if view.is_control or _stays(view, record, retention):
            records.append(record)
            tombstones = tombstones or record.value is None
        if not seen % _PIECE:
            yield None
    if not records:
        return _without_records(view) if stays_empty else None
    begins = (tombstones or (discardable and view.is_control)) and horizon is None
    if len(records) == seen and view.magic >= 2 and not begins:
        return view.raw()
    if begins:
        horizon = min(retention.now_ms + retention.delete_retention_ms, _LATEST_MS)
    return (yield from _with(view, records, horizon))


def _has_last_sequence(view: BatchView, retention: Retention) -> bool:
    """Whether only this batch contains the producer's last sequence or its epoch."""
    if view.producer_id < 0:
        return False
    producer = retention.producers.get(view.producer_id)
    if producer is None:
        return False
    if producer.batches:
        return view.last_offset == producer.batches[-1].last_offset
    return view.is_control and view.producer_epoch == producer.epoch


def _stays(view: BatchView, record: Record, retention: Retention) -> bool:
    if record.offset > retention.offsets.latest_offset:
        return True
    if record.key is None:
        retention.dropped.without_key += 1
        return False
    if record.offset < retention.offsets.get(record.key):
        return False
    if record.value is not None:
        return True
    if view.magic < 2:
        return retention.keep_legacy_deletes
    horizon = view.delete_horizon_ms
    return horizon is None or retention.now_ms < horizon


def records_of(view: BatchView) -> Generator[Step, Any, Iterable[Record]]:
    """The records of a batch. Yields a slow decompression as a step. Raises CorruptBatch, UnsupportedCodec."""
    if not view.is_compressed or view.size_bytes < LONG_BYTES:
        return view.records()
    if view.magic < 2:
        return (yield lambda: list(view.records()))  # type: ignore[no-any-return]
    body = yield view.body
    append_time_ms = view.max_timestamp if view.timestamp_type == TimestampType.LOG_APPEND_TIME else None
    return v2.read_records(
        body, view.record_count, view.base_offset, view.base_timestamp, append_time_ms, view.base_sequence
    )


def _with(view: BatchView, records: list[Record], horizon_ms: int | None) -> Generator[Step, Any, bytes]:
    base_offset = view.base_offset if view.magic >= 2 else records[0].offset
    builder = BatchBuilder(codec=view.codec)
    for number, record in enumerate(records, 1):
        if record.crc_ok is False:
            raise CorruptBatch(f"the CRC of the message at offset {record.offset} does not match its contents")
        builder.append(
            record.timestamp, record.key, record.value, record.headers, offset_delta=record.offset - base_offset
        )
        if not number % _PIECE:
            yield None

    def build() -> bytes:
        return builder.build(
            base_offset=base_offset,
            producer_id=view.producer_id,
            producer_epoch=view.producer_epoch,
            base_sequence=view.base_sequence,
            transactional=view.is_transactional,
            control=view.is_control,
            leader_epoch=view.partition_leader_epoch,
            timestamp_type=max(0, view.timestamp_type),
            append_time_ms=view.max_timestamp,
            last_offset_delta=view.last_offset - base_offset if view.magic >= 2 else None,
            delete_horizon_ms=horizon_ms,
        )

    if builder.size_bytes < LONG_BYTES:
        return build()
    return (yield build)  # type: ignore[no-any-return]


def _without_records(view: BatchView) -> bytes:
    """Only the header of a batch, which contains offsets and sequences."""
    empty = bytearray(
        BatchBuilder().build(
            base_offset=view.base_offset,
            producer_id=view.producer_id,
            producer_epoch=view.producer_epoch,
            base_sequence=view.base_sequence,
            transactional=view.is_transactional,
            control=view.is_control,
            leader_epoch=view.partition_leader_epoch,
            last_offset_delta=view.last_offset - view.base_offset,
        )
    )
    set_times(
        empty,
        0,
        max_timestamp=view.max_timestamp,
        appended=view.timestamp_type == TimestampType.LOG_APPEND_TIME,
    )
    return bytes(empty)
