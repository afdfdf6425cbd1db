"""Turns of connections: the one that was served least goes first, no matter how much the others send.

At first, each connection is served as soon as it has received something. After ``ROUND_S`` within one round of the
event loop, the rest waits in a line, ordered by the time that each was served. So a client with a short request waits
for few requests of the others.

Timers that were due before a request run before it. Otherwise a blocked loop would serve the request first, and a
member whose session has expired would still be in its group.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Protocol

from kafka_tools.broker_embedded.timers import Timers

ROUND_S = 0.005
"""How long connections are served before the loop handles new events."""

_LITTLE_S = 0.001
"""Below this time no new round is requested, because each requested round costs the loop another system call."""

_CREDIT_S = 0.1
"""How far a less active connection may be behind the others' share, and so go before them."""


class ServedConnection(Protocol):
    """A connection. ``had_s`` is its share: the counted time that it was served."""

    had_s: float

    def turn(self) -> None: ...


class Turns:
    """The line of one broker's connections."""

    def __init__(self, timers: Timers, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """``call_soon``: of the event loop; runs a function in its next round."""
        self._timers = timers
        self._clock = timers.clock
        self._call_soon = call_soon
        self._line: list[tuple[float, int, ServedConnection]] = []
        self._waiting: set[ServedConnection] = set()
        self._numbers = count()
        self._spent_s = 0.0
        """The time spent in this round of the loop, including earlier rounds that were too short to count."""
        self._had_s = 0.0
        """The share of the connection served last; new connections start with it."""
        self._round_ends = False

    def __len__(self) -> int:
        return len(self._waiting)

    def arrived(self, connection: ServedConnection) -> None:
        """A connection is new: it starts with the share of the others."""
        connection.had_s = self._had_s

    def left(self, connection: ServedConnection) -> None:
        """A connection has ended."""
        self._waiting.discard(connection)

    def ready(self, connection: ServedConnection) -> None:
        """Serve ``connection`` now if there is time, else when its turn comes."""
        now_s = self._clock.monotonic_s()
        if self._line or self._spent_s >= ROUND_S or self._timers.is_due(now_s):
            self.later(connection)
        else:
            self._serve(connection, now_s)
            if self._spent_s >= _LITTLE_S:
                self._end_round()

    def later(self, connection: ServedConnection) -> None:
        """Serve ``connection`` when its turn comes."""
        if connection not in self._waiting:
            self._waiting.add(connection)
            connection.had_s = max(connection.had_s, self._had_s - _CREDIT_S)
            heapq.heappush(self._line, (connection.had_s, next(self._numbers), connection))
            self._end_round()

    def _end_round(self) -> None:
        if not self._round_ends:
            self._round_ends = True
            self._call_soon(self._next_round)

    def _next_round(self) -> None:
        self._round_ends = False
        self._spent_s = 0.0
        self._timers.run_due()
        while self._line and self._spent_s < ROUND_S:
            had_s, _, connection = heapq.heappop(self._line)
            if connection in self._waiting:
                self._waiting.remove(connection)
                self._had_s = max(self._had_s, had_s)
                self._serve(connection, self._clock.monotonic_s())
        if self._line or self._spent_s >= _LITTLE_S:  # the spent time counts only in this round of the loop
            self._end_round()

    def _serve(self, connection: ServedConnection, began_s: float) -> None:
        connection.turn()
        took_s = self._clock.monotonic_s() - began_s
        connection.had_s += took_s
        self._spent_s += took_s
