"""One metric: a name, and the stat or function that gives its value."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafka_tools.clock import Clock
    from kafka_tools.metrics.names import MetricConfig, MetricName

Number = int | float


class Measurable(Protocol):
    """Gives a number at a time (ms)."""

    def measure(self, config: MetricConfig, now_ms: int) -> float: ...


class Stat(Measurable, Protocol):
    """A measurable that values are recorded in."""

    def record(self, config: MetricConfig, value: float, now_ms: int) -> None: ...


class Gauge:
    """A value of any type that a function returns; not measurable. ``read`` gets the time in ms (Kafka's Gauge)."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[int], object]) -> None:
        self.read = read


class CurrentNumber:
    """A number that a function returns; measurable. ``read`` gets the time in ms."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[int], float]) -> None:
        self._read = read

    def measure(self, config: MetricConfig, now_ms: int) -> float:
        return self._read(now_ms)


class Metric:
    """A metric of a registry (Kafka's KafkaMetric). Reads hold ``lock``: the lock of the sensor that records.

    ``quota`` of the config can change while the metric is in use: assign another ``config``.
    """

    __slots__ = ("_clock", "_source", "config", "lock", "name")

    def __init__(
        self, name: MetricName, source: Measurable | Gauge, config: MetricConfig, clock: Clock, lock: RLock
    ) -> None:
        self.name = name
        self.config = config
        self.lock = lock
        self._source = source
        self._clock = clock

    @property
    def is_measurable(self) -> bool:
        return not isinstance(self._source, Gauge)

    @property
    def measurable(self) -> Measurable:
        """The stat. Raises TypeError if the metric is not measurable."""
        if isinstance(self._source, Gauge):
            raise TypeError(f"the metric {self.name.name} is not measurable")
        return self._source

    def value(self) -> object:
        """The value now: a number, or whatever a gauge returns."""
        now_ms = self._clock.now_ms()
        if isinstance(self._source, Gauge):
            return self._source.read(now_ms)
        return self.measured(now_ms)

    def measured(self, now_ms: int) -> float:
        """The number at ``now_ms``; 0 for a metric that is not measurable."""
        if isinstance(self._source, Gauge):
            return 0.0
        with self.lock:
            return self._source.measure(self.config, now_ms)
