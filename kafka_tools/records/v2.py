"""Magic 2: the layout of a batch's header, and the loop over its records.

The loop is the scalar reference for ``columns``. Source: ``org.apache.kafka.common.record.DefaultRecordBatch``
and ``DefaultRecord``.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.primitives import Buffer, read_varint, read_varlong
from kafka_tools.records.record import Record

HEADER = Struct(">qiibIhiqqqhii")
"""base offset, length, leader epoch, magic, crc, attributes, last offset delta, base timestamp, max timestamp,
producer id, producer epoch, base sequence, record count."""
HEADER_BYTES = HEADER.size
CRC_POSITION = 17
CRC_COVERS_FROM = 21
LARGEST_SEQUENCE = 2**31 - 1


def sequence_at(base_sequence: int, index: int) -> int:
    """The sequence of a batch's record ``index``: 0 follows the largest int32. -1 where there is none."""
    if base_sequence < 0:
        return -1
    return (base_sequence + index) & LARGEST_SEQUENCE


def iterate_records(
    body: Buffer,
    count: int,
    *,
    base_offset: int,
    base_timestamp: int,
    base_sequence: int = -1,
    append_time_ms: int | None = None,
) -> Iterator[Record]:
    """The records of an uncompressed body. ``append_time_ms`` replaces every timestamp (LogAppendTime).

    Raises CorruptBatch at the first record that is impossible, and when bytes are left over after ``count``.
    """
    position = 0
    end = len(body)
    for index in range(count):
        start = position
        try:
            length, position = read_varint(body, position)
            if length < 0 or length > end - position:
                raise CorruptBatch(f"record {index} of {count} claims {length} bytes, but {end - position} are left")
            record_end = position + length
            position += 1  # attributes, unused
            timestamp_delta, position = read_varlong(body, position)
            offset_delta, position = read_varint(body, position)
            key, position = _nullable_bytes(body, position, record_end)
            value, position = _nullable_bytes(body, position, record_end)
            header_count, position = read_varint(body, position)
            if header_count < 0 or header_count > record_end - position:
                raise CorruptBatch(f"record {index} of {count} claims {header_count} headers")
            headers = []
            for _ in range(header_count):
                name, position = _nullable_bytes(body, position, record_end)
                if name is None:
                    raise CorruptBatch(f"record {index} of {count} has a header without a name")
                header_value, position = _nullable_bytes(body, position, record_end)
                headers.append((name.decode("utf-8", "replace"), header_value))
        except (IndexError, ValueError) as error:
            raise CorruptBatch(f"record {index} of {count} is cut short or malformed") from error
        if position != record_end:
            raise CorruptBatch(
                f"record {index} of {count} is {length} bytes long, but its fields take {position - start}"
            )
        yield Record(
            base_offset + offset_delta,
            base_timestamp + timestamp_delta if append_time_ms is None else append_time_ms,
            key,
            value,
            tuple(headers),
            sequence_at(base_sequence, index),
        )
    if position != end:
        raise CorruptBatch(f"{end - position} bytes follow the last of {count} records")


def _nullable_bytes(body: Buffer, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = read_varint(body, position)
    if size < 0:
        return None, position
    if size > end - position:
        raise CorruptBatch(f"a field claims {size} bytes, but {end - position} are left in its record")
    return bytes(body[position : position + size]), position + size
