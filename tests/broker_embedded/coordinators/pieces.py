"""How much a request does before it lets others go first: counted, so that no clock and no busy machine decides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, GeneratorType
from typing import Any

import pytest

from kafka_tools.broker_embedded import serving
from kafka_tools.broker_embedded.slices import Slices, Work


class Pieces:
    """``longest`` counts the steps of the interpreter in the longest piece of any request so far."""

    def __init__(self) -> None:
        self.longest = 0
        self._steps = 0

    def piece(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, counted as one piece."""

        def watched(*arguments: Any) -> Any:
            def whole() -> Work[Any]:
                return function(*arguments)
                yield

            return whole_of(self.watch(whole()))

        return watched

    def watch(self, work: Work[Any]) -> Work[Any]:
        """The same work, counted."""
        while True:
            self._steps = 0
            before = sys.gettrace()
            sys.settrace(self._trace)
            try:
                wait = next(work)
            except StopIteration as over:
                return over.value
            finally:
                sys.settrace(before)
                self.longest = max(self.longest, self._steps)
            yield wait

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self._steps += event == "opcode"
        return self._trace


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pieces]:
    """Requests served meanwhile are counted: those whose handlers do not work in slices as one piece.

    So is what they leave to be done in slices.
    """
    pieces = Pieces()
    later = Slices.later
    run: Callable[..., Any] = serving.run

    def watched(*arguments: Any) -> Any:
        result = pieces.piece(run)(*arguments)
        return pieces.watch(result) if isinstance(result, GeneratorType) else result

    with monkeypatch.context() as patched:
        patched.setattr(serving, "run", watched)
        patched.setattr(
            Slices, "later", lambda slices, work, done: later(slices, pieces.watch(work), pieces.piece(done))
        )
        yield pieces


def whole_of(work: Work[Any]) -> Any:
    """The result of work that is over at once."""
    try:
        next(work)
    except StopIteration as over:
        return over.value
    raise AssertionError("it went on")
