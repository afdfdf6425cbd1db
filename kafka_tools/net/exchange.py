"""Concurrent requests to many nodes: blocking for the caller, one selector, no threads, no asyncio.

It connects to the bootstrap servers, sends requests over the ``net.pool``, and ends every wait at its ``Deadline``. It
does not handle topics, leaders or retries: the caller (``admin.driver``, ``clients``) handles requests that fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from selectors import BaseSelector
from typing import TYPE_CHECKING, Any

from kafka_tools.clock import Clock, Deadline, SystemClock
from kafka_tools.closing import Closing
from kafka_tools.errors import (
    AuthenticationFailed,
    ConfigError,
    ConnectFailed,
    DeadlineExceeded,
    KafkaToolsError,
)
from kafka_tools.net import network
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.connection import Build, NodeConnection, Pending
from kafka_tools.net.network import when_forked
from kafka_tools.net.pool import MAX_WAIT_S, ConnectionPool
from kafka_tools.net.versions import ClusterCheck, NodeVersions
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node

if TYPE_CHECKING:
    import random

    from kafka_tools.net.trace import Trace

BOOTSTRAP_STAGGER_S = 0.25
"""If a bootstrap server does not answer within this time, the next one is tried concurrently."""


class Exchange(Closing):
    """See the module. Not thread-safe, unless ``shared`` (as for ``ConnectionPool``) makes it so for its owner.

    ``trace`` gets an event per connection change, request and response. ``rng`` is for the jitter of backoffs.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        clock: Clock | None = None,
        trace: Trace | None = None,
        rng: random.Random | None = None,
        shared: Callable[[BaseSelector], BaseSelector] | None = None,
    ) -> None:
        self.config = config
        self.clock: Clock = clock or SystemClock()
        self._pool = ConnectionPool(config, self.clock, trace, rng, shared)
        self._process_id = os.getpid()
        self.is_foreign = False
        """Whether this is an unusable copy, in a forked process, of an exchange that the parent uses."""
        when_forked(self, Exchange._leave_to_parent)

    # for callers

    @property
    def cluster_check(self) -> ClusterCheck:
        """The check of new connections that they reach the intended node."""
        return self._pool.cluster_check

    def bootstrap(self, deadline: Deadline) -> Node:
        """Connect to the first bootstrap server that answers and return it (its id is -1).

        A silent server does not delay the next one. A server that left a request unanswered comes last. Raises
        ConnectFailed with every server's cause (TlsFailed for the cause of a single server), DeadlineExceeded, and
        AuthenticationFailed immediately.
        """
        self.check_process()
        nodes = sorted(self._bootstrap_nodes(deadline), key=self._pool.is_suspect)
        all_suspect = self._pool.is_suspect(nodes[0])
        for node in nodes:
            if self._pool.is_suspect(node) and not all_suspect:
                break
            if self._pool.ready(node):
                self._pool.reached = node
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
        """Send all requests concurrently and wait for all; responses and errors in the order of ``requests``."""
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
        """Queue a request and return immediately; ``poll`` sends it.

        ``channel`` names a further connection to the same node, for requests that must not wait behind others.
        ``timeout_s`` replaces request.timeout.ms (a group join may take longer).
        """
        self.check_process()
        if timeout_s is None:
            timeout_s = self.config.number("request.timeout.ms") / 1000
        pending = Pending(node, _builder(request, version), deadline, timeout_s)
        pending.expires_s = self.clock.monotonic_s() + deadline.left_s()
        try:
            connection = self._pool.connection(node, channel, deadline.left_s())
        except KafkaToolsError as error:
            pending.fail(error)
        else:
            self._pool.submit(connection, pending)
        return pending

    def poll(self, pending: Sequence[Pending], deadline: Deadline) -> list[Pending]:
        """Move bytes until one of ``pending`` is done or the deadline passes. Returns the requests that are done."""
        self.check_process()
        while True:
            done = [item for item in pending if item.done]
            if done or not pending or deadline.expired:
                return done
            self._pool.turn(deadline.left_s())

    def turn(self, wait_s: float) -> None:
        """Move bytes once, waiting at most ``wait_s`` seconds for something to happen."""
        self.check_process()
        self._pool.turn(wait_s)

    def wait(self, pending: Sequence[Pending]) -> None:
        """Move bytes until all of ``pending`` are done, each at its own deadline at the latest."""
        self.check_process()
        while not all(item.done for item in pending):
            self._pool.turn(MAX_WAIT_S)

    def give_up(self, node: Node, channel: str = "") -> None:
        """Stop waiting for the response of ``node``: close its connection and prefer other nodes from now on."""
        self._pool.give_up(node, channel)

    def node_versions(self, node: Node, deadline: Deadline) -> NodeVersions:
        """The API versions of a node; connects to it if necessary. Raises as ``call``."""
        return self.connected(node, deadline).versions

    def connected(self, node: Node, deadline: Deadline) -> NodeConnection:
        """A connection to ``node`` that is ready. Raises as ``call``."""
        self.check_process()
        connection = self._pool.connection(node, left_s=deadline.left_s())
        while not connection.ready:
            if connection.failure is not None:
                raise connection.failure
            self._check(deadline, connection)
            self._pool.turn(deadline.left_s())
        return connection

    def is_connected(self, node: Node) -> bool:
        """Whether a connection to ``node`` is open and ready now."""
        return self._pool.ready(node)

    def is_suspect(self, node: Node) -> bool:
        """Whether ``node`` could not be reached, or left the last request unanswered: try other nodes first."""
        return self._pool.is_suspect(node)

    def close(self) -> None:
        """Close every connection; pending requests fail."""
        self._pool.close()

    def check_process(self) -> None:
        """Raises KafkaToolsError in a forked process, if the parent had connected before."""
        if self.is_foreign:
            raise KafkaToolsError(
                f"cannot use this client in process {os.getpid()}: process {self._process_id} opened its connections "
                "before it forked",
                hint="create a client in each process, after the fork",
            )

    def _leave_to_parent(self) -> None:
        if self._pool.leave_to_parent():
            self.is_foreign = True
        else:
            self._process_id = os.getpid()

    # bootstrap

    def _bootstrap_nodes(self, deadline: Deadline) -> list[Node]:
        nodes = [Node(-1 - number, host, port) for number, (host, port) in enumerate(self.config.require_bootstrap())]
        if self.config["client.dns.lookup"] == "resolve_canonical_bootstrap_servers_only":
            return _canonical(nodes, deadline)
        return nodes

    def _first_to_answer(self, nodes: list[Node], deadline: Deadline) -> Node:
        waiting = list(nodes)
        started: dict[Node, NodeConnection] = {}
        failures: dict[Node, KafkaToolsError] = {}
        next_start_s = self.clock.monotonic_s()
        while True:
            while waiting and (not started or self.clock.monotonic_s() >= next_start_s):
                node = waiting.pop(0)
                next_start_s = self.clock.monotonic_s() + BOOTSTRAP_STAGGER_S
                try:
                    started[node] = self._pool.connection(node, left_s=deadline.left_s())
                except KafkaToolsError as error:
                    failures[node] = self._unless_final(error)
            for node, connection in list(started.items()):
                if connection.ready:
                    for other in started.values():
                        if not other.ready:
                            self._pool.abandon(other)
                    self._pool.reached = node
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
                self._pool.turn(min(left_s, max(0.0, next_start_s - self.clock.monotonic_s())) if waiting else left_s)

    @staticmethod
    def _unless_final(error: KafkaToolsError) -> KafkaToolsError:
        """Raise errors that every server would cause, such as wrong credentials and settings. Return other errors."""
        if isinstance(error, AuthenticationFailed | ConfigError):
            raise error
        return error

    def _check(self, deadline: Deadline, connection: NodeConnection) -> None:
        if deadline.expired:
            raise DeadlineExceeded(
                f"timed out after {deadline.timeout_s:g} s connecting to {connection.node} (stage: {connection.stage})",
                node=str(connection.node),
                hint="the node did not respond within the time limit: allow more time, check that "
                "security.protocol matches the listener, and that no firewall drops packets",
            )


