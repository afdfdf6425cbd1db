"""Stats that never forget: the last value, sums, counts."""

from __future__ import annotations

from kafka_tools.metrics.names import MetricConfig


class Value:
    """The last recorded value; 0 before the first one."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value = 0.0

    def record(self, config: MetricConfig, value: float, now_ms: int) -> None:
        self._value = value

    def measure(self, config: MetricConfig, now_ms: int) -> float:
        return self._value


class CumulativeSum:
    """The sum of all recorded values."""

    __slots__ = ("_total",)

    def __init__(self, start: float = 0.0) -> None:
        self._total = start

    def record(self, config: MetricConfig, value: float, now_ms: int) -> None:
        self._total += value

    def measure(self, config: MetricConfig, now_ms: int) -> float:
        return self._total


class CumulativeCount(CumulativeSum):
    """The number of all recorded values."""

    __slots__ = ()

    def record(self, config: MetricConfig, value: float, now_ms: int) -> None:
        self._total += 1
