"""Record batches from producers: checked, and brought into the form in which they are stored.

Rules of Kafka's ``ProduceRequest.validateRecords`` and ``LogValidator``. A batch that needs no change is
stored as it came; magic 0 and 1 of old producers, and another codec than the topic's, are written anew.
Knows no log: offsets, leader epoch and append time are given by ``storage.log``.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, UnsupportedCodec
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.primitives import Buffer
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch

_NEVER_MS = 2**63 - 1
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ZSTD = 4


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
        kept: list[bytes] | None = None
        for view in views:
            _check(view, version, limits, now_ms)
            changed = _changed(view, limits)
            if changed is not None and kept is None:
                kept = [bytes(data[earlier.position : earlier.position + earlier.size_bytes])
                        for earlier in views[: views.index(view)]]  # fmt: skip
            if kept is not None:
                kept.append(changed or bytes(data[view.position : view.position + view.size_bytes]))
    except UnsupportedCodec as error:
        raise Refused(error_codes.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from error
    except CorruptBatch as error:
        raise Refused(error_codes.CORRUPT_MESSAGE, str(error)) from error
    taken = bytearray(data) if kept is None else bytearray(b"".join(kept))
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


def _changed(view: BatchView, limits: Limits) -> bytes | None:
    """The batch written anew, None if it is stored as it came."""
    came_as = _CODECS[view.codec]
    wanted = {"producer": came_as, "uncompressed": "none"}.get(limits.codec, limits.codec)
    if view.magic == 2 and wanted == came_as:
        return None
    magic_2 = view.magic == 2
    return build_batch(
        [(record.timestamp, record.key, record.value, record.headers) for record in view.records()],
        codec=wanted,
        producer_id=view.producer_id if magic_2 else -1,
        producer_epoch=view.producer_epoch if magic_2 else -1,
        base_sequence=view.base_sequence if magic_2 else -1,
        transactional=magic_2 and view.is_transactional,
    )
