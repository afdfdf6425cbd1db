"""The registry of one client, and metrics as ``--print-metrics`` prints them.

Topics and nodes have at most ``MOST_LABELS`` metrics of their own; further ones count only in the totals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from kafka_tools.clock import Clock
from kafka_tools.metrics.compound import Meter
from kafka_tools.metrics.metric import CurrentNumber
from kafka_tools.metrics.names import MetricConfig, MetricName
from kafka_tools.metrics.registry import Metrics
from kafka_tools.metrics.sampled import Avg, Max, WindowedCount
from kafka_tools.metrics.sensor import Sensor

MOST_LABELS = 1000
"""The maximum number of topics, and of nodes, with metrics of their own."""


class ClientMetrics:
    """The registry of one client, and the sensors that all clients have. ``values`` is what ``metrics()`` returns."""

    def __init__(self, clock: Clock, client_id: str) -> None:
        self._clock = clock
        self.registry = Metrics(clock, MetricConfig(tags={"client-id": client_id}))
        self._labelled: dict[str, set[str]] = {}

    def values(self) -> dict[MetricName, object]:
        """The value of each metric now."""
        return {name: metric.value() for name, metric in self.registry.metrics().items()}

    def gauge(self, name: str, group: str, description: str, read: Callable[[], float]) -> None:
        """Add a number that ``read`` returns."""
        self.registry.add_metric(
            self.registry.name(name, group, description), CurrentNumber(lambda now_ms: float(read()))
        )

    def avg_and_max(self, sensor: str, prefix: str, group: str, what: str) -> Sensor:
        """A sensor with ``prefix-avg`` and ``prefix-max``."""
        found = self.registry.sensor(sensor)
        found.add(self.registry.name(f"{prefix}-avg", group, f"The average {what}."), Avg())
        found.add(self.registry.name(f"{prefix}-max", group, f"The maximum {what}."), Max())
        return found

    def meter(
        self,
        sensor: Sensor,
        prefix: str,
        group: str,
        what: str,
        tags: Mapping[str, str] | None = None,
        *,
        events: bool = False,
    ) -> Sensor:
        """Add ``prefix-rate`` and ``prefix-total`` to a sensor: of the recorded values, or of the ``events``."""
        rate = self.registry.name(f"{prefix}-rate", group, f"The average number of {what} per second.", tags or {})
        total = self.registry.name(f"{prefix}-total", group, f"The total number of {what}.", tags or {})
        sensor.add_compound(Meter(rate, total, WindowedCount() if events else None))
        return sensor

    def labelled(self, kind: str, label: str) -> bool:
        """Whether a topic or node has metrics of its own."""
        seen = self._labelled.setdefault(kind, set())
        if label not in seen:
            if len(seen) >= MOST_LABELS:
                return False
            seen.add(label)
        return True

    def close(self) -> None:
        """Close the reporters."""
        self.registry.close()


def printed(values: Mapping[MetricName, object]) -> str:
    """Metrics as ``--print-metrics`` of Kafka's tools prints them (``ToolsUtils.printMetrics``), sorted by name."""
    shown = {}
    for name, value in values.items():
        tags = ", ".join(f"{tag}={text}" for tag, text in name.tags.items())
        is_number = isinstance(value, int | float)
        shown[f"{name.group}:{name.name}:{{{tags}}}"] = _number(value) if is_number else str(value)  # type: ignore[arg-type]
    if not shown:
        return ""
    width = max(map(len, shown))
    lines = [f"\n{'Metric Name':<{width}}   Value"]
    lines += [f"{name:<{width}} : {value}" for name, value in sorted(shown.items())]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.3f}"
