"""The LZ4 frame header as Kafka writes and reads it, and the checksum in it.

Kafka before magic 2 computed the header checksum over the wrong bytes (the frame's magic number included),
which no LZ4 library accepts: ``with_standard_checksum`` and ``with_old_checksum`` change that one byte
(KAFKA-3160; ``Lz4BlockInputStream``). The blocks themselves are the library's business.
"""

from __future__ import annotations

from kafka_tools.errors import CorruptBatch

MAGIC = b"\x04\x22\x4d\x18"
_CONTENT_SIZE = 0x08
_DICTIONARY_ID = 0x01
_MASK = 0xFFFFFFFF
_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)


def xxh32(data: bytes, seed: int = 0) -> int:
    """xxHash-32 of a few bytes (a frame header has at most 19)."""
    one, two, three, four, five = _PRIMES
    position, length = 0, len(data)
    if length >= 16:
        lanes = [seed + one + two, seed + two, seed, seed - one]
        while position + 16 <= length:
            for lane in range(4):
                word = int.from_bytes(data[position : position + 4], "little")
                lanes[lane] = _rotate((lanes[lane] + word * two) & _MASK, 13) * one & _MASK
                position += 4
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    else:
        value = (seed + five) & _MASK
    value = (value + length) & _MASK
    while position + 4 <= length:
        word = int.from_bytes(data[position : position + 4], "little")
        value = _rotate((value + word * three) & _MASK, 17) * four & _MASK
        position += 4
    for byte in data[position:]:
        value = _rotate((value + byte * five) & _MASK, 11) * one & _MASK
    value = (value ^ (value >> 15)) * two & _MASK
    value = (value ^ (value >> 13)) * three & _MASK
    return value ^ (value >> 16)


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK


def _checksum_position(frame: bytes) -> int:
    if len(frame) < 7 or frame[:4] != MAGIC:
        raise CorruptBatch("the lz4 data do not start with an LZ4 frame header")
    flags = frame[4]
    position = 6 + (8 if flags & _CONTENT_SIZE else 0) + (4 if flags & _DICTIONARY_ID else 0)
    if position >= len(frame):
        raise CorruptBatch("the lz4 data end inside the LZ4 frame header")
    return position


def with_standard_checksum(frame: bytes) -> bytes:
    """The frame with the header checksum of the LZ4 frame format. Raises CorruptBatch if it has another one
    than either the standard or Kafka's old one."""
    at = _checksum_position(frame)
    standard = xxh32(frame[4:at]) >> 8 & 0xFF
    if frame[at] == standard:
        return frame
    if frame[at] != xxh32(frame[:at]) >> 8 & 0xFF:
        raise CorruptBatch("the checksum of the LZ4 frame header does not match")
    return frame[:at] + bytes((standard,)) + frame[at + 1 :]


def with_old_checksum(frame: bytes) -> bytes:
    """The frame with the header checksum that magic 0 carries."""
    at = _checksum_position(frame)
    return frame[:at] + bytes((xxh32(frame[:at]) >> 8 & 0xFF,)) + frame[at + 1 :]
