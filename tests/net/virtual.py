"""A network in memory and in virtual time: nodes that a test scripts, and no second of waiting.

``VirtualNetwork.in_use()`` puts itself in the place of the system's network (``net.network``), and its time in the
place of the machine's clock; everything above them (connections, sessions, retries, deadlines, commands) is the
product. Time moves when somebody sleeps, or when nothing can be read or written before the next event.

Not the bundled broker with its faults: it stands for the network, name service and clock included.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

from kafka_tools.clock import ManualClock, SystemClock
from kafka_tools.errors import ConnectFailed, Disconnected
from kafka_tools.net.network import Network, using
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.frames import FrameReader, framed
from kafka_tools.protocol.headers import decode_request_header, encode_response
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.net.peers import HANG_UP, SILENCE, all_versions, versions_response

LATENCY_S = 0.001
READ, WRITE = 1, 2
MAX_TURNS_AT_ONCE = 10_000
"""Turns of the selector without any time passing, after which a client is taken to spin."""


class Later(NamedTuple):
    """A reply that takes its time."""

    seconds: float
    reply: Any


class Spoiled(NamedTuple):
    """A reply whose bytes, its length and header included, are changed on the way."""

    reply: Any
    spoil: Callable[[bytes], bytes]


Answer = Callable[[Any, int, "VirtualNode"], Any]
"""(request, version, node) -> a response, bytes, HANG_UP, SILENCE, Later or Spoiled; None for ApiVersions: as usual."""


class VirtualNode:
    """A node. ``refuses`` and ``swallows`` say, at any moment, whether connections are refused or not answered."""

    def __init__(self, id: int, answer: Answer, versions: dict[int, tuple[int, int]] | None = None) -> None:
        self.id = id
        self.host, self.port = f"kafka{id}", 9092
        self.answer = answer
        self.versions = all_versions() if versions is None else versions
        self.refuses: Callable[[], bool] = lambda: False
        self.swallows: Callable[[], bool] = lambda: False
        self.closes_idle = 0
        """How many of the next connections end as soon as they are ready."""
        self.connections = 0

    def reply(self, request: Any, version: int, is_first: bool) -> Any:
        if not isinstance(request, ApiVersionsRequest):
            return self.answer(request, version, self)
        low, high = self.versions[ApiVersionsRequest.API_KEY]
        if not low <= version <= high:
            return ApiVersionsResponse(error_code=error_codes.UNSUPPORTED_VERSION)
        answer = None if is_first else self.answer(request, version, self)
        return versions_response(self.versions) if answer is None else answer


class VirtualTransport:
    """The client's end of a connection, with the verbs of ``SocketTransport``."""

    wants_write = False

    def __init__(self, network: VirtualNetwork, node: VirtualNode) -> None:
        self._network = network
        self._node = node
        self._reader = FrameReader()
        self._incoming: list[tuple[float, bytes]] = []
        """(when, bytes); empty bytes end the stream."""
        self._requests = 0
        self._silent = node.swallows()
        self._refused = node.refuses()
        self.peer = f"{node.host}:{node.port}"
        node.connections += 1

    def finish_connect(self) -> None:
        if self._refused:
            raise ConnectFailed(f"cannot connect to {self.peer}: Connection refused", node=self.peer)

    def write(self, data: memoryview) -> int:
        if any(not payload for _, payload in self._incoming):
            raise Disconnected(f"connection to {self.peer} broke: closed", node=self.peer)
        for payload in self._reader.feed(bytes(data)):
            header, position = decode_request_header(payload)
            request, _ = decode_prefix(
                registry.api(header.request_api_key).request, header.request_api_version, payload, position
            )
            self._requests += 1
            version = header.request_api_version
            reply = self._node.reply(request, version, self._requests == 1)
            self._take(reply, request, version, header.correlation_id)
            if self._requests == 1 and not isinstance(reply, Later) and self._node.closes_idle:
                self._node.closes_idle -= 1
                self._incoming.append((self._incoming[-1][0], b""))
        return len(data)

    def _take(self, reply: Any, request: Any, version: int, correlation_id: int) -> None:
        at_s = self._network.clock.monotonic_s() + LATENCY_S
        if isinstance(reply, Later):
            at_s, reply = at_s + reply.seconds, reply.reply
        if isinstance(reply, Spoiled):
            reply = reply.spoil(framed(encode_response(reply.reply, version, correlation_id)))
        if reply is SILENCE:
            return
        if reply is HANG_UP:
            payload = b""
        elif isinstance(reply, bytes):
            payload = reply
        else:
            if isinstance(reply, ApiVersionsResponse) and reply.error_code == error_codes.UNSUPPORTED_VERSION:
                version = 0  # as brokers answer that do not know this version
            payload = framed(encode_response(reply, version, correlation_id))
        # Answers leave in the order of the requests.
        at_s = max(at_s, self._incoming[-1][0] if self._incoming else 0.0)
        self._incoming.append((at_s, payload))

    def read(self) -> bytes | None:
        if not self._incoming or self._incoming[0][0] > self._network.clock.monotonic_s():
            return None
        payload = self._incoming[0][1]
        if payload:
            del self._incoming[0]
        return payload

    def next_event_s(self) -> float | None:
        return self._incoming[0][0] if self._incoming else None

    @property
    def is_writable(self) -> bool:
        return not self._silent

    def close(self) -> None:
        self._incoming.clear()


