"""Work that is due later, ordered by the clock; the same heap serves a real loop and a ManualClock.

Knows no event loop: the listener asks ``next_due_s`` and calls ``run_due``; ``on_earlier`` tells it
that the earliest due time moved forward.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator
from itertools import count

from kafka_tools.clock import Clock, MovableClock

log = logging.getLogger(__name__)

_FEW = 1000
"""So many timers are never looked through for cancelled ones."""


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
    """A heap of timers. Timers due at the same moment run in the order they were made."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.on_earlier: Callable[[], None] | None = None
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._most = _FEW
        """With more in the heap those go that were cancelled."""

    def call_later(self, delay_ms: float, fn: Callable[[], None]) -> Timer:
        """Run ``fn`` once, ``delay_ms`` milliseconds from now; below 0, which clients may ask for, is now."""
        if len(self._heap) > self._most:
            self._forget_cancelled()
        timer = Timer(self.clock.monotonic_s() + max(0.0, delay_ms) / 1000, fn)
        heapq.heappush(self._heap, (timer.due_s, next(self._order), timer))
        if self._heap[0][2] is timer and self.on_earlier:
            self.on_earlier()
        return timer

    def _forget_cancelled(self) -> None:
        """They would stay until they were due: a session may be half an hour, and each heartbeat cancels one.

        It is done again when there are twice as many as were left, so that each costs little.
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
        """Run every timer that is due now; returns how many ran. A timer that raises is logged, the rest run.

        What they set for the same moment waits for the next call: a timer that sets itself again and again holds
        nobody up.
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
        """Move ``clock``, which is the one of these timers, and run what is due on the way, each at its time.

        To be iterated: between one time at which something was due and the next others may do something.
        """
        end_s = clock.monotonic_s() + seconds
        while (due_s := self.next_due_s()) is not None and due_s <= end_s:
            clock.advance(max(0.0, due_s - clock.monotonic_s()))
            self.run_due()
            yield
        clock.advance(max(0.0, end_s - clock.monotonic_s()))
