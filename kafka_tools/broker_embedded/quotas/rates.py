"""Rates over sliding windows, and token buckets of credit that fill at a rate.

The arithmetic is Kafka's to the millisecond (``TokenBucket``, ``QuotaUtils``, and ``metrics.sampled``): times are whole
milliseconds of a clock that never goes back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from kafka_tools.metrics.names import MetricConfig
from kafka_tools.metrics.sampled import Rate

_MOST_MS = 2**31 - 1
_MOST_OWNERS = 10_000
"""The number of measures at which idle ones are removed; later, twice the remaining number if that is more."""


class LimitedRate:
    """A value per second over sliding windows, many small ones rather than one large (``quota.window.num``)."""

    __slots__ = ("_config", "_rate")

    def __init__(self, windows: int, window_s: int) -> None:
        self._config = MetricConfig(samples=windows, window_ms=window_s * 1000)
        self._rate = Rate()

    def record(self, value: float, now_ms: int) -> None:
        """Add ``value`` now; a negative value corrects an earlier one."""
        self._rate.record(self._config, value, now_ms)

    def per_second(self, now_ms: int) -> float:
        return self._rate.measure(self._config, now_ms)

    def over_ms(self, limit: float, now_ms: int) -> int:
        """The wait until the rate is down to its limit; 0 if it is within the limit."""
        rate = self.per_second(now_ms)
        if rate <= limit:
            return 0
        return _wait_ms(rate - limit, limit, self._rate.period_ms(self._config, now_ms))

    def is_idle(self, now_ms: int) -> bool:
        """Whether nothing was recorded in the last windows."""
        age_ms = self._config.samples * self._config.window_ms
        return all(now_ms - sample.last_ms >= age_ms for sample in self._rate.stat.samples)


class Bucket:
    """Credit that grows at a rate up to a burst; one ``spend`` can make it negative (KIP-599). Starts full."""

    __slots__ = ("_at_ms", "_burst", "_credit", "_rate")

    def __init__(self, rate: float, burst: float, now_ms: int) -> None:
        self._rate = rate
        self._burst = burst
        self._credit = burst
        self._at_ms = now_ms

    def limit(self, rate: float, burst: float) -> None:
        """Change the limit from the last use on. Credit above the new burst is lost."""
        self._rate, self._burst = rate, burst

    def spend(self, amount: float, now_ms: int) -> None:
        self._fill(now_ms)
        self._credit = min(self._burst, self._credit - amount)

    def credit(self, now_ms: int) -> float:
        """The credit now; negative if more was spent."""
        self._fill(now_ms)
        return self._credit

    def owed_ms(self, now_ms: int) -> int:
        """Milliseconds until the credit is no longer negative."""
        self._fill(now_ms)
        return _wait_ms(-self._credit, self._rate, 1000) if self._credit < 0 else 0

    def is_idle(self, now_ms: int) -> bool:
        """Whether the bucket is full, and so equal to a new one."""
        self._fill(now_ms)
        return self._credit >= self._burst

    def _fill(self, now_ms: int) -> None:
        self._credit = min(self._burst, self._credit + self._rate * ((now_ms - self._at_ms) / 1000))
        self._at_ms = now_ms


K = TypeVar("K", bound=Hashable)
M = TypeVar("M", LimitedRate, Bucket)


class Measures(dict[K, M], Generic[K, M]):
    """Rates or buckets by owner. Idle ones are removed once there are many, because clients choose their ids."""

    def __init__(self) -> None:
        super().__init__()
        self._most = _MOST_OWNERS

    def of(self, owner: K, now_ms: int, make: Callable[[], M]) -> M:
        """The measure of an owner; ``make`` creates a missing one."""
        found = self.get(owner)
        if found is None:
            if len(self) >= self._most:
                for idle in [each for each, kept in self.items() if kept.is_idle(now_ms)]:
                    del self[idle]
                self._most = max(_MOST_OWNERS, 2 * len(self))
            found = self[owner] = make()
        return found


def _wait_ms(excess: float, limit: float, window_ms: int) -> int:
    """The time to compensate an excess at a limit, rounded as by Java's ``Math.round``, at most 2^31 - 1.

    A very small limit can make the time infinite. A limit of NaN, which only Kafka stores, throttles no client.
    """
    ms = excess / limit * window_ms if limit else math.inf
    return 0 if math.isnan(ms) else math.floor(min(ms + 0.5, _MOST_MS))
