"""Long work in slices keeps nothing once it is over: what failed may have been a hundred megabytes of a request."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from kafka_tools.broker_embedded.purgatory import Parked, Purgatory
from kafka_tools.broker_embedded.slices import Sliced, Slices, Work, shielded, sleep, to_thread, whole
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
            yield from to_thread(fail)

        begun = work()
        wait = next(begun) if resumed else None
        slices.add(Sliced(begun, lambda _, error: ended.append(str(error)), wait))
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
        yield from sleep(20)
        said.append("asked again")
        yield from sleep(20)
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
            yield from sleep(20)
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
    assert "the follow-up of long work failed" in caplog.text


@pytest.mark.parametrize("after", ["begun", "decoded", "called", "changed"])
def test_shielded_work_whose_client_has_gone_goes_on_until_it_may_end(after: str) -> None:
    timers = Timers(ManualClock())
    slices = Slices(timers, slice_s=0.0)
    said: list[str] = []

    def called() -> Work[None]:
        yield from sleep(0)
        said.append("called")

    @shielded
    def change() -> Work[None]:
        said.append("begun")
        yield
        yield from to_thread(lambda: said.append("decoded"))
        yield from called()
        yield
        said.append("changed")

    def work() -> Work[None]:
        yield from change()
        yield
        said.append("went on")

    sliced = slices.later(work(), lambda *_: said.append("done"))
    while after not in said:
        timers.run_due()
    slices.cancel(sliced)
    while timers.run_due():
        pass
    assert (said, len(slices)) == (["begun", "decoded", "called", "changed"], 0)


def test_work_that_yields_from_an_iterator_is_cancelled_too() -> None:
    slices = Slices(Timers(ManualClock()))
    said: list[str] = []

    def work() -> Work[None]:
        try:
            yield from iter([None, None])
            said.append("went on")
        finally:
            said.append("ended")

    begun = work()
    next(begun)
    slices.later(sleep(0), lambda *_: None)
    sliced = slices.later(begun, lambda *_: said.append("done"))
    slices.cancel(sliced)
    assert (said, len(slices)) == (["ended"], 1)


def test_what_whole_work_calls_elsewhere_is_called_at_once_and_fails_within_it() -> None:
    def fail() -> None:
        raise ValueError("it fails")

    def work() -> Work[str]:
        yield
        try:
            yield from to_thread(fail)
        except ValueError as error:
            said = str(error)
        return (yield from to_thread(said.upper))

    assert whole(work()) == "IT FAILS"


def test_whole_work_waits_for_nobody() -> None:
    with pytest.raises(AssertionError, match="no other work can end this wait"):
        whole(sleep(0))
