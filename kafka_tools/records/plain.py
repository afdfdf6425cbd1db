"""``records.check`` for plain records: no key, no headers, from 64 bytes to 8 KB, as most producers' are.

Python looks at each record once, to cut out its beginning and the byte before it, with which the record before ends.
All that was cut out is then looked at as one large number with a lane for each record: a mask, a shift or a subtraction
is one on all of them.

A lane is, from its first byte on: 0 (no headers, of the record before), the size (two bytes), attributes, time, offset
(one byte, from the 64th record on two), 1 (no key), the value's size (two bytes); if a byte is left, the value's first
one. Sizes are zig-zag numbers of seven bits a byte.
"""

from __future__ import annotations

from functools import cache
from itertools import repeat
from typing import NamedTuple

from kafka_tools.records.ordinary import TWO_BYTES, Ordinary, bounds, offset_bytes, steps

AVERAGE_BYTES = 128
"""If records are shorter than this on average, some are too short to be plain."""
_LANE_BYTES = 10
_BEGINNING_BYTES = _LANE_BYTES - 1
_BLOCK = 64
"""So many records make one number: all of the first ones have an offset of one byte, all of the others one of two."""
_KEY_AT = 5


def plain(body: bytes, count: int, start: int = 0) -> Ordinary | None:
    """``ordinary``; None also for what is not plain."""
    if len(body) - start < AVERAGE_BYTES * count or count > TWO_BYTES or body[start + _KEY_AT] != 1:
        return None
    _, long = steps()
    position = start
    cut = b"\0" + body[start : start + _BEGINNING_BYTES]
    cuts = [cut]
    add = cuts.append
    try:
        for _ in repeat(None, count):
            position += long[cut[1]][cut[2]]
            cut = body[position - 1 : position + _BEGINNING_BYTES]
            add(cut)
    except IndexError:  # a size of one byte, or of more than two; the end of the body
        return None
    if position != len(body) or body[-1]:
        return None
    lanes = b"".join(cuts)
    end = _LANE_BYTES * count
    for first in range(0, count, _BLOCK):
        if not _are_plain(lanes[_LANE_BYTES * first : min(end, _LANE_BYTES * (first + _BLOCK))], first):
            return None
    return Ordinary(*bounds(set(lanes[4:end:_LANE_BYTES])), True)


def _are_plain(lanes: bytes, first: int) -> bool:
    """Whether these lanes, of up to a block of records from the number ``first`` on, are those of plain records."""
    block = _block(first)
    all_of_them = (1 << 8 * len(lanes)) - 1
    seen = int.from_bytes(lanes, "little")
    if seen & block.fixed != block.expected & all_of_them:
        return False
    sizes, values = seen >> 8, seen >> block.value_shift
    low, high = block.low, block.high
    # What is between the two sizes is the same everywhere, so no lane borrows of another one.
    return (sizes & low | sizes >> 1 & high) - (values & low | values >> 1 & high) == block.between & all_of_them


class _Block(NamedTuple):
    """The lanes of a block of plain records: the bits that are the same in all of them, and the places of the sizes."""

    fixed: int
    expected: int
    low: int
    high: int
    between: int
    value_shift: int


@cache
def _block(first: int) -> _Block:
    """Of the records from the number ``first`` on."""
    lows, highs = offset_bytes()
    numbers = range(first, first + _BLOCK)
    if first:
        # byte by byte, of which bits it matters what they are, and what they must be
        fixed = [0xFF, 0x80, 0x80, 0, 0x80, 0xFF, 0xFF, 0xFF, 0x81, 0x80]
        expected = [[0, 0x80, 0, 0, 0, lows[at], highs[at], 1, 0x80, 0] for at in numbers]
        value_at = 8
    else:
        fixed = [0xFF, 0x80, 0x80, 0, 0x80, 0xFF, 0xFF, 0x81, 0x80, 0]
        expected = [[0, 0x80, 0, 0, 0, lows[at], 1, 0x80, 0, 0] for at in numbers]
        value_at = 7
    between = value_at - 3 + 2 + 1  # attributes to key, the value's size, the number of headers
    return _Block(
        fixed=_lanes([fixed] * _BLOCK),
        expected=_lanes(expected),
        low=_lanes([[0x7F]] * _BLOCK),
        high=_lanes([[0x80, 0x3F]] * _BLOCK),
        between=_lanes([[between << 1]] * _BLOCK),
        value_shift=8 * value_at,
    )


def _lanes(lanes: list[list[int]]) -> int:
    """A number with these first bytes in its lanes."""
    return int.from_bytes(b"".join(bytes(lane).ljust(_LANE_BYTES, b"\0") for lane in lanes), "little")
