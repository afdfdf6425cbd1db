"""Meters and histograms as Yammer metrics 2.2 has them, in which Kafka's brokers keep most of their metrics.

``MovingRates`` has the exponentially weighted rates of the last 1, 5 and 15 minutes. ``Distribution`` has percentiles.
Both are cheap to feed: a meter reads a counter that its owner increments anyway, and a distribution takes many values
at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

PERIOD_S = 5.0
"""The period after which rates are updated."""
_RATES = ("OneMinuteRate", 1), ("FiveMinuteRate", 5), ("FifteenMinuteRate", 15)
_WEIGHTS = tuple(1 - math.exp(-PERIOD_S / 60 / minutes) for _, minutes in _RATES)
MOST_LATEST = 1024
"""So many of the latest values are kept twice."""
_PERCENTILES = (
    ("50thPercentile", 0.5),
    ("75thPercentile", 0.75),
    ("95thPercentile", 0.95),
    ("98thPercentile", 0.98),
    ("99thPercentile", 0.99),
    ("999thPercentile", 0.999),
)


class Periods:
    """Numbers the periods of 5 s since the start. ``now`` is the current one, as of the last ``look``."""

    __slots__ = ("_began_s", "due_s", "now")

    def __init__(self, now_s: float) -> None:
        self._began_s = now_s
        self.now = 0
        self.due_s = now_s + PERIOD_S

    def look(self, now_s: float) -> None:
        """Advance to the period of ``now_s`` (monotonic clock). Code that is called often compares ``due_s`` first."""
        if now_s >= self.due_s:
            self.now = int((now_s - self._began_s) / PERIOD_S)
            self.due_s = self._began_s + (self.now + 1) * PERIOD_S

    def elapsed_s(self, now_s: float) -> float:
        """The seconds since the start."""
        return now_s - self._began_s


class MovingRates:
    """The rates of a counter. ``tick`` must be called with the count before the first increment of each period.

    Yammer has a thread that updates every meter each 5 s. Here the owner of the counter does it on its next use, which
    gives the same rates: while nothing is counted, a rate only decays, and that is computed later.
    """

    __slots__ = ("_counted", "_period", "_rates")

    def __init__(self, period: int) -> None:
        self._period = period
        self._counted = 0
        self._rates: list[float] | None = None

    def tick(self, count: int, period: int) -> None:
        """Update the rates for each period that is over. ``count``: the count of the counter now."""
        over = period - self._period
        if over <= 0:
            return
        self._period = period
        instant = (count - self._counted) / PERIOD_S
        self._counted = count
        if self._rates is None:
            self._rates = [instant] * len(_WEIGHTS)
        else:
            self._rates = [rate + weight * (instant - rate) for rate, weight in zip(self._rates, _WEIGHTS, strict=True)]
        if over > 1:
            self._rates = [
                rate * (1 - weight) ** (over - 1) for rate, weight in zip(self._rates, _WEIGHTS, strict=True)
            ]

    def attributes(self, count: int, period: int, elapsed_s: float) -> dict[str, float]:
        """The attributes of a meter's bean: the count, and rates per second. ``elapsed_s``: the age of the counter."""
        self.tick(count, period)
        rates = self._rates or [0.0] * len(_WEIGHTS)
        found: dict[str, float] = {"Count": count, "MeanRate": count / elapsed_s if elapsed_s > 0 and count else 0.0}
        found.update((name, rate) for (name, _), rate in zip(_RATES, rates, strict=True))
        return found


class Distribution:
    """Values with count, mean, deviation and extremes since the start, and percentiles of the latest ones.

    There are 1,024 to 2,048 latest values once there were that many, so the memory is bounded.
    (Yammer keeps 1,028 values, chosen at random with a weight for newer ones.)
    """

    __slots__ = ("_before", "_count", "_largest", "_latest", "_smallest", "_squares", "_sum")

    def __init__(self) -> None:
        self._before: Sequence[float] = ()
        self._latest: list[float] = []
        self._count = 0
        self._sum = self._squares = 0.0
        self._smallest, self._largest = math.inf, -math.inf

    def add(self, values: Sequence[float]) -> None:
        """Record values: better many at once than each alone."""
        if not values:
            return
        self._count += len(values)
        self._sum += sum(values)
        self._squares += sum(map(mul, values, values))
        self._smallest, self._largest = min(self._smallest, min(values)), max(self._largest, max(values))
        if len(self._latest) + len(values) > MOST_LATEST:
            self._before, self._latest = self._latest[-MOST_LATEST:], []
        self._latest.extend(values[-MOST_LATEST:])

    def attributes(self) -> dict[str, float]:
        """The attributes of a histogram's bean."""
        count = self._count
        if not count:
            return {"Count": 0, "Max": 0.0, "Mean": 0.0, "Min": 0.0, "StdDev": 0.0} | dict.fromkeys(
                (name for name, _ in _PERCENTILES), 0.0
            )
        variance = max(0.0, (self._squares - self._sum**2 / count) / (count - 1)) if count > 1 else 0.0
        values = sorted([*self._before, *self._latest])
        return {
            "Count": count,
            "Max": self._largest,
            "Mean": self._sum / count,
            "Min": self._smallest,
            "StdDev": math.sqrt(variance),
        } | {name: _at(values, quantile) for name, quantile in _PERCENTILES}


def _at(values: list[float], quantile: float) -> float:
    """The quantile of sorted values, interpolated between two neighbours as Yammer does."""
    place = quantile * (len(values) + 1)
    if place < 1:
        return values[0]
    if place >= len(values):
        return values[-1]
    lower = values[int(place) - 1]
    return lower + (place - math.floor(place)) * (values[int(place)] - lower)
