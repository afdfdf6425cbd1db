"""``records.check`` with numpy: all records of a body together. A separate module, because numpy is slow to load.

Each step takes a microsecond, and half a microsecond more in a busy broker, whose caches do not contain the code.
"""

from __future__ import annotations

import struct
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from kafka_tools.records.ordinary import FAR_AWAY, TWO_BYTES, Ordinary, bounds, offset_bytes, steps
from kafka_tools.records.varint_columns import Numbers, Unusual, tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.records.columns import Column


_EDGES_FROM, _EDGES_TO_BYTES, _EDGES_TO = 256, 160, 256 * 1024
"""The limits (minimum records, maximum average bytes, maximum body) within which all edges are found together. A
produce request of 570 records then takes 6 % less CPU time (``python -m benchmarks.requests --without edges``). Larger
bodies need fresh memory from the system, which costs more.
"""


def in_columns(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """``ordinary`` by columns. Also returns None for lengths of more than two bytes."""
    numbers = Numbers(memoryview(body))
    pairs, take, blob = numbers.pairs, numbers.bytes.take, _blob().take
    try:
        begin = _edges(numbers, count, start)
        if begin is None:
            begin = _chain(body, count, start)
        if begin is None:
            return None
        at = begin[:-1]
        at = at + (take(at) >> 7)
        at += 2  # after the length and a byte of attributes
        times = take(at).tobytes()
        if times.isascii():
            least, most = bounds(set(times))
            at += 1
        else:
            deltas, at = numbers.read(at, 9)
            least, most = int(np.minimum.reduce(deltas)), int(np.maximum.reduce(deltas))
        if count <= TWO_BYTES:
            lows, highs = offset_bytes()
            if take(at).tobytes() != lows[:count] or take(at[64:] + 1).tobytes() != highs[64:count]:
                return None
            at += 1
            at[64:] += 1
        else:
            offsets, at = numbers.read(at, 5)
            if not np.array_equal(offsets, np.arange(count)):
                return None
        keys = take(at)
        null_key = 1 in keys.tobytes()
        at += blob(keys if keys.tobytes().isascii() else pairs[at])  # after the key
        at += blob(pairs[at])  # after the value
        headers = take(at)
        at += 1
        if headers.any() and not _pass_headers(body, headers, at):
            return None
        if at.tobytes() != begin[1:].tobytes():
            return None
    except (IndexError, Unusual):  # IndexError: a length that the tables do not cover, or beyond the body
        return None
    return Ordinary(least, most, null_key)


def _pass_headers(body: bytes, counts: NDArray[np.uint8], at: Column) -> bool:
    """Move ``at`` to the end of the headers. ``counts``: their number, zig-zag. False if they are not ordinary."""
    if np.any(counts & 0x81):
        return False
    numbers = Numbers(memoryview(body + b"\0"))  # an empty value may be the last byte of the body
    pairs, take, blob = numbers.pairs, numbers.bytes.take, _blob().take
    left = counts >> 1
    for number in range(int(left.max())):
        rows = np.flatnonzero(left > number)
        behind = at[rows]
        if 1 in take(behind).tobytes():  # a null name
            return False
        behind += blob(pairs[behind])
        behind += blob(pairs[behind])
        at[rows] = behind
    return True


def _edges(numbers: Numbers, count: int, start: int) -> Column | None:
    """The start of each of ``count`` records, and the end of the last one. None if this fast search does not find them.

    A record without headers ends with a zero, and the next one starts with a length of one or two bytes and a zero. The
    result is certain if there are ``count`` - 1 such places, and each length leads to the next one.
    """
    end = len(numbers.bytes)
    if count < _EDGES_FROM or end - start > min(_EDGES_TO_BYTES * count, _EDGES_TO):
        return None
    first_end = start + int(numbers.step[numbers.pairs[start]]) - 1
    if numbers.bytes[first_end] or numbers.bytes[-1]:  # fast check: the first or the last record has headers
        return None
    zero = numbers.bytes[first_end:] == 0
    ends = zero[2:-1] | zero[3:]
    ends &= zero[:-3]
    edges = ends.nonzero()[0]
    if len(edges) != count - 1:
        return None
    begin = np.empty(count + 1, np.int64)
    begin[0], begin[-1] = start, end
    begin[1:-1] = edges
    begin[1:-1] += first_end + 1
    at = begin[:-1]
    return begin if (at + numbers.step.take(numbers.pairs[at])).tobytes() == begin[1:].tobytes() else None


def _chain(body: bytes, count: int, start: int) -> Column | None:
    """As ``_edges``, but record by record. None if the records do not fill the body."""
    position = start
    starts = [start]
    append = starts.append
    lengths = _lengths()
    try:
        for _ in repeat(None, count):
            position += lengths[body[position]][body[position + 1]]
            append(position)
    except IndexError:  # beyond the body, or a length of more than two bytes or below zero
        return None
    if position != len(body):
        return None
    # Converts to bytes first, because numpy takes three times as long to convert a list.
    return np.frombuffer(struct.pack(f"{count + 1}q", *starts), np.int64)


@cache
def _lengths() -> list[list[int]]:
    """The distance from one record to the next, by the first two bytes of its length."""
    short, long = steps()
    return [[step] * 0x100 for step in short] + long[0x80:]


@cache
def _blob() -> NDArray[np.int64]:
    """The distance to the end of a key or a value, by its first two bytes."""
    value, length, _ = tables()
    behind = np.where((length > 0) & (value >= 0), length + value, FAR_AWAY)
    return np.where((length == 1) & (value == -1), 1, behind)  # null in two bytes is left to the reference
