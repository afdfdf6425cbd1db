"""The registry: all metrics of a client or broker by name, its sensors by name, and the reporters that follow them."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Protocol

from kafka_tools.metrics.metric import CurrentNumber, Gauge, Measurable, Metric
from kafka_tools.metrics.names import MetricConfig, MetricName
from kafka_tools.metrics.sensor import Sensor

if TYPE_CHECKING:
    from kafka_tools.clock import Clock

log = logging.getLogger(__name__)

_NO_TAGS: Mapping[str, str] = {}


class Reporter(Protocol):
    """Is told of metrics. An exception of a reporter is logged, and the others are told nevertheless."""

    def added(self, metric: Metric) -> None: ...

    def removed(self, metric: Metric) -> None: ...

    def close(self) -> None: ...


class Metrics:
    """A registry of metrics. Safe to use from several threads.

    ``config`` applies to every metric that has no own one; its tags are part of every name that ``name`` creates.
    """

    def __init__(self, clock: Clock, config: MetricConfig | None = None, reporters: Iterable[Reporter] = ()) -> None:
        self.clock = clock
        self.config = config or MetricConfig()
        self._lock = RLock()
        self._reporters = list(reporters)
        self._metrics: dict[MetricName, Metric] = {}
        self._sensors: dict[str, Sensor] = {}
        self._children: dict[str, list[str]] = {}
        count = self.name("count", "kafka-metrics-count", "The total number of registered metrics.")
        self.add_metric(count, CurrentNumber(lambda now_ms: len(self._metrics)))

    def name(self, name: str, group: str, description: str = "", tags: Mapping[str, str] = _NO_TAGS) -> MetricName:
        """A metric name with the registry's tags and ``tags``, which override them."""
        return MetricName(name, group, description, {**self.config.tags, **tags})

    def sensor(
        self,
        name: str,
        *,
        parents: Sequence[Sensor] = (),
        config: MetricConfig | None = None,
        expiry_s: float = math.inf,
    ) -> Sensor:
        """The sensor of this name; a missing one is created. Parents record every value that it records.

        Without a value for ``expiry_s`` seconds, ``remove_expired`` removes it.
        """
        with self._lock:
            found = self._sensors.get(name)
            if found is None:
                found = Sensor(self._register, name, parents, config or self.config, self.clock, expiry_s)
                self._sensors[name] = found
                for parent in parents:
                    self._children.setdefault(parent.name, []).append(name)
            return found

    def find_sensor(self, name: str) -> Sensor | None:
        return self._sensors.get(name)

    def remove_sensor(self, name: str) -> None:
        """Remove a sensor with its metrics and its children. Does nothing for an unknown name."""
        with self._lock:
            sensor = self._sensors.pop(name, None)
            if sensor is None:
                return
            for metric in sensor.metrics():
                self.remove_metric(metric.name)
            for siblings in self._children.values():
                if name in siblings:
                    siblings.remove(name)
            for child in self._children.pop(name, []):
                self.remove_sensor(child)

    def remove_expired(self) -> int:
        """Remove every sensor that is expired; returns how many."""
        with self._lock:
            expired = [name for name, sensor in self._sensors.items() if sensor.has_expired()]
            for name in expired:
                self.remove_sensor(name)
            return len(expired)

    def add_metric(self, name: MetricName, source: Measurable | Gauge, config: MetricConfig | None = None) -> Metric:
        """Add a metric without a sensor, for a value that exists anyway. Raises ValueError if the name exists."""
        metric = Metric(name, source, config or self.config, self.clock, RLock())
        self._register(metric)
        return metric

    def metric(self, name: MetricName) -> Metric | None:
        return self._metrics.get(name)

    def metrics(self) -> dict[MetricName, Metric]:
        """All metrics by name: a copy."""
        with self._lock:
            return dict(self._metrics)

    def remove_metric(self, name: MetricName) -> Metric | None:
        """Remove a metric and return it; None for an unknown name."""
        with self._lock:
            metric = self._metrics.pop(name, None)
            if metric is not None:
                self._tell("removing a metric from", lambda reporter: reporter.removed(metric))
            return metric

    def add_reporter(self, reporter: Reporter) -> None:
        """Tell ``reporter`` of every metric, now and later."""
        with self._lock:
            self._reporters.append(reporter)
            for metric in self._metrics.values():
                _told("registering a metric on", reporter, partial(_add, metric))

    def close(self) -> None:
        """Close the reporters."""
        self._tell("closing", lambda reporter: reporter.close())

    def _register(self, metric: Metric) -> None:
        with self._lock:
            if metric.name in self._metrics:
                raise ValueError(f"A metric named '{metric.name}' already exists, can't register another one.")
            self._metrics[metric.name] = metric
            self._tell("registering a metric on", partial(_add, metric))

    def _tell(self, doing: str, call: Callable[[Reporter], None]) -> None:
        for reporter in list(self._reporters):
            _told(doing, reporter, call)


def _add(metric: Metric, reporter: Reporter) -> None:
    reporter.added(metric)


def _told(doing: str, reporter: Reporter, call: Callable[[Reporter], None]) -> None:
    try:
        call(reporter)
    except Exception:  # the reporter may be a user's
        log.exception("error when %s %s", doing, type(reporter).__name__)
