"""Stats that give several metrics: a rate with its total, and percentiles of a histogram of fixed size."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from kafka_tools.metrics.cumulative import CumulativeCount, CumulativeSum
from kafka_tools.metrics.metric import Measurable
from kafka_tools.metrics.names import MetricConfig, MetricName
from kafka_tools.metrics.sampled import Rate, SampledStat, WindowedCount, WindowSample

if TYPE_CHECKING:
    from kafka_tools.metrics.metric import Stat

log = logging.getLogger(__name__)


class CompoundStat(Protocol):
    """A stat with several measurables, each with the name of its metric."""

    def record(self, config: MetricConfig, value: float, now_ms: int) -> None: ...

    def parts(self) -> Sequence[tuple[MetricName, Measurable]]: ...


class Meter:
    """A rate per ``unit_ms`` milliseconds and the total since the start, of values or (WindowedCount) of events."""

    __slots__ = ("_rate", "_rate_name", "_total", "_total_name")

    def __init__(
        self, rate_name: MetricName, total_name: MetricName, stat: SampledStat | None = None, unit_ms: int = 1000
    ) -> None:
        self._rate_name = rate_name
        self._total_name = total_name
        self._rate = Rate(stat, unit_ms)
        self._total: Stat = CumulativeCount() if isinstance(stat, WindowedCount) else CumulativeSum()

    def record(self, config: MetricConfig, value: float, now_ms: int) -> None:
        self._rate.record(config, value, now_ms)
        self._total.record(config, value, now_ms)

    def parts(self) -> Sequence[tuple[MetricName, Measurable]]:
        return [(self._total_name, self._total), (self._rate_name, self._rate)]


class ConstantBins:
    """``count`` bins of equal width from ``low`` to ``high``."""

    __slots__ = ("_high", "_low", "_width", "count")

    def __init__(self, count: int, low: float, high: float) -> None:
        if count < 2:
            raise ValueError("Must have at least 2 bins.")
        self.count = count
        self._low = low
        self._high = high
        self._width = (high - low) / count

    def bin_of(self, value: float) -> int:
        if value <= self._low:
            return 0
        return self.count - 1 if value >= self._high else int((value - self._low) / self._width)

    def start_of(self, number: int) -> float:
        return self._low + number * self._width


class LinearBins:
    """``count`` bins from 0 to ``high``, each wider than the one before by the width of the first."""

    __slots__ = ("_high", "_scale", "count")

    def __init__(self, count: int, high: float) -> None:
        if count < 2:
            raise ValueError("Must have at least 2 bins.")
        self.count = count
        self._high = high
        self._scale = high / (count * (count - 1) / 2)

    def bin_of(self, value: float) -> int:
        if value > self._high:
            return self.count - 1
        return int(-0.5 + 0.5 * math.sqrt(1 + 8 * value / self._scale))

    def start_of(self, number: int) -> float:
        return self._scale * number * (number + 1) / 2


class BinnedSample(WindowSample):
    """A window's values, counted by bin."""

    __slots__ = ("bins",)

    def __init__(self, size: int, now_ms: int) -> None:
        self.bins = [0] * size
        super().__init__(0.0, now_ms)

    def reset(self, start: float, now_ms: int) -> None:
        super().reset(start, now_ms)
        self.bins = [0] * len(self.bins)


class Percentiles(SampledStat):
    """Percentiles of the values in the windows, from bins of a fixed number: the memory does not grow.

    ``percentiles`` are (name, percentile from 0 to 100). Values outside ``low`` to ``high`` count as the nearest of the
    two, with a warning. The result is the start of the bin that contains the percentile; NaN without a value.
    """

    __slots__ = ("_bins", "_high", "_low", "_percentiles")

    def __init__(
        self, percentiles: Sequence[tuple[MetricName, float]], bins: ConstantBins | LinearBins, low: float, high: float
    ) -> None:
        super().__init__()
        self._percentiles = percentiles
        self._bins = bins
        self._low = low
        self._high = high

    @classmethod
    def constant(
        cls, percentiles: Sequence[tuple[MetricName, float]], count: int, low: float, high: float
    ) -> Percentiles:
        """With ``count`` bins of equal width."""
        return cls(percentiles, ConstantBins(count, low, high), low, high)

    @classmethod
    def linear(cls, percentiles: Sequence[tuple[MetricName, float]], count: int, high: float) -> Percentiles:
        """With ``count`` bins whose width grows from 0 to ``high``: small values have the smallest error."""
        return cls(percentiles, LinearBins(count, high), 0.0, high)

    def parts(self) -> Sequence[tuple[MetricName, Measurable]]:
        return [(name, _Percentile(self, percentile / 100)) for name, percentile in self._percentiles]

    def new_sample(self, now_ms: int) -> WindowSample:
        """An empty sample that begins now."""
        return BinnedSample(self._bins.count, now_ms)

    def update(self, sample: WindowSample, value: float) -> None:
        assert isinstance(sample, BinnedSample)
        if not self._low <= value <= self._high:
            log.warning("the value %s is not between %s and %s", value, self._low, self._high)
            value = self._high if value > self._high else self._low
        sample.bins[self._bins.bin_of(value)] += 1

    def combine(self) -> float:
        return self._at(0.5)

    def at(self, quantile: float, config: MetricConfig, now_ms: int) -> float:
        """The value below which ``quantile`` (0 to 1) of the values are."""
        self.forget(config, now_ms)
        return self._at(quantile)

    def _at(self, quantile: float) -> float:
        count = self.count()
        if not count:
            return math.nan
        found = 0
        for number in range(self._bins.count):
            for sample in self.samples:
                assert isinstance(sample, BinnedSample)
                found += sample.bins[number]
            if found / count > quantile:
                return self._bins.start_of(number)
        return math.inf


class _Percentile:
    __slots__ = ("_of", "_quantile")

    def __init__(self, of: Percentiles, quantile: float) -> None:
        self._of = of
        self._quantile = quantile

    def measure(self, config: MetricConfig, now_ms: int) -> float:
        return self._of.at(self._quantile, config, now_ms)
