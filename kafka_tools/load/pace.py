"""When messages should be sent: at a constant rate, or in windows of a changing number of messages."""

from __future__ import annotations

from collections.abc import Callable
from random import Random


class ConstantRate:
    """Message ``n`` is due ``n / per_second`` seconds after the start. A rate of 0 or less is no limit."""

    def __init__(self, per_second: float, start_s: float) -> None:
        self._per_second = per_second
        self._start_s = start_s
        self._number = 0

    def next_s(self) -> float | None:
        """The time on the monotonic scale at which the next message is due; None for immediately."""
        if self._per_second <= 0:
            return None
        due_s = self._start_s + self._number / self._per_second
        self._number += 1
        return due_s


class Windows:
    """The messages of each window are spread evenly over it. ``size()`` returns the number for a new window.

    A number of 0 or less is no limit.
    """

    def __init__(self, size: Callable[[], int], window_s: float, start_s: float) -> None:
        self._size = size
        self._window_s = window_s
        self._start_s = start_s
        self._window = 0
        self._left = self._in_window = size()

    def next_s(self) -> float | None:
        """As ``ConstantRate.next_s``."""
        if self._in_window <= 0:
            return None
        if self._left == 0:
            self._window += 1
            self._left = self._in_window = self._size()
            if self._in_window <= 0:
                return None
        share = (self._in_window - self._left) / self._in_window
        self._left -= 1
        return self._start_s + (self._window + share) * self._window_s


def gaussian_sizes(average: int, deviation: float, kept_for: int, random: Random) -> Callable[[], int]:
    """Numbers with a normal distribution, at least 1, each returned ``kept_for`` times."""
    current, left = 0, 0

    def size() -> int:
        nonlocal current, left
        if left <= 0:
            current, left = max(1, int(random.gauss(0, 1) * deviation) + average), max(1, kept_for)
        left -= 1
        return current

    return size
