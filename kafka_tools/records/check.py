"""Whether a batch's body holds exactly the records it claims, in the usual encoding: asked by every produce request.

There are five ways. ``in_runs`` checks records of one shape together, ``plain`` and ``in_columns`` (each in its own
module) check all records at once, and ``walk`` checks one after the other. ``v2.read_records`` is the reference. The
first four return None for anything unusual, such as damage, offsets that do not count 0, 1, 2, lengths below -1, or
numbers out of range. The reference then decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kafka_tools.protocol.primitives import read_varint, read_varlong
from kafka_tools.records.ordinary import TWO_BYTES, Ordinary, bounds, offset_bytes, steps
from kafka_tools.records.plain import plain

COLUMNS_FROM = 128
"""From this many records on columns are faster than the loop.

Measured in a busy broker: 60 to 90 µs and 0.2 µs a record beside 0.65 µs. Alone, with all in the processor's caches,
columns would begin with 25 µs.
"""
RUNS_FROM = 8
"""Fewer records are not worth looking at together (measured: 8 µs for each run of one shape)."""
LONG_RUNS_FROM = 32
"""The same where columns would do."""
MOST_IN_COLUMNS = 100_000
"""More records are tiny, and their columns would be larger than the batch."""


def ordinary(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """Whether ``body`` from ``start`` on (decompressed) is exactly ``count`` ordinary records of magic 2, or None."""
    if not 0 < count <= len(body) - start:
        return None
    if count >= RUNS_FROM:
        found = in_runs(body, count, start) if _begins_alike(body, start) else None
        found = found or plain(body, count, start)
        if found is not None:
            return found
    if COLUMNS_FROM <= count <= MOST_IN_COLUMNS:
        found = _columns()(body, count, start)
        if found is not None:
            return found
    return walk(body, count, start)


@cache
def _columns() -> Callable[[bytes, int, int], Ordinary | None]:
    from kafka_tools.records.check_columns import in_columns  # numpy: 0.1 s when it is loaded

    return in_columns


def _begins_alike(body: bytes, start: int) -> bool:
    """Whether the second record is as long as the first: a quick look, for bodies that are not worth a longer one."""
    short, long = steps()
    try:
        size = body[start]
        second = start + (short[size] if size < 0x80 else long[size][body[start + 1]])
        return body[second : second + 2] == body[start : start + 2]
    except IndexError:
        return False


def in_runs(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """``ordinary``, where records follow one another whose lengths are the same: as programs write them.

    The first record of a run is looked at alone; of the others only the bytes that give it its shape, each in all
    records at once. Also None where runs are short, or records have headers.
    """
    position, number, end = start, 0, len(body)
    deltas: set[int] = set()
    null_key = False
    lows, highs = offset_bytes()
    least_run = RUNS_FROM if count < COLUMNS_FROM else LONG_RUNS_FROM
    while number < count:
        shape = _shape(body, position, number)
        if shape is None:
            return None
        size, fixed, time_at, offset_at = shape
        most = min(count - number, (64 if number < 64 else TWO_BYTES) - number)
        run = min(most, (end - position) // size)
        for at in fixed:
            column = body[position + at : position + run * size : size]
            run = run - len(column.lstrip(column[:1]))
        if run < min(most, least_run):
            return None
        stop = position + run * size
        times = body[position + time_at : stop : size]
        if not times.isascii() or body[position + offset_at : stop : size] != lows[number : number + run]:
            return None
        if number >= 64 and body[position + offset_at + 1 : stop : size] != highs[number : number + run]:
            return None
        deltas.update(times)
        null_key = null_key or body[position + fixed[-3]] == 1
        position, number = stop, number + run
    if position != end:
        return None
    return Ordinary(*bounds(deltas), null_key)


def _shape(body: bytes, start: int, number: int) -> tuple[int, list[int], int, int] | None:
    """Of a record with numbers of one byte and lengths of up to two: (size, where lengths, time and offset lie).

    Positions count from the record's start. The last lengths are those of key, value (its last byte) and headers.
    None for any other record.
    """
    try:
        at = 1 if body[start] < 0x80 else 2
        fixed = [0] if at == 1 else [0, 1]
        time_at = at + 1
        offset_at = at + 2
        key_at = offset_at + (1 if number < 64 else 2)
        key_size = body[start + key_at]
        value_at = key_at + 1 + (key_size >> 1)
        value_size = body[start + value_at]
        wide = value_size >= 0x80
        fixed += (value_at, key_at, value_at + 1) if wide else (key_at, value_at)
        if wide:
            value_size = value_size & 0x7F | body[start + value_at + 1] << 7
        headers_at = value_at + (2 if wide else 1) + (value_size >> 1)
        fixed.append(headers_at)
        size = body[start] if at == 1 else body[start] & 0x7F | body[start + 1] << 7
        if body[start + headers_at] or number >= TWO_BYTES or at + (size >> 1) != headers_at + 1:
            return None
        odd = key_size >= 0x80 or (key_size & 1 and key_size != 1) or (value_size & 1 and value_size != 1)
        return (
            None
            if odd or size & 1 or size > 0x3FFF or value_size > 0x3FFF
            else (headers_at + 1, fixed, time_at, offset_at)
        )
    except IndexError:
        return None


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
                position += 2  # with the attributes, of which no bit has a meaning
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
    except (IndexError, ValueError):  # an index: beyond the body, or a length below zero
        return None
    if position != len(body):
        return None
    deltas = [(delta >> 1) ^ -(delta & 1) for delta in set(times)] + long_times
    return Ordinary(min(deltas), max(deltas), null_key)


def _behind_headers(body: bytes, position: int, stop: int) -> int:
    """The position behind a record's headers, -1 if they are not ordinary."""
    count, position = read_varint(body, position)
    if not 0 <= count <= (stop - position) // 2:  # a header takes two bytes at least
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
