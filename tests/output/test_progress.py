"""The progress bar: for a person at a terminal, and for nobody else."""

from __future__ import annotations

import io
import threading

import pytest

from kafka_tools.output.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_title_and_progress_and_the_bar_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal, polled = Terminal(), threading.Event()

    def poll() -> tuple[int, int]:
        polled.set()
        return 3, 7

    with progress("reading segments", poll, terminal):
        assert polled.wait(60)
    assert "reading segments" in terminal.getvalue()
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_a_pipe_sees_nothing_and_nothing_is_polled() -> None:
    pipe = io.StringIO()
    with progress("reading segments", lambda: pytest.fail("polled"), pipe):
        pass
    assert pipe.getvalue() == ""


def test_an_error_in_the_block_ends_the_bar_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(KeyboardInterrupt), progress("reading segments", lambda: (0, 0), Terminal()):
        raise KeyboardInterrupt
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]
