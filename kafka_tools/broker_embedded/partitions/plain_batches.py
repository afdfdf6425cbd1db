"""Batches of magic 2 that are stored as they came: nearly all. For others ``produced_batches`` says what is to be done.

Each is asked for what costs most, what its CRC covers, its body and what that holds, once.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.partitions.produce_rules import Limits, stored_codec
from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.enums import CODEC_BITS, CODECS, TRANSACTIONAL_BIT
from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import BODY_IN_COVERED, HEADER_BYTES, MAGIC_POSITION
from kafka_tools.records.check import ordinary
from kafka_tools.records.compression import decompress
from kafka_tools.records.ordinary import Ordinary
from kafka_tools.records.record import NO_TIMESTAMP

_CLIENTS_BITS = CODEC_BITS | TRANSACTIONAL_BIT
"""The attributes that are clients' to set."""


def as_it_came(data: memoryview, limits: Limits, now_ms: int) -> BatchView | None:
    """The batch that is all of ``data``, if nothing is to be changed about it, nor asked twice: nearly every one.

    None for any other, and nothing has happened: ``take`` says what is to be done with it, and what is wrong.
    """
    try:
        looked_at = look_at(data, limits)
    except CorruptBatch:
        return None
    if looked_at is None:
        return None
    view, _, _, found = looked_at
    return view if stays(view, found, limits, now_ms) else None


def look_at(data: memoryview, limits: Limits) -> tuple[BatchView, bytes, int, Ordinary | None] | None:
    """The batch that is all of ``data``, if its header and its CRC are such that it may be stored as it is.

    With it its body, decompressed, where that begins in those bytes, and what its records are (``ordinary``). Raises
    CorruptBatch where it cannot be decompressed, or gives too much.
    """
    size_bytes = len(data)
    if size_bytes < HEADER_BYTES or data[MAGIC_POSITION] != 2:
        return None
    view = BatchView(data, 0)
    attributes, count = view.attributes, view.count_from_0
    if view.size_bytes != size_bytes or not count or (view.producer_id >= 0 and view.base_sequence < 0):
        return None
    if size_bytes > limits.max_batch_bytes or size_bytes > limits.segment_bytes or count > limits.records:
        return None
    if attributes & ~_CLIENTS_BITS or limits.log_append_time:
        return None
    codec = attributes & CODEC_BITS
    if codec >= len(CODECS) or (limits.codec != "producer" and stored_codec(codec, limits) != CODECS[codec]):
        return None
    body, start = view.sound(), BODY_IN_COVERED
    if body is None:
        return None
    if codec:
        body, start = decompress(codec, body[BODY_IN_COVERED:], limit_bytes=limits.body_bytes), 0
        if len(body) > limits.max_record_bytes:
            return None  # one of its records may be larger than the topic takes
    return view, body, start, ordinary(body, count, start)


def stays(view: BatchView, found: Ordinary | None, limits: Limits, now_ms: int) -> bool:
    """Whether a batch that was looked at is stored where it lies, since all of it is as it must be."""
    if found is None or (limits.needs_keys and found.null_key) or view.buffer.readonly:  # type: ignore[union-attr]
        return False
    newest, oldest = view.base_timestamp + found.most, view.base_timestamp + found.least
    is_timely = now_ms - limits.before_max_ms <= oldest and newest <= now_ms + limits.after_max_ms
    return is_timely and newest == view.max_timestamp and newest >= NO_TIMESTAMP
