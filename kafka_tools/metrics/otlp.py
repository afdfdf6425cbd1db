"""Metrics of OpenTelemetry (OTLP) as plain points. The only importer of ``opentelemetry.proto``.

Clients push a ``MetricsData`` in protobuf (KIP-714). Its bytes come from the network: the caller limits their number,
and this module limits the number and the size of the points that it makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kafka_tools.errors import ConfigError, KafkaToolsError

GAUGE, TOTAL, DELTA = "gauge", "total", "delta"
MOST_LABELS = 16
MOST_CHARACTERS = 200
"""The maximum length of a metric's name, of a label and of its value."""
_DELTA_TEMPORALITY = 1


class InvalidMetrics(KafkaToolsError):
    """The bytes are not a ``MetricsData``."""


class Point(NamedTuple):
    """One value of one metric."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float
    kind: str
    """``gauge``, ``total`` (counted since the client's start) or ``delta`` (counted since the push before)."""


def check_installed() -> None:
    """Raises ConfigError if the package opentelemetry-proto is missing."""
    try:
        import opentelemetry.proto.metrics.v1.metrics_pb2  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            "decoding the metrics of clients needs the Python package opentelemetry-proto",
            hint="pip install 'kafka-operator-tools[telemetry]'",
        ) from error


def decode(data: bytes, most_points: int) -> tuple[list[Point], int]:
    """(points, number of points left out) of a ``MetricsData``.

    Left out are histograms, summaries, points with names or labels that are too long or too many, and the points after
    ``most_points``. Raises InvalidMetrics, and ConfigError if the package is missing.
    """
    check_installed()
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    try:
        message = MetricsData.FromString(data)
    except DecodeError as error:
        raise InvalidMetrics(f"cannot decode the metrics: {error}") from error
    points: list[Point] = []
    left_out = 0
    for steps, found in enumerate(_points(message)):
        if len(points) >= most_points or steps >= 4 * most_points:
            left_out += 1
            break
        if isinstance(found, Point):
            points.append(found)
        else:
            left_out += found
    return points, left_out


def _points(message: Any) -> Iterator[Point | int]:
    """Each point, 1 for each metric or point that cannot be shown, and 0 for each other message: bounded work."""
    for resource in message.resource_metrics:
        yield 0
        for scope in resource.scope_metrics:
            yield 0
            for metric in scope.metrics:
                data = metric.WhichOneof("data")
                if data not in ("gauge", "sum") or not 0 < len(metric.name) <= MOST_CHARACTERS:
                    yield 1
                    continue
                yield 0
                values = metric.gauge if data == "gauge" else metric.sum
                kind = GAUGE
                if data == "sum":
                    kind = DELTA if metric.sum.aggregation_temporality == _DELTA_TEMPORALITY else TOTAL
                for point in values.data_points:
                    yield _point(metric.name, kind, point)


def _point(name: str, kind: str, point: Any) -> Point | int:
    if len(point.attributes) > MOST_LABELS:
        return 1
    labels = []
    for attribute in point.attributes:
        which = attribute.value.WhichOneof("value")
        if which not in ("string_value", "bool_value", "int_value", "double_value"):
            return 1
        text = str(getattr(attribute.value, which))
        if len(text) > MOST_CHARACTERS or not 0 < len(attribute.key) <= MOST_CHARACTERS:
            return 1
        labels.append((attribute.key, text))
    which = point.WhichOneof("value")
    if which is None:
        return 1
    return Point(name, tuple(sorted(labels)), float(getattr(point, which)), kind)
