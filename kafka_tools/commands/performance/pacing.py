"""When each record of a load is due: at a rate, whatever the time that earlier records took.

A record that could not leave in time is late, and its latency counts from the time at which it was due. Counted from
the time at which it left instead, a broker that stops for a second would delay a single record (coordinated omission).
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.clock import Clock

_LONGEST_WAIT_S = 0.1
"""A waiting load serves its client at least this often."""


class SendSchedule:
    """The schedule of a load. ``rate``: records per second; 0 or less means no limit."""

    def __init__(self, rate: float, clock: Clock, serve: Callable[[float], object]) -> None:
        """``serve(seconds)`` runs the client for at most that long."""
        self._clock = clock
        self._serve = serve
        self._start_s = clock.monotonic_s()
        self._interval_s = 1 / rate if rate > 0 else 0.0

    def wait_for(self, number: int) -> float:
        """Wait until record ``number`` (from 0) is due. Returns the time at which it was due, in monotonic seconds.

        Without a rate, a record is due when it is its turn.
        """
        now_s = self._clock.monotonic_s()
        if not self._interval_s:
            return now_s
        due_s = self._start_s + number * self._interval_s
        while now_s < due_s:
            self._serve(min(due_s - now_s, _LONGEST_WAIT_S))
            waited_s, now_s = now_s, self._clock.monotonic_s()
            if now_s < due_s and now_s - waited_s < self._interval_s / 2:
                # The client had something to do, or does not wait at all.
                self._clock.sleep(min(due_s - now_s, _LONGEST_WAIT_S) / 2)
                now_s = self._clock.monotonic_s()
        return due_s
