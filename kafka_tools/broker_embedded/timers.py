"""Timers ordered by due time, for a real event loop and for a ManualClock.

Has no event loop: the server asks ``next_due_s`` and calls ``run_due``. ``on_earlier`` is called when a new timer is
the earliest.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator
from itertools import count

from kafka_tools.clock import Clock, MovableClock

log = logging.getLogger(__name__)

_FEW = 1000
"""Up to this number of timers, the heap is not searched for cancelled ones."""


class Timer:
    """One call that is due at ``due_s`` on the monotonic clock; ``cancel`` forgets it."""

    __slots__ = ("due_s", "fn")

    def __init__(self, due_s: float, fn: Callable[[], None]) -> None:
        self.due_s = due_s
        self.fn: Callable[[], None] | None = fn

    def cancel(self) -> None:
        self.fn = None

    @property
    def active(self) -> bool:
        return self.fn is not None


class Timers:
    """A heap of timers. Timers due at the same time run in the order of their creation."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.on_earlier: Callable[[], None] | None = None
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._most = _FEW
        """With more timers in the heap, the cancelled ones are removed."""

    def call_later(self, delay_ms: float, fn: Callable[[], None]) -> Timer:
        """Run ``fn`` once, ``delay_ms`` milliseconds from now. A negative delay, which clients may send, means now."""
        if len(self._heap) > self._most:
            self._forget_cancelled()
        timer = Timer(self.clock.monotonic_s() + max(0.0, delay_ms) / 1000, fn)
        heapq.heappush(self._heap, (timer.due_s, next(self._order), timer))
        if self._heap[0][2] is timer and self.on_earlier:
            self.on_earlier()
        return timer

    def _forget_cancelled(self) -> None:
        """Remove cancelled timers, which would stay until they are due.

        A session may be half an hour, and each heartbeat cancels a timer. The next removal comes when the heap has
        twice as many timers as are left now, so that the cost for each timer is small.
        """
        self._heap = [entry for entry in self._heap if entry[2].fn is not None]
        heapq.heapify(self._heap)
        self._most = max(_FEW, 2 * len(self._heap))

    def next_due_s(self) -> float | None:
        """When the next live timer is due on the monotonic clock; None if there is none."""
        while self._heap and not self._heap[0][2].active:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def is_due(self, now_s: float) -> bool:
        """Whether a timer should have run by ``now_s`` on the monotonic clock."""
        if not self._heap or self._heap[0][0] > now_s:
            return False
        due_s = self.next_due_s()  # the first one may be cancelled
        return due_s is not None and due_s <= now_s

    def run_due(self) -> int:
        """Run every timer that is due now; returns how many ran. An exception of a timer is logged, and the rest run.

        Timers that they add for the same time wait for the next call, so that a timer that repeats itself does not
        block.
        """
        ran = 0
        until = self.clock.monotonic_s(), next(self._order)
        while self._heap and self._heap[0] < until:
            timer = heapq.heappop(self._heap)[2]
            fn, timer.fn = timer.fn, None
            if fn is None:
                continue
            ran += 1
            try:
                fn()
            except Exception:  # the loop of the broker outlives one failed piece of work
                log.exception("a timer failed")
        return ran

    def advance(self, clock: MovableClock, seconds: float) -> Iterator[None]:
        """Move ``clock``, the clock of these timers, forward, and run each timer that becomes due at its time.

        The caller iterates, and can do other things between two due times.
        """
        end_s = clock.monotonic_s() + seconds
        while (due_s := self.next_due_s()) is not None and due_s <= end_s:
            clock.advance(max(0.0, due_s - clock.monotonic_s()))
            self.run_due()
            yield
        clock.advance(max(0.0, end_s - clock.monotonic_s()))
