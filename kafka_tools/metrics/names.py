"""Names, settings and quotas of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_tools.errors import KafkaToolsError

if TYPE_CHECKING:
    from kafka_tools.metrics.metric import Metric

_NO_TAGS: Mapping[str, str] = MappingProxyType({})


class MetricName:
    """The identity of a metric: name, group and tags. The description is text for people and not compared.

    Names and groups are Kafka's, such as ``record-send-rate`` of ``producer-metrics``.
    """

    __slots__ = ("_key", "description", "group", "name", "tags")

    def __init__(self, name: str, group: str, description: str = "", tags: Mapping[str, str] = _NO_TAGS) -> None:
        self.name = name
        self.group = group
        self.description = description
        self.tags: Mapping[str, str] = MappingProxyType(dict(tags)) if tags else _NO_TAGS
        self._key = (name, group, frozenset(self.tags.items()))

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, MetricName) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        tags = ", ".join(f"{name}={value}" for name, value in self.tags.items())
        return f"MetricName [name={self.name}, group={self.group}, tags={{{tags}}}]"


@dataclass(frozen=True)
class Quota:
    """A limit of a metric: the largest acceptable value if ``is_upper``, otherwise the smallest."""

    bound: float
    is_upper: bool = True

    def accepts(self, value: float) -> bool:
        return value <= self.bound if self.is_upper else value >= self.bound


@dataclass(frozen=True)
class MetricConfig:
    """How a metric samples: over ``samples`` windows of ``window_ms`` milliseconds or ``window_events`` events each.

    The defaults are Kafka's (``metrics.num.samples``, ``metrics.sample.window.ms``).
    """

    samples: int = 2
    window_ms: int = 30_000
    window_events: float = float("inf")
    quota: Quota | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags of every metric name that the registry creates."""


class QuotaViolation(KafkaToolsError):
    """A recorded value moved ``metric`` beyond its quota (Kafka's QuotaViolationException)."""

    def __init__(self, metric: Metric, value: float, bound: float) -> None:
        super().__init__(f"'{metric.name}' violated quota. Actual: {value:f}, Threshold: {bound:f}")
        self.metric = metric
        self.value = value
        self.bound = bound
