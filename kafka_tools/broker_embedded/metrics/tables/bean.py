"""What tables of beans consist of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_tools.metrics.beans import quoted

Beans = Iterator[tuple[str, Mapping[str, Any]]]
"""(name, attribute -> value). Names are Kafka's, such as ``kafka.server:type=ReplicaManager,name=LeaderCount``."""


def named(kind: str, name: str, **tags: str | int) -> str:
    """The name of a bean. ``kind`` is its domain and type, such as ``kafka.server:type=ReplicaManager``."""
    return f"{kind},name={name}" + "".join(f",{tag}={quoted(str(value))}" for tag, value in tags.items())


def gauges(kind: str, values: Mapping[str, Any], **tags: str | int) -> Beans:
    """A bean with one ``Value`` for each name."""
    for name, value in values.items():
        yield named(kind, name, **tags), {"Value": value}


def never(event: str) -> dict[str, Any]:
    """The attributes of a meter of something that this broker never does."""
    rates = ("MeanRate", "OneMinuteRate", "FiveMinuteRate", "FifteenMinuteRate")
    return {"EventType": event, "RateUnit": "SECONDS", "Count": 0, **dict.fromkeys(rates, 0.0)}
