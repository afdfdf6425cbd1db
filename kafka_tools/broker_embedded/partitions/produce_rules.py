"""The rules of a topic for produced batches and their records, and the errors for invalid ones.

Rules of Kafka's ``LogValidator``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import TIMESTAMP_TYPES, TimestampType
from kafka_tools.protocol.primitives import read_varint
from kafka_tools.records.record import NO_TIMESTAMP, Record
from kafka_tools.values import TopicPartition

_NEVER_MS = 2**63 - 1
_INT64 = 1 << 63
_ANY_NUMBER = 1 << 31
BODY_BYTES = 2 * 1024 * 1024
_LARGEST_BODY_BYTES = 32 * 1024 * 1024
"""Limits of a decompressed batch: with normal and with patient limits. Producers fill batches up to ``batch.size`` or
``max.request.size``, usually a mebibyte, before they compress them: more is a decompression bomb."""
ANEW_BYTES = 64 * 1024
"""The most bytes that are encoded and compressed again on the broker's thread: a few milliseconds."""
RECORDS = 20_000
ONE_BY_ONE = 1_000
"""The most records examined on the broker's thread: by columns, or one by one. A few milliseconds each."""
MOST_TOLD = 1000
MOST_TOLD_TOGETHER = 10_000
"""The most invalid records named for a partition, and in one answer, so that an answer stays small."""


class Limits(NamedTuple):
    """Rules for batches from a topic's configs; names and units are Kafka's."""

    max_batch_bytes: int = 1048588
    segment_bytes: int = 1073741824
    codec: int | None = None
    """The codec of stored batches (compression.type), None for the one that the producer chose."""
    level: int | None = None
    """The level for batches that are compressed again, None for the codec's default."""
    log_append_time: bool = False
    before_max_ms: int = _NEVER_MS
    after_max_ms: int = 3600000
    needs_keys: bool = False
    max_record_bytes: int = 2147483639
    """max.decompressed.message.bytes: the maximum size of one record in a compressed batch."""
    batch_bytes: int = BODY_BYTES
    """Maximum size of a received batch."""
    body_bytes: int = BODY_BYTES
    """Maximum size of a decompressed batch."""
    anew_bytes: int = ANEW_BYTES
    """Both maxima for a batch that is encoded and compressed again."""
    records: int = RECORDS
    """Maximum number of records in a batch."""
    one_by_one: int = ONE_BY_ONE
    """Maximum number of records in a batch whose records are processed one by one."""

    def patient(self) -> Limits:
        """The limits for long batches, which are validated on another thread."""
        return self._replace(
            batch_bytes=_ANY_NUMBER,
            body_bytes=_LARGEST_BODY_BYTES,
            anew_bytes=_ANY_NUMBER,
            records=_ANY_NUMBER,
            one_by_one=_ANY_NUMBER,
        )

    def anew(self, size_bytes: int) -> Limits:
        """The limits for a batch of this size that is encoded and compressed again. Raises TooLong."""
        if size_bytes > self.anew_bytes:
            raise TooLong(self)
        return self._replace(body_bytes=min(self.body_bytes, self.anew_bytes))


class RejectedBatch(Exception):
    """Batches that are not appended: the error code, a sentence, and the records at fault (index, sentence)."""

    def __init__(self, code: int, message: str, records: list[tuple[int, str]] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.records = records or []


class TooLong(RejectedBatch):
    """A batch that exceeds ``Limits`` of time or decompressed size; ``patient`` limits may accept it."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(
            error_codes.MESSAGE_TOO_LARGE,
            f"The record batch exceeds {limits.body_bytes} bytes when decompressed.",
        )


def record_sizes(body: bytes, count: int) -> Iterator[int]:
    """The size of each record of a decompressed body in bytes, without its length; ends at the first unreadable one."""
    position = 0
    for _ in range(count):
        try:
            size_bytes, position = read_varint(body, position)
        except (IndexError, ValueError):
            return
        yield size_bytes
        position += max(size_bytes, 0)


def message_sizes(records: Iterable[Record], magic: int) -> Iterator[int]:
    """The sizes of messages of magic 0 or 1."""
    header_bytes = 14 if magic == 0 else 22
    for record in records:
        yield header_bytes + len(record.key or b"") + len(record.value or b"")


def check_record_sizes(sizes_bytes: Iterable[int], limits: Limits) -> None:
    """Raises RejectedBatch for a record of a compressed batch above the maximum (``DefaultRecord.readFrom``)."""
    for size_bytes in sizes_bytes:
        if size_bytes > limits.max_record_bytes:
            raise RejectedBatch(
                error_codes.INVALID_RECORD,
                f"Invalid record size: {size_bytes} exceeds the configured maximum record size of "
                f"{limits.max_record_bytes}.",
            )


def check_records(
    records: Iterable[Record], by_broker: bool, limits: Limits, now_ms: int, partition: TopicPartition
) -> None:
    """Raises RejectedBatch with the records that lack a key or have an invalid timestamp."""
    faults: list[tuple[int, str]] = []
    total, timely = 0, True
    for number, record in enumerate(records):
        if limits.needs_keys and record.key is None:
            text = f"Compacted topic cannot accept message without key in topic partition {partition}"
        elif not limits.log_append_time and record.timestamp != NO_TIMESTAMP:
            if in_time(record.timestamp, limits, now_ms):
                continue
            timely = False
            text = (
                f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. The timestamp "
                f"should be within [{now_ms - limits.before_max_ms}, {_int64(now_ms + limits.after_max_ms)}]"
            )
        elif by_broker:
            timely = False
            text = (
                f"Invalid timestamp type in message with offset {record.offset}. Producer should not set timestamp "
                f"type to {TIMESTAMP_TYPES[TimestampType.LOG_APPEND_TIME]}."
            )
        else:
            continue
        total += 1
        if total <= MOST_TOLD:
            faults.append((number, text))
    if not faults:
        return
    if not timely:
        message = "One or more records have been rejected due to invalid timestamp"
        raise RejectedBatch(error_codes.INVALID_TIMESTAMP, message, faults)
    shown = ", ".join(f"RecordError(batchIndex={number}, message='{text}')" for number, text in faults[:3])
    raise RejectedBatch(
        error_codes.INVALID_RECORD,
        f"One or more records have been rejected due to {total} record errors in total, and only showing the first "
        f"three errors at most: [{shown}]",
        faults,
    )


def in_time(timestamp: int, limits: Limits, now_ms: int) -> bool:
    """Whether a topic accepts records with this timestamp (ms)."""
    return -limits.after_max_ms <= now_ms - timestamp <= limits.before_max_ms


def _int64(value: int) -> int:
    """The value after an overflow of Java's long."""
    return (value + _INT64) % (2 * _INT64) - _INT64
