"""Connects asyncio sockets to the core: opens listeners, accepts connections, runs the core's timers.

``client_connection`` serves a connection.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.configs.endpoints import listen_failure
from kafka_tools.broker_embedded.listeners.accepting import Acceptor, ended
from kafka_tools.broker_embedded.listeners.client_connection import ClientConnection
from kafka_tools.broker_embedded.listeners.shared import Shared
from kafka_tools.broker_embedded.listeners.threads import Threads
from kafka_tools.clock import MovableClock

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.endpoints import Endpoint
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.dispatch import Dispatcher
    from kafka_tools.broker_embedded.listeners.tls_transport import TlsTransport

log = logging.getLogger(__name__)

_IDLE_CHECK_MS = 10_000
_STORE_CHECK_S = 10.0
_END_CHECK_S = 1.0

_PORTS_TRIED = 20
"""The number of attempts to find a port that is free at every address of a host."""
_DRAIN_STEPS, _DRAIN_STEP_S = 100, 0.01
"""How long a stop waits for clients to read written answers: at most a second."""


class Server:
    """The listeners of a core on the running event loop, and the core's timers on its clock."""

    def __init__(self, core: Core, dispatcher: Dispatcher, endpoints: list[Endpoint]) -> None:
        self.core = core
        self.endpoints = endpoints
        self.loop = asyncio.get_running_loop()
        self.shared = Shared(core, dispatcher, endpoints, self.loop.call_soon)
        self._settings_due = False
        self._ended = 0
        """The number of ended connections at the last call of ``on_many_ended``."""
        self._watches = False
        """Whether this object is registered for config changes."""
        self.bound: list[Endpoint] = []
        """The endpoints with their actual ports."""
        self._acceptors: list[Acceptor] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._end_check: asyncio.TimerHandle | None = None
        self._store_check: asyncio.TimerHandle | None = None
        """These timers of sockets and files use the loop's time, not the core's clock."""
        self._threads = Threads(self.loop)

    async def start(self) -> None:
        """Open every listener and register its address in the cluster. Raises ConfigError if one cannot be opened."""
        for endpoint in self.endpoints:
            try:
                server = await self._bind(endpoint)
            except (OSError, UnicodeError) as error:
                await self.stop()
                raise listen_failure(endpoint, error) from error
            port = server.sockets[0].getsockname()[1]
            for bound in server.sockets:
                self._acceptors.append(
                    Acceptor(
                        self.loop,
                        socket.socket(fileno=os.dup(bound.fileno())),
                        lambda endpoint=endpoint: self._arrival(endpoint),  # type: ignore[misc]
                        endpoint.name,
                        lambda endpoint=endpoint: self.shared.admission.is_free(endpoint.name),  # type: ignore[misc]
                    )
                )
            server.close()
            self.bound.append(endpoint._replace(port=port))
            self.core.registration.endpoints[endpoint.name] = (
                endpoint.advertised_host or endpoint.host,
                endpoint.advertised_port or port,
            )
        self.shared.admission.on_free = self._accept_on
        for acceptor in self._acceptors:
            acceptor.start()
        self._threads.serve(self.core)
        self.core.timers.on_earlier = self._arm
        self._watches = True
        self.core.configs.on_broker_changed.append(self._config_changed)
        self.core.configs.running_checks.append(self.shared.settings.check)
        self._close_idle()
        self._close_ended()
        self._check_stores()
        self._arm()

    async def _bind(self, endpoint: Endpoint) -> asyncio.Server:
        """Bind a socket for each address of the host, all on one port, without accepting connections.

        For port 0 the system selects a port for each socket, but an endpoint has one port. Raises OSError.
        """
        port = endpoint.port
        for left in reversed(range(_PORTS_TRIED)):
            try:
                server = await self.loop.create_server(
                    lambda: self._arrival(endpoint),
                    endpoint.host or None,
                    port,
                    family=socket.AF_INET if endpoint.host == "localhost" else socket.AF_UNSPEC,
                    start_serving=False,
                )
            except OSError as error:
                if port == endpoint.port or error.errno != errno.EADDRINUSE or not left:
                    raise
                port = endpoint.port  # the port is in use at another address
                continue
            if not server.sockets:  # no address of a family that the kernel has; Python 3.13 raises this itself
                raise OSError("cannot bind any address")
            port = server.sockets[0].getsockname()[1]
            if all(each.getsockname()[1] == port for each in server.sockets):
                return server
            server.close()
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))

    def _arrival(self, endpoint: Endpoint) -> ClientConnection | TlsTransport:
        tls = self.shared.settings.tls.get(endpoint.name)
        if tls is None:
            return ClientConnection(self.shared, endpoint)
        from kafka_tools.broker_embedded.listeners.tls_transport import TlsTransport

        return TlsTransport(self.shared, endpoint, tls)

    def _accept_on(self) -> None:
        for acceptor in self._acceptors:
            acceptor.go_on()

    def _config_changed(self) -> None:
        """Called after each changed config: apply limits now, and key stores after the whole change."""
        self.shared.admission.admit_waiting()
        if not self._settings_due:
            self._settings_due = True
            self.loop.call_soon(self._take_settings)

    def _take_settings(self) -> None:
        self._settings_due = False
        self.shared.settings.take()

    def _check_stores(self) -> None:
        """Reload the files of key and trust stores that have changed."""
        if self.shared.settings.tls:
            self.shared.settings.take()
            self._store_check = self.loop.call_later(_STORE_CHECK_S, self._check_stores)

    async def stop(self) -> None:
        """Close listeners and connections, after sending written answers."""
        self.core.timers.on_earlier = None
        if self._watches:
            self._watches = False
            self.core.configs.on_broker_changed.remove(self._config_changed)
            self.core.configs.running_checks.remove(self.shared.settings.check)
        for timer in (self._alarm, self._end_check, self._store_check):
            if timer is not None:
                timer.cancel()
        for acceptor in self._acceptors:
            acceptor.close()
        self.shared.handshakes.end_all()
        for connection in list(self.shared.connections):
            connection.close()
        for _ in range(_DRAIN_STEPS):
            if not self.shared.connections:
                break
            await asyncio.sleep(_DRAIN_STEP_S)
        for connection in list(self.shared.connections):
            connection.close(abort=True)
        await asyncio.sleep(0)
        await self._threads.stop(self.core)

    def close_listeners(self) -> None:
        """Become unreachable: abort every connection and refuse new ones."""
        for acceptor in self._acceptors:
            acceptor.stop()
        self.shared.handshakes.end_all()
        for connection in list(self.shared.connections):
            connection.close(abort=True)

    def open_listeners(self) -> None:
        """Become reachable again on the same ports. Does nothing if the broker is reachable."""
        for acceptor in self._acceptors:
            acceptor.start()

    async def advance(self, clock: MovableClock, seconds: float) -> None:
        """Move the core's clock forward, and run each timer that becomes due at its time."""
        for _ in self.core.timers.advance(clock, seconds):
            await asyncio.sleep(0)  # send answers before the next timer runs
            await asyncio.sleep(0)
        self._arm()

    def descriptors(self) -> list[int]:
        """The descriptors of all sockets, which a forked process would keep open."""
        return [each for acceptor in self._acceptors for each in acceptor.descriptors()]

    def addresses(self) -> dict[str, str]:
        """Listener -> the address to which its clients connect first, in the order of ``listeners``."""
        from kafka_tools.values import format_address

        found = {endpoint.name: self.core.registration.endpoints[endpoint.name] for endpoint in self.endpoints}
        return {
            name: format_address("localhost" if host in ("", "0.0.0.0", "::") else host, port)
            for name, (host, port) in found.items()
        }

    def _arm(self) -> None:
        due_s = self.core.timers.next_due_s()
        if due_s is not None:  # the broker's clock may be ahead of the loop's
            due_s += self.loop.time() - self.core.clock.monotonic_s()
        if self._alarm:
            if due_s is not None and self._alarm.when() <= due_s and not self._alarm.cancelled():
                return
            self._alarm.cancel()
        self._alarm = None if due_s is None else self.loop.call_at(due_s, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.core.step()
        self._arm()

    def handshake_s(self) -> float:
        """How long a TLS handshake may take."""
        idle_ms = self.core.configs.broker.integer("connections.max.idle.ms")
        most_s = self.core.limits.handshake_s
        return min(most_s, idle_ms / 1000) if idle_ms > 0 else most_s

    def _close_ended(self) -> None:
        """Close connections whose client has disconnected while the broker does not read from them.

        Also closes connections whose handshake takes too long.
        """
        self.shared.handshakes.end_late(self.handshake_s())
        deaf = {connection.fileno: connection for connection in self.shared.connections if connection.is_deaf}
        for descriptor in ended([each for each in deaf if each >= 0]):
            if deaf[descriptor].is_waiting:
                deaf[descriptor].close(abort=True)
        self._end_check = self.loop.call_later(_END_CHECK_S, self._close_ended)

    def _close_idle(self) -> None:
        idle_ms = self.core.configs.broker.integer("connections.max.idle.ms")
        now_s = self.core.clock.monotonic_s()
        if idle_ms >= 0:
            for connection in list(self.shared.connections):
                if connection.idle and (now_s - connection.last_used_s) * 1000 > idle_ms:
                    connection.close(abort=connection.is_closing)  # a client that reads no answers would keep it open
        if self.shared.admission.ended - self._ended >= self.core.limits.ended_connections:
            self._ended = self.shared.admission.ended
            self.shared.on_many_ended()
        often_ms = min(_IDLE_CHECK_MS, max(idle_ms, 100)) if idle_ms >= 0 else _IDLE_CHECK_MS
        self.core.timers.call_later(often_ms, self._close_idle)
