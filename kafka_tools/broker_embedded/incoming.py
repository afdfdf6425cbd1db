"""Record batches from producers: checked, and brought into the form in which they are stored.

Rules of Kafka's ``ProduceRequest.validateRecords`` and ``LogValidator``. A batch that needs no change is
stored as it came; magic 0 and 1 of old producers, and another codec than the topic's, are written anew.
Knows no log: offsets, leader epoch and append time are given by ``storage.log``.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, UnsupportedCodec
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.primitives import Buffer, read_unsigned_varint
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.convert import up_convert
from kafka_tools.records.record import Headers, Record

_NEVER_MS = 2**63 - 1
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ZSTD = 4
_LARGEST_BODY_BYTES = 512 * 1024 * 1024
"""What a batch may hold once decompressed: far beyond any real one, and far below what would end the process."""


class Limits(NamedTuple):
    """What a topic's configs ask of batches; names and units are Kafka's.

    ``codec`` is compression.type: "producer" keeps what the producer chose, "uncompressed" is none.
    """

    max_batch_bytes: int = 1048588
    segment_bytes: int = 1073741824
    codec: str = "producer"
    log_append_time: bool = False
    before_max_ms: int = _NEVER_MS
    after_max_ms: int = 3600000
    needs_keys: bool = False


class Refused(Exception):
    """Batches that are not appended: the error code, a sentence, and the records at fault (index, sentence)."""

    def __init__(self, code: int, message: str, records: list[tuple[int, str]] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.records = records or []


def take(data: Buffer | None, version: int, limits: Limits, now_ms: int) -> bytearray:
    """The batches of one partition of a produce request of ``version``, as they are to be stored.

    Empty for a request of an old producer without records. Raises Refused.
    """
    if not data:
        if version >= 3:
            raise Refused(error_codes.INVALID_RECORD, "A produce request must contain a record batch.")
        return bytearray()
    try:
        views = list(batches(data))
        if version >= 3 and (len(views) != 1 or views[0].magic != 2):
            raise Refused(
                error_codes.INVALID_RECORD,
                "Produce requests of version 3 and later must contain exactly one batch of magic 2 per partition.",
            )
        for view in views:
            _check(view, version, limits, now_ms)
        taken = _stored_form(data, views, limits)
    except UnsupportedCodec as error:
        raise Refused(error_codes.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from error
    except CorruptBatch as error:
        raise Refused(error_codes.CORRUPT_MESSAGE, str(error)) from error
    if len(taken) > limits.segment_bytes:
        raise Refused(
            error_codes.RECORD_LIST_TOO_LARGE,
            f"The batches of {len(taken)} bytes are larger than a segment of {limits.segment_bytes} bytes.",
        )
    return taken


def _check(view: BatchView, version: int, limits: Limits, now_ms: int) -> None:
    if view.size_bytes > limits.max_batch_bytes:
        raise Refused(
            error_codes.MESSAGE_TOO_LARGE,
            f"The record batch size in the append is {view.size_bytes} bytes which exceeds the maximum configured "
            f"value of {limits.max_batch_bytes}.",
        )
    if not view.crc_ok():
        raise Refused(error_codes.CORRUPT_MESSAGE, "The CRC of the record batch does not match its contents.")
    if not 0 <= view.codec < len(_CODECS) or (view.codec == _ZSTD and version < 7):
        raise Refused(
            error_codes.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} do not support compression type {view.codec}.",
        )
    if view.magic == 2:
        _check_header(view)
        if not limits.log_append_time:
            _check_times(view, limits, now_ms)
    if limits.needs_keys:
        missing = [index for index, record in enumerate(view.records()) if record.key is None]
        if missing:
            message = "Compacted topic cannot accept message without key."
            code = error_codes.INVALID_RECORD if version >= 8 else error_codes.CORRUPT_MESSAGE
            raise Refused(code, "One or more records have been rejected", [(index, message) for index in missing])


def _check_header(view: BatchView) -> None:
    if view.is_control:
        raise Refused(error_codes.INVALID_RECORD, "Clients are not allowed to write control records.")
    if view.is_transactional:
        raise Refused(error_codes.INVALID_TXN_STATE, "The record batch is not part of an ongoing transaction.")
    count = view.last_offset - view.base_offset + 1
    if view.record_count <= 0 or count != view.record_count:
        raise Refused(
            error_codes.INVALID_RECORD,
            f"Inconsistent batch: {view.record_count} records over {count} offsets.",
        )
    if view.producer_id >= 0 and view.base_sequence < 0:
        raise Refused(
            error_codes.INVALID_RECORD,
            f"Invalid sequence number {view.base_sequence} in a record batch with producer id {view.producer_id}.",
        )
    body = view.body(limit_bytes=_LARGEST_BODY_BYTES)
    if not _adds_up(body, view.record_count):
        raise Refused(
            error_codes.INVALID_RECORD, f"The batch claims {view.record_count} records, its contents are others."
        )


def _adds_up(body: bytes, count: int) -> bool:
    """Whether ``count`` records, each led by its length, fill the body exactly.

    The one loop over records of the produce path: lengths of one and two bytes are decoded in place.
    """
    position, end = 0, len(body)
    try:
        for _ in range(count):
            length = body[position]
            if length < 0x80:
                position += 1
            elif (high := body[position + 1]) < 0x80:
                length = length & 0x7F | high << 7
                position += 2
            else:
                length, position = read_unsigned_varint(body, position)
            if length & 1:  # zig-zag: a negative length
                return False
            position += length >> 1
    except (IndexError, ValueError):
        return False
    return position == end


def _check_times(view: BatchView, limits: Limits, now_ms: int) -> None:
    newest, oldest = view.max_timestamp, view.base_timestamp
    if newest >= 0 and newest - now_ms > limits.after_max_ms:
        raise Refused(
            error_codes.INVALID_TIMESTAMP,
            f"Timestamp {newest} of message with offset {view.last_offset} is out of range: it is more than "
            f"{limits.after_max_ms} ms after the broker's time.",
        )
    if oldest >= 0 and now_ms - oldest > limits.before_max_ms:
        raise Refused(
            error_codes.INVALID_TIMESTAMP,
            f"Timestamp {oldest} of message with offset {view.base_offset} is out of range: it is more than "
            f"{limits.before_max_ms} ms before the broker's time.",
        )


def _stored_form(data: Buffer, views: list[BatchView], limits: Limits) -> bytearray:
    """The bytes to append: as they came, or written anew in magic 2 and the topic's codec."""
    if any(view.magic < 2 for view in views):
        return bytearray(up_convert(views, codec=_stored_codec(max(view.codec for view in views), limits)))
    taken = bytearray()
    for view in views:
        codec = _stored_codec(view.codec, limits)
        if codec == _CODECS[view.codec]:
            taken += data[view.position : view.position + view.size_bytes]
            continue
        taken += build_batch(
            [_row(record) for record in view.records()],
            codec=codec,
            producer_id=view.producer_id,
            producer_epoch=view.producer_epoch,
            base_sequence=view.base_sequence,
            transactional=view.is_transactional,
        )
    return taken


def _stored_codec(codec: int, limits: Limits) -> str:
    came_as = _CODECS[codec]
    return {"producer": came_as, "uncompressed": "none"}.get(limits.codec, limits.codec)


def _row(record: Record) -> tuple[int, bytes | None, bytes | None, Headers]:
    return record.timestamp, record.key, record.value, record.headers
