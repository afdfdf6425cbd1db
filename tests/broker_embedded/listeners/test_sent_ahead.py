"""Requests that a client sends before the first is answered: what is read and handed over for them, and when."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_tools.broker_embedded.listeners.receiving import SMALL_BYTES
from kafka_tools.protocol.frames import framed
from tests.broker_embedded.listeners.wire import Wire

NAMES = [f"request {number}".encode() for number in range(5)]
ANSWERS = [b"answer to " + name for name in NAMES]


class Other:
    """Another connection, which notes its turns."""

    def __init__(self, turns: list[str]) -> None:
        self.had_s = 1.0
        self._turns = turns

    def turn(self) -> None:
        self._turns.append("another")


def test_small_answers_to_requests_that_came_together_go_together() -> None:
    wire = Wire()
    wire.send(*NAMES)
    assert wire.served == NAMES
    assert wire.written == ANSWERS
    assert wire.writes == 1


def test_an_answer_waits_for_no_request_that_is_not_whole() -> None:
    wire = Wire()
    wire.waiting += framed(NAMES[0]) + framed(NAMES[1])[:-1]
    wire.readable()
    assert wire.written == ANSWERS[:1]


def test_an_answer_waits_for_none_that_is_not_there_yet() -> None:
    wire = Wire()
    wire.parks = {NAMES[2]}
    wire.send(*NAMES)
    assert wire.written == ANSWERS[:2]
    wire.finish(NAMES[2])
    assert wire.written == ANSWERS


def test_a_large_answer_goes_before_the_next_request_is_served() -> None:
    wire = Wire()
    wire.more = {NAMES[1]: b"." * 50_000}
    wire.connection.pause_writing()  # nothing is taken but what is handed over at once
    wire.connection.resume_writing()
    written_at: list[tuple[int, int]] = []
    serve = wire.finish

    def finish(frame: bytes) -> None:
        written_at.append((len(wire.served), len(wire.written)))
        serve(frame)

    wire.finish = finish  # type: ignore[method-assign]
    wire.send(*NAMES)
    assert written_at == [(1, 0), (2, 0), (3, 2), (4, 2), (5, 2)]
    assert wire.written == [ANSWERS[0], ANSWERS[1] + b"." * 50_000, *ANSWERS[2:]]


def test_what_the_system_had_no_room_for_is_read_without_another_round(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire()
    monkeypatch.setattr("os.readv", lambda _, buffers: wire.read(buffers[0]))
    large = [bytes([number]) * (SMALL_BYTES - 1000) for number in range(6)]
    wire.send(*large)
    assert wire.served == large[:4], "others are looked at after a few"
    wire.readable()
    assert wire.served == large
    assert not wire.waiting


@pytest.mark.parametrize("failure", [BlockingIOError, ConnectionResetError, None])
def test_what_cannot_be_read_so_is_left_to_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, failure: type[OSError] | None
) -> None:
    def readv(*_: object) -> int:
        if failure is not None:
            raise failure
        return 0  # the client's end

    wire = Wire()
    monkeypatch.setattr("os.readv", readv)
    large = [bytes([number]) * (SMALL_BYTES - 1000) for number in range(2)]
    wire.send(*large)
    assert wire.served == large[:1]
    wire.readable()
    assert wire.served == large


def test_an_answer_that_may_come_to_nothing_takes_no_other_along() -> None:
    wire = Wire()
    serve = wire.finish
    written_before: list[list[bytes]] = []

    def finish(frame: bytes) -> None:
        serve(frame)
        if frame == NAMES[1]:
            wire.connection._answer([memoryview(b"of a file")])
            written_before.append(list(wire.written))

    wire.finish = finish  # type: ignore[method-assign]
    wire.send(*NAMES[:2])
    assert written_before == [ANSWERS[:2]]
    assert wire.written == [*ANSWERS[:2], b"of a file"]


def test_a_mistake_in_one_request_keeps_back_no_answer_to_another() -> None:
    wire = Wire()
    wire.fails = {NAMES[2]}
    wire.send(*NAMES)
    assert wire.written == ANSWERS[:2]
    assert wire.closed


def test_a_mistake_in_a_request_that_had_to_wait_ends_its_connection_alone(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire()
    rounds: list[Callable[[], object]] = []
    turns = wire.connection._shared.turns
    turns._call_soon = rounds.append
    turns._spent_s = 1.0  # others had the time of this round
    wire.fails = {NAMES[0]}
    wire.send(*NAMES[:2])
    served: list[str] = []
    turns.later(Other(served))
    while rounds:
        rounds.pop(0)()
    assert wire.closed
    assert wire.served == NAMES[:1]
    assert served == ["another"]
    assert "a mistake" in caplog.text


def test_a_client_that_ends_is_served_what_it_sent_before_when_its_turn_comes() -> None:
    wire = Wire()
    rounds: list[Callable[[], object]] = []
    turns = wire.connection._shared.turns
    turns._call_soon = rounds.append
    turns._spent_s = 1.0  # others had the time of this round
    wire.send(*NAMES)
    assert wire.served == []
    assert wire.connection.eof_received() is True
    assert not wire.closed
    while rounds:
        rounds.pop(0)()
    assert wire.written == ANSWERS
    assert wire.closed


def test_over_tls_a_client_that_ends_is_served_at_once_what_waits_for_its_turn() -> None:
    wire = Wire()
    wire.connection._endpoint.has_tls = True  # type: ignore[misc]
    turns = wire.connection._shared.turns
    turns._call_soon = lambda _: None
    turns._spent_s = 1.0  # others had the time of this round
    wire.send(*NAMES)
    assert wire.served == []
    assert wire.connection.eof_received() is False
    assert wire.served == NAMES
    assert wire.written == ANSWERS


def test_a_client_that_ends_is_served_what_waits_for_its_delay() -> None:
    wire = Wire()
    wire.delays_s[NAMES[0]] = 5.0
    wire.send(*NAMES[:2])
    assert wire.connection.eof_received() is True
    wire.wait_until(5.0)
    assert wire.served == NAMES[:2]
    assert wire.closed


@pytest.mark.parametrize("is_work", [True, False])
def test_a_client_that_ends_is_waited_for_while_its_request_is_worked_on_and_not_while_it_waits(is_work: bool) -> None:
    wire = Wire()
    wire.parks = {NAMES[0]}
    wire.works_on = set(wire.parks) if is_work else set()
    wire.send(NAMES[0])
    assert wire.connection.eof_received() is is_work
    if is_work:
        wire.finish(NAMES[0])
        assert wire.written == ANSWERS[:1]
        assert wire.closed


def test_a_client_that_ends_is_served_what_it_sent_behind_a_large_answer() -> None:
    wire = Wire()
    rounds: list[Callable[[], object]] = []
    wire.connection._shared.turns._call_soon = rounds.append
    wire.parks = wire.works_on = {NAMES[0]}
    wire.more = {NAMES[0]: b"." * 300_000}  # more than is sent before others are looked at, and all of it in one turn
    written_at: list[int] = []
    wire.connection._transport.close = lambda: written_at.append(len(wire.written))
    wire.send(*NAMES)
    assert wire.connection.eof_received() is True
    wire.finish(NAMES[0])
    while rounds:
        rounds.pop(0)()
    assert wire.written == [ANSWERS[0] + wire.more[NAMES[0]], *ANSWERS[1:]]
    assert written_at == [len(NAMES)]


def test_nothing_is_read_behind_a_request_that_waits_for_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire()
    monkeypatch.setattr("os.readv", lambda *_: pytest.fail("read ahead of a request that is parked"))
    large = [bytes([number]) * (SMALL_BYTES - 1000) for number in range(3)]
    wire.parks = {large[0]}
    wire.send(*large)
    assert wire.served == large[:1]
