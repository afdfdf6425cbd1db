"""Reads varints at many positions of a buffer together."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int64]


INT32_MOST = 0x7FFFFFFF
FAR_AWAY = 1 << 40
"""The entry of the table of steps for a length that it does not cover: a position after every arena."""


class Unusual(Exception):
    """A number that only the scalar loop can read."""


class Numbers:
    """Reads many varints of an arena together. Raises IndexError for positions outside of it."""

    def __init__(self, arena: memoryview) -> None:
        self.arena = arena
        self.bytes = np.frombuffer(arena, np.uint8)
        self.pairs: Any = np.ndarray((len(arena) - 1,), "<u2", arena, strides=(1,))
        """The two bytes at each position."""
        self._value, self._length, self.step = tables()

    def read(self, position: Column, most_bytes: int) -> tuple[Column, Column]:
        """(zig-zag numbers, positions after them). Raises Unusual if a number has more than ``most_bytes``."""
        pair = self.pairs[position]
        value: Column = self._value.take(pair)
        length = self._length.take(pair)
        behind = position + length
        if not length.all():
            longer = np.flatnonzero(length == 0)
            value[longer], behind[longer] = self._long(position[longer], most_bytes)
        return value, behind

    def _long(self, position: Column, most_bytes: int) -> tuple[Column, Column]:
        value = np.zeros(len(position), np.int64)
        behind = position.copy()
        open_ = np.arange(len(position))
        for shift in range(0, 7 * most_bytes, 7):
            byte = self.bytes[behind[open_]].astype(np.int64)
            value[open_] |= (byte & 0x7F) << shift
            behind[open_] += 1
            open_ = open_[byte >= 0x80]
            if not open_.size:
                break
        else:
            raise Unusual
        if most_bytes == 5 and int(value.max()) > 0xFFFFFFFF:
            raise Unusual
        return (value >> 1) ^ -(value & 1), behind


@cache
def tables() -> tuple[Column, Column, Column]:
    """For each pair of bytes: the number in it, its length (0: longer), and the distance to the next record."""
    pair = np.arange(1 << 16, dtype=np.int64)
    low, high = pair & 0xFF, pair >> 8
    length = np.where(low < 0x80, 1, np.where(high < 0x80, 2, 0))
    raw = np.where(length == 1, low, low & 0x7F | high << 7)
    value = (raw >> 1) ^ -(raw & 1)
    step = np.where((length > 0) & (value > 0), length + value, FAR_AWAY)
    return value, length, step
