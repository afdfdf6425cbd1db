"""The common part of all functions that check a batch's records (``records.check``): results and tables of lengths."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

FAR_AWAY = 1 << 30
"""The entry of the table of lengths for a length that it does not cover: a position after every body."""
TWO_BYTES = 8192
"""The first offset delta that takes three bytes."""


class Ordinary(NamedTuple):
    """The properties of ordinary records: smallest and largest timestamp delta, and whether a key is null."""

    least: int
    most: int
    null_key: bool


@cache
def steps() -> tuple[list[int], list[list[int]]]:
    """The distance from one record to the next: by a length of one byte, and by both bytes of a length of two."""
    return (
        [FAR_AWAY if size & 1 else 1 + (size >> 1) for size in range(0x80)],
        [
            [] if size < 0x80 or size & 1 else [2 + ((size & 0x7F | high << 7) >> 1) for high in range(0x80)]
            for size in range(0x100)
        ],
    )


@cache
def offset_bytes() -> tuple[bytes, bytes]:
    """The first byte of each record's offset delta, and the second byte (0 if there is none)."""
    numbers = [number << 1 for number in range(TWO_BYTES)]
    return (
        bytes(twice if twice < 0x80 else twice & 0x7F | 0x80 for twice in numbers),
        bytes(twice >> 7 for twice in numbers),
    )


def bounds(deltas: set[int]) -> tuple[int, int]:
    """The smallest and the largest of zig-zag numbers of one byte."""
    signed = [(delta >> 1) ^ -(delta & 1) for delta in deltas]
    return min(signed), max(signed)
