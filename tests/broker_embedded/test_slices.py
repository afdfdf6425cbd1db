"""Long work in slices keeps nothing once it is over: what failed may have been a hundred megabytes of a request."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded.slices import Elsewhere, Slices, Work, rest_of
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
