"""The rates and distributions of Yammer metrics, with values computed by hand."""

from __future__ import annotations

import math

import pytest

from kafka_tools.metrics.moving import Distribution, MovingRates


def test_rates_begin_with_the_first_period_and_then_move() -> None:
    rates = MovingRates(0)
    assert rates.attributes(0, 0) == {
        "Count": 0, "MeanRate": 0.0, "OneMinuteRate": 0.0, "FiveMinuteRate": 0.0, "FifteenMinuteRate": 0.0
    }  # fmt: skip
    found = rates.attributes(100, 5000)
    assert found == {"Count": 100, "MeanRate": 20, "OneMinuteRate": 20, "FiveMinuteRate": 20, "FifteenMinuteRate": 20}
    found = rates.attributes(100, 65_000)  # a minute without an event
    assert found["OneMinuteRate"] == pytest.approx(20 / math.e)
    assert found["FiveMinuteRate"] == pytest.approx(20 / math.exp(1 / 5))
    assert found["FifteenMinuteRate"] == pytest.approx(20 / math.exp(1 / 15))
    assert found["MeanRate"] == pytest.approx(100 / 65)


def test_a_counter_that_is_updated_late_has_the_rates_of_one_that_is_updated_each_time() -> None:
    lazy, eager = MovingRates(0), MovingRates(0)
    count = 0
    for second in range(600):
        now_ms = second * 1000
        eager.tick(count, now_ms)
        if second < 30 or 300 <= second < 310:  # events, before which the owner looks whether a tick is due
            if now_ms >= lazy.due_ms:
                lazy.tick(count, now_ms)
            count += 10
    assert lazy.attributes(count, 600_000) == pytest.approx(eager.attributes(count, 600_000))


def test_a_distribution_has_exact_percentiles_of_the_latest_values() -> None:
    found = Distribution()
    assert found.attributes()["Count"] == 0
    for value in range(1, 101):
        found.add(value)
    told = found.attributes()
    assert (told["Count"], told["Min"], told["Max"], told["Mean"]) == (100, 1, 100, 50.5)
    assert told["StdDev"] == pytest.approx(29.011491975882016)
    assert (told["50thPercentile"], told["75thPercentile"], told["99thPercentile"]) == (50.5, 75.75, 99.99)
    assert told["999thPercentile"] == 100


def test_the_memory_of_a_distribution_is_bounded() -> None:
    found = Distribution()
    for value in range(100_000):
        found.add(float(value))
    told = found.attributes()
    assert (told["Count"], told["Min"], told["Max"]) == (100_000, 0, 99_999)
    assert told["50thPercentile"] > 97_000  # of the latest values alone
    assert len(found.latest) + len(found._before) < 2 * Distribution.FULL
