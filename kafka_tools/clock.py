"""Time as a parameter: the only module that reads the machine's clock.

``Clock`` is the protocol, and ``SystemClock`` the machine's clock. Only its user moves a ``ManualClock``.
A ``ShiftedClock`` is the machine's clock plus an offset. A ``Deadline`` is a moment on a clock's
monotonic scale.
"""

from __future__ import annotations

import time
from typing import Protocol

from kafka_tools.errors import DeadlineExceeded


class Clock(Protocol):
    """Wall time in milliseconds since the epoch, monotonic time in seconds, and waiting."""

    def now_ms(self) -> int: ...

    def monotonic_s(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class MovableClock(Clock, Protocol):
    """A clock that can be moved forward."""

    def advance(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        try:
            return time.time_ns() // 1_000_000
        except OverflowError:  # from 2262 on: Python counts nanoseconds in 64 bits
            return int(time.clock_gettime(time.CLOCK_REALTIME) * 1000)

    monotonic_s = staticmethod(time.monotonic)

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class ManualClock:
    """A clock that stands still until ``advance`` or ``sleep`` moves it."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self._elapsed_s = 0.0

    def now_ms(self) -> int:
        return self._start_ms + round(self._elapsed_s * 1000)

    def monotonic_s(self) -> float:
        return self._elapsed_s

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move time forward by ``seconds`` (never back)."""
        if seconds < 0:
            raise ValueError("cannot move the time backwards")
        self._elapsed_s += seconds


class ShiftedClock(SystemClock):
    """The machine's clock plus the seconds given to ``advance``."""

    def __init__(self) -> None:
        self._ahead_s = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + round(self._ahead_s * 1000)

    def monotonic_s(self) -> float:
        return time.monotonic() + self._ahead_s

    def advance(self, seconds: float) -> None:
        """Move time forward by ``seconds`` (never back)."""
        if seconds < 0:
            raise ValueError("cannot move the time backwards")
        self._ahead_s += seconds


class Deadline:
    """The moment by which a whole operation, retries included, must end."""

    def __init__(self, clock: Clock, timeout_s: float) -> None:
        self.clock = clock
        self.timeout_s = timeout_s
        self._at_s = clock.monotonic_s() + timeout_s

    def left_s(self) -> float:
        """Seconds that remain, never below 0."""
        return max(0.0, self._at_s - self.clock.monotonic_s())

    def left_ms(self) -> int:
        """Milliseconds that remain, never below 0."""
        return int(self.left_s() * 1000)

    @property
    def expired(self) -> bool:
        return self.left_s() <= 0.0

    def check(self, waiting_for: str) -> None:
        """Raise DeadlineExceeded if the moment has passed. The error contains ``waiting_for``."""
        if self.expired:
            raise DeadlineExceeded(f"timed out after {self.timeout_s:g} s waiting for {waiting_for}")