def _builder(request: Request | Build, version: int | None) -> Build:
    if isinstance(request, Request):
        fixed = request
        return (lambda _: fixed) if version is None else (lambda _: (fixed, version))
    return request


def _all_failed(failures: dict[Node, KafkaToolsError]) -> KafkaToolsError:
    """The only failure, or a ConnectFailed with every distinct cause."""
    if len(failures) == 1:
        return next(iter(failures.values()))
    hint = next((error.hint for error in failures.values() if error.hint), None)
    causes = "; ".join(dict.fromkeys(str(error) for error in failures.values()))
    return ConnectFailed(f"none of the {len(failures)} bootstrap servers is available: {causes}", hint=hint)


def _canonical(nodes: list[Node], deadline: Deadline) -> list[Node]:
    """The canonical name of each address of each bootstrap server, for Kerberos (KIP-235)."""
    system = network.current()
    names: dict[tuple[str, int], None] = {}
    for node in nodes:
        try:
            for *_, address in network.resolve_within(system, node.host, node.port, deadline.left_s()):
                name = network.canonical_name_within(system, address, deadline.left_s())
                names[name, node.port] = None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "not a valid host name"
            raise ConnectFailed(f"cannot resolve {node}: {reason}") from error
    return [Node(-1 - number, host, port) for number, (host, port) in enumerate(names)]
