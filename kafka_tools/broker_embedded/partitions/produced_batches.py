"""Record batches from producers: judged, and brought into the form in which they are stored.

Rules of Kafka's ``ProduceRequest.validateRecords``, ``UnifiedLog.analyzeAndValidateRecords`` and ``LogValidator``, in
their order. A batch that needs no change is stored as it came; magic 0 and 1 of old producers, another codec than the
topic's, and numbers that only a lenient reader understands are written anew. Attributes of time and the largest
timestamp are the broker's to set. Knows no log: offsets, leader epoch and append time are given by
``storage.log.partition_log``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, DecompressesToMore, UnsupportedCodec
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CODECS, TIMESTAMP_TYPES, Codec, TimestampType
from kafka_tools.protocol.primitives import Buffer
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch, set_times
from kafka_tools.records.check import ordinary
from kafka_tools.records.convert import up_convert
from kafka_tools.records.record import NO_TIMESTAMP, Record
from kafka_tools.records.v2 import read_records
from kafka_tools.values import TopicPartition

_NEVER_MS = 2**63 - 1
_INT64 = 1 << 63
_BODY_BYTES = 2 * 1024 * 1024
_LARGEST_BODY_BYTES = 32 * 1024 * 1024
"""What a batch may hold once decompressed: ordinary ones, and any. Producers fill batches of ``batch.size`` and
``max.request.size`` bytes, a mebibyte as a rule, before they compress them: more is a bomb."""
_MOST_TOLD = 1000
"""So many records at fault are named in an answer: it must not be of gigabytes."""


class Limits(NamedTuple):
    """What a topic's configs ask of batches; names and units are Kafka's.

    ``codec`` is compression.type: "producer" keeps what the producer chose, "uncompressed" is none. ``level`` is
    that of batches that are written anew, None for the default.
    """

    max_batch_bytes: int = 1048588
    segment_bytes: int = 1073741824
    codec: str = "producer"
    level: int | None = None
    log_append_time: bool = False
    before_max_ms: int = _NEVER_MS
    after_max_ms: int = 3600000
    needs_keys: bool = False
    body_bytes: int = _BODY_BYTES
    """What is decompressed of a batch at most."""

    def patient(self) -> Limits:
        """The same for batches that take long, and are judged where nobody waits for it."""
        return self._replace(body_bytes=_LARGEST_BODY_BYTES)


class Refused(Exception):
    """Batches that are not appended: the error code, a sentence, and the records at fault (index, sentence)."""

    def __init__(self, code: int, message: str, records: list[tuple[int, str]] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.records = records or []


class TooLong(Refused):
    """A batch that decompresses to more than ``Limits.body_bytes``: ``patient`` limits may take it."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(
            error_codes.MESSAGE_TOO_LARGE,
            f"The record batch holds more than {limits.body_bytes} bytes once it is decompressed.",
        )


def is_long(data: Buffer | None) -> bool:
    """Whether the batches are so large that judging them takes a while, compressed or not."""
    return data is not None and len(data) > _BODY_BYTES


def take(data: Buffer | None, version: int, limits: Limits, now_ms: int, partition: TopicPartition) -> bytearray:
    """The batches for one partition of a produce request of ``version``, as they are to be stored.

    Empty for a request of an old producer without records. Raises Refused, and TooLong for a batch that patient
    limits may take. Touches nothing but its arguments, so it may run on another thread.
    """
    if not data:
        if version >= 3:
            raise Refused(error_codes.INVALID_RECORD, "A produce request must contain a record batch.")
        return bytearray()
    try:
        views = _batches(data, version)
        for view in views:
            _check_whole(view, limits, partition)
        if not views:
            return bytearray()
        _check_together(views)
        if views[0].magic == 2:
            taken = _taken_batch(views[0], limits, now_ms, partition)
        else:
            taken = _taken_messages(views, limits, now_ms, partition)
    except UnsupportedCodec as error:
        raise Refused(error_codes.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from error
    except DecompressesToMore as error:
        raise TooLong(limits) from error
    except CorruptBatch as error:
        raise Refused(error_codes.CORRUPT_MESSAGE, str(error)) from error
    if len(taken) > limits.segment_bytes:
        raise Refused(
            error_codes.RECORD_LIST_TOO_LARGE,
            f"The batches of {len(taken)} bytes are larger than a segment of {limits.segment_bytes} bytes.",
        )
    return taken


def _batches(data: Buffer, version: int) -> list[BatchView]:
    """The batches in ``data``, if this version of Produce may carry them; an incomplete last one is left out."""
    found = batches(data)
    if version < 3:
        return list(found)
    first = next(found, None)
    if first is None:
        raise Refused(error_codes.INVALID_RECORD, f"Produce v{version} must have a whole record batch per partition.")
    if first.magic != 2:
        raise Refused(error_codes.INVALID_RECORD, f"Produce v{version} carries batches of magic 2 only.")
    if version < 7 and (first.codec >= len(CODECS) or first.codec == Codec.ZSTD):
        raise Refused(
            error_codes.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} do not support compression type {first.codec}.",
        )
    if next(found, None) is not None:
        raise Refused(error_codes.INVALID_RECORD, f"Produce v{version} must have exactly one batch per partition.")
    return [first]


