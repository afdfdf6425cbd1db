"""Limits the number and duration of TLS handshakes.

These clients are not authenticated yet, and each costs memory. Over the limit, the broker closes the connection that
has been silent longest. Connections that have sent nothing at all have a separate limit, so that a flood of them does
not close others. A new connection is always accepted: in a line of silent clients it would wait for a minute.

A step of a handshake takes milliseconds, mostly for a signature, and any client can request one. So each round of the
event loop does one step, in the order of the requests: other clients wait for at most one step.
"""

from __future__ import annotations

import logging
import resource
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Protocol

from kafka_tools.broker_embedded.configs.limits import BrokerLimits

log = logging.getLogger(__name__)

_PART_OF_FILES = 4
"""Each limit is at most a quarter of the files that the process may open."""
_SAY_EVERY_S = 10.0


class Waiting(Protocol):
    """A connection whose handshake is not done."""

    def give_up(self, reason: str) -> None: ...

    def shake_hands(self) -> None: ...


class Handshakes:
    """The handshakes of one broker. Call ``began`` per connection, ``sent`` for its bytes, and always ``ended``."""

    def __init__(
        self,
        now_s: Callable[[], float],
        call_soon: Callable[[Callable[[], None]], object],
        limits: BrokerLimits = BrokerLimits(),  # noqa: B008 - frozen
    ) -> None:
        """``now_s``: the time of sockets, not the broker's clock. ``call_soon``: the event loop's, for its next round.

        The limits are lower than ``limits`` if the process may open few files.
        """
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = max(soft // _PART_OF_FILES, 1) if soft > 0 else limits.silent_handshakes
        self._now_s = now_s
        self._call_soon = call_soon
        self._line: deque[Waiting] = deque()
        """The connections with received bytes that are not processed."""
        self._most_silent = min(limits.silent_handshakes, files)
        self._most_speaking = min(limits.handshakes, files)
        self._began_s: dict[Waiting, float] = {}
        self._silent: OrderedDict[Waiting, None] = OrderedDict()
        self._speaking: OrderedDict[Waiting, None] = OrderedDict()
        """Ordered by the time of the last received bytes."""
        self._closed = 0
        self._said_s = -_SAY_EVERY_S

    def __len__(self) -> int:
        return len(self._began_s)

    def began(self, connection: Waiting) -> None:
        """A connection was admitted."""
        self._began_s[connection] = self._now_s()
        self._add(connection, self._silent, self._most_silent)

    def sent(self, connection: Waiting) -> None:
        """The client has sent a part of its handshake: ``shake_hands`` is called when its turn comes."""
        self._silent.pop(connection, None)
        self._speaking.pop(connection, None)
        self._add(connection, self._speaking, self._most_speaking)
        self._line.append(connection)
        if len(self._line) == 1:
            self._call_soon(self._next)

    def _next(self) -> None:
        connection = self._line[0]
        try:
            if connection in self._began_s:
                connection.shake_hands()
        finally:
            self._line.popleft()
            if self._line:
                self._call_soon(self._next)

    def ended(self, connection: Waiting) -> None:
        """The handshake is done, or the connection has ended. Does nothing for an unknown connection."""
        self._began_s.pop(connection, None)
        self._silent.pop(connection, None)
        self._speaking.pop(connection, None)

    def end_late(self, most_s: float) -> None:
        """End connections whose handshake takes longer than ``most_s``."""
        limit_s = self._now_s() - most_s
        for connection, began_s in list(self._began_s.items()):  # in the order in which they began
            if began_s > limit_s:
                break
            connection.give_up(f"not completed after {most_s:g} s")

    def end_all(self) -> None:
        """End all: the broker accepts no more connections."""
        for connection in list(self._began_s):
            connection.give_up("")

    def _add(self, connection: Waiting, line: OrderedDict[Waiting, None], most: int) -> None:
        if len(line) >= most:
            first = next(iter(line))
            first.give_up("")
            self._closed += 1
            self._say(most)
        line[connection] = None

    def _say(self, most: int) -> None:
        now_s = self._now_s()
        if now_s - self._said_s >= _SAY_EVERY_S:
            self._said_s = now_s
            log.warning(
                "more than %d TLS connections are waiting for their handshake: closing those that have been idle "
                "longest, %d since the start",
                most,
                self._closed,
            )
