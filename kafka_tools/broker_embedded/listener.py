"""The rim: asyncio sockets on one side, the core's plain calls on the other.

Each connection is served one request at a time and in order, as Kafka does by muting a channel: while a
call is parked its connection's later requests wait, and reading stops when too many do. Bytes that are
no request close that connection only.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.dispatch import CloseConnection, Connection
from kafka_tools.broker_embedded.doorkeeper import Doorkeeper
from kafka_tools.broker_embedded.endpoints import listen_failure
from kafka_tools.broker_embedded.listener_settings import ListenerSettings
from kafka_tools.errors import InputError, WireError
from kafka_tools.protocol.frames import FrameReader

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.endpoints import Endpoint
    from kafka_tools.broker_embedded.listener_tls import ListenerTls
    from kafka_tools.broker_embedded.purgatory import Parked

log = logging.getLogger(__name__)

_WAITING_REQUESTS = 64
"""Requests of one connection that may wait; beyond that it is not read from until they are served."""

_IDLE_CHECK_MS = 10_000
_STORE_CHECK_MS = 10_000

_DRAIN_STEPS, _DRAIN_STEP_S = 100, 0.01
"""How long a stop waits for clients to take the answers that are already written: a second at most."""


class ClientConnection(asyncio.Protocol):
    """One accepted socket."""

    def __init__(self, server: Server, endpoint: Endpoint, *, was_let_in: bool = False) -> None:
        """``was_let_in``: the doorkeeper has seen to it before the TLS handshake."""
        self._server = server
        self._endpoint = endpoint
        self._was_let_in = was_let_in
        self._core = server.core
        self._reader = FrameReader(server.max_frame_bytes)
        self._frames: deque[bytes] = deque()
        self._out: list[bytes] = []
        self._parked: Parked | None = None
        self._serving = False
        self._blocked = False
        self._muted = False
        self._reading = True
        self._counted = False
        self._transport: Any = None
        self._early = b""
        """What came before the connection was let in: a client may speak right behind its TLS handshake."""
        self.certificate_principal = "User:ANONYMOUS"
        """Who the client's certificate names, on listeners with TLS alone."""
        self.connection: Connection | None = None
        self.last_used_s = 0.0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        peer = transport.get_extra_info("peername") or ("", 0)
        local = transport.get_extra_info("sockname") or ("", 0)
        number = next(self._server.numbers)
        self.connection = Connection(
            f"{local[0]}:{local[1]}-{peer[0]}:{peer[1]}-{number}", self._endpoint.name, peer[0], peer[1]
        )
        self.connection.local_host = local[0]
        self.connection.protocol = self._endpoint.protocol
        security = self._server.settings.security.get(self._endpoint.name)
        if security is not None:
            self.connection.login = security.login()
        else:
            self.connection.principal = self.certificate_principal
        self.last_used_s = self._core.clock.monotonic_s()
        self._server.connections.add(self)
        if self._was_let_in:
            self.let_in()
        else:
            self._server.doorkeeper.arrived(self)

    @property
    def listener(self) -> str:
        return self._endpoint.name

    @property
    def ip(self) -> str:
        assert self.connection is not None
        return self.connection.client_host

    @property
    def is_open(self) -> bool:
        return self.connection is not None and not self._transport.is_closing()

    @property
    def is_counted(self) -> bool:
        """Whether it was let in, and so counts towards the limits."""
        return self._counted

    def hold(self) -> None:
        """Read nothing until ``let_in``."""
        if self._reading:
            self._reading = False
            self._transport.pause_reading()

    def let_in(self) -> None:
        self._counted = True
        if not self._reading:
            self._reading = True
            self._transport.resume_reading()
        early, self._early = self._early, b""
        if early:
            self.data_received(early)

    def data_received(self, data: bytes) -> None:
        if not self._counted:
            self._early += data
            return
        self.last_used_s = self._core.clock.monotonic_s()
        try:
            self._frames.extend(self._reader.feed(data))
        except WireError as error:
            self._reject(error)
            return
        self._serve()
        if len(self._frames) > _WAITING_REQUESTS and self._reading:
            self._reading = False
            self._transport.pause_reading()

    def _serve(self) -> None:
        """Serve what waits, until a call is parked or the client does not take its answers."""
        if self._serving or self.connection is None:
            return
        self._serving = True
        frames, dispatcher = self._frames, self._core.dispatcher
        try:
            while frames and self._may_serve():
                self._parked = dispatcher.handle_frame(self.connection, frames.popleft(), self._answer)
        except (WireError, CloseConnection) as error:
            self._flush()
            self._reject(error)
        finally:
            self._serving = False
        self._flush()
        if self.connection is not None and self.connection.close_after_reply:
            self._frames.clear()
            self._transport.close()
        if not self._reading and len(frames) < _WAITING_REQUESTS // 2:
            self._reading = True
            self._transport.resume_reading()

    def _may_serve(self) -> bool:
        """Whether the next request may be served; a connection over its quota is looked at again in time."""
        if self._muted or self._parked is not None or self._blocked or self._transport.is_closing():
            return False
        assert self.connection is not None
        left_s = self.connection.muted_until_s - self._core.clock.monotonic_s()
        if left_s > 0:
            self._muted = True
            self._core.timers.call_later(left_s * 1000, self._unmute)
        return not self._muted

    def _unmute(self) -> None:
        self._muted = False
        self._serve()

    def _answer(self, payload: bytes | None) -> None:
        if payload is not None:
            self._out.append(len(payload).to_bytes(4, "big"))
            self._out.append(payload)
        if not self._serving:  # the answer of a parked call
            self._parked = None
            self._flush()
            self._server.loop.call_soon(self._serve)

    def _flush(self) -> None:
        if self._out and not self._transport.is_closing():
            self._transport.writelines(self._out)
        self._out.clear()

    def _reject(self, error: Exception) -> None:
        log.warning("closing the connection from %s: %s", self._transport.get_extra_info("peername"), error)
        self._frames.clear()
        self._transport.close()

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        self._serve()

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._counted:
            self._server.doorkeeper.left(self)
        self._frames.clear()
        if self._parked is not None:
            self._parked.cancel()
            self._parked = None
        self.connection = None

    def close(self, *, abort: bool = False) -> None:
        if abort:
            self._transport.abort()
        else:
            self._transport.close()

    @property
    def idle(self) -> bool:
        return self._parked is None and not self._frames


