"""Which connections are let in: the limits of ``ConnectionLimits``, kept on real connections."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.listeners.connection_limits import ConnectionLimits
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)


class Guest(Protocol):
    """A connection at the door: a client's, or one before its TLS handshake."""

    @property
    def listener(self) -> str: ...

    @property
    def ip(self) -> str: ...

    @property
    def is_open(self) -> bool: ...

    def hold(self) -> None: ...

    def let_in(self) -> None: ...

    def close(self) -> None: ...


class AdmittedConnection(Guest, Protocol):
    """A connection that was let in, or is about to be."""

    last_used_s: float

    @property
    def is_counted(self) -> bool: ...


class Admission:
    """Lets connections in as ``ConnectionLimits`` allow: now, later or not at all."""

    def __init__(self, limits: ConnectionLimits, timers: Timers, connections: Collection[AdmittedConnection]) -> None:
        """``connections``: those that are open, which change."""
        self._limits = limits
        self._timers = timers
        self._connections = connections
        self._waiting: deque[Guest] = deque()
        """Those for whom there is no room yet, in the order they came."""

    def arrived(self, connection: Guest) -> None:
        delay_ms = self._limits.arrival_delay_ms(connection.listener)
        if not delay_ms:
            self._admit(connection)
            return
        connection.hold()
        self._timers.call_later(delay_ms, lambda: self._admit(connection))

    def _admit(self, connection: Guest) -> None:
        if not connection.is_open:
            return
        if not self._limits.has_room(connection.listener):
            connection.hold()
            self._waiting.append(connection)
            return
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
        """A connection that was let in has ended."""
        self._limits.closed(connection.listener, connection.ip)
        self.admit_waiting()

    def admit_waiting(self) -> None:
        """Ask again for everybody who waits for room."""
        for connection in [self._waiting.popleft() for _ in range(len(self._waiting))]:
            self._admit(connection)