def _check_whole(view: BatchView, limits: Limits, partition: TopicPartition) -> None:
    if view.magic == 2 and view.base_offset != 0:
        raise Refused(
            error_codes.INVALID_RECORD,
            f"The baseOffset of the record batch in the append to {partition} should be 0, "
            f"but it is {view.base_offset}.",
        )
    _check_size(view.size_bytes, limits, partition)
    if not view.crc_ok():
        raise Refused(error_codes.CORRUPT_MESSAGE, "The CRC of the record batch does not match its contents.")
    if view.codec >= len(CODECS):
        raise Refused(error_codes.UNSUPPORTED_COMPRESSION_TYPE, f"There is no compression type {view.codec} in Kafka.")


def _check_size(size_bytes: int, limits: Limits, partition: TopicPartition) -> None:
    if size_bytes > limits.max_batch_bytes:
        raise Refused(
            error_codes.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {partition} is {size_bytes} bytes which exceeds the maximum "
            f"configured value of {limits.max_batch_bytes}.",
        )


def _check_together(views: Sequence[BatchView]) -> None:
    if len(views) == 1:
        return
    if views[0].magic == 2 or any(view.is_compressed for view in views):
        raise Refused(error_codes.INVALID_RECORD, "Compressed outer record has more than one batch")
    for view in views:
        if view.magic != views[0].magic:
            raise Refused(
                error_codes.INVALID_RECORD,
                f"Batch magic {view.magic} is not the same as the first batch's magic byte {views[0].magic}",
            )


# Magic 2


def _taken_batch(view: BatchView, limits: Limits, now_ms: int, partition: TopicPartition) -> bytearray:
    _check_header(view)
    body = view.body(limit_bytes=limits.body_bytes)
    found = ordinary(body, view.record_count)
    codec = stored_codec(view.codec, limits)
    other_codec = codec != CODECS[view.codec]
    base = view.base_timestamp
    wrong: list[tuple[int, str]] = []
    if found is None or not -_INT64 <= base + found.least <= base + found.most < _INT64:
        newest, oldest, null_key, wrong = _unusual(view, body)
    else:
        newest, oldest, null_key = base + found.most, base + found.least, found.null_key
    # A time that only a broker may give: to Kafka it is every record's.
    by_broker = view.timestamp_type == TimestampType.LOG_APPEND_TIME
    seen_newest, seen_oldest = (view.max_timestamp, view.max_timestamp) if by_broker else (newest, oldest)
    if (
        (limits.needs_keys and null_key)
        or by_broker
        or not (
            limits.log_append_time or (_in_time(seen_oldest, limits, now_ms) and _in_time(seen_newest, limits, now_ms))
        )
    ):
        _check_records(view.records(limit_bytes=limits.body_bytes), by_broker, limits, now_ms, partition)
    if wrong and view.is_compressed and not other_codec:  # Kafka counts anew only where it takes a batch apart
        raise Refused(
            error_codes.INVALID_RECORD, "The offsets of the records in the batch do not count from 0 on.", wrong
        )
    if other_codec and not limits.log_append_time and seen_oldest < NO_TIMESTAMP:
        raise Refused(error_codes.INVALID_TIMESTAMP, "A negative timestamp cannot be written into a new batch.")
    if other_codec or found is None:
        return _written_anew(view, codec, limits, partition)
    taken = bytearray(memoryview(view.buffer)[view.position : view.position + view.size_bytes])
    newest = max(newest, NO_TIMESTAMP)
    if not limits.log_append_time and (by_broker or newest != view.max_timestamp):
        set_times(taken, 0, max_timestamp=newest)
    return taken


