"""Whether a batch's body contains exactly the records that it claims, in the usual encoding.

Every produce request calls ``ordinary``. The reference is ``v2.read_records``, and ``walk`` does the same faster, one
record after the other. Three functions check many records together: ``in_runs`` records of the same lengths,
``without_keys`` records without key and headers, and ``check_columns.in_columns`` any records. All of them return None
for unusual records: damage, offsets that do not count 0, 1, 2, lengths below -1, or numbers out of range. The
reference then decides.

Without one of the three, a whole produce request takes more of the broker's CPU time
(``python -m benchmarks.requests --without runs keyless columns``):

- without ``in_runs``: 78 % more for 570 equal records of 100 bytes, 10 % for 60 of 1,000 bytes
- without ``without_keys``: 12 % more for 100 records of 150 bytes, 4 % for 60 of 1,000 bytes
- without ``in_columns``: twice as much for 570 records of varied size, 60 % more if they are compressed
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kafka_tools.protocol.primitives import read_unsigned_varint, read_varint, read_varlong
from kafka_tools.records.ordinary import TWO_BYTES, Ordinary, bounds, offset_bytes, steps

COLUMNS_FROM = 128
"""From this many records on columns are faster than the loop.

Measured in a busy broker: 60 to 90 µs plus 0.2 µs per record, and 0.65 µs per record for the loop. With everything in
the processor's caches, columns would take 25 µs instead of 60 to 90 µs.
"""
MOST_IN_COLUMNS = 100_000
"""If there are more records, they are tiny, and their columns would be larger than the batch."""
TOGETHER_FROM = 8
"""Checking fewer records together saves no time."""
_RUN = 32
"""The shortest run of one shape in a longer batch. Each run costs as much as ten records in the loop."""
_KEYLESS_BYTES = 128
"""If records are shorter than this on average, the lengths of some have only one byte."""


def ordinary(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """The properties of ``count`` ordinary records of magic 2, if ``body`` from ``start`` on (decompressed) is exactly
    these.
    """
    if not 0 < count <= len(body) - start:
        return None
    found = None
    if TOGETHER_FROM <= count <= TWO_BYTES:
        found = in_runs(body, count, start) or without_keys(body, count, start)
    if found is None and COLUMNS_FROM <= count <= MOST_IN_COLUMNS:
        found = _columns()(body, count, start)
    return found or walk(body, count, start)


@cache
def _columns() -> Callable[[bytes, int, int], Ordinary | None]:
    from kafka_tools.records.check_columns import in_columns  # numpy: 0.1 s when it is loaded

    return in_columns


def in_runs(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """``ordinary``, for runs of records of the same lengths, as load tools write them.

    Decodes only the first record of a run. Compares each byte of its lengths in all records of the run together. Also
    returns None for short runs and for records with headers.
    """
    if not _begins_alike(body, start):
        return None
    position, number, end = start, 0, len(body)
    deltas: set[int] = set()
    null_key = False
    lows, highs = offset_bytes()
    try:
        while number < count:
            size, lengths, offset_at, is_null = _shape(body, position, 1 if number < 64 else 2)
            most = min(count - number, (64 if number < 64 else TWO_BYTES) - number)
            run = min(most, (end - position) // size)
            for at in lengths:
                column = body[position + at : position + run * size : size]
                run -= len(column.lstrip(column[:1]))
            if run < min(most, _RUN):
                return None
            stop, behind = position + run * size, number + run
            times = body[position + offset_at - 1 : stop : size]
            if not times.isascii() or body[position + offset_at : stop : size] != lows[number:behind]:
                return None
            if number >= 64 and body[position + offset_at + 1 : stop : size] != highs[number:behind]:
                return None
            deltas.update(times)
            null_key = null_key or is_null
            position, number = stop, behind
    except (IndexError, ValueError):
        return None
    return Ordinary(*bounds(deltas), null_key) if position == end else None


def _begins_alike(body: bytes, start: int) -> bool:
    """Whether the second record is as long as the first: a fast check, before a slower one."""
    short, long = steps()
    try:
        size = body[start]
        second = start + (short[size] if size < 0x80 else long[size][body[start + 1]])
        return body[second : second + 2] == body[start : start + 2]
    except IndexError:
        return False


def _shape(body: bytes, start: int, offset_bytes: int) -> tuple[int, list[int], int, bool]:
    """For a record without headers: (size, positions of its lengths, position of its offset, whether the key is null).

    Positions count from the record's start. Raises ValueError or IndexError for any other record.
    """
    size, attributes_at = body[start], start + 1
    if size >= 0x80:
        size, attributes_at = read_unsigned_varint(body, start)
    offset_at = attributes_at + 2  # after the attributes and a time of one byte
    key_at = offset_at + offset_bytes
    key_length, key_start = body[key_at], key_at + 1
    if key_length >= 0x80:
        key_length, key_start = read_unsigned_varint(body, key_at)
    value_at = key_start if key_length == 1 else key_start + (key_length >> 1)
    value_length, value_start = read_unsigned_varint(body, value_at)
    headers_at = value_start if value_length == 1 else value_start + (value_length >> 1)
    is_null = key_length == 1
    odd = size & 1 or (key_length & 1 and body[key_at] != 1) or (value_length & 1 and body[value_at] != 1)
    if odd or body[headers_at] or headers_at + 1 != attributes_at + (size >> 1):
        raise ValueError
    lengths = [*range(start, attributes_at), *range(key_at, key_start), *range(value_at, value_start), headers_at]
    return headers_at + 1 - start, [at - start for at in lengths], offset_at - start, is_null


def without_keys(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """``ordinary``, for records without key and headers, and with lengths of two bytes (64 bytes to 8 KB).

    Reads each record once, to compare the lengths of record and value. Then compares the other bytes before the
    values, and the last byte of each record, in all records together.
    """
    if len(body) - start < _KEYLESS_BYTES * count or body[start + 5] != 1:
        return None
    _, long = steps()
    lows, highs = offset_bytes()
    position = start
    times = b""
    seen = b"\0" + body[start : start + 9]  # the last byte of the record before, and the first nine
    try:
        for first, last, value_at in ((0, min(count, 64), 7), (64, count, 8)):  # after an offset of one or two bytes
            parts: list[bytes] = []
            add = parts.append
            for _ in range(first, last):
                add(seen)
                size = long[seen[1]][seen[2]]
                if value_at + long[seen[value_at]][seen[value_at + 1]] != size:
                    return None
                position += size
                seen = body[position - 1 : position + 9]
            lanes = b"".join(parts)
            if any(lanes[::10]) or lanes[5::10] != lows[first:last] or (first and lanes[6::10] != highs[first:last]):
                return None
            if lanes[value_at - 1 :: 10].count(1) * 10 != len(lanes):
                return None
            times += lanes[4::10]
    except IndexError:  # a length of one byte, or of more than two; the end of the body
        return None
    return Ordinary(*bounds(set(times)), True) if position == len(body) and times.isascii() and not body[-1] else None


def walk(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """``ordinary``, record by record. Numbers of one byte, and lengths of two, are decoded in place or by tables."""
    times = bytearray()
    position = start
    null_key = False
    long_times: list[int] = []
    note = times.append
    short, long = steps()
    lows, highs = offset_bytes()
    try:
        for number in range(count):
            size = body[position]
            if size < 0x80:
                stop = position + short[size]
                position += 2  # includes the attributes, whose bits have no meaning
            elif (high := body[position + 1]) < 0x80:
                stop = position + long[size][high]
                position += 3
            else:
                longer, position = read_varint(body, position)
                stop = position + longer
                position += 1
            delta = body[position]
            if delta < 0x80:
                note(delta)
                position += 1
            else:
                delta, position = read_varlong(body, position)
                long_times.append(delta)
            if number < 64:
                if body[position] != number << 1:
                    return None
                position += 1
            elif number < TWO_BYTES and body[position] == lows[number] and body[position + 1] == highs[number]:
                position += 2
            else:
                delta, position = read_varint(body, position)
                if delta != number:
                    return None
            size = body[position]
            if size == 1:
                null_key = True
                position += 1
            elif size < 0x80:
                position += short[size]
            else:
                size, position = read_varint(body, position)
                if size < 0:
                    return None
                position += size
            size = body[position]
            if size < 0x80:
                position += 1 if size == 1 else short[size]
            elif (high := body[position + 1]) < 0x80:
                position += long[size][high]
            else:
                longer, position = read_varint(body, position)
                if longer < 0:
                    return None
                position += longer
            if body[position]:
                position = _behind_headers(body, position, stop)
            else:
                position += 1
            if position != stop:
                return None
    except (IndexError, ValueError):  # IndexError: beyond the body, or a length below zero
        return None
    if position != len(body):
        return None
    deltas = [(delta >> 1) ^ -(delta & 1) for delta in set(times)] + long_times
    return Ordinary(min(deltas), max(deltas), null_key)


def _behind_headers(body: bytes, position: int, stop: int) -> int:
    """The position after a record's headers, -1 if they are not ordinary."""
    count, position = read_varint(body, position)
    if not 0 <= count <= (stop - position) // 2:  # a header takes at least two bytes
        return -1
    for _ in range(count):
        size = body[position]
        if size < 0x80 and not size & 1:
            position += 1 + (size >> 1)
        else:
            size, position = read_varint(body, position)
            if size < 0:
                return -1
            position += size
        size = body[position]
        if size < 0x80 and (size == 1 or not size & 1):
            position += 1 + (size >> 1)
        else:
            size, position = read_varint(body, position)
            if size < -1:
                return -1
            position += max(size, 0)
    return position
