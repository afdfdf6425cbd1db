"""The open connections: opened on first use, watched by one selector, closed with a reason.

It keeps one connection per address and channel, waits ``reconnect.backoff.ms`` between attempts, replaces idle
connections that the broker closed, and ends expired requests. ``turn`` lets all connections make progress. The pool
does not interpret requests.
"""

from __future__ import annotations

from collections.abc import Callable
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector, SelectorKey
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.clock import Clock
from kafka_tools.errors import (
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    KafkaToolsError,
    LoginWanted,
    NetworkError,
)
from kafka_tools.net import network
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.connection import ClosedAtFirstRequest, NodeConnection, Pending
from kafka_tools.net.session import ClientSession, SaslExchange, WrongNode
from kafka_tools.net.versions import ClusterCheck
from kafka_tools.values import Node

if TYPE_CHECKING:
    import random

    from kafka_tools.net.sasl.oauth.tokens import Tokens
    from kafka_tools.net.tls import TlsSettings
    from kafka_tools.net.trace import Trace
    from kafka_tools.net.transport import SocketTransport

MAX_WAIT_S = 1200.0
CLOSED_TRIES = 3
"""After so many connections that ended at their first request, and no response at all, the cluster requires a login.
One address must have ended two of them: any node may be shutting down at its first request."""

Key = tuple[str, int, str]


class _Backoff(NamedTuple):
    failures: int
    not_before_s: float


