"""Record batches from producers: validated, and brought into the form in which they are stored.

``take`` reads the header and the CRC of a batch once, decompresses it once and examines its records once
(``records.check``). Nearly all batches are stored unchanged. It rewrites a batch if it has magic 0 or 1, another codec
than the topic's, or numbers that only a lenient reader understands. The broker sets the largest timestamp and the
timestamp attributes.

The rules are those of Kafka's ``ProduceRequest.validateRecords``, ``UnifiedLog.analyzeAndValidateRecords`` and
``LogValidator``, in their order. This module uses no log: ``storage.log.partition_log`` assigns offsets, leader epoch
and append time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_tools.broker_embedded.partitions.produce_rules import (
    MOST_TOLD,
    Limits,
    RejectedBatch,
    TooLong,
    check_record_sizes,
    check_records,
    message_sizes,
    record_sizes,
)
from kafka_tools.errors import CorruptBatch, DecompressesToMore, UnsupportedCodec
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CODEC_BITS, CODECS, CONTROL_BIT, LOG_APPEND_TIME_BIT, Codec, TimestampType
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
_ONE_BATCH = 3
"""Produce requests from this version on have one batch for a partition, of magic 2."""
_ANY_CODEC = 7
"""Produce requests from this version on may contain batches of any codec."""


def take(
    data: Buffer | None, version: int, limits: Limits, now_ms: int, partition: TopicPartition
) -> Sequence[BatchView]:
    """The batches to be stored for one partition of a produce request of ``version``, all in one writable buffer.

    An unchanged batch is a part of ``data`` itself if ``data`` is writable, because offsets are written later. Empty
    for a request of an old producer without records. Raises RejectedBatch, and TooLong for a batch that patient limits
    may accept. Uses only its arguments, so it may run on another thread.
    """
    if not data:
        if version >= _ONE_BATCH:
            raise RejectedBatch(error_codes.INVALID_RECORD, "A produce request must contain a record batch.")
        return ()
    if len(data) > limits.batch_bytes:
        raise TooLong(limits)
    given = memoryview(data)
    try:
        if version < _ONE_BATCH:
            taken = _taken_of_any_magic(given, limits.anew(len(data)), now_ms, partition)
        else:
            view = sole_batch(given) if version >= _ANY_CODEC else None
            taken = _taken_batch(view or _only_batch(given, version), limits, now_ms, partition)
    except UnsupportedCodec as error:
        raise RejectedBatch(error_codes.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from error
    except DecompressesToMore as error:
        raise TooLong(limits) from error
    except CorruptBatch as error:
        raise RejectedBatch(error_codes.CORRUPT_MESSAGE, str(error)) from error
    size_bytes = len(taken[0].buffer) if taken else 0
    if size_bytes > limits.segment_bytes:
        raise RejectedBatch(
            error_codes.RECORD_LIST_TOO_LARGE,
            f"The batches of {size_bytes} bytes are larger than a segment of {limits.segment_bytes} bytes.",
        )
    return taken


def _only_batch(data: memoryview, version: int) -> BatchView:
    """The batch in ``data``, if valid in this version of Produce. Ignores an incomplete batch after it."""
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
    return first


def _fault(
    view: BatchView, crc_ok: Callable[[], bool], limits: Limits, partition: TopicPartition
) -> RejectedBatch | None:
    """The error in a batch's offset, size, CRC or codec, or None."""
    if view.magic == 2 and view.base_offset != 0:
        return RejectedBatch(
            error_codes.INVALID_RECORD,
            f"The baseOffset of the record batch in the append to {partition} should be 0, "
            f"but it is {view.base_offset}.",
        )
    if view.size_bytes > limits.max_batch_bytes:
        return _too_large(view.size_bytes, limits, partition)
    if not crc_ok():
        return RejectedBatch(error_codes.CORRUPT_MESSAGE, "The CRC of the record batch does not match its contents.")
    if view.codec >= len(CODECS):
        return RejectedBatch(
            error_codes.UNSUPPORTED_COMPRESSION_TYPE, f"There is no compression type {view.codec} in Kafka."
        )
    return None


