"""Magic 0 and 1: messages, and wrappers whose value is a compressed set of messages.

Offsets of inner messages are absolute in magic 0 and, since KIP-31, relative in magic 1: the wrapper has the absolute
offset of the last one. A message may have another magic than its wrapper. Then the wrapper's magic determines the
meaning of its offset, and its own magic determines its layout. Brokers refuse such messages from producers, but read
stored ones. Source: ``LegacyRecord``, ``AbstractLegacyRecordBatch.DeepRecordsIterator``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.enums import CODEC_BITS, LOG_APPEND_TIME_BIT
from kafka_tools.records.chain import (
    LEGACY_BYTES,
    LEGACY_CRC_FROM,
    LEGACY_HEADER,
    MAGIC_POSITION,
    OF_ANY_MAGIC,
    PREFIX_BYTES,
    follow,
    size_at,
)
from kafka_tools.records.compression import LIMIT_BYTES, decompress
from kafka_tools.records.record import NO_TIMESTAMP, Record

if TYPE_CHECKING:
    from kafka_tools.records.batches import BatchView

_INT32 = Struct(">i")
_INT64 = Struct(">q")
_LEAST_BYTES = LEGACY_BYTES[0]

_Message = tuple[int, int, int, bytes | None, bytes | None, int, bool, int]
"""offset, attributes, timestamp, key, value, crc, whether the CRC is right, magic."""


def read_records(view: BatchView, limit_bytes: int, *, same_magic: bool = False) -> Iterator[Record]:
    """The record of a message, or the inner records of a wrapper with their absolute offsets.

    ``same_magic``: refuse inner messages of another magic than the wrapper's, as brokers do for produce requests.
    Raises CorruptBatch.
    """
    offset, attributes, timestamp, key, value, crc, crc_ok, _ = _message(view.raw(), 0, view.size_bytes)
    if not attributes & CODEC_BITS:
        yield Record(offset, timestamp, key, value, crc=crc, crc_ok=crc_ok)
        return
    inner = _inner_messages(view, value, limit_bytes, same_magic)
    absolute_base = 0
    if view.magic == 1 and offset:  # some old producers always wrote 0
        # Some old clients wrote absolute offsets into magic 1 wrappers; like Kafka, trust the wrapper.
        absolute_base = offset - inner[-1][0]
        if absolute_base < 0:
            raise CorruptBatch(f"a wrapper has offset {offset}, but its last message has {inner[-1][0]}")
    append_time = timestamp if view.magic == 1 and attributes & LOG_APPEND_TIME_BIT else None
    for inner_offset, _, inner_timestamp, inner_key, inner_value, inner_crc, inner_ok, inner_magic in inner:
        yield Record(
            absolute_base + inner_offset,
            inner_timestamp if append_time is None or inner_magic == 0 else append_time,
            inner_key,
            inner_value,
            crc=inner_crc,
            crc_ok=inner_ok,
        )


def first_offset(view: BatchView) -> int:
    """The offset of a wrapper's first inner record. Raises CorruptBatch."""
    for record in read_records(view, LIMIT_BYTES):
        return record.offset
    raise CorruptBatch("a compressed wrapper message contains no records")


def _inner_messages(view: BatchView, value: bytes | None, limit_bytes: int, same_magic: bool) -> list[_Message]:
    if value is None:
        raise CorruptBatch("a compressed wrapper message has no value")
    data = decompress(view.codec, value, limit_bytes=limit_bytes)
    messages: list[_Message] = []
    starts, end = follow(data, least=OF_ANY_MAGIC)
    for position, after in pairwise((*starts, end)):
        magic = data[position + MAGIC_POSITION]
        if magic > 1 or (same_magic and magic != view.magic):
            raise CorruptBatch(f"an inner message has magic {magic}, but its wrapper has {view.magic}")
        message = _message(data, position, after)
        if message[1] & CODEC_BITS:
            raise CorruptBatch("an inner message is itself compressed")
        messages.append(message)
    if end + PREFIX_BYTES <= len(data) and (size_bytes := size_at(data, end)) < _LEAST_BYTES:
        raise CorruptBatch(f"an inner message cannot have {size_bytes} bytes")
    if not messages:  # Kafka's reader ends at an incomplete message
        raise CorruptBatch("a compressed wrapper message contains no records")
    return messages


def _message(data: bytes, position: int, end: int) -> _Message:
    """The message at ``position``, which ends at ``end``. Raises CorruptBatch if its parts do not fit."""
    if end - position < _LEAST_BYTES:
        raise CorruptBatch(f"a message of {end - position} bytes is too short")
    offset, _, crc, magic, attributes = LEGACY_HEADER.unpack_from(data, position)
    crc_ok = crc == zlib.crc32(data[position + LEGACY_CRC_FROM : end])
    if magic and end - position < LEGACY_BYTES[1]:
        raise CorruptBatch(f"a message of {end - position} bytes is too short")
    position += LEGACY_HEADER.size
    timestamp = NO_TIMESTAMP
    if magic:
        timestamp = _INT64.unpack_from(data, position)[0]
        position += _INT64.size
    key, position = _part(data, position, end, "key")
    value, _ = _part(data, position, end, "value")  # Kafka ignores any bytes after it
    return offset, attributes, timestamp, key, value, crc, crc_ok, magic


def _part(data: bytes, position: int, end: int, name: str) -> tuple[bytes | None, int]:
    if end - position < 4:
        raise CorruptBatch(f"a message ends inside the length of its {name}")
    size: int = _INT32.unpack_from(data, position)[0]
    position += 4
    if size < 0:
        return None, position
    if size > end - position:
        raise CorruptBatch(f"a {name} of {size} bytes is longer than the remaining {end - position} bytes")
    return data[position : position + size], position + size
