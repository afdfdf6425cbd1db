"""``records.check`` by columns: all records of a body at once. A module of its own, because numpy takes long to load.

The code follows the speed of numpy. It takes bytes from an aligned column six times as fast as pairs of bytes, and
compares two columns fastest as bytes. Each step costs a microsecond, and half a microsecond more in a busy broker,
whose caches do not contain the code.
"""

from __future__ import annotations

import struct
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_tools.records.ordinary import FAR_AWAY, TWO_BYTES, Ordinary, offset_bytes, steps
from kafka_tools.records.varint_columns import Numbers, Unusual, tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.records.columns import Column

_PAIR, _LANE, _EACH_BYTE = np.dtype("<u2"), np.dtype("<u8"), (1,)
_EDGES_FROM = 256
_EDGES_TO_BYTES = 160
"""From so many records of so few bytes on average on, all edges are found faster together than one after the other."""


def in_columns(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """``ordinary``, by columns of numbers of one and two bytes; also None where there are longer ones (times aside)."""
    pairs: Any = np.ndarray((len(body) - 1,), _PAIR, body, 0, _EACH_BYTE)
    try:
        begin, lengths = _edges(body, count, start, pairs)
        end_with_zeros = begin is not None
        if begin is None:
            begin = _chain(body, count, start)
            if begin is None:
                return None
            lengths = pairs[begin[:-1]]
        found = _without_keys(body, count, begin, lengths, end_with_zeros)
        if found is not None:
            return found
        known, take = _tables(), np.frombuffer(body, np.uint8).take
        at = begin[:-1]
        at = at + (take(at) >> 7)
        at += 2  # behind the length and a byte of attributes
        times = take(at).tobytes()
        if times.isascii():
            least, most = _bounds(times)
            at += 1
        else:
            deltas, at = _numbers(body, pairs, at)
            least, most = int(np.minimum.reduce(deltas)), int(np.maximum.reduce(deltas))
        if count <= TWO_BYTES:
            first, second = offset_bytes()
            if take(at).tobytes() != first[:count] or take(at[64:] + 1).tobytes() != second[64:count]:
                return None
            at += known.offset_sizes[:count]
        else:
            offset, at = Numbers(memoryview(body)).read(at, 5)
            if not np.array_equal(offset, np.arange(count)):
                return None
        keys = take(at)
        sizes = keys.tobytes()
        nulls = sizes.count(1)
        if nulls == count:
            at += 1
        elif sizes.isascii():
            at += known.blob_of_byte.take(keys)
        else:
            at += known.blob.take(pairs[at])
        at += known.blob.take(pairs[at])
        headers = take(at)
        at += 1
        if headers.tobytes().count(0) != count and not _pass_headers(body, headers, at):
            return None
        if at.tobytes() != begin[1:].tobytes():
            return None
    except (IndexError, Unusual):  # an index: a number that is longer than the tables know, or beyond the body
        return None
    return Ordinary(least, most, nulls > 0)


def _without_keys(body: bytes, count: int, begin: Any, lengths: Any, end_with_zeros: bool) -> Ordinary | None:
    """``in_columns`` for records without keys and headers and with times of one byte; ``lengths`` is changed.

    The eight bytes around each key are fetched at once; the fifth of them is the key's length.
    """
    first = int(begin[0])
    attributes_at = first + (2 if body[first] >= 0x80 else 1)
    if count > TWO_BYTES or len(body) < 8 or body[attributes_at + 3] != 1:  # a quick look at the first one
        return None
    known = _tables()
    lengths >>= 7
    lengths &= 1  # whether a length has a second byte
    at = begin[:-1] + lengths
    at += known.before_lanes[:count]
    try:
        around: Any = np.ndarray((len(body) - 7,), _LANE, body, 0, _EACH_BYTE)
        lanes = around[at].tobytes()
    except IndexError:  # the last record is an empty one
        return None
    # 64 records with an offset of one byte, the others have two.
    lows, highs = offset_bytes()
    if lanes[3:512:8] + lanes[514::8] != lows[:count] or lanes[515::8] != highs[64:count]:
        return None
    times = lanes[2:512:8] + lanes[513::8]
    if not times.isascii() or lanes[4::8].count(1) != count:
        return None
    values: Any = np.ndarray((count,), _PAIR, lanes, 5, (8,))
    at += 6  # the five bytes before a value's length, and the number of headers behind the value
    at += known.blob.take(values)
    ends = begin[1:]
    if at.tobytes() != ends.tobytes():
        return None
    if not end_with_zeros and np.frombuffer(body, np.uint8).take(ends - 1).tobytes().count(0) != count:
        return None
    return Ordinary(*_bounds(times), True)


def _bounds(times: bytes) -> tuple[int, int]:
    """The smallest and the largest of zig-zag numbers of one byte."""
    first, last = times[0], times[-1]
    order = _tables().ordered
    if times.count(first) + (times.count(last) if last != first else 0) == len(times):  # within a millisecond or two
        least, most = order[first] - 64, order[last] - 64
        return (least, most) if least <= most else (most, least)
    ordered = np.frombuffer(times.translate(order), np.uint8)
    return int(np.minimum.reduce(ordered)) - 64, int(np.maximum.reduce(ordered)) - 64


def _numbers(body: bytes, pairs: Any, at: Column) -> tuple[Column, Column]:
    """(zig-zag numbers, positions behind them)."""
    known = _tables()
    pair = pairs[at]
    size = known.size.take(pair)
    if size.all():
        return known.number.take(pair), at + size
    return Numbers(memoryview(body)).read(at, 9)


def _edges(body: bytes, count: int, start: int, pairs: Any) -> tuple[Any, Any]:
    """The start of each of ``count`` records, the end of the last one, and the pairs of bytes there.

    None for both if that cannot be found this quickly. A record without headers ends with a zero, and the next one has
    a length of one or two bytes and again a zero. That this is found ``count`` - 1 times, and that each length leads to
    the next, makes it certain.
    """
    if count < _EDGES_FROM or len(body) - start > _EDGES_TO_BYTES * count:
        return None, None
    first_end = start + _steps()[body[start]][body[start + 1]] - 1
    if body[first_end] or body[-1]:  # a quick look: the first or the last one has headers
        return None, None
    zero = np.frombuffer(body, np.uint8, -1, first_end) == 0
    ends = zero[2:-1] | zero[3:]
    ends &= zero[:-3]
    edges = ends.nonzero()[0]
    if len(edges) != count - 1:
        return None, None
    begin = np.empty(count + 1, np.int64)
    begin[1:-1] = edges
    begin += first_end + 1
    begin[0] = start
    begin[-1] = len(body)
    at = begin[:-1]
    lengths = pairs[at]
    if _tables().name.take(lengths).tobytes() != (begin[1:] - at).tobytes():
        return None, None
    return begin, lengths


def _chain(body: bytes, count: int, start: int) -> Any:
    """The start of each of ``count`` records, and the end of the last one; None if they do not fill the body."""
    position = start
    starts = [start]
    append = starts.append
    steps = _steps()
    try:
        for _ in repeat(None, count):
            position += steps[body[position]][body[position + 1]]
            append(position)
    except IndexError:  # beyond the body, or a length of more than two bytes or below zero
        return None
    if position != len(body):
        return None
    # By way of bytes: numpy takes three times as long to make a column of a list.
    return np.frombuffer(struct.pack(f"{count + 1}q", *starts), np.int64)


@cache
def _steps() -> list[list[int]]:
    """How far it is from one record to the next, by the first two bytes of its length; no second one is too long."""
    short, long = steps()
    return [[step] * 0x100 for step in short] + long[0x80:]


class _Tables(NamedTuple):
    """By pairs of bytes: the number that they begin with, its size (0: longer than two bytes), and how far it is from a
    length behind the bytes that it tells of: as wide as positions are, which are moved by it and compared with it."""

    number: NDArray[np.int16]
    size: NDArray[np.int8]
    blob: Column
    """Of keys and values, which may be null."""
    name: Column
    """Of records and names of headers, which may not."""
    blob_of_byte: Column
    """As ``blob``, by the only byte of a length."""
    ordered: bytes
    """By the only byte of a number: another one, such that they order as the numbers do, from -64 on."""
    offset_sizes: Column
    """By record: how many bytes its offset delta takes."""
    before_lanes: Column
    """By record: from its start to four bytes before its key, if its length has one byte, and its time."""


@cache
def _tables() -> _Tables:
    value, length, _ = tables()
    name = np.where((length > 0) & (value >= 0), length + value, FAR_AWAY)
    blob = np.where((length == 1) & (value == -1), 1, name)  # null in two bytes is left to the reference
    offset_sizes = np.where(np.arange(TWO_BYTES) < 64, 1, 2)
    return _Tables(
        number=value.astype(np.int16),
        size=length.astype(np.int8),
        blob=blob,
        name=name,
        blob_of_byte=blob[:0x80],
        ordered=bytes((number + 64) & 0xFF for number in value[:0x100].tolist()),
        offset_sizes=offset_sizes,
        before_lanes=offset_sizes - 1,
    )


def _pass_headers(body: bytes, counts: Any, at: Column) -> bool:
    """Move ``at`` behind the headers, of which there are ``counts`` (zig-zag); False if they are not ordinary."""
    if not counts.tobytes().isascii() or np.count_nonzero(counts & 1):
        return False
    known = _tables()
    pairs: Any = np.ndarray(
        (len(body),), "<u2", body + b"\0", strides=(1,)
    )  # an empty value may be the last byte of all
    left = counts >> 1
    for number in range(int(left.max())):
        rows = np.flatnonzero(left > number)
        behind = at[rows]
        behind += known.name[pairs[behind]]
        behind += known.blob[pairs[behind]]
        at[rows] = behind
    return True