def _too_large(size_bytes: int, limits: Limits, partition: TopicPartition) -> RejectedBatch:
    return RejectedBatch(
        error_codes.MESSAGE_TOO_LARGE,
        f"The record batch size in the append to {partition} is {size_bytes} bytes which exceeds the maximum "
        f"configured value of {limits.max_batch_bytes}.",
    )


def _check_together(views: Sequence[BatchView]) -> None:
    if views[0].magic == 2 or any(view.is_compressed for view in views):
        raise RejectedBatch(error_codes.INVALID_RECORD, "Compressed outer record has more than one batch")
    for view in views:
        if view.magic != views[0].magic:
            raise RejectedBatch(
                error_codes.INVALID_RECORD,
                f"Batch magic {view.magic} is not the same as the first batch's magic byte {views[0].magic}",
            )


# Magic 2


def _taken_batch(view: BatchView, limits: Limits, now_ms: int, partition: TopicPartition) -> Sequence[BatchView]:
    attributes, count = view.attributes, view.count_from_0
    codec = attributes & CODEC_BITS
    covered = view.sound() if view.size_bytes <= limits.max_batch_bytes else None
    is_wrong = not count or attributes & CONTROL_BIT or view.base_sequence < 0 <= view.producer_id
    if covered is None or is_wrong or codec >= len(CODECS):
        raise _fault(view, lambda: covered is not None, limits, partition) or _wrong_header(view)
    if count > limits.records:
        raise TooLong(limits)
    other_codec = limits.codec is not None and limits.codec != codec
    if other_codec:
        limits = limits.anew(view.size_bytes)
    body, start = covered, BODY_IN_COVERED
    if codec:
        body, start = decompress(codec, covered[BODY_IN_COVERED:], limit_bytes=limits.body_bytes), 0
        if len(body) > limits.max_record_bytes:
            _check_patience(view, limits)
            check_record_sizes(record_sizes(body, count), limits)
    found = ordinary(body, count, start)
    if found is not None and not other_codec and not attributes & LOG_APPEND_TIME_BIT:
        least, most, null_key = found
        oldest, newest = view.base_timestamp + least, view.base_timestamp + most
        in_range = -_INT64 <= oldest <= newest < _INT64
        timely = limits.log_append_time or (
            now_ms - oldest <= limits.before_max_ms and newest - now_ms <= limits.after_max_ms
        )
        if in_range and timely and not (null_key and limits.needs_keys):
            return _unchanged(view, newest, limits)
    return _examined(view, body[start:], found, limits, now_ms, partition)


def _unchanged(view: BatchView, newest: int, limits: Limits) -> Sequence[BatchView]:
    """The batch as it was sent, with its largest timestamp."""
    part = view.buffer
    assert isinstance(part, memoryview)
    if part.readonly or len(part) != view.size_bytes:
        part = part[: view.size_bytes]
        part = memoryview(bytearray(part)) if part.readonly else part
        view = BatchView(part, 0)
    if newest < NO_TIMESTAMP:
        newest = NO_TIMESTAMP
    if (newest != view.max_timestamp or view.attributes & LOG_APPEND_TIME_BIT) and not limits.log_append_time:
        set_times(part, 0, max_timestamp=newest)
        view = BatchView(part, 0)
    return (view,)


