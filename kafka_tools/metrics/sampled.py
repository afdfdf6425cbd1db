"""Stats over sliding windows: Kafka's ``SampledStat`` and what is built on it, with its arithmetic to the millisecond.

A stat has a ring of samples: one for each complete window, and the current one. A sample that was not updated for the
time of all windows is cleared when the stat is measured. Times are milliseconds of a clock that never goes back.
"""

from __future__ import annotations

import math

from kafka_tools.metrics.names import MetricConfig


class WindowSample:
    """The values recorded in one window: their combination and their number."""

    __slots__ = ("began_ms", "count", "last_ms", "value")

    def __init__(self, start: float, now_ms: int) -> None:
        self.reset(start, now_ms)

    def reset(self, start: float, now_ms: int) -> None:
        self.value = start
        self.count = 0
        self.began_ms = self.last_ms = now_ms

    def is_complete(self, config: MetricConfig, now_ms: int) -> bool:
        return now_ms - self.began_ms >= config.window_ms or self.count >= config.window_events


class SampledStat:
    """Subclasses define how a value changes a sample and how samples become one number."""

    __slots__ = ("_current", "samples")

    START = 0.0
    """The value of an empty sample."""

    def __init__(self) -> None:
        self.samples: list[WindowSample] = []
        self._current = 0

    def record(self, config: MetricConfig, value: float, now_ms: int) -> None:
        sample = self._sample(now_ms)
        if sample.is_complete(config, now_ms):
            sample = self._advance(config, now_ms)
        self.update(sample, value)
        sample.count += 1
        sample.last_ms = now_ms

    def measure(self, config: MetricConfig, now_ms: int) -> float:
        self.forget(config, now_ms)
        return self.combine()

    def update(self, sample: WindowSample, value: float) -> None:
        sample.value += value

    def combine(self) -> float:
        """The number that all samples give together."""
        return sum(sample.value for sample in self.samples)

    def count(self) -> int:
        """The number of values in all samples."""
        return sum(sample.count for sample in self.samples)

    def forget(self, config: MetricConfig, now_ms: int) -> None:
        """Clear the samples that are too old."""
        age_ms = config.samples * config.window_ms
        for sample in self.samples:
            if now_ms - sample.last_ms >= age_ms:
                sample.reset(self.START, now_ms)

    def oldest_ms(self, now_ms: int) -> int:
        """The time at which the oldest sample began. Without a sample, one begins now."""
        self._sample(now_ms)
        return min(sample.began_ms for sample in self.samples)

    def new_sample(self, now_ms: int) -> WindowSample:
        """An empty sample that begins now."""
        return WindowSample(self.START, now_ms)

    def _sample(self, now_ms: int) -> WindowSample:
        if not self.samples:
            self.samples.append(self.new_sample(now_ms))
        return self.samples[self._current]

    def _advance(self, config: MetricConfig, now_ms: int) -> WindowSample:
        self._current = (self._current + 1) % (config.samples + 1)
        if self._current >= len(self.samples):
            self._current = len(self.samples)  # as after a smaller number of samples in an earlier config
            self.samples.append(self.new_sample(now_ms))
        else:
            self.samples[self._current].reset(self.START, now_ms)
        return self.samples[self._current]


class WindowedSum(SampledStat):
    """The sum of the values in the windows."""

    __slots__ = ()


class WindowedCount(SampledStat):
    """The number of values in the windows."""

    __slots__ = ()

    def update(self, sample: WindowSample, value: float) -> None:
        sample.value += 1


class Avg(SampledStat):
    """The average of the values in the windows; NaN without a value."""

    __slots__ = ()

    def combine(self) -> float:
        count = self.count()
        return super().combine() / count if count else math.nan


class Max(SampledStat):
    """The largest value in the windows; NaN without a value."""

    __slots__ = ()
    START = -math.inf

    def update(self, sample: WindowSample, value: float) -> None:
        sample.value = max(sample.value, value)

    def combine(self) -> float:
        return max((sample.value for sample in self.samples if sample.count), default=math.nan)


class Min(SampledStat):
    """The smallest value in the windows; NaN without a value."""

    __slots__ = ()
    START = math.inf

    def update(self, sample: WindowSample, value: float) -> None:
        sample.value = min(sample.value, value)

    def combine(self) -> float:
        return min((sample.value for sample in self.samples if sample.count), default=math.nan)


class Rate:
    """A stat over windows (a sum if none is given) per ``unit_ms`` milliseconds.

    The period is at least all windows but one, so that the first value of a new rate is not a burst.
    """

    __slots__ = ("stat", "unit_ms")

    def __init__(self, stat: SampledStat | None = None, unit_ms: int = 1000) -> None:
        self.stat = stat or WindowedSum()
        self.unit_ms = unit_ms

    def record(self, config: MetricConfig, value: float, now_ms: int) -> None:
        self.stat.record(config, value, now_ms)

    def measure(self, config: MetricConfig, now_ms: int) -> float:
        return self.stat.measure(config, now_ms) / (self.period_ms(config, now_ms) / self.unit_ms)

    def period_ms(self, config: MetricConfig, now_ms: int) -> int:
        """The time over which the rate is taken (Kafka's ``windowSize``)."""
        self.stat.forget(config, now_ms)
        elapsed_ms = now_ms - self.stat.oldest_ms(now_ms)
        missing = max(0, config.samples - 1 - elapsed_ms // config.window_ms)
        return max(1, elapsed_ms + missing * config.window_ms)


class SimpleRate(Rate):
    """A rate over the time since the oldest sample began, at least one window."""

    __slots__ = ()

    def period_ms(self, config: MetricConfig, now_ms: int) -> int:
        """The time since the oldest sample began, at least one window."""
        self.stat.forget(config, now_ms)
        elapsed_ms = now_ms - self.stat.oldest_ms(now_ms)
        return max(elapsed_ms, config.window_ms)
