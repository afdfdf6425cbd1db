"""The header of a batch, and the steps from one batch to the next. Only this module knows the positions of the fields.

All magics begin with offset, length, four bytes, magic. This module knows the rest of magic 2, and as much of magic 0
and 1 as a walk needs. ``chain_columns.py`` does the same with numpy; the tests compare the two. Sources: KIP-98;
``Records``, ``DefaultRecordBatch``, ``LegacyRecord`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from struct import Struct, calcsize

from kafka_tools.protocol.enums import (
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
)

Buffer = bytes | bytearray | memoryview

FIELDS = (
    ("base_offset", "q"),
    ("length", "i"),
    ("leader_epoch", "i"),
    ("magic", "b"),
    ("crc", "I"),
    ("attributes", "h"),
    ("last_offset_delta", "i"),
    ("base_timestamp", "q"),
    ("max_timestamp", "q"),
    ("producer_id", "q"),
    ("producer_epoch", "h"),
    ("base_sequence", "i"),
    ("record_count", "i"),
)
"""The header of a magic 2 batch: (name, type as in ``struct``), big-endian, without gaps."""


def _layout(first: str, last: str) -> Struct:
    names = [name for name, _ in FIELDS]
    part = FIELDS[names.index(first) : names.index(last) + 1]
    return Struct(">" + "".join(kind for _, kind in part))


_SIZES = [calcsize(">" + kind) for _, kind in FIELDS]
POSITIONS = {name: end - size for (name, _), size, end in zip(FIELDS, _SIZES, accumulate(_SIZES), strict=True)}
"""The position of each field of the header, in bytes from the start of the batch."""

HEADER = _layout("base_offset", "record_count")
HEADER_BYTES = HEADER.size
PREFIX = _layout("base_offset", "length")
PREFIX_BYTES = PREFIX.size
"""Every magic starts with offset and length. The length counts the bytes after it."""
UP_TO_MAGIC = _layout("base_offset", "magic")
FROM_ATTRIBUTES = _layout("attributes", "record_count")

LENGTH_POSITION = POSITIONS["length"]
EPOCH_POSITION = POSITIONS["leader_epoch"]
MAGIC_POSITION = POSITIONS["magic"]
CRC_POSITION = POSITIONS["crc"]
CRC_FROM = ATTRIBUTES_POSITION = POSITIONS["attributes"]
"""The CRC covers everything from here (the attributes) to the end of the batch."""
FLAGS_POSITION = ATTRIBUTES_POSITION + 1
"""The byte of the attributes that contains all bits with a meaning."""
BODY_IN_COVERED = HEADER_BYTES - CRC_FROM
"""The position of the records in the bytes that the CRC covers."""
MAX_TIMESTAMP_POSITION = POSITIONS["max_timestamp"]

ATTRIBUTE_BITS = CODEC_BITS | LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT
"""The attributes that have a meaning."""

RECORD_OVERHEAD_BYTES = 21
"""The most bytes that magic 2 adds to a record's key, value and headers (``DefaultRecord.MAX_RECORD_OVERHEAD``)."""

LEGACY_HEADER = Struct(">qiIbb")
"""The header of a magic 0 or 1 message: offset, length, crc, magic, attributes. Magic 1 adds an int64 timestamp."""
LEGACY_BYTES = (26, 34)
"""The sizes of the smallest messages of magic 0 and 1, without key and value. The last eight bytes are their sizes."""
LEGACY_CRC_POSITION = PREFIX_BYTES
LEGACY_CRC_FROM = MAGIC_POSITION
LEGACY_TIMESTAMP_POSITION = LEGACY_HEADER.size

LEAST_LENGTH = LEGACY_BYTES[0] - PREFIX_BYTES
"""The smallest length that Kafka accepts (the overhead of a magic 0 message)."""

_NONE = 1 << 31
"""A length that no batch has."""
_LEAST = (LEAST_LENGTH, LEGACY_BYTES[1] - PREFIX_BYTES, HEADER_BYTES - PREFIX_BYTES)
OF_ANY_MAGIC = (LEAST_LENGTH,) * 256
OF_FILES = (*_LEAST, *_LEAST[2:] * 125, *(LEAST_LENGTH,) * 128)
"""As in Kafka's reader of files: a magic above 2 is read as 2, and 128 and above are negative numbers in Java."""
OF_KNOWN_MAGIC = (*_LEAST, *(_NONE,) * 253)
OF_MAGIC_2 = (_NONE, _NONE, _LEAST[2], *(_NONE,) * 253)

_LENGTH_AND_MAGIC = Struct(">i4xB")
_LENGTH = Struct(">i")
_OFFSETS = Struct(">q8xb6xi")  # base offset, magic, last offset delta
OFFSETS_BYTES = _OFFSETS.size
"""The bytes of a header that contain its offsets."""


def follow(
    buffer: Buffer, at: int = 0, end: int | None = None, least: Sequence[int] = OF_FILES
) -> tuple[list[int], int]:
    """The starts of successive batches from ``at`` on, and the end of the last one.

    Each batch ends by ``end``, which may be beyond the buffer, because only headers are read. ``least`` contains the
    smallest length for each magic (``OF_FILES``...). The caller examines the bytes where the walk stops: a tail,
    damage, or a batch that extends beyond the end.
    """
    starts: list[int] = []
    append, length_and_magic = starts.append, _LENGTH_AND_MAGIC.unpack_from
    last = len(buffer) - MAGIC_POSITION - 1
    if end is None:
        end = len(buffer)
    while at <= last:
        length, magic = length_and_magic(buffer, at + LENGTH_POSITION)
        after = at + PREFIX_BYTES + length
        if length < least[magic] or after > end:
            break
        append(at)
        at = after
    return starts, at


def size_at(buffer: Buffer, at: int = 0) -> int:
    """The size in bytes that the batch at ``at`` claims, possible or not. The buffer must contain its prefix."""
    return PREFIX_BYTES + int(_LENGTH.unpack_from(buffer, at + LENGTH_POSITION)[0])


def offsets_at(buffer: Buffer, at: int = 0) -> tuple[int, int]:
    """(first, last offset) of the batch at ``at``, from OFFSETS_BYTES. Below magic 2 both are the message's offset."""
    base_offset, magic, delta = _OFFSETS.unpack_from(buffer, at)
    return base_offset, base_offset + delta if magic >= 2 else base_offset
