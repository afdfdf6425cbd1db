"""Requests to many nodes at once: blocking for the caller, one selector, no threads, no asyncio.

Keeps one connection per address (and channel), opens it when it is first needed, waits between attempts as
``reconnect.backoff.ms`` says, and ends every wait at its ``Deadline``. It knows nothing of topics, leaders or
retries: a request that fails is an error for the caller (``admin.driver``, ``clients``) to judge.
"""

from __future__ import annotations

import random
import selectors
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools import __version__
from kafka_tools.clock import Clock, Deadline, SystemClock
from kafka_tools.errors import (
    AuthenticationFailed,
    ConfigError,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    KafkaToolsError,
    NetworkError,
)
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.connection import Build, Connection, NodeVersions, Pending
from kafka_tools.net.session import ClientSession, SaslExchange, VersionRange
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.net.tls import TlsSettings
    from kafka_tools.net.trace import Trace

BOOTSTRAP_STAGGER_S = 0.25
"""How long one bootstrap server may be silent before the next is tried beside it."""
MAX_WAIT_S = 1200.0

Key = tuple[str, int, str]


class _Backoff(NamedTuple):
    failures: int
    not_before_s: float


class Exchange:
    """See the module. Not for use by several threads at once.

    ``trace`` gets an event per connection change, request and response. ``rng`` is for the jitter of backoffs.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        clock: Clock | None = None,
        trace: Trace | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.config = config
        self.clock: Clock = clock or SystemClock()
        self._trace = trace
        self._rng = rng or random.Random()
        self._selector = selectors.DefaultSelector()
        self._connections: dict[Key, Connection] = {}
        self._registered: dict[Connection, int] = {}
        self._backoffs: dict[Key, _Backoff] = {}
        self._postponed: dict[Key, tuple[float, Connection]] = {}
        self._tls_settings: TlsSettings | None = None
        self._bootstrapped_by: Node | None = None

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # what callers use

    def bootstrap(self, deadline: Deadline) -> Node:
        """Connect to the first bootstrap server that answers and return it (its id is -1).

        A server that stays silent does not hold up the next one. Raises ConnectFailed with every server's cause,
        AuthenticationFailed or TlsFailed at once, DeadlineExceeded.
        """
        nodes = self._bootstrap_nodes()
        for node in nodes:
            connection = self._connections.get(_key(node))
            if connection is not None and connection.ready:
                self._bootstrapped_by = node
                return node
        return self._first_to_answer(nodes, deadline)

    def call(self, node: Node, request: Request | Build, deadline: Deadline, version: int | None = None) -> Any:
        """Send one request and wait for its response.

        ``request`` may be a function of the node's versions. The version is the newest common one unless given.
        Raises ConnectFailed, Disconnected, DeadlineExceeded, UnsupportedVersion, AuthenticationFailed, TlsFailed,
        DecodeError.
        """
        pending = self.send(node, request, deadline, version)
        self.wait([pending])
        return pending.result()

    def call_many(
        self, requests: Sequence[tuple[Node, Request | Build]], deadline: Deadline
    ) -> list[Any | KafkaToolsError]:
        """Send all at once, wait for all; responses and errors in the order of ``requests``."""
        pending = [self.send(node, request, deadline) for node, request in requests]
        self.wait(pending)
        return [item.error if item.error is not None else item.response for item in pending]

    def send(
        self,
        node: Node,
        request: Request | Build,
        deadline: Deadline,
        version: int | None = None,
        *,
        channel: str = "",
        timeout_s: float | None = None,
    ) -> Pending:
        """Queue a request and return at once; ``poll`` moves it.

        ``channel`` names a further connection to the same node, for requests that must not wait behind others.
        ``timeout_s`` replaces request.timeout.ms (a group join may take longer).
        """
        if timeout_s is None:
            timeout_s = self.config.number("request.timeout.ms") / 1000
        pending = Pending(node, _builder(request, version), deadline, timeout_s)
        pending.expires_s = self.clock.monotonic_s() + deadline.left_s()
        try:
            connection = self._connection(node, channel)
            connection.queue.append(pending)
            connection.flush_queue()
        except KafkaToolsError as error:
            if not pending.done:
                pending.fail(error)
        return pending

    def poll(self, pending: Sequence[Pending], deadline: Deadline) -> list[Pending]:
        """Move bytes until at least one of ``pending`` is done or the deadline passes; those that are done."""
        while True:
            done = [item for item in pending if item.done]
            if done or not pending or deadline.expired:
                return done
            self._turn(deadline.left_s())

    def wait(self, pending: Sequence[Pending]) -> None:
        """Move bytes until all of ``pending`` are done; each is at its own deadline at the latest."""
        while not all(item.done for item in pending):
            self._turn(MAX_WAIT_S)

    def versions(self, node: Node, deadline: Deadline) -> dict[int, VersionRange]:
        """API key -> (oldest, newest) of a node, connecting to it if need be. Raises as ``call``."""
        return self.connected(node, deadline).session.versions or {}

    def node_versions(self, node: Node, deadline: Deadline) -> NodeVersions:
        """The same as an object that picks versions."""
        return self.connected(node, deadline).versions

    def connected(self, node: Node, deadline: Deadline) -> Connection:
        """A connection to ``node`` that is ready. Raises as ``call``."""
        connection = self._connection(node, "")
        while not connection.ready:
            if connection not in self._connections.values():
                raise connection.failure or Disconnected(f"{node} closed the connection", node=str(node))
            self._check(deadline, connection)
            self._turn(deadline.left_s())
        return connection

    def is_connected(self, node: Node) -> bool:
        """Whether a connection to ``node`` is open and ready now."""
        connection = self._connections.get(_key(node))
        return connection is not None and connection.ready

    def disconnect(self, node: Node) -> None:
        """Close the connections to a node; requests on them fail as Disconnected."""
        for key in [key for key in self._connections if key[:2] == (node.host, node.port)]:
            self._drop(key, Disconnected(f"connection to {node} was closed", node=str(node)), count=False)

    def close(self) -> None:
        """Close every connection; what is still pending fails."""
        for key in list(self._connections):
            self._drop(key, Disconnected("the client was closed"), count=False)
        self._selector.close()

    # connections

    def _connection(self, node: Node, channel: str) -> Connection:
        key = _key(node, channel)
        connection = self._connections.get(key)
        if connection is not None and connection.ready and connection.idle and not self._is_fresh(key, connection):
            connection = None
        return connection if connection is not None else self._open(key, node)

    def _is_fresh(self, key: Key, connection: Connection) -> bool:
        """Whether an idle connection can be used; else it is dropped. Brokers close idle ones without a word."""
        now_s = self.clock.monotonic_s()
        max_idle_ms = self.config.number("connections.max.idle.ms")
        too_old = max_idle_ms >= 0 and now_s - connection.last_used_s > max_idle_ms / 1000
        expired = connection.expires_s is not None and now_s >= connection.expires_s
        if not too_old and not expired:
            try:
                connection.advance(readable=True, writable=False)
                return True
            except KafkaToolsError:
                pass  # it is of no use any more, and nobody waits on it: a new one takes its place
        self._drop(key, Disconnected(f"connection to {connection.node} was idle"), count=False)
        return False

    def _open(self, key: Key, node: Node) -> Connection:
        connection = Connection(
            node,
            ClientSession(
                client_id=self.config.client_id,
                software_version=__version__,
                sasl=self._sasl_exchange if self.config.uses_sasl else None,
                peer=str(node),
            ),
            tls=self._tls if self.config.uses_tls else None,
            clock=self.clock,
            setup_timeout_s=self._setup_timeout_s(key),
            buffers=(self.config.number("send.buffer.bytes"), self.config.number("receive.buffer.bytes")),
            trace=self._trace,
        )
        self._connections[key] = connection
        backoff = self._backoffs.get(key)
        if backoff is not None and self.clock.monotonic_s() < backoff.not_before_s:
            self._postponed[key] = (backoff.not_before_s, connection)
        else:
            self._begin(key, connection)
        return connection

    def _begin(self, key: Key, connection: Connection) -> None:
        try:
            if self.config.uses_tls:
                self._tls()  # settings that cannot work are found before anything is sent
            connection.begin()
        except KafkaToolsError as error:
            self._drop(key, error)
            raise (connection.failure or error) from error
        self._watch(connection)

    def _drop(self, key: Key, error: KafkaToolsError, *, count: bool = True) -> None:
        """Close a connection and fail what waits on it; ``count`` it as a failure that calls for a backoff."""
        connection = self._connections.pop(key, None)
        self._postponed.pop(key, None)
        if connection is None:
            return
        if connection in self._registered:
            self._selector.unregister(connection.transport)  # type: ignore[arg-type]
            del self._registered[connection]
        was_ready = connection.ready
        error = self._with_advice(connection, error)
        connection.failure = error
        sent = {id(item.context): item for item in connection.session.in_flight}
        for pending in connection.waiting():
            if pending.done:
                continue
            in_flight = sent.get(id(pending))
            pending.fail(error if in_flight is None else _cancelled(error, in_flight.correlation_id, pending))
        connection.close()
        if count:
            failures = 1 if was_ready else self._backoffs.get(key, _Backoff(0, 0.0)).failures + 1
            self._backoffs[key] = _Backoff(failures, self.clock.monotonic_s() + self._backoff_s(failures))

    def _backoff_s(self, failures: int) -> float:
        """Doubles with each failure up to the maximum, give or take 20 % (KIP-144)."""
        first, most = (self.config.number(f"reconnect.backoff.{name}") for name in ("ms", "max.ms"))
        delay_ms = min(first * (1 << min(failures - 1, 30)), max(first, most))
        return delay_ms * self._rng.uniform(0.8, 1.2) / 1000

    def _setup_timeout_s(self, key: Key) -> float:
        """Doubles with each failure up to the maximum (KIP-601)."""
        failures = self._backoffs.get(key, _Backoff(0, 0.0)).failures
        first, most = (self.config.number(f"socket.connection.setup.timeout.{name}") for name in ("ms", "max.ms"))
        return min(first * (1 << min(failures, 30)), max(first, most)) / 1000

    def _with_advice(self, connection: Connection, error: KafkaToolsError) -> KafkaToolsError:
        """Say it when a bootstrap server works and the address that a broker advertises does not."""
        node, bootstrap = connection.node, self._bootstrapped_by
        reached = connection.session.versions is not None
        if node.id < 0 or bootstrap is None or reached or not isinstance(error, ConnectFailed):
            return error
        if (node.host, node.port) in self.config.bootstrap:
            return error
        return ConnectFailed(
            str(error),
            node=error.node,
            hint=f"bootstrap server {bootstrap} answers; broker {node.id} advertises {node.address}, which cannot be "
            "reached from here: check advertised.listeners of that broker",
        )

    def _tls(self) -> TlsSettings:
        if self._tls_settings is None:
            from kafka_tools.net import tls  # ssl: 11 ms

            self._tls_settings = tls.client_settings(self.config.values)
        return self._tls_settings

    def _sasl_exchange(self) -> SaslExchange:
        login = self.config.credentials()
        mechanism = self.config.sasl_mechanism
        if mechanism == "PLAIN":
            from kafka_tools.net.sasl.plain import PlainClient

            return PlainClient(login.username, login.password)
        if mechanism.startswith("SCRAM-"):
            from kafka_tools.net.sasl.scram import ScramClient  # hashlib, hmac: 9 ms

            return ScramClient(mechanism, login.username, login.password, token_auth=login.token_auth)
        raise ConfigError(f"sasl.mechanism: '{mechanism}' is not supported")

    # bootstrap

    def _bootstrap_nodes(self) -> list[Node]:
        nodes = [Node(-1 - number, host, port) for number, (host, port) in enumerate(self.config.require_bootstrap())]
        if self.config["client.dns.lookup"] == "resolve_canonical_bootstrap_servers_only":
            return _canonical(nodes)
        return nodes

    def _first_to_answer(self, nodes: list[Node], deadline: Deadline) -> Node:
        waiting = list(nodes)
        started: dict[Node, Connection] = {}
        failures: dict[Node, KafkaToolsError] = {}
        next_start_s = self.clock.monotonic_s()
        while True:
            while waiting and (not started or self.clock.monotonic_s() >= next_start_s):
                node = waiting.pop(0)
                next_start_s = self.clock.monotonic_s() + BOOTSTRAP_STAGGER_S
                try:
                    started[node] = self._connection(node, "")
                except KafkaToolsError as error:
                    failures[node] = self._unless_final(error)
            for node, connection in list(started.items()):
                if connection.ready:
                    for other in started.values():
                        if not other.ready:
                            self._drop(_key(other.node), Disconnected("not needed"), count=False)
                    self._bootstrapped_by = node
                    return node
                if connection.failure is not None:
                    failures[node] = self._unless_final(connection.failure)
                    del started[node]
            if not started and not waiting:
                raise _all_failed(failures)
            if deadline.expired:
                self._check(deadline, next(iter(started.values())))
            if started:
                left_s = deadline.left_s()
                self._turn(min(left_s, max(0.0, next_start_s - self.clock.monotonic_s())) if waiting else left_s)

    @staticmethod
    def _unless_final(error: KafkaToolsError) -> KafkaToolsError:
        """Wrong credentials and wrong settings are the same everywhere: raised at once. Others are collected."""
        if isinstance(error, AuthenticationFailed | ConfigError):
            raise error
        return error

    # moving bytes

    def _turn(self, wait_s: float) -> None:
        """Wait for sockets and timers at most ``wait_s``, then let every connection that can go on do so."""
        now_s = self.clock.monotonic_s()
        times = [connection.next_event_s() for connection in self._connections.values()]
        times += [at_s for at_s, _ in self._postponed.values()]
        due = min((at_s for at_s in times if at_s is not None), default=now_s + MAX_WAIT_S)
        timeout_s = max(0.0, min(wait_s, due - now_s, MAX_WAIT_S))
        for connection in list(self._registered):
            self._watch(connection)
        if self._registered:
            ready = self._selector.select(timeout_s)
        else:
            ready = []
            self.clock.sleep(timeout_s)
        for key, mask in ready:
            self._advance(key.data, bool(mask & selectors.EVENT_READ), bool(mask & selectors.EVENT_WRITE))
        self._run_timers()

    def _advance(self, connection: Connection, readable: bool, writable: bool) -> None:
        if connection not in self._registered:
            return  # dropped while this turn handled another connection
        before = connection.transport
        try:
            for answer in connection.advance(readable, writable):
                pending: Pending | None = answer.sent.context
                if pending is not None and not pending.done:
                    pending.succeed(answer.response)
            connection.flush_queue()
        except KafkaToolsError as error:
            self._forget_socket(connection, before)
            self._drop(self._key_of(connection), error)
            return
        if connection.ready:
            self._backoffs.pop(self._key_of(connection), None)
        if connection.transport is not before:
            self._forget_socket(connection, before)
            self._watch(connection)

    def _run_timers(self) -> None:
        now_s = self.clock.monotonic_s()
        for key, (at_s, connection) in list(self._postponed.items()):
            if now_s >= at_s:
                del self._postponed[key]
                try:
                    self._begin(key, connection)
                except KafkaToolsError:
                    continue  # _begin gave the error to everything that waited
        for key, connection in list(self._connections.items()):
            if key in self._postponed:
                self._expire(key, connection, now_s)
                continue
            before = connection.transport
            try:
                connection.check_setup()
                connection.flush_queue()
            except KafkaToolsError as error:
                self._forget_socket(connection, before)
                self._drop(key, error)
                continue
            if connection.transport is not before:
                self._forget_socket(connection, before)
                self._watch(connection)
            self._expire(key, connection, now_s)

    def _expire(self, key: Key, connection: Connection, now_s: float) -> None:
        """End requests whose time is over. One in flight takes its connection with it: the answer may still come."""
        sent = {id(item.context) for item in connection.session.in_flight}
        for pending in connection.waiting():
            if pending.done or pending.expires_s is None or now_s < pending.expires_s:
                continue
            if id(pending) not in sent:
                pending.fail(_too_late(pending, connection))
                connection.queue.remove(pending)
                continue
            pending.fail(_too_late(pending, connection))
            self._drop(key, Disconnected(f"{connection.node} did not answer in time", node=str(connection.node)))
            return

    def _check(self, deadline: Deadline, connection: Connection) -> None:
        if deadline.expired:
            raise DeadlineExceeded(
                f"timed out after {deadline.timeout_s:g} s connecting to {connection.node} (stage: {connection.stage})",
                node=str(connection.node),
            )

    def _watch(self, connection: Connection) -> None:
        """Keep the selector's interest in step with what the connection waits for."""
        if connection.transport is None:
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.wants_write else 0)
        known = self._registered.get(connection)
        if known is None:
            self._selector.register(connection.transport, events, connection)
        elif known != events:
            self._selector.modify(connection.transport, events, connection)
        self._registered[connection] = events

    def _forget_socket(self, connection: Connection, transport: Any) -> None:
        """Take a socket that the connection has given up out of the selector."""
        if connection.transport is not transport and self._registered.pop(connection, None) is not None:
            self._selector.unregister(transport)

    def _key_of(self, connection: Connection) -> Key:
        return next((key for key, value in self._connections.items() if value is connection), ("", 0, ""))