def _check_header(view: BatchView) -> None:
    count = view.last_offset - view.base_offset + 1
    if view.record_count <= 0 or count != view.record_count:
        raise Refused(
            error_codes.INVALID_RECORD,
            f"Inconsistent batch: {view.record_count} records over {count} offsets.",
        )
    if view.is_control:
        raise Refused(error_codes.INVALID_RECORD, "Clients are not allowed to write control records.")
    if view.producer_id >= 0 and view.base_sequence < 0:
        raise Refused(
            error_codes.INVALID_RECORD,
            f"Invalid sequence number {view.base_sequence} in a record batch with producer id {view.producer_id}.",
        )


def _unusual(view: BatchView, body: bytes) -> tuple[int, int, bool, list[tuple[int, str]]]:
    """What the reference reader says of a batch that is not ordinary.

    (largest timestamp, smallest one, whether a key is null, records whose offsets do not count 0, 1, 2). Times are the
    records' own, whatever the batch says of them. Raises Refused for records that cannot be read.
    """
    newest, oldest, null_key = -_INT64, _INT64, False
    wrong: list[tuple[int, str]] = []
    number = 0
    try:
        for record in read_records(body, view.record_count, 0, view.base_timestamp, None, view.base_sequence):
            newest, oldest = max(newest, record.timestamp), min(oldest, record.timestamp)
            null_key = null_key or record.key is None
            if record.offset != number and len(wrong) < _MOST_TOLD:
                wrong.append((number, f"The record has offset delta {record.offset}, expected is {number}."))
            number += 1
    except CorruptBatch as error:
        text = f"The records of the batch cannot be read: {error}"
        raise Refused(error_codes.INVALID_RECORD, text, [(number, str(error))]) from error
    return newest, oldest, null_key, wrong


def _written_anew(view: BatchView, codec: str, limits: Limits, partition: TopicPartition) -> bytearray:
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
    return bytearray(taken)


# Magic 0 and 1


def _taken_messages(views: Sequence[BatchView], limits: Limits, now_ms: int, partition: TopicPartition) -> bytearray:
    by_broker = views[0].timestamp_type == TimestampType.LOG_APPEND_TIME
    records: list[Record] = []
    try:
        for view in views:
            records += view.records(limit_bytes=limits.body_bytes)
    except DecompressesToMore:
        raise
    except CorruptBatch as error:
        raise Refused(error_codes.INVALID_RECORD, f"The messages cannot be read: {error}") from error
    if any(record.crc_ok is False for record in records):
        raise CorruptBatch("The CRC of a message in a compressed set does not match its contents.")
    _check_records(records, by_broker, limits, now_ms, partition)
    taken = up_convert(views, codec=stored_codec(max(view.codec for view in views), limits), level=limits.level)
    _check_size(len(taken), limits, partition)
    return bytearray(taken)


# What is asked of each record


def _check_records(
    records: Iterable[Record], by_broker: bool, limits: Limits, now_ms: int, partition: TopicPartition
) -> None:
    """Refused, with the records that lack a key or have a time that the topic does not take."""
    faults: list[tuple[int, str]] = []
    total, timely = 0, True
    for number, record in enumerate(records):
        if limits.needs_keys and record.key is None:
            text = f"Compacted topic cannot accept message without key in topic partition {partition}"
        elif not limits.log_append_time and record.timestamp != NO_TIMESTAMP:
            if _in_time(record.timestamp, limits, now_ms):
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
        if total <= _MOST_TOLD:
            faults.append((number, text))
    if not faults:
        return
    if not timely:
        message = "One or more records have been rejected due to invalid timestamp"
        raise Refused(error_codes.INVALID_TIMESTAMP, message, faults)
    shown = ", ".join(f"RecordError(batchIndex={number}, message='{text}')" for number, text in faults[:3])
    raise Refused(
        error_codes.INVALID_RECORD,
        f"One or more records have been rejected due to {total} record errors in total, and only showing the first "
        f"three errors at most: [{shown}]",
        faults,
    )


def _in_time(timestamp: int, limits: Limits, now_ms: int) -> bool:
    return -limits.after_max_ms <= now_ms - timestamp <= limits.before_max_ms


def _int64(value: int) -> int:
    """As Java's long runs over."""
    return (value + _INT64) % (2 * _INT64) - _INT64


def stored_codec(codec: int, limits: Limits) -> str:
    """The codec in which a topic stores what came in another one."""
    wanted = {"producer": CODECS[codec], "uncompressed": "none"}
    return wanted.get(limits.codec, limits.codec)
