"""One connection to one node, from the resolution of its name to its last response. ``net.pool`` drives it.

Error messages name its stages: resolve, connect, TLS, versions, SASL, ready. It returns to SASL between two requests
when the login is about to expire (KIP-368). It uses no selectors and no other nodes. Every failure is one exception
with the stage, the cause and, if known, a hint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import ConnectFailed, Disconnected, KafkaToolsError
from kafka_tools.net import session as stages
from kafka_tools.net.network import Network, resolve_within
from kafka_tools.net.session import ClientSession, InFlight
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.schema import Request, Response
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.net.tls import TlsSettings
    from kafka_tools.net.trace import Trace
    from kafka_tools.net.transport import SocketTransport

CONNECT, TLS = "connect", "TLS"
MAX_READS_PER_TURN = 16
"""Maximum number of reads from one connection before the other connections get their turn."""

_CLOSED_BEFORE_VERSIONS = (
    "check that this is the port of a Kafka listener, and that security.protocol matches the listener. A TLS "
    "listener needs SSL or SASL_SSL"
)
_CLOSED_BEHIND_TLS = (
    "the listener may require a client certificate: set ssl.keystore.location (or ssl.keystore.key and "
    "ssl.keystore.certificate.chain), and check the broker's log"
)
RENEW_AT = 0.85
"""The part of a login's lifetime after which the next request waits for a new login (Kafka's clients: 0.85 to 0.95)."""
MIN_RENEWAL_S = 1.0
"""Brokers refuse to renew a login that is younger than this (``KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS``)."""
_CLOSED_IN_SASL = "brokers before 2.0 close the connection when the login fails: check sasl.jaas.config"


LARGE_REQUEST_BYTES = 64 * 1024
"""If a connection ends during a request of this size or more, the size may be the reason."""


class ClosedAtFirstRequest(Disconnected):
    """The peer sent its versions and then closed the connection without a response. The client had not logged in.

    SASL listeners do that, and sometimes brokers and proxies that shut down.
    """


Build = Callable[[NodeVersions], "Request | tuple[Request, int]"]
"""Creates a request once the node's versions are known, with a version or for the newest one."""


class Pending:
    """A pending request. ``done`` once it has a ``response`` or an ``error``."""

    def __init__(self, node: Node, build: Build, deadline: Deadline, timeout_s: float) -> None:
        self.node = node
        self.build = build
        self.deadline = deadline
        self.timeout_s = timeout_s
        """Longest wait for the response, once the request was sent and the requests before it are answered."""
        self.expires_s: float | None = None
        self.request: Request | None = None
        self.version = -1
        self.response: Any = None
        self.error: KafkaToolsError | None = None
        self.done = False

    def succeed(self, response: Response | None) -> None:
        self.response, self.done = response, True

    def fail(self, error: KafkaToolsError) -> None:
        self.error, self.done = error, True

    def longest_wait_s(self, is_next: bool) -> float:
        """Seconds to wait for the response from now on; ``is_next``: no other response comes before it.

        Brokers work on one request of a connection at a time.
        """
        left_s = self.deadline.left_s()
        return min(self.timeout_s, left_s) if is_next else left_s

    def result(self) -> Any:
        """The response; raises the error of a request that failed."""
        if self.error is not None:
            raise self.error
        return self.response

    @property
    def name(self) -> str:
        """The API's name, once it is known."""
        return type(self.request).__name__.removesuffix("Request") if self.request is not None else "request"


