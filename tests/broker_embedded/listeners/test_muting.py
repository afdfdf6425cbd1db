"""When a connection is served again: after its delay, and after the answer that is due, whichever comes last."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_tools.broker_embedded.listeners.client_connection import ClientConnection
from kafka_tools.broker_embedded.listeners.held_memory import AnswerMemory
from kafka_tools.broker_embedded.listeners.receiving import SMALL_BYTES
from kafka_tools.broker_embedded.listeners.turns import Turns
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock
from kafka_tools.protocol.frames import FrameReader, framed


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
        self.silent: set[bytes] = set()
        shared: Any = SimpleNamespace(
            clock=self.clock,
            timers=SimpleNamespace(call_later=lambda ms, fn: self.timers.append((self._now() + ms / 1000, fn))),
            dispatcher=SimpleNamespace(handle_frame=self._handle),
            max_frame_bytes=1000,
            scratch=memoryview(bytearray(SMALL_BYTES)),
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
                get_extra_info=lambda name: ("127.0.0.1", 9092),
                is_closing=lambda: False,
                set_write_buffer_limits=lambda high, low: None,
                write=self._write,
            )
        )

    def _write(self, data: bytes) -> None:
        self.written += FrameReader().feed(data)

    def _now(self) -> float:
        return self.clock.monotonic_s()

    def _handle(self, connection: Any, frame: bytes, answer: Callable[[bytes | None], None]) -> object | None:
        frame = bytes(frame)
        self.served.append(frame)
        self.answers[frame] = answer
        if frame in self.parks:
            return SimpleNamespace(cancel=lambda: None, holds_request=False)
        self.finish(frame)
        return None

    def finish(self, frame: bytes) -> None:
        """The answer to a request, and the delay that it costs."""
        connection = self.connection.connection
        assert connection is not None
        connection.muted_until_s = max(connection.muted_until_s, self._now() + self.delays_s.get(frame, 0.0))
        self.answers[frame](None if frame in self.silent else b"answer to " + frame)

    def send(self, *frames: bytes) -> None:
        data = b"".join(framed(frame) for frame in frames)
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))

    def wait_until(self, at_s: float) -> None:
        self.clock.advance(at_s - self._now())
        due = [entry for entry in self.timers if entry[0] <= self._now()]
        self.timers = [entry for entry in self.timers if entry[0] > self._now()]
        for _, run in due:
            run()


@pytest.mark.req("NET-19")
def test_an_answer_before_the_delay_is_over_does_not_reopen_the_connection() -> None:
    wire = Wire()
    wire.delays_s[b"one"] = 5.0
    wire.send(b"one", b"two")
    assert wire.written[-1] == b"answer to one"
    assert wire.served == [b"one"]
    wire.wait_until(4.9)
    wire.send(b"three")
    assert wire.served == [b"one"]
    wire.wait_until(5.0)
    assert wire.served == [b"one", b"two", b"three"]


@pytest.mark.req("NET-19")
def test_the_end_of_a_delay_does_not_reopen_a_connection_whose_answer_is_due() -> None:
    wire = Wire()
    wire.delays_s[b"one"] = 5.0
    wire.parks = {b"two"}
    wire.send(b"one", b"two", b"three")
    wire.wait_until(5.0)
    wire.delays_s[b"two"] = 2.0
    wire.wait_until(20.0)
    assert wire.served == [b"one", b"two"]
    wire.finish(b"two")
    assert wire.served == [b"one", b"two"], "the answer costs a delay of its own"
    wire.wait_until(22.0)
    assert wire.served == [b"one", b"two", b"three"]


@pytest.mark.req("NET-21")
def test_a_produce_without_an_answer_counts_as_answered() -> None:
    wire = Wire()
    wire.silent = {b"one", b"two"}
    wire.delays_s[b"two"] = 3.0
    wire.send(b"one", b"two", b"three")
    assert wire.served == [b"one", b"two"]
    assert wire.written == []
    wire.wait_until(3.0)
    assert wire.served == [b"one", b"two", b"three"]