class VirtualSelector:
    """A selector over VirtualTransports; with nothing to do it moves the clock to the next event."""

    def __init__(self, network: VirtualNetwork) -> None:
        self._clock = network.clock
        self._keys: dict[VirtualTransport, tuple[int, Any]] = {}
        self._turns = 0

    def register(self, transport: VirtualTransport, events: int, data: Any) -> None:
        self._keys[transport] = (events, data)

    modify = register

    def unregister(self, transport: VirtualTransport) -> None:
        del self._keys[transport]

    def close(self) -> None:
        self._keys.clear()

    def select(self, timeout_s: float) -> list[tuple[Any, int]]:
        ready = self._ready()
        if ready or timeout_s <= 0:
            self._turns += 1
            assert self._turns < MAX_TURNS_AT_ONCE, "the client goes round and round"
            return ready
        now_s = self._clock.monotonic_s()
        events = [at_s for transport in self._keys if (at_s := transport.next_event_s()) is not None]
        until_s = min([now_s + timeout_s, *events])
        # A hair more than asked for, as clocks do: what is due at that moment is due.
        self._clock.advance(max(0.0, until_s - now_s) + 1e-9)
        self._turns = 0
        return self._ready()

    def _ready(self) -> list[tuple[Any, int]]:
        now_s = self._clock.monotonic_s()
        ready = []
        for transport, (events, data) in self._keys.items():
            at_s = transport.next_event_s()
            mask = READ if at_s is not None and at_s <= now_s else 0
            if transport.is_writable:
                mask |= WRITE
            if mask & events:
                ready.append((SimpleNamespace(fileobj=transport, data=data), mask & events))
        return ready


class VirtualNetwork(Network):
    """Nodes by host name, and the clock they share with the client."""

    def __init__(self, nodes: list[VirtualNode]) -> None:
        self.clock = ManualClock()
        self.nodes = {node.host: node for node in nodes}

    def connect(self, address: tuple[str, int], family: int, send: int, receive: int) -> VirtualTransport:
        return VirtualTransport(self, self.nodes[address[0]])

    def resolve(self, host: str | bytes, port: int) -> list[Any]:
        name = host if isinstance(host, str) else host.decode()
        if name not in self.nodes:
            raise OSError(-2, "Name or service not known")
        return [(0, 0, 0, "", (name, port))]

    def selector(self) -> Any:
        return VirtualSelector(self)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[VirtualNetwork]:
        """Everything that goes out from here goes to the nodes, in virtual time."""
        clock = self.clock
        with contextlib.ExitStack() as stack:
            stack.enter_context(using(self))
            for name in ("now_ms", "monotonic_s", "sleep"):
                method = getattr(clock, name)
                stack.enter_context(
                    mock.patch.object(SystemClock, name, lambda _, *arguments, method=method: method(*arguments))
                )
            yield self


@contextlib.contextmanager
def without_chance() -> Iterator[None]:
    """Backoffs without chance: times and numbers of attempts are the same in every run."""

    def middle(low: float, high: float) -> float:
        return (low + high) / 2

    with (
        mock.patch("random.uniform", middle),
        mock.patch.object(random.Random, "uniform", lambda _, low, high: middle(low, high)),
    ):
        yield
