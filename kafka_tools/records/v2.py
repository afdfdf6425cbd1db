"""Magic 2: the loop over the records after a batch's header (``chain``).

Plain functions over a buffer and ints, without objects except the records. ``columns.py`` does the same with numpy;
the tests compare the two. Source: KIP-98; ``DefaultRecordBatch``, ``DefaultRecord``.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.primitives import read_varint, read_varlong
from kafka_tools.records.record import Headers, Record
from kafka_tools.records.text import java_text

_INT64 = 1 << 63
_MAX_SEQUENCE = 0x7FFFFFFF
NO_SEQUENCE = -1
_new = tuple.__new__


def sequence_after(sequence: int, increment: int) -> int:
    """The sequence ``increment`` records later; 0 follows 2147483647. Damaged numbers overflow as in Java."""
    if sequence > _int32(_MAX_SEQUENCE - increment):
        return _int32(increment - _int32(_MAX_SEQUENCE - sequence) - 1)
    return _int32(sequence + increment)


def _int32(value: int) -> int:
    return value if -_MAX_SEQUENCE <= value <= _MAX_SEQUENCE else (value + (1 << 31)) % (1 << 32) - (1 << 31)


def read_records(
    body: bytes,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_time_ms: int | None,
    base_sequence: int,
) -> Iterator[Record]:
    """The ``count`` records of a decompressed body, one by one.

    ``append_time_ms`` replaces the records' own timestamps (LogAppendTime). Raises CorruptBatch at the first unreadable
    record, after yielding the records before it. Bytes after the last record are an error of that record.
    """
    # Calls of ``read_varint`` take time, so numbers of one and two bytes are read here.
    position, end = 0, len(body)
    if count < 0:
        raise CorruptBatch(f"the batch claims {count} records")
    # A smaller delta has one byte and is added without a check; near the limits of an int64 each sum may overflow.
    plain_deltas = 0x80 if -_INT64 + 64 <= base_timestamp < _INT64 - 64 else 0
    for number in range(count):
        try:
            size = body[position]
            if size < 0x80:
                size = (size >> 1) ^ -(size & 1)
                position += 1
            elif body[position + 1] < 0x80:
                size = size & 0x7F | body[position + 1] << 7
                size = (size >> 1) ^ -(size & 1)
                position += 2
            else:
                size, position = read_varint(body, position)
            stop = position + size
            if not position < stop <= end:
                raise CorruptBatch(
                    f"record {number} of the batch claims {size} bytes, but only {end - position} are left"
                )
            position += 1  # attributes, whose bits have no meaning yet
            byte = body[position]
            if byte < plain_deltas:
                timestamp = base_timestamp + ((byte >> 1) ^ -(byte & 1))
                position += 1
            else:
                delta, position = read_varlong(body, position)
                timestamp = base_timestamp + delta
                if not -_INT64 <= timestamp < _INT64:
                    timestamp = (timestamp + _INT64) % (2 * _INT64) - _INT64  # wraps as Java's long does
            byte = body[position]
            if byte < 0x80:
                delta = (byte >> 1) ^ -(byte & 1)
                position += 1
            elif body[position + 1] < 0x80:
                delta = byte & 0x7F | body[position + 1] << 7
                delta = (delta >> 1) ^ -(delta & 1)
                position += 2
            else:
                delta, position = read_varint(body, position)
            size = body[position]
            if size < 0x80:
                size = (size >> 1) ^ -(size & 1)
                position += 1
            else:
                size, position = read_varint(body, position)
            if size >= 0:
                start = position
                position += size
                key: bytes | None = body[start:position]
            else:
                key = None
            size = body[position]
            if size < 0x80:
                size = (size >> 1) ^ -(size & 1)
                position += 1
            elif body[position + 1] < 0x80:
                size = size & 0x7F | body[position + 1] << 7
                size = (size >> 1) ^ -(size & 1)
                position += 2
            else:
                size, position = read_varint(body, position)
            if size >= 0:
                start = position
                position += size
                value: bytes | None = body[start:position]
            else:
                value = None
            if position < stop and not body[position]:
                headers: Headers = ()
                position += 1
            else:
                headers, position = read_headers(body, position, stop)
        except (IndexError, ValueError) as error:
            raise CorruptBatch(f"record {number} of the batch is truncated or contains an invalid number") from error
        if position != stop:
            raise CorruptBatch(
                f"record {number} of the batch differs by {position - stop:+} bytes from the size that it claims"
            )
        if stop != end and number == count - 1:
            raise CorruptBatch(f"{end - stop} bytes follow the {count} records of the batch")
        sequence = base_sequence + delta if base_sequence >= 0 else NO_SEQUENCE
        if sequence > _MAX_SEQUENCE or delta < 0:
            sequence = sequence_after(base_sequence, delta) if base_sequence >= 0 else NO_SEQUENCE
        yield _new(
            Record,
            (
                base_offset + delta,
                timestamp if append_time_ms is None else append_time_ms,
                key,
                value,
                headers,
                sequence,
                None,
                None,
            ),
        )


def read_headers(body: bytes, position: int, stop: int) -> tuple[Headers, int]:
    """(headers, position after them) of a record that ends at ``stop``.

    Raises CorruptBatch, or IndexError and ValueError from the numbers.
    """
    count, position = read_varint(body, position)
    if not 0 <= count <= (stop - position) // 2:  # a header takes at least two bytes
        raise CorruptBatch(f"a record claims {count} headers in {stop - position} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, position = read_varint(body, position)
        if not 0 <= size <= stop - position:
            raise CorruptBatch(f"a header name of {size} bytes is longer than the remaining {stop - position} bytes")
        name = java_text(body[position : position + size])
        position += size
        size, position = read_varint(body, position)
        if size > stop - position:
            raise CorruptBatch(f"a header value of {size} bytes is longer than the remaining {stop - position} bytes")
        if size < 0:
            headers.append((name, None))
        else:
            headers.append((name, body[position : position + size]))
            position += size
    return tuple(headers), position
