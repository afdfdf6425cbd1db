"""Long work in slices keeps nothing once it is over: what failed may have been a hundred megabytes of a request."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded.purgatory import Parked, Purgatory
from kafka_tools.broker_embedded.serving import rest_of
from kafka_tools.broker_embedded.slices import Aside, Elsewhere, Slices, Work
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock


class Request:
    """Something large."""


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("resumed", [False, True])
def test_what_failed_elsewhere_is_let_go_of_at_once(without_collector: None, resumed: bool) -> None:
    timers = Timers(ManualClock())
    slices = Slices(timers)
    ended: list[str] = []

    def begin() -> weakref.ref[Request]:
        request = Request()

        def fail() -> None:
            raise ValueError(f"{type(request).__name__} is damaged")

        def work() -> Work[None]:
            yield Elsewhere(fail)

        begun: Any = work()
        if resumed:
            begun = rest_of(begun, begun.send(None))
        slices.later(begun, lambda _, error: ended.append(str(error)))
        return weakref.ref(request)

    kept = begin()
    while not ended:
        assert timers.run_due()
    assert ended == ["Request is damaged"]
    assert kept() is None


def test_what_waited_leaves_no_circle_behind(without_collector: None) -> None:
    """Each long poll of a consumer once did, which kept all it knew until the next collection of garbage."""

    class Waiting:
        def __init__(self) -> None:
            self.parked = Parked(100, self.try_complete, on_cancel=self.cancelled)

        def try_complete(self, expired: bool) -> None:
            raise AssertionError

        def cancelled(self) -> None: ...

        def answer(self, response: object) -> None: ...

    def ended(end: Callable[[Parked], object]) -> weakref.ref[Waiting]:
        waiting = Waiting()
        Purgatory(Timers(ManualClock())).park(waiting.parked, waiting.answer, waiting.answer)  # type: ignore[arg-type]
        end(waiting.parked)
        return weakref.ref(waiting)

    assert ended(lambda parked: parked.complete(None))() is None
    assert ended(lambda parked: parked.cancel())() is None


def test_what_is_cancelled_leaves_no_circle_behind(without_collector: None) -> None:
    timers = Timers(ManualClock())
    slices = Slices(timers)

    class Asking:
        def __init__(self) -> None:
            self.sliced = slices.later(self.work(), self.finished)

        def work(self) -> Work[None]:
            yield

        def finished(self, value: object, error: BaseException | None) -> None: ...

    def cancelled() -> weakref.ref[Asking]:
        asking = Asking()
        slices.cancel(asking.sliced)
        while timers.run_due():
            pass
        return weakref.ref(asking)

    assert cancelled()() is None


def test_who_stands_aside_holds_nobody_up() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    slices = Slices(timers)
    said: list[str] = []

    def patient() -> Work[str]:
        yield Aside(20)
        said.append("asked again")
        yield Aside(20)
        return "over"

    def short() -> Work[str]:
        yield
        return "short"

    slices.begin(patient(), lambda value, _: said.append(value))
    slices.later(short(), lambda value, _: said.append(value))
    while timers.run_due():
        pass
    assert (said, len(slices)) == (["short"], 1)
    list(timers.advance(clock, 0.019))
    assert said == ["short"]
    list(timers.advance(clock, 0.001))
    assert said == ["short", "asked again"]
    list(timers.advance(clock, 0.02))
    assert (said, len(slices)) == (["short", "asked again", "over"], 0)


def test_what_is_cancelled_while_it_stands_aside_ends() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    slices = Slices(timers)
    said: list[str] = []

    def patient() -> Work[None]:
        try:
            yield Aside(20)
            said.append("went on")
        finally:
            said.append("ended")

    sliced = slices.begin(patient(), lambda *_: said.append("done"))
    assert sliced is not None
    list(timers.advance(clock, 0.01))
    slices.cancel(sliced)
    list(timers.advance(clock, 0.01))
    assert (said, len(slices)) == (["ended"], 0)


def test_a_failure_in_telling_that_work_is_over_does_not_stop_the_line(caplog: pytest.LogCaptureFixture) -> None:
    timers = Timers(ManualClock())
    slices = Slices(timers)
    said: list[str] = []

    def work(fails: bool) -> Work[str]:
        yield
        if fails:
            raise ValueError("it fails")
        return "over"

    for fails in (False, True):
        slices.later(work(fails), lambda value, error: said[9])
        slices.later(work(fails), lambda value, error: said.append(value or str(error)))
    while timers.run_due():
        pass
    assert (said, len(slices)) == (["over", "it fails"], 0)
    assert "what follows the end of long work failed" in caplog.text
