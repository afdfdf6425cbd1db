"""XXH64 with seed 42 over many spans of a buffer at once: the hash of keys and values in the tables.

The same number as Spark's own ``xxhash64(column)`` gives for the bytes as a binary column, so hashes of a log can be
joined with hashes of other tables; stable over machines and versions. It withstands no one who looks for collisions on
purpose. Algorithm: the xxHash specification (xxhash.com, XXH64); seed: Spark's ``XxHash64``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 42
PADDING_BYTES = 8
"""The bytes that must follow the last span in the buffer, so that reading a word never leaves it."""

_LONG_BYTES = 1024
"""Longer spans go one by one: there are few of them, and a step over all spans for each stripe would cost more."""

_MASK = 2**64 - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_N1, _N2, _N3, _N4, _N5 = (np.uint64(prime) for prime in (_P1, _P2, _P3, _P4, _P5))

if TYPE_CHECKING:
    _Words = NDArray[np.uint64]
    _Places = NDArray[np.int64]


def xxh64_spans(arena: bytes | memoryview, starts: _Places, sizes: _Places) -> NDArray[np.int64]:
    """The hash of ``arena[start : start + size]`` for each span, as Spark's signed numbers.

    No size is negative, and PADDING_BYTES lie behind the last span.
    """
    hashes = np.empty(len(starts), np.uint64)
    long = sizes > _LONG_BYTES
    for at in np.flatnonzero(long).tolist():
        start = int(starts[at])
        hashes[at] = xxh64(memoryview(arena)[start : start + int(sizes[at])])
    order = np.argsort(-sizes, kind="stable") if not long.any() else _without(np.argsort(-sizes, kind="stable"), long)
    if len(order):
        hashes[order] = _short_spans(arena, starts[order], sizes[order])
    return hashes.view(np.int64)


def xxh64(data: bytes | memoryview) -> int:
    """The hash of one span, unsigned."""
    from xxhash import xxh64_intdigest

    return int(xxh64_intdigest(data, SEED))


def _without(order: _Places, long: NDArray[np.bool_]) -> _Places:
    return order[~long[order]]


def _short_spans(arena: bytes | memoryview, starts: _Places, sizes: _Places) -> _Words:
    """Spans sorted by size, the largest first: those that still have a stripe left are always a prefix."""
    words = np.ndarray((max(len(arena) - 7, 0),), "<u8", arena, strides=(1,))
    stripes = sizes >> 5
    hashes = np.full(len(starts), (SEED + _P5) & _MASK, np.uint64)
    striped = int(np.count_nonzero(stripes))
    if striped:
        first = ((SEED + _P1 + _P2) & _MASK, (SEED + _P2) & _MASK, SEED, (SEED - _P1) & _MASK)
        lanes = [np.full(striped, value, np.uint64) for value in first]
        active = striped
        for step in range(int(stripes[0])):
            while stripes[active - 1] <= step:
                active = int(np.searchsorted(-stripes[:active], -step))
            at = starts[:active] + 32 * step
            for number, lane in enumerate(lanes):
                lane[:active] = _round(lane[:active], words[at + 8 * number])
        merged = _rotated(lanes[0], 1) + _rotated(lanes[1], 7) + _rotated(lanes[2], 12) + _rotated(lanes[3], 18)
        for lane in lanes:
            merged = (merged ^ _round(np.zeros_like(lane), lane)) * _N1 + _N4
        hashes[:striped] = merged
    hashes += sizes.astype(np.uint64)
    position = starts + 32 * stripes
    left = sizes & 31
    for step in range(3):
        chosen = np.flatnonzero(left >> 3 > step)
        if not chosen.size:
            break
        word = words[position[chosen] + 8 * step]
        hashes[chosen] = _rotated(hashes[chosen] ^ _round(np.zeros_like(word), word), 27) * _N1 + _N4
    position += left & 24
    chosen = np.flatnonzero(left & 4)
    if chosen.size:
        word = words[position[chosen]] & np.uint64(0xFFFFFFFF)
        hashes[chosen] = _rotated(hashes[chosen] ^ (word * _N1), 23) * _N2 + _N3
    position += left & 4
    for step in range(3):
        chosen = np.flatnonzero(left & 3 > step)
        if not chosen.size:
            break
        byte = words[position[chosen] + step] & np.uint64(0xFF)
        hashes[chosen] = _rotated(hashes[chosen] ^ (byte * _N5), 11) * _N1
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _N2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _N3
    return hashes ^ (hashes >> np.uint64(32))


def _round(lane: _Words, word: Any) -> _Words:
    return _rotated(lane + word * _N2, 31) * _N1


def _rotated(value: _Words, bits: int) -> _Words:
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))