class TlsArrival(asyncio.Protocol):
    """A socket on its way to be a ``ClientConnection``: counted from the start, as in Kafka, then the TLS handshake."""

    def __init__(self, server: Server, endpoint: Endpoint, tls: ListenerTls) -> None:
        self._server = server
        self._tls = tls
        self._endpoint = endpoint
        self._transport: Any = None
        self.listener = endpoint.name
        self.ip = ""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.ip = (transport.get_extra_info("peername") or ("",))[0]
        transport.pause_reading()  # the first bytes are for the handshake
        self._server.doorkeeper.arrived(self)

    @property
    def is_open(self) -> bool:
        return not self._transport.is_closing()

    def hold(self) -> None:
        """Nothing is read before ``let_in``."""

    def let_in(self) -> None:
        task = self._server.loop.create_task(self._shake_hands())
        self._server.handshakes.add(task)
        task.add_done_callback(self._server.handshakes.discard)

    def close(self) -> None:
        self._transport.close()

    async def _shake_hands(self) -> None:
        connection = ClientConnection(self._server, self._endpoint, was_let_in=True)
        secured = None
        try:
            secured = await self._secured(connection)
        finally:
            if secured is None:
                self._server.doorkeeper.left(self)
                self._transport.abort()
        if secured is not None:
            connection.connection_made(secured)

    async def _secured(self, connection: ClientConnection) -> Any:
        """The transport after the handshake; None when there is to be no connection."""
        peer = self._transport.get_extra_info("peername")
        try:
            secured = await self._server.loop.start_tls(
                self._transport, connection, self._tls.context, server_side=True
            )
        except OSError as error:
            log.warning("TLS handshake with %s failed: %s", peer, getattr(error, "reason", None) or error)
            return None
        if secured is None or secured.is_closing():
            return None  # the client went away meanwhile
        if not self._endpoint.has_sasl:
            certificate = secured.get_extra_info("ssl_object").getpeercert(True)
            try:
                connection.certificate_principal = self._tls.principal(certificate)
            except InputError as error:
                log.warning("closing the connection from %s: %s", peer, error)
                return None
        return secured


