"""Record batches from producers: judged, and brought into the form in which they are stored.

Rules of Kafka's ``ProduceRequest.validateRecords``, ``UnifiedLog.analyzeAndValidateRecords`` and ``LogValidator``, in
their order. A batch that needs no change is stored as it came; magic 0 and 1 of old producers, another codec than the
topic's, and numbers that only a lenient reader understands are written anew. Attributes of time and the largest
timestamp are the broker's to set. Knows no log: offsets, leader epoch and append time are given by
``storage.log.partition_log``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafka_tools.broker_embedded.partitions.plain_batches import look_at, stays
from kafka_tools.broker_embedded.partitions.produce_rules import (
    BODY_BYTES,
    MOST_TOLD,
    Limits,
    RejectedBatch,
    TooLong,
    check_record_sizes,
    check_records,
    in_time,
    message_sizes,
    record_sizes,
    stored_codec,
)
from kafka_tools.errors import CorruptBatch, DecompressesToMore, UnsupportedCodec
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CODECS, Codec, TimestampType
from kafka_tools.protocol.primitives import Buffer
from kafka_tools.records import legacy
from kafka_tools.records.batches import BatchView, batches, sole_batch
from kafka_tools.records.build import build_batch, set_times
from kafka_tools.records.chain import BODY_IN_COVERED
from kafka_tools.records.check import ordinary
from kafka_tools.records.compression import decompress
from kafka_tools.records.convert import up_convert
from kafka_tools.records.ordinary import Ordinary
from kafka_tools.records.record import NO_TIMESTAMP, Record
from kafka_tools.records.v2 import read_records
from kafka_tools.values import TopicPartition

_INT64 = 1 << 63
_ANY_CODEC = 7
"""Produce requests from this version on may hold any that there is."""


class Taken(NamedTuple):
    """Batches as they are to be stored, and the memory in which they lie, which may be written to."""

    buffer: bytearray | memoryview
    views: Sequence[BatchView]


_NOTHING = Taken(bytearray(), ())


def is_long(data: Buffer | None) -> bool:
    """Whether the batches are so large that judging them takes a while, compressed or not."""
    return data is not None and len(data) > BODY_BYTES


def take(data: Buffer | None, version: int, limits: Limits, now_ms: int, partition: TopicPartition) -> Taken:
    """The batches for one partition of a produce request of ``version``, as they are to be stored.

    Where nothing has to change that is a part of ``data`` itself, if it can be written to: the offsets are. Empty for a
    request of an old producer without records. Raises RejectedBatch, and TooLong for a batch that patient limits may
    take. Touches nothing but its arguments, so it may run on another thread.
    """
    if not data:
        if version >= 3:
            raise RejectedBatch(error_codes.INVALID_RECORD, "A produce request must contain a record batch.")
        return _NOTHING
    try:
        looked_at = look_at(memoryview(data), limits) if version >= _ANY_CODEC else None
        if looked_at is not None:
            view, body, start, found = looked_at
            if stays(view, found, limits, now_ms):
                return Taken(view.buffer, (view,))  # type: ignore[arg-type]
            taken = _judged(view, body, start, found, limits, now_ms, partition)
        else:
            views = _batches(data, version)
            covered = b""
            for view in views:
                covered = _check_whole(view, limits, partition)
            if not views:
                return _NOTHING
            _check_together(views)
            if views[0].magic == 2:
                taken = _taken_batch(views[0], covered, limits, now_ms, partition)
            else:
                taken = _taken_messages(views, limits, now_ms, partition)
    except UnsupportedCodec as error:
        raise RejectedBatch(error_codes.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from error
    except DecompressesToMore as error:
        raise TooLong(limits) from error
    except CorruptBatch as error:
        raise RejectedBatch(error_codes.CORRUPT_MESSAGE, str(error)) from error
    size_bytes = len(taken.buffer)
    if size_bytes > limits.segment_bytes:
        raise RejectedBatch(
            error_codes.RECORD_LIST_TOO_LARGE,
            f"The batches of {size_bytes} bytes are larger than a segment of {limits.segment_bytes} bytes.",
        )
    return taken


def _batches(data: Buffer, version: int) -> list[BatchView]:
    """The batches in ``data``, if this version of Produce may carry them; an incomplete last one is left out."""
    if version < 3:
        return list(batches(data))
    found: Iterator[BatchView] = iter(())
    first = sole_batch(data)
    if first is None:
        found = batches(data)
        first = next(found, None)
    if first is None:
        raise RejectedBatch(
            error_codes.INVALID_RECORD, f"Produce v{version} must have a whole record batch per partition."
        )
    if first.magic != 2:
        raise RejectedBatch(error_codes.INVALID_RECORD, f"Produce v{version} carries batches of magic 2 only.")
    if version < _ANY_CODEC and (first.codec >= len(CODECS) or first.codec == Codec.ZSTD):
        raise RejectedBatch(
            error_codes.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} do not support compression type {first.codec}.",
        )
    if next(found, None) is not None:
        raise RejectedBatch(
            error_codes.INVALID_RECORD, f"Produce v{version} must have exactly one batch per partition."
        )
    return [first]


def _check_whole(view: BatchView, limits: Limits, partition: TopicPartition) -> bytes:
    """What the CRC of a batch of magic 2 covers."""
    if view.magic == 2 and view.base_offset != 0:
        raise RejectedBatch(
            error_codes.INVALID_RECORD,
            f"The baseOffset of the record batch in the append to {partition} should be 0, "
            f"but it is {view.base_offset}.",
        )
    _check_size(view.size_bytes, limits, partition)
    covered = view.sound() if view.magic == 2 else b"" if view.crc_ok() else None
    if covered is None:
        raise RejectedBatch(error_codes.CORRUPT_MESSAGE, "The CRC of the record batch does not match its contents.")
    if view.codec >= len(CODECS):
        raise RejectedBatch(
            error_codes.UNSUPPORTED_COMPRESSION_TYPE, f"There is no compression type {view.codec} in Kafka."
        )
    return covered


def _check_size(size_bytes: int, limits: Limits, partition: TopicPartition) -> None:
    if size_bytes > limits.max_batch_bytes:
        raise RejectedBatch(
            error_codes.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {partition} is {size_bytes} bytes which exceeds the maximum "
            f"configured value of {limits.max_batch_bytes}.",
        )


def _check_together(views: Sequence[BatchView]) -> None:
    if len(views) == 1:
        return
    if views[0].magic == 2 or any(view.is_compressed for view in views):
        raise RejectedBatch(error_codes.INVALID_RECORD, "Compressed outer record has more than one batch")
    for view in views:
        if view.magic != views[0].magic:
            raise RejectedBatch(
                error_codes.INVALID_RECORD,
                f"Batch magic {view.magic} is not the same as the first batch's magic byte {views[0].magic}",
            )


# Magic 2


def _taken_batch(view: BatchView, covered: bytes, limits: Limits, now_ms: int, partition: TopicPartition) -> Taken:
    _check_header(view)
    if view.record_count > limits.records:
        raise TooLong(limits)
    body, start = covered, BODY_IN_COVERED
    if view.is_compressed:
        body, start = decompress(view.codec, covered[BODY_IN_COVERED:], limit_bytes=limits.body_bytes), 0
        if len(body) > limits.max_record_bytes:
            _check_patience(view, limits)
            check_record_sizes(record_sizes(body, view.record_count), limits)
    found = ordinary(body, view.record_count, start)
    return _judged(view, body, start, found, limits, now_ms, partition)


def _judged(
    view: BatchView,
    body: bytes,
    start: int,
    found: Ordinary | None,
    limits: Limits,
    now_ms: int,
    partition: TopicPartition,
) -> Taken:
    """A batch whose header is in order, as it is to be stored: ``body`` from ``start`` on are its records."""
    codec = stored_codec(view.codec, limits)
    other_codec = codec != CODECS[view.codec]
    base = view.base_timestamp
    wrong: list[tuple[int, str]] = []
    if found is None or not -_INT64 <= base + found.least <= base + found.most < _INT64:
        _check_patience(view, limits)
        newest, oldest, null_key, wrong = _unusual(view, body[start:])
    else:
        newest, oldest, null_key = base + found.most, base + found.least, found.null_key
    # A time that only a broker may give: to Kafka it is every record's.
    by_broker = view.timestamp_type == TimestampType.LOG_APPEND_TIME
    seen_newest, seen_oldest = (view.max_timestamp, view.max_timestamp) if by_broker else (newest, oldest)
    if (
        (limits.needs_keys and null_key)
        or by_broker
        or not (
            limits.log_append_time or (in_time(seen_oldest, limits, now_ms) and in_time(seen_newest, limits, now_ms))
        )
    ):
        _check_patience(view, limits)
        check_records(view.records(limit_bytes=limits.body_bytes), by_broker, limits, now_ms, partition)
    if wrong and view.is_compressed and not other_codec:  # Kafka counts anew only where it takes a batch apart
        raise RejectedBatch(
            error_codes.INVALID_RECORD, "The offsets of the records in the batch do not count from 0 on.", wrong
        )
    if other_codec and not limits.log_append_time and seen_oldest < NO_TIMESTAMP:
        raise RejectedBatch(error_codes.INVALID_TIMESTAMP, "A negative timestamp cannot be written into a new batch.")
    if other_codec or found is None:
        _check_patience(view, limits)
        return _written_anew(view, codec, limits, partition)
    part = memoryview(view.buffer)[view.position : view.position + view.size_bytes]
    if part.readonly:
        part = memoryview(bytearray(part))
        view = BatchView(part, 0)
    newest = max(newest, NO_TIMESTAMP)
    if not limits.log_append_time and (by_broker or newest != view.max_timestamp):
        set_times(part, 0, max_timestamp=newest)
        view = BatchView(part, 0)
    return Taken(part, (view,))


def _check_patience(view: BatchView, limits: Limits) -> None:
    """TooLong if the records are too many to look at one after the other."""
    if view.record_count > limits.one_by_one:
        raise TooLong(limits)


def _check_header(view: BatchView) -> None:
    count = view.last_offset - view.base_offset + 1
    if view.record_count <= 0 or count != view.record_count:
        raise RejectedBatch(
            error_codes.INVALID_RECORD,
            f"Inconsistent batch: {view.record_count} records over {count} offsets.",
        )
    if view.is_control:
        raise RejectedBatch(error_codes.INVALID_RECORD, "Clients are not allowed to write control records.")
    if view.producer_id >= 0 and view.base_sequence < 0:
        raise RejectedBatch(
            error_codes.INVALID_RECORD,
            f"Invalid sequence number {view.base_sequence} in a record batch with producer id {view.producer_id}.",
        )


def _unusual(view: BatchView, body: bytes) -> tuple[int, int, bool, list[tuple[int, str]]]:
    """What the reference reader says of a batch that is not ordinary.

    (largest timestamp, smallest one, whether a key is null, records whose offsets do not count 0, 1, 2). Times are the
    records' own, whatever the batch says of them. Raises RejectedBatch for records that cannot be read.
    """
    newest, oldest, null_key = -_INT64, _INT64, False
    wrong: list[tuple[int, str]] = []
    number = 0
    try:
        for record in read_records(body, view.record_count, 0, view.base_timestamp, None, view.base_sequence):
            newest, oldest = max(newest, record.timestamp), min(oldest, record.timestamp)
            null_key = null_key or record.key is None
            if record.offset != number and len(wrong) < MOST_TOLD:
                wrong.append((number, f"The record has offset delta {record.offset}, expected is {number}."))
            number += 1
    except CorruptBatch as error:
        text = f"Cannot read the records of the batch: {error}"
        raise RejectedBatch(error_codes.INVALID_RECORD, text, [(number, str(error))]) from error
    return newest, oldest, null_key, wrong


def _written_anew(view: BatchView, codec: str, limits: Limits, partition: TopicPartition) -> Taken:
    taken = build_batch(
        (
            (record.timestamp, record.key, record.value, record.headers)
            for record in view.records(limit_bytes=limits.body_bytes)
        ),
        codec=codec,
        level=limits.level,
        producer_id=view.producer_id,
        producer_epoch=view.producer_epoch,
        base_sequence=view.base_sequence,
        transactional=view.is_transactional,
    )
    _check_size(len(taken), limits, partition)
    return _made(taken)


def _made(data: bytes) -> Taken:
    buffer = bytearray(data)
    return Taken(buffer, list(batches(buffer)))


# Magic 0 and 1


def _taken_messages(views: Sequence[BatchView], limits: Limits, now_ms: int, partition: TopicPartition) -> Taken:
    by_broker = views[0].timestamp_type == TimestampType.LOG_APPEND_TIME
    records: list[Record] = []
    try:
        for view in views:
            records += legacy.read_records(view, limits.body_bytes, same_magic=True)
            if len(records) > limits.one_by_one:
                raise TooLong(limits)
            if view.is_compressed:
                check_record_sizes(message_sizes(records, view.magic), limits)
    except DecompressesToMore:
        raise
    except CorruptBatch as error:
        raise RejectedBatch(error_codes.INVALID_RECORD, f"Cannot read the messages: {error}") from error
    if any(record.crc_ok is False for record in records):
        raise CorruptBatch("The CRC of a message in a compressed set does not match its contents.")
    check_records(records, by_broker, limits, now_ms, partition)
    taken = up_convert(views, codec=stored_codec(max(view.codec for view in views), limits), level=limits.level)
    _check_size(len(taken), limits, partition)
    return _made(taken)
