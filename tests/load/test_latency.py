"""Latencies in bounded memory, and the times at which messages are due."""

from __future__ import annotations

from random import Random

import pytest

from kafka_tools.load.latency import LatencySketch, Timeline
from kafka_tools.load.pace import ConstantRate, Windows, gaussian_sizes

SHARES = (0.01, 0.5, 0.95, 0.99, 0.999, 1.0)


@pytest.mark.parametrize("scale", [1e-5, 1e-3, 1.0, 1e4])
def test_a_percentile_is_never_too_small_and_at_most_two_percent_too_large(scale: float) -> None:
    random = Random(7)
    values = [random.expovariate(1) * scale for _ in range(5000)]
    sketch = LatencySketch()
    for value in values:
        sketch.add(value)
    values.sort()
    for share in SHARES:
        true_ms = values[max(1, -int(-share * len(values) // 1)) - 1] * 1000
        assert true_ms - 0.001 <= sketch.percentile_ms(share) <= true_ms * 1.016 + 0.001


def test_a_sketch_is_bounded_whatever_it_counts() -> None:
    random = Random(3)
    sketch = LatencySketch()
    for _ in range(50_000):
        sketch.add(10 ** random.uniform(-7, 9))
    assert len(sketch._counts) <= 2_400
    sketch.add(-5.0)  # a clock that moved back
    assert sketch.count == 50_001


def test_merged_sketches_are_one_sketch_of_both() -> None:
    one, other, both = LatencySketch(), LatencySketch(), LatencySketch()
    for number in range(1, 101):
        (one if number % 3 else other).add(number / 1000)
        both.add(number / 1000)
    one.merge(other)
    assert one.summary() == both.summary()
    assert one.summary()["p50LatencyMs"] == pytest.approx(50, rel=0.016)
    assert LatencySketch().summary() == dict.fromkeys(one.summary(), 0.0)


def test_a_timeline_keeps_every_event_in_a_bounded_number_of_spans() -> None:
    timeline = Timeline(100.0)
    for second in range(2_000):
        timeline.add(100.5 + second)
    found = timeline.spans()
    assert found == {"span_s": 16.0, "counts": [16] * 125}


def test_messages_of_a_constant_rate_are_due_at_equal_distances() -> None:
    rate = ConstantRate(4, 10.0)
    assert [rate.next_s() for _ in range(5)] == [10.0, 10.25, 10.5, 10.75, 11.0]
    assert ConstantRate(0, 10.0).next_s() is None


def test_a_window_spreads_its_messages_evenly() -> None:
    sizes = iter([2, 4, 1])
    windows = Windows(lambda: next(sizes), 1.0, 0.0)
    assert [windows.next_s() for _ in range(7)] == [0.0, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0]
    assert Windows(lambda: 0, 1.0, 0.0).next_s() is None


def test_gaussian_sizes_last_for_their_windows_and_are_at_least_one() -> None:
    size = gaussian_sizes(3, 50.0, 4, Random(1))
    found = [size() for _ in range(400)]
    assert all(found[at] == found[at + 1] == found[at + 3] for at in range(0, 400, 4))
    assert min(found) == 1 and max(found) > 50
