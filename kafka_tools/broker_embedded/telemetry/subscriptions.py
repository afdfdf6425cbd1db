"""Subscriptions to client metrics: which clients one selects, and what they push (Kafka's ``ClientMetricsConfigs``)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.broker_embedded.configs.store import CLIENT_METRICS, ConfigStore
from kafka_tools.config_definitions.client_metrics import TABLE
from kafka_tools.config_definitions.values import Value, default_of, parse
from kafka_tools.errors import KafkaToolsError
from kafka_tools.texts.lists import split
from kafka_tools.texts.regular_expressions import Pattern, compile_pattern

log = logging.getLogger(__name__)

ALL_METRICS = "*"
DEFAULT_INTERVAL_MS = 300_000


class WantedMetrics(NamedTuple):
    """What one client pushes."""

    metrics: tuple[str, ...]
    """Prefixes of metric names, sorted. Empty: nothing."""
    interval_ms: int


class MetricsSubscription:
    """One subscription. A pattern that RE2 refuses selects no client: the broker logs it once.

    Kafka uses Java's expressions, which can run forever on an id that a client chooses.
    """

    def __init__(self, name: str, configs: Mapping[str, str]) -> None:
        self.metrics = _strings(_value("metrics", configs))
        interval_ms = _value("interval.ms", configs)
        assert isinstance(interval_ms, int)
        self.interval_ms = interval_ms
        self._patterns: dict[str, Pattern | None] = {}
        for selector in _strings(_value("match", configs)):
            attribute, expression = split(selector, "=")
            self._patterns[attribute.strip()] = _compiled(name, expression.strip())

    def selects(self, client: Mapping[str, str]) -> bool:
        """Whether every pattern matches the whole attribute of the client. Without patterns, every client is."""
        return all(
            pattern is not None and attribute in client and pattern.matches(client[attribute])
            for attribute, pattern in self._patterns.items()
        )


class MetricsSubscriptions:
    """All subscriptions of the cluster. ``version`` grows with each change."""

    def __init__(self, configs: ConfigStore) -> None:
        self.version = 0
        self._configs = configs
        self._parsed: list[MetricsSubscription] | None = None
        configs.on_client_metrics_changed.append(self._changed)

    def wanted_of(self, client: Mapping[str, str]) -> WantedMetrics:
        """The union of the subscriptions that select a client, with the shortest interval."""
        if self._parsed is None:
            names = self._configs.names(CLIENT_METRICS)
            self._parsed = [MetricsSubscription(name, self._configs.dynamic(CLIENT_METRICS, name)) for name in names]
        metrics: set[str] = set()
        interval_ms = DEFAULT_INTERVAL_MS
        for subscription in self._parsed:
            if subscription.selects(client):
                metrics.update(subscription.metrics)
                interval_ms = min(interval_ms, subscription.interval_ms)
        return WantedMetrics((ALL_METRICS,) if ALL_METRICS in metrics else tuple(sorted(metrics)), interval_ms)

    def _changed(self) -> None:
        self.version += 1
        self._parsed = None


def _value(name: str, configs: Mapping[str, str]) -> Value:
    row = TABLE[name]
    return parse(name, row[0], configs[name]) if name in configs else default_of(name, row)


def _strings(value: Value) -> list[str]:
    assert isinstance(value, list)
    return value


def _compiled(name: str, expression: str) -> Pattern | None:
    try:
        return compile_pattern(expression)
    except KafkaToolsError as error:
        log.warning("the client metrics subscription '%s' selects no client: %s", name, error)
        return None
