"""Variable-length integers of the wire and record formats, as plain functions over buffers; how long things are.

Readers take (buffer, position) and return (value, position after it). They raise IndexError past the
end of the buffer and ValueError for a number that is too long; whoever knows the context (codec,
records) turns those into its own error. Source: protocol guide, "Protocol Primitive Types";
``org.apache.kafka.common.utils.ByteUtils``.
"""

from __future__ import annotations

Buffer = bytes | bytearray | memoryview

MOST_STRING_BYTES = 0x7FFF
"""The maximum length of a string in requests and responses, in any version."""
MOST_ITEMS = 1_000_000
"""The maximum length of an array to read, as in Kafka 4.4 (``MessageUtil.MAX_ARRAY_LENGTH``)."""
MOST_TAGGED_FIELDS = 10_000
"""The maximum number in a struct to read, as in Kafka 4.4 (``MessageUtil.MAX_TAGGED_FIELD_COUNT``)."""


def fitting(text: str, behind: str) -> str:
    """A text with the ASCII text ``behind`` after it, cut so that both fit into a string."""
    return text.encode("utf-8", "surrogatepass")[: MOST_STRING_BYTES - len(behind)].decode("utf-8", "ignore") + behind


def read_unsigned_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """An unsigned 32-bit varint, at most 5 bytes."""
    byte = buffer[position]
    position += 1
    if byte < 0x80:
        return byte, position
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, position
    raise ValueError("varint is longer than 5 bytes")


def read_unsigned_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """An unsigned 64-bit varint, at most 10 bytes."""
    value = shift = 0
    while shift < 70:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
    raise ValueError("varlong is longer than 10 bytes")


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """A zig-zag 32-bit varint."""
    value, position = read_unsigned_varint(buffer, position)
    return (value >> 1) ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """A zig-zag 64-bit varint."""
    value, position = read_unsigned_varlong(buffer, position)
    return (value >> 1) ^ -(value & 1), position


def write_unsigned_varint(out: bytearray, value: int) -> None:
    """Append ``value`` (0 <= value) as an unsigned varint, 7 bits a byte, lowest first."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