def _examined(
    view: BatchView, body: bytes, found: Ordinary | None, limits: Limits, now_ms: int, partition: TopicPartition
) -> Sequence[BatchView]:
    """Take a batch that breaks a rule, gets another codec, or is unusual."""
    codec, base = view.codec, view.base_timestamp
    other_codec = limits.codec is not None and limits.codec != codec
    wrong: list[tuple[int, str]] = []
    if found is None or not -_INT64 <= base + found.least <= base + found.most < _INT64:
        _check_patience(view, limits)
        newest, oldest, null_key, wrong = _unusual(view, body)
    else:
        newest, oldest, null_key = base + found.most, base + found.least, found.null_key
    seen_newest, seen_oldest = newest, oldest
    by_broker = bool(view.attributes & LOG_APPEND_TIME_BIT)
    if by_broker:  # a timestamp that only a broker may set: Kafka uses it for every record
        seen_newest = seen_oldest = view.max_timestamp
    timely = limits.log_append_time or (
        now_ms - seen_oldest <= limits.before_max_ms and seen_newest - now_ms <= limits.after_max_ms
    )
    if by_broker or not timely or (null_key and limits.needs_keys):
        _check_patience(view, limits)
        check_records(view.records(limit_bytes=limits.body_bytes), by_broker, limits, now_ms, partition)
    if wrong and codec and not other_codec:  # Kafka renumbers records only if it rewrites a batch
        raise RejectedBatch(
            error_codes.INVALID_RECORD, "The offsets of the records in the batch do not count from 0 on.", wrong
        )
    if other_codec and not limits.log_append_time and seen_oldest < NO_TIMESTAMP:
        raise RejectedBatch(error_codes.INVALID_TIMESTAMP, "A negative timestamp cannot be written into a new batch.")
    if other_codec or found is None:
        _check_patience(view, limits)
        return _written_anew(view, limits, partition)
    return _unchanged(view, newest, limits)


def _check_patience(view: BatchView, limits: Limits) -> None:
    """Raises TooLong if there are too many records to examine one by one."""
    if view.record_count > limits.one_by_one:
        raise TooLong(limits)


def _wrong_header(view: BatchView) -> RejectedBatch:
    if not view.count_from_0:
        offsets = view.last_offset - view.base_offset + 1
        text = f"Inconsistent batch: {view.record_count} records over {offsets} offsets."
    elif view.is_control:
        text = "Clients are not allowed to write control records."
    else:
        text = f"Invalid sequence number {view.base_sequence} in a record batch with producer id {view.producer_id}."
    return RejectedBatch(error_codes.INVALID_RECORD, text)


def _unusual(view: BatchView, body: bytes) -> tuple[int, int, bool, list[tuple[int, str]]]:
    """Examine an unusual batch with the reference reader.

    Returns (largest timestamp, smallest one, whether a key is null, records whose offsets do not count 0, 1, 2).
    Ignores the timestamp type of the batch. Raises RejectedBatch for records that cannot be read.
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


def _written_anew(view: BatchView, limits: Limits, partition: TopicPartition) -> Sequence[BatchView]:
    taken = build_batch(
        (
            (record.timestamp, record.key, record.value, record.headers)
            for record in view.records(limit_bytes=limits.body_bytes)
        ),
        codec=view.codec if limits.codec is None else limits.codec,
        level=limits.level,
        producer_id=view.producer_id,
        producer_epoch=view.producer_epoch,
        base_sequence=view.base_sequence,
        transactional=view.is_transactional,
    )
    return _made(taken, limits, partition)


def _made(data: bytes, limits: Limits, partition: TopicPartition) -> Sequence[BatchView]:
    if len(data) > limits.max_batch_bytes:
        raise _too_large(len(data), limits, partition)
    return list(batches(bytearray(data)))


# Magic 0 and 1


def _taken_of_any_magic(
    data: memoryview, limits: Limits, now_ms: int, partition: TopicPartition
) -> Sequence[BatchView]:
    """Take batches of old producers: any number of messages, or a batch of magic 2."""
    views = list(batches(data))
    for view in views:
        fault = _fault(view, view.crc_ok, limits, partition)
        if fault is not None:
            raise fault
    if not views:
        return ()
    if len(views) > 1:
        _check_together(views)
    if views[0].magic == 2:
        return _taken_batch(views[0], limits, now_ms, partition)
    return _taken_messages(views, limits, now_ms, partition)


def _taken_messages(
    views: Sequence[BatchView], limits: Limits, now_ms: int, partition: TopicPartition
) -> Sequence[BatchView]:
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
    codec = max(view.codec for view in views) if limits.codec is None else limits.codec
    taken = up_convert(views, codec=codec, level=limits.level)
    return _made(taken, limits, partition)