class NodeConnection:
    """See the module. ``queue`` contains requests that wait until the connection is ready and not throttled."""

    def __init__(
        self,
        node: Node,
        session: ClientSession,
        *,
        tls: Callable[[], TlsSettings] | None,
        clock: Clock,
        setup_timeout_s: float,
        buffers: tuple[int, int],
        trace: Trace | None,
        network: Network,
    ) -> None:
        self.node = node
        self._network = network
        self.session = session
        self.queue: deque[Pending] = deque()
        self.transport: SocketTransport | None = None
        self.stage = CONNECT
        self.quiet_until_s = 0.0
        self.last_used_s = clock.monotonic_s()
        self.expires_s: float | None = None
        """The time (s) from which the login is too old: it is renewed, or the connection is replaced."""
        self.can_renew = False
        """Whether the login can be renewed on this connection."""
        self.begins_s: float | None = None
        """After a failure: the time (s) from which it may connect. None once it has begun to connect."""
        self._was_ready = False
        self._tls = tls
        self._clock = clock
        self._setup_timeout_s = setup_timeout_s
        self._setup_ends_s = float("inf")
        self._buffers = buffers
        self._trace = trace
        self._addresses: deque[tuple[Any, ...]] = deque()
        self._failures: list[str] = []
        self.failure: KafkaToolsError | None = None
        """The error that ended the connection; None while it is open."""

    # queries of the driver

    @property
    def ready(self) -> bool:
        return self.stage == stages.READY

    @property
    def idle(self) -> bool:
        return not self.queue and not self.session.in_flight

    @property
    def versions(self) -> NodeVersions:
        return NodeVersions(self.session.versions or {}, str(self.node), self.session.features)

    @property
    def wants_write(self) -> bool:
        """Whether it waits for the socket to be writable, not only readable."""
        if self.stage == CONNECT:
            return True
        if self.stage == TLS:
            return self.transport is not None and self.transport.wants_write
        return bool(self.session.outgoing())

    def next_event_s(self) -> float | None:
        """The next time at which something is due without I/O: set-up timeout, end of throttling, request expiry."""
        times = [pending.expires_s for pending in self.waiting() if pending.expires_s is not None]
        if not self.ready:
            times.append(self._setup_ends_s if self.begins_s is None else self.begins_s)
        elif self.queue and self.quiet_until_s:
            times.append(self.quiet_until_s)
        return min(times, default=None)

    def waiting(self) -> list[Pending]:
        """Requests without an answer: those in flight first, oldest first, then the queued ones."""
        sent = [item.context for item in self.session.in_flight if item.context is not None]
        return [*sent, *self.queue]

    # driving

    def begin(self, left_s: float | None) -> None:
        """Resolve the name and start to connect. Raises ConnectFailed.

        ``left_s``: limit for the resolution; None: the longest time that a queued request has left.
        """
        self._event("connection.opening")
        if left_s is None:
            left_s = max((pending.deadline.left_s() for pending in self.queue), default=self._setup_timeout_s)
        try:
            found = resolve_within(self._network, _host(self.node.host), self.node.port, left_s)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "not a valid host name"
            raise ConnectFailed(
                f"cannot resolve {self.node}: {reason}",
                node=str(self.node),
                hint="check the spelling, and the name resolution of this machine",
            ) from error
        self._addresses.extend((family, address) for family, _, _, _, address in found)
        self._next_address()

    def advance(self, readable: bool, writable: bool) -> None:
        """Continue after the socket became ready; responses complete their requests. Raises the error that ends it."""
        if self.stage == CONNECT:
            if writable or readable:
                self._finish_connect()
        elif self.stage == TLS:
            self._handshake()
        else:
            if readable:
                self._read()
            self._write()

    def flush_queue(self) -> None:
        """Pass queued requests to the session, unless the node throttles. Requests that cannot be built fail."""
        now_s = self._clock.monotonic_s()
        if not self.ready or now_s < self.quiet_until_s or self._renewing(now_s):
            return
        unanswered: list[Pending] = []
        while self.queue:
            pending = self.queue.popleft()
            if pending.done:
                continue
            try:
                sent = self._send(pending)
            except KafkaToolsError as error:
                pending.fail(error)
                continue
            pending.expires_s = now_s + pending.longest_wait_s(is_next=self.session.oldest is sent)
            if not stages.is_answered(sent.request):
                unanswered.append(pending)
        self._write()
        for pending in unanswered:
            pending.succeed(None)

    def _renewing(self, now_s: float) -> bool:
        """Whether queued requests wait for a new login. It begins once all sent requests are answered."""
        if not self.can_renew or self.expires_s is None or now_s < self.expires_s:
            return False
        if all(pending.done for pending in self.queue):
            return False  # nobody needs the login: a quiet connection stays quiet
        if not self.session.in_flight:
            self.session.log_in_again()
            self._setup_ends_s = now_s + self._setup_timeout_s
            self._event("connection.login.renewing")
            self._note_stage()
            self._write()
        return True

    def check_setup(self) -> None:
        """Raise ConnectFailed, or try the next address, when connecting or logging in takes too long."""
        if self.ready or self._clock.monotonic_s() < self._setup_ends_s:
            return
        limit = f"no answer within {self._setup_timeout_s:g} s"
        if self.stage == CONNECT:
            self._address_failed(limit)
        else:
            raise ConnectFailed(
                f"{self.node}: {self.stage}: {limit}", node=str(self.node), hint=_CLOSED_BEFORE_VERSIONS
            )

    def close(self) -> None:
        if self.transport is not None:
            self._event("connection.closed")
            self.transport.close()
            self.transport = None

    # stages

    def _next_address(self) -> None:
        while self._addresses:
            family, address = self._addresses.popleft()
            self._setup_ends_s = self._clock.monotonic_s() + self._setup_timeout_s
            try:
                self.transport = self._network.connect(address, family, *self._buffers)
            except ConnectFailed as error:
                self._failures.append(str(error))
                continue
            return
        hint = "check that a broker is listening there: host, port (usually 9092) and firewalls"
        raise ConnectFailed(self._connect_failure(), node=str(self.node), hint=hint)

    def _address_failed(self, reason: str) -> None:
        assert self.transport is not None
        self._failures.append(f"cannot connect to {self.transport.peer}: {reason}")
        self.transport.close()
        self.transport = None
        self._next_address()

    def _connect_failure(self) -> str:
        """One line: the node, then each distinct cause once."""
        causes = list(dict.fromkeys(text.rsplit(": ", 1)[-1] for text in self._failures))
        tried = [text.removeprefix("cannot connect to ").rsplit(": ", 1)[0] for text in self._failures]
        if tried in ([self.node.address], []):
            return f"cannot connect to {self.node}: {'; '.join(causes)}"
        return f"cannot connect to {self.node} ({', '.join(tried)}): {'; '.join(causes)}"

    def _finish_connect(self) -> None:
        assert self.transport is not None
        try:
            self.transport.finish_connect()
        except ConnectFailed as error:
            self._address_failed(str(error).rsplit(": ", 1)[-1])
            return
        self._event("connection.connected", self.transport.peer)
        if self._tls is not None:
            self.stage = TLS
            self._handshake()
        else:
            self._start_session()

    def _handshake(self) -> None:
        assert self.transport is not None
        assert self._tls is not None
        if self.transport.start_tls(self._tls(), self.node.host):
            self._event("connection.tls", self.transport.security)
            self._start_session()

    def _start_session(self) -> None:
        self.session.start()
        self.stage = self.session.stage
        self._write()

    def _read(self) -> None:
        assert self.transport is not None
        for _ in range(MAX_READS_PER_TURN):
            try:
                data = self.transport.read()
            except Disconnected as error:
                raise self._closed_by_peer() from error
            if data is None:
                break
            if not data:
                raise self._closed_by_peer()
            # Process a response immediately: the end of the connection may follow it.
            self.session.receive(data, self._take_answer)
            self._note_stage()

    def _note_stage(self) -> None:
        if self.stage == self.session.stage:
            return
        self.stage = self.session.stage
        if self.stage == stages.READY:
            self._event("connection.login.renewed" if self._was_ready else "connection.ready")
            self._was_ready = True
            # A broker closes connections that send requests after their login has expired (KIP-368).
            usable_s = self.session.session_lifetime_ms * RENEW_AT / 1000
            self.expires_s = self._clock.monotonic_s() + usable_s if usable_s > 0 else None
            self.can_renew = usable_s > MIN_RENEWAL_S

    def _take_answer(self, sent: InFlight, response: Response) -> None:
        now_s = self._clock.monotonic_s()
        self.last_used_s = now_s
        wait_ms = response.client_must_wait_ms(sent.version)
        if wait_ms:
            self.quiet_until_s = max(self.quiet_until_s, now_s + wait_ms / 1000)
            self._event("connection.throttled", f"{wait_ms} ms")
        if self._trace is not None:
            self._trace.message("response.received", str(self.node), response, sent.version, sent.correlation_id)
        pending: Pending | None = sent.context
        if pending is not None and not pending.done:
            pending.succeed(response)
        following = self.session.oldest
        if following is not None and following.context is not None:
            following.context.expires_s = now_s + following.context.longest_wait_s(is_next=True)

    def _send(self, pending: Pending) -> InFlight:
        built = pending.build(self.versions)
        request, version = built if isinstance(built, tuple) else (built, None)
        pending.request = request
        sent = self.session.send(request, version, pending)
        pending.version = sent.version
        self.last_used_s = self._clock.monotonic_s()
        if self._trace is not None:
            self._trace.message("request.sent", str(self.node), request, sent.version, sent.correlation_id)
        return sent

    def _write(self) -> None:
        out = self.session.outgoing()
        while out and self.transport is not None:
            try:
                with memoryview(out) as view:
                    taken = self.transport.write(view)
            except Disconnected as error:
                raise self._closed_by_peer() from error
            if not taken:
                return
            del out[:taken]

    def _closed_by_peer(self) -> KafkaToolsError:
        peer = str(self.node)
        if self.stage == stages.VERSIONS:
            return ConnectFailed(
                f"{peer} closed the connection instead of returning its API versions",
                node=peer,
                hint=_CLOSED_BEFORE_VERSIONS if self._tls is None else _CLOSED_BEHIND_TLS,
            )
        if self.stage == stages.SASL and self._was_ready:
            return Disconnected(f"{peer} closed the connection during re-authentication", node=peer)
        if self.stage == stages.SASL:
            return ConnectFailed(f"{peer} closed the connection during the SASL login", node=peer, hint=_CLOSED_IN_SASL)
        is_first = not self.session.answered and not self.session.uses_sasl and self.session.in_flight
        size_bytes = max((sent.size_bytes for sent in self.session.in_flight), default=0)
        hint = (
            f"a request of {size_bytes} bytes was in progress: brokers close the connection if a request is larger "
            "than their socket.request.max.bytes or has too many elements"
            if size_bytes >= LARGE_REQUEST_BYTES
            else None
        )
        kind = ClosedAtFirstRequest if is_first else Disconnected
        return kind(f"{peer} closed the connection", node=peer, hint=hint)

    def _event(self, name: str, text: str = "") -> None:
        if self._trace is not None:
            self._trace.event(name, str(self.node), text)


def _host(name: str) -> str | bytes:
    """A name for the resolver: bytes for ASCII names, because for a str Python loads the large tables of IDNA."""
    return name.encode() if name.isascii() and "\0" not in name else name