class ConnectionPool:
    """See the module. ``rng`` is for the jitter of backoffs; None creates one.

    ``shared`` wraps the selector of a client that several threads use: its waits let the other threads in.
    """

    def __init__(
        self,
        config: ClientConfig,
        clock: Clock,
        trace: Trace | None,
        rng: random.Random | None,
        shared: Callable[[BaseSelector], BaseSelector] | None = None,
    ) -> None:
        self.config = config
        self.clock = clock
        self.reached: Node | None = None
        """The bootstrap server that answered; the hint for an unreachable advertised address names it."""
        self._trace = trace
        self._rng = rng
        self._network = network.current()
        self._shared = shared
        self._selector = self._new_selector()
        self._connections: dict[Key, NodeConnection] = {}
        self._registered: dict[NodeConnection, tuple[SocketTransport, int]] = {}
        """The sockets that the selector watches, and their events."""
        self._backoffs: dict[Key, _Backoff] = {}
        self._unanswered: set[tuple[str, int]] = set()
        """Addresses that could not be reached, or did not answer a request, until they answer one."""
        self._answering: set[tuple[str, int]] = set()
        """Addresses that have answered a request."""
        self._closed_at_first: dict[tuple[str, int], int] = {}
        """Number of connections to an address that ended at their first request."""
        self._tls_settings: TlsSettings | None = None
        self._tokens: Tokens | None = None
        self._was_used = False
        self._is_closed = False
        given = config["metadata.cluster.check.enable"], config["metadata.recovery.strategy"]
        self.cluster_check = ClusterCheck([word.lower() for word in given] == ["true", "rebootstrap"])

    def ready(self, node: Node) -> bool:
        """Whether a connection to ``node`` is open and ready now."""
        connection = self._connections.get((node.host, node.port, ""))
        return connection is not None and connection.ready

    def is_suspect(self, node: Node) -> bool:
        """Whether ``node`` could not be reached, or left the last request unanswered: try other nodes first."""
        return (node.host, node.port) in self._unanswered

    def abandon(self, connection: NodeConnection) -> None:
        """Close a connection that is not needed."""
        self._drop(connection, Disconnected("not needed"), count=False)

    def give_up(self, node: Node, channel: str) -> None:
        """Close the connection to a node whose response is no longer needed."""
        connection = self._connections.get((node.host, node.port, channel))
        if connection is not None:
            self._drop(connection, Disconnected(f"{node} did not answer: another node did"))

    def leave_to_parent(self) -> bool:
        """In a forked child: release the parent's connections. Returns whether the parent had ever opened one.

        Nothing is sent: the connections remain the parent's. The child may use a pool that was never used.
        """
        self._selector.close()  # the parent shares it: a registration here would affect the parent
        for connection in self._connections.values():
            if connection.transport is not None:
                connection.transport.close()
        self._connections.clear()
        self._registered.clear()
        self._selector = self._new_selector()
        return self._was_used

    def _new_selector(self) -> BaseSelector:
        selector = self._network.selector()
        return selector if self._shared is None else self._shared(selector)

    def close(self) -> None:
        """Close every connection; pending requests fail."""
        self._is_closed = True
        for connection in list(self._connections.values()):
            self._drop(connection, Disconnected("the client was closed"), count=False)
        self._selector.close()

    def connection(self, node: Node, channel: str = "", left_s: float | None = None) -> NodeConnection:
        """The connection to a node; opens one if there is no usable one. Raises errors that occur immediately.

        ``left_s``: how long the caller can wait for the node's name to be resolved.
        """
        if self._is_closed:
            raise KafkaToolsError("the client was closed")
        key = node.host, node.port, channel
        connection = self._connections.get(key)
        if connection is not None and connection.ready and connection.idle and not self._is_fresh(connection):
            connection = None
        return connection if connection is not None else self._open(key, node, left_s)

    def submit(self, connection: NodeConnection, pending: Pending) -> None:
        """Queue a request, and send it now if possible; a connection that breaks meanwhile is dropped."""
        connection.queue.append(pending)
        try:
            connection.flush_queue()
        except KafkaToolsError as error:
            self._drop(connection, error)

    def _is_fresh(self, connection: NodeConnection) -> bool:
        """Whether an idle connection is usable; else it is dropped. Brokers close idle connections without notice."""
        now_s = self.clock.monotonic_s()
        max_idle_ms = self.config.number("connections.max.idle.ms")
        too_old = max_idle_ms >= 0 and now_s - connection.last_used_s > max_idle_ms / 1000
        expired = connection.expires_s is not None and now_s >= connection.expires_s and not connection.can_renew
        if not too_old and not expired:
            try:
                connection.advance(readable=True, writable=False)
                return True
            except KafkaToolsError:
                pass  # it is unusable and no request waits on it: a new one replaces it
        self._drop(connection, Disconnected(f"connection to {connection.node} was idle"), count=False)
        return False

    def _open(self, key: Key, node: Node, left_s: float | None) -> NodeConnection:
        connection = NodeConnection(
            node,
            ClientSession(
                client_id=self.config.client_id,
                sasl=(lambda: self._sasl_exchange(node.host)) if self.config.uses_sasl else None,
                peer=str(node),
                intended=self.cluster_check.intended(node),
            ),
            tls=self._tls if self.config.uses_tls else None,
            clock=self.clock,
            setup_timeout_s=self._setup_timeout_s(key),
            buffers=(self.config.number("send.buffer.bytes"), self.config.number("receive.buffer.bytes")),
            trace=self._trace,
            network=self._network,
        )
        self._was_used = True
        self._connections[key] = connection
        backoff = self._backoffs.get(key)
        if backoff is not None and self.clock.monotonic_s() < backoff.not_before_s:
            connection.begins_s = backoff.not_before_s
        else:
            self._begin(connection, left_s)
        return connection

    def _begin(self, connection: NodeConnection, left_s: float | None = None) -> None:
        connection.begins_s = None
        try:
            if self.config.uses_tls:
                self._tls()  # report invalid settings before anything is sent
            if self.config.uses_sasl and self.config.sasl_mechanism == "GSSAPI":
                from kafka_tools.net.sasl.kerberos import require_gssapi

                require_gssapi()
            connection.begin(left_s)
        except KafkaToolsError as error:
            self._drop(connection, error)
            raise (connection.failure or error) from error
        self._watch(connection)

    def _drop(self, connection: NodeConnection, error: KafkaToolsError, *, count: bool = True) -> None:
        """Close a connection and fail its requests; ``count``: count it as a failure that requires a backoff."""
        key = self._key_of(connection)
        if self._connections.pop(key, None) is None:
            return
        watched = self._registered.pop(connection, None)
        if watched is not None:
            self._selector.unregister(watched[0])
        was_ready = connection.ready
        error = self._with_login_advice(key[:2], self._with_advice(connection, error))
        connection.failure = error
        sent = {id(item.context): item for item in connection.session.in_flight}
        for pending in connection.waiting():
            if pending.done:
                continue
            in_flight = sent.get(id(pending))
            if count and (in_flight is not None or not was_ready):
                self._unanswered.add(key[:2])
            pending.fail(error if in_flight is None else _cancelled(error, in_flight.correlation_id, pending))
        connection.close()
        if isinstance(error, WrongNode):
            self.cluster_check.node_is_wrong()
        if count:
            failures = 1 if was_ready else self._backoffs.get(key, _Backoff(0, 0.0)).failures + 1
            self._backoffs[key] = _Backoff(failures, self.clock.monotonic_s() + self._backoff_s(failures))

    def _backoff_s(self, failures: int) -> float:
        """Doubles with each failure up to the maximum, plus or minus 20 % (KIP-144)."""
        if self._rng is None:
            import random  # takes 1 ms; a connection without failures does not need it

            self._rng = random.Random()
        return self._doubled_s("reconnect.backoff", failures - 1) * self._rng.uniform(0.8, 1.2)

    def _setup_timeout_s(self, key: Key) -> float:
        """Doubles with each failure up to the maximum (KIP-601)."""
        failures = self._backoffs.get(key, _Backoff(0, 0.0)).failures
        return self._doubled_s("socket.connection.setup.timeout", failures)

    def _doubled_s(self, setting: str, times: int) -> float:
        """A setting in ms, doubled ``times`` times up to its maximum, in seconds."""
        first, most = (self.config.number(f"{setting}.{name}") for name in ("ms", "max.ms"))
        return min(first * (1 << min(times, 30)), max(first, most)) / 1000

    def _with_advice(self, connection: NodeConnection, error: KafkaToolsError) -> KafkaToolsError:
        """Add a hint if a bootstrap server works but the address that a broker advertises does not."""
        node, bootstrap = connection.node, self.reached
        if not isinstance(error, ConnectFailed) or isinstance(error, WrongNode):
            return error
        is_given = node.id < 0 or (node.host, node.port) in self.config.bootstrap
        if bootstrap is None or is_given or connection.session.versions is not None:
            return error
        return ConnectFailed(
            str(error),
            node=error.node,
            hint=f"bootstrap server {bootstrap} answers; broker {node.id} advertises {node.address}, which cannot be "
            "reached from here: check advertised.listeners of that broker",
        )

    def _with_login_advice(self, address: tuple[str, int], error: KafkaToolsError) -> KafkaToolsError:
        """Say that a listener requires a login; final once shutdowns of brokers cannot be the reason."""
        if not isinstance(error, ClosedAtFirstRequest) or address in self._answering:
            return error
        if self._answering and error.hint:
            return error  # the cluster accepts clients without a login: this request is too large for it
        protocol = "SASL_SSL" if self.config.uses_tls else "SASL_PLAINTEXT (with TLS: SASL_SSL)"
        settings = f"security.protocol={protocol}, sasl.mechanism and sasl.jaas.config"
        times = self._closed_at_first[address] = self._closed_at_first.get(address, 0) + 1
        if self._answering or times < 2 or sum(self._closed_at_first.values()) < CLOSED_TRIES:
            error.hint = f"the listener may require a SASL login: {settings}"
            return error
        return LoginWanted(
            f"{error} at the first request, {times} times: its listener probably requires a SASL login, and "
            f"security.protocol is {self.config.security_protocol}",
            node=error.node,
            hint=f"set {settings} in the file of --command-config, or give the address of a listener without SASL",
        )

    def _tls(self) -> TlsSettings:
        if self._tls_settings is None:
            from kafka_tools.net import tls  # ssl: 11 ms

            self._tls_settings = tls.client_settings(self.config.values)
        return self._tls_settings

    def _sasl_exchange(self, host: str) -> SaslExchange:
        mechanism = self.config.sasl_mechanism
        if mechanism == "OAUTHBEARER":
            from kafka_tools.net.sasl.oauth.tokens import Tokens
            from kafka_tools.net.sasl.oauthbearer import OAuthBearerClient

            if self._tokens is None:
                self._tokens = Tokens(self.config, self.clock)
            return OAuthBearerClient(self._tokens.token(), self._tokens.extensions())
        if mechanism == "GSSAPI":
            from kafka_tools.net.sasl.kerberos import KerberosClient, kerberos_login

            return KerberosClient(kerberos_login(self.config), host)
        login = self.config.credentials()
        if mechanism == "PLAIN":
            from kafka_tools.net.sasl.plain import PlainClient

            return PlainClient(login.username, login.password)
        from kafka_tools.net.sasl.scram import ScramClient  # hashlib, hmac: 9 ms

        return ScramClient(mechanism, login.username, login.password, token_auth=login.token_auth)

    # moving bytes

    def turn(self, wait_s: float) -> None:
        """Wait for sockets and timers at most ``wait_s``, then let every connection make progress."""
        now_s = self.clock.monotonic_s()
        times = [connection.next_event_s() for connection in self._connections.values()]
        due = min((at_s for at_s in times if at_s is not None), default=now_s + MAX_WAIT_S)
        timeout_s = max(0.0, min(wait_s, due - now_s, MAX_WAIT_S))
        for connection in list(self._registered):
            self._watch(connection)
        if self._registered or self._shared is not None:
            ready = self._selector.select(timeout_s)
        else:
            ready = []
            self.clock.sleep(timeout_s)
        for key, mask in ready:
            self._advance(key, bool(mask & EVENT_READ), bool(mask & EVENT_WRITE))
        self._run_timers()

    def _advance(self, key: SelectorKey, readable: bool, writable: bool) -> None:
        connection: NodeConnection = key.data
        if self._registered.get(connection, (None, 0))[0] is not key.fileobj:
            return  # dropped, or at its next address, while another connection or thread had its turn
        try:
            connection.advance(readable, writable)
            connection.flush_queue()
        except KafkaToolsError as error:
            self._drop(connection, error)
            return
        if connection.ready:
            if connection.session.answered == 0 and connection.session.versions:
                self.cluster_check.heard(connection.node, connection.session.versions)
            self._backoffs.pop(self._key_of(connection), None)
        if connection.session.answered:
            self._unanswered.discard((connection.node.host, connection.node.port))
            self._answering.add((connection.node.host, connection.node.port))
        self._watch(connection)

    def _run_timers(self) -> None:
        now_s = self.clock.monotonic_s()
        for connection in list(self._connections.values()):
            try:
                if connection.begins_s is None:
                    connection.check_setup()
                    connection.flush_queue()
                    self._watch(connection)
                elif now_s >= connection.begins_s:
                    self._begin(connection)
            except KafkaToolsError as error:
                self._drop(connection, error)
                continue
            self._expire(connection, now_s)

    def _expire(self, connection: NodeConnection, now_s: float) -> None:
        """End expired requests. If one is in flight its connection ends too, because the response may still come."""
        sent = {id(item.context) for item in connection.session.in_flight}
        for pending in connection.waiting():
            if pending.done or pending.expires_s is None or now_s < pending.expires_s:
                continue
            pending.fail(_too_late(pending, connection))
            if id(pending) not in sent:
                connection.queue.remove(pending)
                continue
            self._unanswered.add((connection.node.host, connection.node.port))
            self._drop(connection, Disconnected(f"{connection.node} did not answer in time", node=str(connection.node)))
            return

    def _watch(self, connection: NodeConnection) -> None:
        """Update the selector with the connection's current socket (one for each address) and its events."""
        transport = connection.transport
        if transport is None:
            return
        events = EVENT_READ | (EVENT_WRITE if connection.wants_write else 0)
        before, known = self._registered.get(connection, (None, 0))
        if before is not transport:
            if before is not None:
                self._selector.unregister(before)
            self._selector.register(transport, events, connection)
        elif known != events:
            self._selector.modify(transport, events, connection)
        self._registered[connection] = transport, events

    def _key_of(self, connection: NodeConnection) -> Key:
        return next((key for key, value in self._connections.items() if value is connection), ("", 0, ""))


def _cancelled(error: KafkaToolsError, correlation_id: int, pending: Pending) -> KafkaToolsError:
    """The error of a request in flight whose connection ended."""
    if not isinstance(error, Disconnected) or isinstance(error, LoginWanted):
        return error
    text = (
        f"Cancelled {pending.name} request with correlation id {correlation_id} due to node {error.node} being "
        "disconnected"
    )
    if str(error) != f"{error.node} closed the connection":
        text = f"{text}: {error}"
    return type(error)(text, node=error.node, hint=error.hint)


def _too_late(pending: Pending, connection: NodeConnection) -> NetworkError:
    node = str(connection.node)
    if pending.deadline.expired:
        what = (
            f"for {node} to answer {pending.name}"
            if pending.request is not None
            else f"for {node} ({connection.stage})"
        )
        return DeadlineExceeded(f"timed out after {pending.deadline.timeout_s:g} s waiting {what}", node=node)
    return Disconnected(f"{node} did not answer {pending.name} within {pending.timeout_s:g} s", node=node)
