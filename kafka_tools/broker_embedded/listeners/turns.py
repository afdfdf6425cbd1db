"""Turns of connections: the one that was served least goes first, however much the others send.

While there is time each is served as soon as something comes of it. When that has taken a while within one round of
the event loop, the rest waits in a line, and between any two in that line the loop looks for what else has come: so
a client with a short question waits for about one request of the others, however many of those there are.

What was due before a request came happens before it: a loop that was held up would serve what came first, and a member
whose session is long over would still be in its group.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Protocol

from kafka_tools.broker_embedded.timers import Timers

ROUND_S = 0.005
"""How long connections are served before the loop looks for what has come meanwhile."""

_LITTLE_S = 0.001
"""So little is not worth telling rounds apart for: each round that is asked for costs the loop a system call more."""

_CREDIT_S = 0.1
"""How far behind the others' share a connection may be that asked for less: so far it goes before them."""


class ServedConnection(Protocol):
    """A connection. ``had_s`` is its share: the time that it was served, as far as it counts."""

    had_s: float

    def turn(self) -> None: ...


class Turns:
    """The line of one broker's connections."""

    def __init__(self, timers: Timers, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """``call_soon``: the event loop's, which runs a function in its next round."""
        self._timers = timers
        self._clock = timers.clock
        self._call_soon = call_soon
        self._line: list[tuple[float, int, ServedConnection]] = []
        self._waiting: set[ServedConnection] = set()
        self._numbers = count()
        self._spent_s = 0.0
        """In this round of the loop, and in those before it that were too short to be told from it."""
        self._had_s = 0.0
        """The share of the connection served last: where newcomers begin."""
        self._round_ends = False

    def __len__(self) -> int:
        return len(self._waiting)

    def arrived(self, connection: ServedConnection) -> None:
        """A connection is new: it begins where the others are."""
        connection.had_s = self._had_s

    def left(self, connection: ServedConnection) -> None:
        """A connection has ended."""
        self._waiting.discard(connection)

    def ready(self, connection: ServedConnection) -> None:
        """There may be something to do for ``connection``: now if there is time, else when its turn comes."""
        now_s = self._clock.monotonic_s()
        if self._line or self._spent_s >= ROUND_S or self._timers.is_due(now_s):
            self.later(connection)
        else:
            self._serve(connection, now_s)
            if self._spent_s >= _LITTLE_S:
                self._end_round()

    def later(self, connection: ServedConnection) -> None:
        """There is something to do for ``connection``, but others come first."""
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
        if self._line or self._spent_s >= _LITTLE_S:  # what was spent counts for this round of the loop alone
            self._end_round()

    def _serve(self, connection: ServedConnection, began_s: float) -> None:
        connection.turn()
        took_s = self._clock.monotonic_s() - began_s
        connection.had_s += took_s
        self._spent_s += took_s
