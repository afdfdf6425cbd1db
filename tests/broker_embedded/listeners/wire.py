"""An accepted connection over nothing, in time that a test moves: what is served, and what is handed over."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kafka_tools.broker_embedded.listeners.client_connection import ClientConnection
from kafka_tools.broker_embedded.listeners.held_memory import AnswerMemory, RequestMemory
from kafka_tools.broker_embedded.listeners.receiving import Scratch
from kafka_tools.broker_embedded.listeners.turns import Turns
from kafka_tools.broker_embedded.metrics.counts import Counts
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock
from kafka_tools.protocol.frames import FrameReader, framed

SOCKET = SimpleNamespace(fileno=lambda: 7)


class Wire:
    """An accepted connection over nothing: ``served`` holds the requests that the dispatcher was given."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.timers: list[tuple[float, Callable[[], object]]] = []
        self.served: list[bytes] = []
        self.written: list[bytes] = []
        self.answers: dict[bytes, Callable[[bytes | None], None]] = {}
        self.delays_s: dict[bytes, float] = {}
        self.parks: set[bytes] = set()
        self.works_on: set[bytes] = set()
        """Those of them that are worked on in slices."""
        self.fails: set[bytes] = set()
        self.silent: set[bytes] = set()
        self.more: dict[bytes, bytes] = {}
        """What some answers go on with."""
        self._reader = FrameReader()
        self.closed = False
        self.writes = 0
        """How often the system was handed something."""
        self.waiting = bytearray()
        """What has come that was not read."""
        shared: Any = SimpleNamespace(
            clock=self.clock,
            counts=Counts(self.clock, lambda topic: True),
            timers=SimpleNamespace(call_later=lambda ms, fn: self.timers.append((self._now() + ms / 1000, fn))),
            dispatcher=SimpleNamespace(handle_frame=self._handle),
            max_frame_bytes=1_000_000,
            requests=RequestMemory(1_000_000, Timers(self.clock)),
            scratch=Scratch(),
            answers=AnswerMemory(),
            turns=Turns(Timers(self.clock), lambda fn: fn()),
            arrived=0,
            settings=SimpleNamespace(security={}),
            connections=set(),
            admission=SimpleNamespace(arrived=lambda connection: connection.let_in()),
        )
        endpoint: Any = SimpleNamespace(name="PLAINTEXT", protocol="PLAINTEXT", has_tls=False)
        self.connection = ClientConnection(shared, endpoint)
        self.connection.connection_made(
            SimpleNamespace(
                get_extra_info=lambda name: SOCKET if name == "socket" else ("127.0.0.1", 9092),
                is_closing=lambda: False,
                set_write_buffer_limits=lambda high, low: None,
                write=self._write,
                close=self._close,
                abort=self._close,
                pause_reading=lambda: None,
                resume_reading=lambda: None,
            )
        )

    def _close(self) -> None:
        self.closed = True

    def _write(self, data: bytes) -> None:
        self.writes += 1
        self.written += self._reader.feed(data)

    def _now(self) -> float:
        return self.clock.monotonic_s()

    def _handle(self, connection: Any, frame: bytes, answer: Callable[[bytes | None], None]) -> object | None:
        frame = bytes(frame)
        self.served.append(frame)
        self.answers[frame] = answer
        if frame in self.fails:
            raise RuntimeError("a mistake")
        if frame in self.parks:
            return SimpleNamespace(cancel=lambda: None, holds_request=frame in self.works_on)
        self.finish(frame)
        return None

    def finish(self, frame: bytes) -> None:
        """The answer to a request, and the delay that it costs."""
        connection = self.connection.connection
        assert connection is not None
        connection.muted_until_s = max(connection.muted_until_s, self._now() + self.delays_s.get(frame, 0.0))
        self.answers[frame](None if frame in self.silent else b"answer to " + frame + self.more.get(frame, b""))

    def send(self, *frames: bytes) -> None:
        self.waiting += b"".join(framed(frame) for frame in frames)
        self.readable()

    def readable(self) -> None:
        """As the event loop does when something has come: read once, as much as there is room for."""
        room = self.connection.get_buffer(-1)
        self.connection.buffer_updated(self.read(room))

    def read(self, room: memoryview) -> int:
        size = min(len(room), len(self.waiting))
        room[:size] = self.waiting[:size]
        del self.waiting[:size]
        return size

    def wait_until(self, at_s: float) -> None:
        self.clock.advance(at_s - self._now())
        due = [entry for entry in self.timers if entry[0] <= self._now()]
        self.timers = [entry for entry in self.timers if entry[0] > self._now()]
        for _, run in due:
            run()
