"""``records.check`` by columns: all records of a body together. A module of its own, because numpy takes long to load.

Each step costs a microsecond, and half a microsecond more in a busy broker, whose caches do not contain the code.
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
"""From so many records of so few bytes on average on, all edges are found faster together than one after the other: a
produce request of 570 records takes 6 % less CPU time (``python -m benchmarks.requests --without edges``). In larger
bodies that takes fresh memory from the system, which costs more.
"""


def in_columns(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """``ordinary`` by columns; None also for lengths of more than two bytes."""
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
        at += 2  # behind the length and a byte of attributes
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
        at += blob(keys if keys.tobytes().isascii() else pairs[at])  # behind the key
        at += blob(pairs[at])  # behind the value
        headers = take(at)
        at += 1
        if headers.any() and not _pass_headers(body, headers, at):
            return None
        if at.tobytes() != begin[1:].tobytes():
            return None
    except (IndexError, Unusual):  # an index: a length that is longer than the tables know, or beyond the body
        return None
    return Ordinary(least, most, null_key)


def _pass_headers(body: bytes, counts: NDArray[np.uint8], at: Column) -> bool:
    """Move ``at`` behind the headers, of which there are ``counts`` (zig-zag); False if they are not ordinary."""
    if np.any(counts & 0x81):
        return False
    numbers = Numbers(memoryview(body + b"\0"))  # an empty value may be the last byte of all
    pairs, take, blob = numbers.pairs, numbers.bytes.take, _blob().take
    left = counts >> 1
    for number in range(int(left.max())):
        rows = np.flatnonzero(left > number)
        behind = at[rows]
        if 1 in take(behind).tobytes():  # a name that is null
            return False
        behind += blob(pairs[behind])
        behind += blob(pairs[behind])
        at[rows] = behind
    return True


def _edges(numbers: Numbers, count: int, start: int) -> Column | None:
    """The start of each of ``count`` records, and the end of the last one, if that can be found this quickly.

    A record without headers ends with a zero, and the next one has a length of one or two bytes and again a zero. That
    this is found ``count`` - 1 times, and that each length leads to the next, makes it certain.
    """
    end = len(numbers.bytes)
    if count < _EDGES_FROM or end - start > min(_EDGES_TO_BYTES * count, _EDGES_TO):
        return None
    first_end = start + int(numbers.step[numbers.pairs[start]]) - 1
    if numbers.bytes[first_end] or numbers.bytes[-1]:  # a quick look: the first or the last one has headers
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
    """The same record by record. None if they do not fill the body."""
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
    # By way of bytes: numpy takes three times as long to make a column of a list.
    return np.frombuffer(struct.pack(f"{count + 1}q", *starts), np.int64)


@cache
def _lengths() -> list[list[int]]:
    """How far it is from one record to the next, by the first two bytes of its length; no second one is too long."""
    short, long = steps()
    return [[step] * 0x100 for step in short] + long[0x80:]


@cache
def _blob() -> NDArray[np.int64]:
    """By pairs of bytes that a key or a value begins with: how far it is to what is behind it."""
    value, length, _ = tables()
    behind = np.where((length > 0) & (value >= 0), length + value, FAR_AWAY)
    return np.where((length == 1) & (value == -1), 1, behind)  # null in two bytes is left to the reference
