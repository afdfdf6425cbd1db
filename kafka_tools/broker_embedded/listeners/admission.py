"""Admits connections: applies ``ConnectionLimits`` to real connections."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.listeners.connection_limits import ConnectionLimits
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)


class Guest(Protocol):
    """A connection that waits for admission, with or without TLS."""

    @property
    def listener(self) -> str: ...

    ip: str

    @property
    def is_open(self) -> bool: ...

    def hold(self) -> None: ...

    def let_in(self) -> None: ...

    def close(self) -> None: ...


class AdmittedConnection(Guest, Protocol):
    """A connection that is admitted, or waits for it."""

    last_used_s: float
    is_counted: bool


class _Line:
    """The connections of one listener that wait for admission, in the order of their arrival."""

    def __init__(self) -> None:
        self.guests: deque[Guest] = deque()
        self.is_counted = False
        """Whether the first connection is already counted in the rates."""
        self.is_early = False
        """Whether the first connection has to wait because of the rates."""


class Admission:
    """Admits connections as ``ConnectionLimits`` allow: now, later or not at all.

    Admits one connection at a time, as Kafka's acceptor of a listener does. A connection that waits for a rate or for
    room blocks all connections behind it, which count in the rates when their turn comes. Connections that are closed
    by then are skipped. Kafka counts them; in its backlog at most 50 connections wait.
    """

    def __init__(self, limits: ConnectionLimits, timers: Timers, connections: Collection[AdmittedConnection]) -> None:
        """``connections``: a live view of the open connections."""
        self._limits = limits
        self._timers = timers
        self._connections = connections
        self._lines: defaultdict[str, _Line] = defaultdict(_Line)
        self.on_free: Callable[[], None] = lambda: None
        """Called when no connection waits at a listener."""
        self.ended = 0
        """The number of admitted connections that have ended."""

    def is_free(self, listener: str) -> bool:
        """Whether no connection waits at a listener."""
        return not self._lines[listener].guests

    def arrived(self, connection: Guest) -> None:
        line = self._lines[connection.listener]
        line.guests.append(connection)
        if len(line.guests) > 1:
            connection.hold()
        else:
            self._go_on(line)

    def _go_on(self, line: _Line) -> None:
        """Admit the first connections in the line, up to one that has to wait."""
        while line.guests and not line.is_early:
            first = line.guests[0]
            if not first.is_open:
                line.guests.popleft().close()
                line.is_counted = False
                continue
            if not line.is_counted:
                line.is_counted = True
                delay_ms = self._limits.arrival_delay_ms(first.listener)
                if delay_ms:
                    line.is_early = True
                    first.hold()
                    self._timers.call_later(delay_ms, partial(self._is_due, line))
                    return
            if not self._limits.has_room(first.listener):
                first.hold()
                return
            line.guests.popleft()
            line.is_counted = False
            self._admit(first)
        if not line.guests:
            self.on_free()

    def _is_due(self, line: _Line) -> None:
        line.is_early = False
        self._go_on(line)

    def _admit(self, connection: Guest) -> None:
        refusal_ms = self._limits.refusal_ms(connection.listener, connection.ip)
        if refusal_ms is None:
            self._limits.opened(connection.listener, connection.ip)
            connection.let_in()
            self._end_one_if_too_many()
            return
        log.info("refusing a connection from %s: too many or too fast", connection.ip)
        connection.hold()
        self._timers.call_later(refusal_ms, connection.close)

    def _end_one_if_too_many(self) -> None:
        spared = self._limits.spared_listener()
        if spared is None:
            return
        others = [other for other in self._connections if other.is_counted and other.listener != spared]
        if others:
            min(others, key=lambda other: other.last_used_s).close()

    def left(self, connection: Guest) -> None:
        """An admitted connection has ended."""
        self.ended += 1
        self._limits.closed(connection.listener, connection.ip)
        self.admit_waiting()

    def admit_waiting(self) -> None:
        """Retry the admission of connections that wait for room."""
        for line in self._lines.values():
            self._go_on(line)
