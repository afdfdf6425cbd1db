"""The LZ4 frame header as Kafka writes and reads it, and the checksum in it.

Before magic 2, Kafka computed the header checksum over the wrong bytes (including the frame's magic number). No LZ4
library accepts it. ``with_standard_checksum`` and ``with_old_checksum`` change that one byte (KAFKA-3160;
``Lz4BlockInputStream``). The library processes the blocks.
"""

from __future__ import annotations

from kafka_tools.errors import CorruptBatch

MAGIC = b"\x04\x22\x4d\x18"
_CONTENT_SIZE = 0x08
_DICTIONARY_ID = 0x01


def _checksum(header: bytes) -> int:
    """The second lowest byte of the header's xxHash-32."""
    from xxhash import xxh32_intdigest

    return int(xxh32_intdigest(header)) >> 8 & 0xFF


def _checksum_position(frame: bytes) -> int:
    if len(frame) < 7 or frame[:4] != MAGIC:
        raise CorruptBatch("the lz4 data do not start with an LZ4 frame header")
    flags = frame[4]
    position = 6 + (8 if flags & _CONTENT_SIZE else 0) + (4 if flags & _DICTIONARY_ID else 0)
    if position >= len(frame):
        raise CorruptBatch("the lz4 data end inside the LZ4 frame header")
    return position


def with_standard_checksum(frame: bytes) -> bytes:
    """The frame with the header checksum of the LZ4 frame format. Raises CorruptBatch if the frame has neither that
    checksum nor Kafka's old one."""
    at = _checksum_position(frame)
    standard = _checksum(frame[4:at])
    if frame[at] == standard:
        return frame
    if frame[at] != _checksum(frame[:at]):
        raise CorruptBatch("the checksum of the LZ4 frame header does not match")
    return frame[:at] + bytes((standard,)) + frame[at + 1 :]


def with_old_checksum(frame: bytes) -> bytes:
    """The frame with the header checksum of magic 0."""
    at = _checksum_position(frame)
    return frame[:at] + bytes((_checksum(frame[:at]),)) + frame[at + 1 :]
