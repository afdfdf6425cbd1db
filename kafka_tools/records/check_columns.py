"""``records.check`` by columns: all records of a body at once. Apart, since numpy takes long to load."""

from __future__ import annotations

import struct
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_tools.records.ordinary import FAR_AWAY, TWO_BYTES, Ordinary, steps
from kafka_tools.records.varint_columns import Numbers, Unusual, tables

if TYPE_CHECKING:
    from kafka_tools.records.columns import Column


def in_columns(body: bytes, count: int) -> Ordinary | None:
    """``ordinary``, by columns of numbers of one and two bytes; also None where there are longer ones (times aside)."""
    starts = _chain(body, count)
    if starts is None:
        return None
    # By way of bytes: numpy takes five times as long to make a column of a list.
    begin = np.frombuffer(struct.pack(f"{count + 1}q", *starts), np.int64)
    bytes_, pairs = _bytes_and_pairs(body)
    known = _tables()
    try:
        at = begin[:-1]
        at = (bytes_[at] >= 0x80) + at + 2  # behind the length and a byte of attributes
        pair = pairs[at]
        time, size = known.number[pair], known.size[pair]
        if size.all():
            at += size
        else:
            time, at = Numbers(memoryview(body)).read(at, 9)
        least, most = int(np.minimum.reduce(time)), int(np.maximum.reduce(time))
        if count <= TWO_BYTES:
            if np.count_nonzero((pairs[at] ^ known.offsets[:count]) & known.offset_masks[:count]):
                return None
            at += known.offset_sizes[:count]
        else:
            offset, at = Numbers(memoryview(body)).read(at, 5)
            if not np.array_equal(offset, np.arange(count)):
                return None
        null_key = 1 in bytes_[at].tobytes()
        at += known.blob[pairs[at]]
        at += known.blob[pairs[at]]
        headers = bytes_[at]
        at += 1
        if np.count_nonzero(headers) and not _pass_headers(body, headers, at):
            return None
        if np.count_nonzero(at != begin[1:]):
            return None
    except (IndexError, Unusual):  # an index: a number that is longer than the tables know, or beyond the body
        return None
    return Ordinary(least, most, null_key)


def _chain(body: bytes, count: int) -> list[int] | None:
    """Where each of ``count`` records starts, and where the last one ends; None if they do not fill the body."""
    position = 0
    starts = [0]
    append = starts.append
    steps = _steps()
    try:
        for _ in repeat(None, count):
            position += steps[body[position]][body[position + 1]]
            append(position)
    except IndexError:  # beyond the body, or a length of more than two bytes or below zero
        return None
    return starts if position == len(body) else None


@cache
def _steps() -> list[list[int]]:
    """How far it is from one record to the next, by the first two bytes of its length; no second one is too long."""
    short, long = steps()
    return [[step] * 0x100 for step in short] + long[0x80:]


def _bytes_and_pairs(body: bytes) -> tuple[Any, Any]:
    """Columns of the body's bytes, and of two bytes from each position on."""
    return np.frombuffer(body, np.uint8), np.ndarray((len(body) - 1,), "<u2", body, strides=(1,))


class _Tables(NamedTuple):
    """By pairs of bytes: the number that they begin with, its size (0: longer than two bytes), and how far it is from a
    length behind the bytes that it tells of. By record: the first bytes of its offset delta, which of their bits count,
    how many they are."""

    number: Column
    size: Column
    blob: Any
    name: Any
    """As ``blob``, for what cannot be null."""
    offsets: Any
    offset_masks: Any
    offset_sizes: Column


@cache
def _tables() -> _Tables:
    value, length, _ = tables()
    name = np.where((length > 0) & (value >= 0), length + value, FAR_AWAY)
    number = np.arange(TWO_BYTES)
    short = number < 64
    return _Tables(
        number=value,
        size=length,
        blob=np.where((length == 1) & (value == -1), 1, name),  # null in two bytes is left to the reference
        name=name,
        offsets=np.where(short, number << 1, number << 1 & 0x7F | 0x80 | number << 1 >> 7 << 8).astype(np.uint16),
        offset_masks=np.where(short, 0xFF, 0xFFFF).astype(np.uint16),
        offset_sizes=np.where(short, 1, 2),
    )


def _pass_headers(body: bytes, counts: Any, at: Column) -> bool:
    """Move ``at`` behind the headers, of which there are ``counts`` (zig-zag); False if they are not ordinary."""
    if not counts.tobytes().isascii() or np.count_nonzero(counts & 1):
        return False
    known = _tables()
    _, pairs = _bytes_and_pairs(body + b"\0")  # an empty value may be the last byte of all
    left = counts >> 1
    for number in range(int(left.max())):
        rows = np.flatnonzero(left > number)
        behind = at[rows]
        behind += known.name[pairs[behind]]
        behind += known.blob[pairs[behind]]
        at[rows] = behind
    return True
