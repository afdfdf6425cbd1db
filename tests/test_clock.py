"""A machine whose clock is past the year 2262, from which on Python's own functions for the time fail."""

from __future__ import annotations

import time
from typing import NoReturn

import pytest

from kafka_tools import cli
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running

YEAR_2300_S = 10_413_792_000.5


@pytest.fixture
def far_future(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> NoReturn:
        raise OverflowError("timestamp too large to convert to C _PyTime_t")

    monkeypatch.setattr(time, "time_ns", refuse)
    monkeypatch.setattr(time, "time", refuse)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: YEAR_2300_S)


def test_the_clock_is_read_all_the_same(far_future: None) -> None:
    assert SystemClock().now_ms() == 10_413_792_000_500


def test_a_command_that_reads_it_says_what_it_would_say_on_any_day(
    far_future: None, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--bootstrap-server", "127.0.0.1:1", "--timeout", "1s", "--time", "1 hour ago"]
    assert running.run(cli.load("get-offsets"), arguments, "kafka-get-offsets") == 1
    err = capsys.readouterr().err
    assert "2299-12-31T23:00:00.500Z" in err and "cannot connect" in err and "internal" not in err


def test_what_python_cannot_tell_is_no_internal_error(
    far_future: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``import logging`` reads the clock: a broker does not get further."""
    monkeypatch.setattr(SystemClock, "now_ms", lambda self: int(time.time() * 1000))
    arguments = ["--bootstrap-server", "127.0.0.1:1", "--time", "1 hour ago"]
    assert running.run(cli.load("get-offsets"), arguments, "kafka-get-offsets") == 1
    assert capsys.readouterr().err == (
        "kafka-get-offsets: the clock of this machine is past the year 2262, the last that Python supports\n"
        "  set the clock\n"
    )
