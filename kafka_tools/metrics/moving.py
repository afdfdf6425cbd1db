"""Meters and histograms as Yammer metrics 2.2 has them, in which Kafka's brokers keep most of their metrics.

``MovingRates`` has the exponentially weighted rates of the last 1, 5 and 15 minutes. ``Distribution`` has percentiles.
Both are cheap to feed: a meter reads a counter that its owner increments anyway, and a distribution appends to a list.
"""

from __future__ import annotations

import math

TICK_MS = 5000
"""The period after which rates are updated."""
_RATES = ("OneMinuteRate", 1), ("FiveMinuteRate", 5), ("FifteenMinuteRate", 15)
_WEIGHTS = tuple(1 - math.exp(-TICK_MS / 60_000 / minutes) for _, minutes in _RATES)
_KEPT = 1024
_PERCENTILES = (
    ("50thPercentile", 0.5),
    ("75thPercentile", 0.75),
    ("95thPercentile", 0.95),
    ("98thPercentile", 0.98),
    ("99thPercentile", 0.99),
    ("999thPercentile", 0.999),
)


class MovingRates:
    """The rates of a counter. ``tick`` must be called with the count before the first increment after ``due_ms``.

    Yammer has a thread that updates every meter each 5 s. Here the owner of the counter does it on its next use, which
    gives the same rates: while nothing is counted, a rate only decays, and that is computed later.
    """

    __slots__ = ("_began_ms", "_counted", "_rates", "due_ms")

    def __init__(self, now_ms: int) -> None:
        self._began_ms = now_ms
        self._counted = 0
        self._rates: list[float] | None = None
        self.due_ms = now_ms + TICK_MS

    def tick(self, count: int, now_ms: int) -> None:
        """Update the rates for each period of 5 s that is over. ``count``: the count of the counter now."""
        ticks = (now_ms - self.due_ms) // TICK_MS + 1
        if ticks <= 0:
            return
        self.due_ms += ticks * TICK_MS
        instant = (count - self._counted) / (TICK_MS / 1000)
        self._counted = count
        if self._rates is None:
            self._rates = [instant] * len(_WEIGHTS)
        else:
            self._rates = [rate + weight * (instant - rate) for rate, weight in zip(self._rates, _WEIGHTS, strict=True)]
        if ticks > 1:
            self._rates = [
                rate * (1 - weight) ** (ticks - 1) for rate, weight in zip(self._rates, _WEIGHTS, strict=True)
            ]

    def attributes(self, count: int, now_ms: int) -> dict[str, float]:
        """The attributes of a meter's bean: the count, and rates per second."""
        self.tick(count, now_ms)
        elapsed_s = (now_ms - self._began_ms) / 1000
        rates = self._rates or [0.0] * len(_WEIGHTS)
        found: dict[str, float] = {"Count": count, "MeanRate": count / elapsed_s if elapsed_s > 0 and count else 0.0}
        found.update((name, rate) for (name, _), rate in zip(_RATES, rates, strict=True))
        return found


class Distribution:
    """Values with count, mean, deviation and extremes since the start, and percentiles of the latest 1,024 to 2,047.

    Its memory is bounded. ``latest.append(value)`` records a value; call ``fold`` when ``latest`` has ``FULL`` values.
    (Yammer keeps 1,028 values, chosen at random with a weight for newer ones.)
    """

    __slots__ = ("_before", "_count", "_largest", "_smallest", "_squares", "_sum", "latest")

    FULL = _KEPT

    def __init__(self) -> None:
        self.latest: list[float] = []
        self._before: list[float] = []
        self._count = 0
        self._sum = self._squares = 0.0
        self._smallest, self._largest = math.inf, -math.inf

    def add(self, value: float) -> None:
        """Record a value."""
        self.latest.append(value)
        if len(self.latest) >= _KEPT:
            self.fold()

    def fold(self) -> None:
        """Add the latest values to the totals and start a new list."""
        latest = self.latest
        if latest:
            self._count += len(latest)
            self._sum += math.fsum(latest)
            self._squares += math.fsum(value * value for value in latest)
            self._smallest, self._largest = min(self._smallest, min(latest)), max(self._largest, max(latest))
            self._before, self.latest = latest, []

    def attributes(self) -> dict[str, float]:
        """The attributes of a histogram's bean."""
        latest = self.latest
        count = self._count + len(latest)
        if not count:
            return {"Count": 0, "Max": 0.0, "Mean": 0.0, "Min": 0.0, "StdDev": 0.0} | dict.fromkeys(
                (name for name, _ in _PERCENTILES), 0.0
            )
        total = self._sum + math.fsum(latest)
        squares = self._squares + math.fsum(value * value for value in latest)
        variance = max(0.0, (squares - total * total / count) / (count - 1)) if count > 1 else 0.0
        values = sorted(self._before + latest)
        return {
            "Count": count,
            "Max": max(self._largest, values[-1]),
            "Mean": total / count,
            "Min": min(self._smallest, values[0]),
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
