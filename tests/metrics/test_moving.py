"""The rates and distributions of Yammer metrics, with values computed by hand."""

from __future__ import annotations

import math

import pytest

from kafka_tools.metrics.moving import MOST_LATEST, Distribution, MovingRates, Periods


def test_rates_begin_with_the_first_period_and_then_move() -> None:
    rates = MovingRates(0)
    assert rates.attributes(0, 0, 0) == {
        "Count": 0, "MeanRate": 0.0, "OneMinuteRate": 0.0, "FiveMinuteRate": 0.0, "FifteenMinuteRate": 0.0
    }  # fmt: skip
    found = rates.attributes(100, 1, 5)
    assert found == {"Count": 100, "MeanRate": 20, "OneMinuteRate": 20, "FiveMinuteRate": 20, "FifteenMinuteRate": 20}
    found = rates.attributes(100, 13, 65)  # a minute without an event
    assert found["OneMinuteRate"] == pytest.approx(20 / math.e)
    assert found["FiveMinuteRate"] == pytest.approx(20 / math.exp(1 / 5))
    assert found["FifteenMinuteRate"] == pytest.approx(20 / math.exp(1 / 15))
    assert found["MeanRate"] == pytest.approx(100 / 65)


def test_a_counter_that_is_updated_late_has_the_rates_of_one_that_is_updated_each_time() -> None:
    lazy, eager = MovingRates(0), MovingRates(0)
    periods = Periods(1000.0)
    count = 0
    for second in range(600):
        periods.look(1000.0 + second)
        eager.tick(count, periods.now)
        if second < 30 or 300 <= second < 310:  # events, before which the owner looks
            lazy.tick(count, periods.now)
            count += 10
    assert periods.now == 119
    assert lazy.attributes(count, 120, 600) == pytest.approx(eager.attributes(count, 120, 600))


def test_a_distribution_has_exact_percentiles_of_the_latest_values() -> None:
    found = Distribution()
    assert found.attributes()["Count"] == 0
    for value in range(1, 101):
        found.add([value])
    told = found.attributes()
    assert (told["Count"], told["Min"], told["Max"], told["Mean"]) == (100, 1, 100, 50.5)
    assert told["StdDev"] == pytest.approx(29.011491975882016)
    assert (told["50thPercentile"], told["75thPercentile"], told["99thPercentile"]) == (50.5, 75.75, 99.99)
    assert told["999thPercentile"] == 100


def test_the_memory_of_a_distribution_is_bounded() -> None:
    found = Distribution()
    for value in range(100_000):
        found.add([float(value)])
    told = found.attributes()
    assert (told["Count"], told["Min"], told["Max"]) == (100_000, 0, 99_999)
    assert told["50thPercentile"] > 97_000  # of the latest values alone
    assert len(found._latest) + len(found._before) <= 2 * MOST_LATEST


def test_many_values_at_once_are_as_good_as_each_alone() -> None:
    alone, together = Distribution(), Distribution()
    values = [float(value * 7 % 1000) for value in range(MOST_LATEST)]
    for value in values:
        alone.add([value])
    together.add(values)
    together.add([])
    assert together.attributes() == alone.attributes()