def _key(node: Node, channel: str = "") -> Key:
    return node.host, node.port, channel


def _builder(request: Request | Build, version: int | None) -> Build:
    if isinstance(request, Request):
        fixed = request
        return (lambda _: fixed) if version is None else (lambda _: (fixed, version))
    return request


def _cancelled(error: KafkaToolsError, correlation_id: int, pending: Pending) -> KafkaToolsError:
    """What a request in flight gets when its connection ends."""
    if not isinstance(error, Disconnected):
        return error
    text = f"{error}; {pending.name} request {correlation_id} was not answered"
    return Disconnected(text, node=error.node, hint=error.hint)


def _too_late(pending: Pending, connection: Connection) -> NetworkError:
    node = str(connection.node)
    if pending.deadline.expired:
        what = (
            f"for {node} to answer {pending.name}"
            if pending.request is not None
            else f"for {node} ({connection.stage})"
        )
        return DeadlineExceeded(f"timed out after {pending.deadline.timeout_s:g} s waiting {what}", node=node)
    return Disconnected(f"{node} did not answer {pending.name} within {pending.timeout_s:g} s", node=node)


def _all_failed(failures: dict[Node, KafkaToolsError]) -> KafkaToolsError:
    """The one failure there is, or a line that names every server once per distinct cause."""
    if len(failures) == 1:
        return next(iter(failures.values()))
    hint = next((error.hint for error in failures.values() if error.hint), None)
    causes = "; ".join(dict.fromkeys(str(error) for error in failures.values()))
    return ConnectFailed(f"none of the {len(failures)} bootstrap servers can be used: {causes}", hint=hint)


def _canonical(nodes: list[Node]) -> list[Node]:
    """Each address of each bootstrap server under its canonical name, as Kerberos wants them (KIP-235)."""
    names: dict[tuple[str, int], None] = {}
    for node in nodes:
        try:
            for *_, address in socket.getaddrinfo(node.host, node.port, type=socket.SOCK_STREAM):
                names[socket.getnameinfo(address, 0)[0], node.port] = None
        except OSError as error:
            raise ConnectFailed(f"cannot resolve {node.host} of {node}: {error.strerror or error}") from error
    return [Node(-1 - number, host, port) for number, (host, port) in enumerate(names)]
