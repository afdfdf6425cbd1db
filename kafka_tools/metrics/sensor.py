"""A sensor: values go in, and the stats of its metrics and of its parents record them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from threading import RLock
from typing import TYPE_CHECKING

from kafka_tools.metrics.metric import Metric, Stat
from kafka_tools.metrics.names import MetricConfig, MetricName, QuotaViolation

if TYPE_CHECKING:
    from kafka_tools.clock import Clock
    from kafka_tools.metrics.compound import CompoundStat


class Sensor:
    """Created by ``Metrics.sensor``. One lock, shared by all its metrics, guards recording and reading.

    A sensor that recorded nothing for ``expiry_s`` seconds is expired: the registry can remove it.
    """

    def __init__(
        self,
        register: Callable[[Metric], None],
        name: str,
        parents: Sequence[Sensor],
        config: MetricConfig,
        clock: Clock,
        expiry_s: float,
    ) -> None:
        self.name = name
        self.parents = tuple(parents)
        self.config = config
        self.lock = RLock()
        self._register = register
        self._clock = clock
        self._expiry_ms = expiry_s * 1000
        self._last_ms = clock.now_ms()
        self._metrics: dict[MetricName, Metric] = {}
        self._stats: list[tuple[Stat | CompoundStat, Metric | None]] = []
        """Each stat, with the metric whose config it uses; the sensor's config without one."""
        self._check_parents(set())

    def _check_parents(self, seen: set[str]) -> None:
        if self.name in seen:
            raise ValueError(f"Circular dependency in sensors: {self.name} is its own parent.")
        seen.add(self.name)
        for parent in self.parents:
            parent._check_parents(seen)

    def metrics(self) -> list[Metric]:
        """The metrics of this sensor, in the order in which they were added."""
        with self.lock:
            return list(self._metrics.values())

    def add(self, name: MetricName, stat: Stat, config: MetricConfig | None = None) -> bool:
        """Create a metric of ``stat``. False if the sensor is expired.

        True, with nothing changed, if the sensor has a metric of this name. Raises ValueError if another part of the
        registry has one.
        """
        with self.lock:
            if self.has_expired():
                return False
            if name not in self._metrics:
                self._stats.append((stat, self._new_metric(name, stat, config or self.config)))
            return True

    def add_compound(self, stat: CompoundStat, config: MetricConfig | None = None) -> bool:
        """Create a metric for each part of ``stat`` whose name the sensor does not have. False if it is expired."""
        with self.lock:
            if self.has_expired():
                return False
            first = None
            for name, part in stat.parts():
                if name not in self._metrics:
                    metric = self._new_metric(name, part, config or self.config)
                    first = first or metric
            self._stats.append((stat, first))
            return True

    def _new_metric(self, name: MetricName, source: object, config: MetricConfig) -> Metric:
        metric = Metric(name, source, config, self._clock, self.lock)  # type: ignore[arg-type]  # a part is measurable
        self._register(metric)
        self._metrics[name] = metric
        return metric

    def record(self, value: float = 1.0, now_ms: int | None = None, *, check_quotas: bool = True) -> None:
        """Record ``value`` in every stat and in the parents. ``now_ms``: the time, if the caller has it.

        Raises QuotaViolation after recording if a metric of this sensor or of a parent is over its quota.
        """
        if now_ms is None:
            now_ms = self._clock.now_ms()
        self._last_ms = now_ms
        with self.lock:
            for stat, metric in self._stats:
                stat.record(self.config if metric is None else metric.config, value, now_ms)
            if check_quotas:
                self.check_quotas(now_ms)
        for parent in self.parents:
            parent.record(value, now_ms, check_quotas=check_quotas)

    def check_quotas(self, now_ms: int | None = None) -> None:
        """Compare every metric that has a quota with it. Raises QuotaViolation for the first one over its quota."""
        if now_ms is None:
            now_ms = self._clock.now_ms()
        for metric in self._metrics.values():
            quota = metric.config.quota
            if quota is not None:
                value = metric.measured(now_ms)
                if not quota.accepts(value):
                    raise QuotaViolation(metric, value, quota.bound)

    def has_expired(self) -> bool:
        """Whether nothing was recorded for longer than the expiry time."""
        return self._expiry_ms != math.inf and self._clock.now_ms() - self._last_ms > self._expiry_ms
