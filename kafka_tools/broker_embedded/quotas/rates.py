"""How fast something happens: a rate over sliding windows, and a bucket of credit that fills at a rate."""

from __future__ import annotations

import math
from collections import deque


class Rate:
    """A value per second over sliding windows, many small ones rather than one large (``SampledStat``, ``Rate``)."""

    def __init__(self, windows: int, window_s: float) -> None:
        self._windows = windows
        self._window_s = window_s
        self._samples: deque[tuple[float, float]] = deque()
        """(start of the window on the monotonic clock, sum)"""

    def record(self, value: float, now_s: float) -> None:
        """Add ``value`` now; a negative one takes back."""
        if not self._samples or now_s - self._samples[-1][0] >= self._window_s:
            self._samples.append((now_s, 0.0))
            if len(self._samples) > self._windows:
                self._samples.popleft()
        start_s, total = self._samples[-1]
        self._samples[-1] = (start_s, total + value)

    def elapsed_s(self, now_s: float) -> float:
        """The time that the rate is taken over: all but one of the windows at least, so that a start is not a burst."""
        self._forget(now_s)
        elapsed_s = now_s - self._samples[0][0] if self._samples else 0.0
        missing = max(0, self._windows - 1 - int(elapsed_s / self._window_s))
        return elapsed_s + missing * self._window_s

    def per_second(self, now_s: float) -> float:
        elapsed_s = self.elapsed_s(now_s)
        return sum(total for _, total in self._samples) / elapsed_s if elapsed_s else 0.0

    def is_idle(self, now_s: float) -> bool:
        """Whether nothing was recorded in any window."""
        self._forget(now_s)
        return not self._samples

    def _forget(self, now_s: float) -> None:
        while self._samples and now_s - self._samples[0][0] >= self._windows * self._window_s:
            self._samples.popleft()


class Bucket:
    """Credit that grows at a rate up to a burst, and may go below zero by one spending (``TokenBucket``, KIP-599)."""

    def __init__(self, rate: float, burst: float, now_s: float) -> None:
        self._rate = rate
        self._burst = burst
        self._credit = burst
        self._at_s = now_s

    def limit(self, rate: float, burst: float, now_s: float) -> None:
        """Take over a changed limit; credit beyond the new burst is lost."""
        self._fill(now_s)
        self._rate, self._burst = rate, burst
        self._credit = min(burst, self._credit)

    def spend(self, amount: float, now_s: float) -> None:
        self._fill(now_s)
        self._credit -= amount

    def owed_ms(self, now_s: float) -> int:
        """Milliseconds until the credit is no longer below zero."""
        self._fill(now_s)
        return math.ceil(-self._credit / self._rate * 1000) if self._credit < 0 else 0

    def is_idle(self, now_s: float) -> bool:
        """Whether it is full, and so no different from a new one."""
        self._fill(now_s)
        return self._credit >= self._burst

    def _fill(self, now_s: float) -> None:
        self._credit = min(self._burst, self._credit + (now_s - self._at_s) * self._rate)
        self._at_s = now_s