class Server:
    """The listeners of a core on the running event loop, and the core's timers on its clock."""

    def __init__(self, core: Core, endpoints: list[Endpoint]) -> None:
        self.core = core
        self.endpoints = endpoints
        self.loop = asyncio.get_running_loop()
        self.connections: set[ClientConnection] = set()
        self.numbers = count()
        self.max_frame_bytes = core.configs.broker.integer("socket.request.max.bytes")
        self.settings = ListenerSettings(core, endpoints)
        self.handshakes: set[asyncio.Task[None]] = set()
        self._settings_due = False
        self.bound: list[Endpoint] = []
        """The endpoints with the ports that they got."""
        self._servers: list[asyncio.Server] = []
        self._alarm: asyncio.TimerHandle | None = None
        self.doorkeeper = Doorkeeper(self)

    async def start(self) -> None:
        """Open every listener and tell the cluster its addresses. Raises ConfigError if one cannot be opened."""
        for endpoint in self.endpoints:
            try:
                server = await self.loop.create_server(
                    lambda endpoint=endpoint: self._arrival(endpoint),
                    endpoint.host or None,
                    endpoint.port,
                    family=socket.AF_INET if endpoint.host == "localhost" else socket.AF_UNSPEC,
                    backlog=512,
                    start_serving=False,
                )
            except (OSError, UnicodeError) as error:
                await self.stop()
                raise listen_failure(endpoint, error) from error
            self._servers.append(server)
            port = server.sockets[0].getsockname()[1]
            self.bound.append(endpoint._replace(port=port))
            self.core.cluster.endpoints[endpoint.name] = (
                endpoint.advertised_host or endpoint.host,
                endpoint.advertised_port or port,
            )
        for server in self._servers:
            await server.start_serving()
        self.core.timers.on_earlier = self._arm
        self.core.on_broker_config = self._config_changed
        self.core.check_broker_config = self.settings.check
        self._close_idle()
        self._check_stores()
        self._arm()

    def _arrival(self, endpoint: Endpoint) -> asyncio.Protocol:
        tls = self.settings.tls.get(endpoint.name)
        return ClientConnection(self, endpoint) if tls is None else TlsArrival(self, endpoint, tls)

    def _config_changed(self) -> None:
        """After each changed config: limits now, key stores once the whole change is in."""
        self.doorkeeper.admit_waiting()
        if not self._settings_due:
            self._settings_due = True
            self.loop.call_soon(self._take_settings)

    def _take_settings(self) -> None:
        self._settings_due = False
        self.settings.take()

    def _check_stores(self) -> None:
        """Look whether the files of key and trust stores have changed."""
        if self.settings.tls:
            self.settings.take()
            self.core.timers.call_later(_STORE_CHECK_MS, self._check_stores)

    async def stop(self) -> None:
        """Close listeners and connections; answers already written are sent."""
        self.core.timers.on_earlier = self.core.on_broker_config = self.core.check_broker_config = None
        if self._alarm:
            self._alarm.cancel()
        for server in self._servers:
            server.close()
        for handshake in list(self.handshakes):
            handshake.cancel()
        for connection in list(self.connections):
            connection.close()
        for _ in range(_DRAIN_STEPS):
            if not self.connections:
                break
            await asyncio.sleep(_DRAIN_STEP_S)
        for connection in list(self.connections):
            connection.close(abort=True)
        await asyncio.sleep(0)

    def bootstrap_servers(self) -> str:
        """The addresses of the first listener as clients want them."""
        from kafka_tools.values import format_address

        host, port = self.core.cluster.endpoints[self.endpoints[0].name]
        return format_address("localhost" if host in ("", "0.0.0.0", "::") else host, port)

    def _arm(self) -> None:
        due_s = self.core.timers.next_due_s()
        if self._alarm:
            if due_s is not None and self._alarm.when() <= due_s and not self._alarm.cancelled():
                return
            self._alarm.cancel()
        self._alarm = None if due_s is None else self.loop.call_at(due_s, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.core.step()
        self._arm()

    def _close_idle(self) -> None:
        idle_ms = self.core.configs.broker.integer("connections.max.idle.ms")
        now_s = self.core.clock.monotonic_s()
        if idle_ms >= 0:
            for connection in list(self.connections):
                if connection.idle and (now_s - connection.last_used_s) * 1000 > idle_ms:
                    connection.close()
        often_ms = min(_IDLE_CHECK_MS, max(idle_ms, 100)) if idle_ms >= 0 else _IDLE_CHECK_MS
        self.core.timers.call_later(often_ms, self._close_idle)
