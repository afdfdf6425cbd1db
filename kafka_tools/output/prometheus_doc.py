"""Rows as samples for Prometheus, in its text format 0.0.4: HELP, TYPE and a sample for each row.

Metrics that the widely used kafka_exporter has too keep its names and labels, so that dashboards work for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TextIO

from kafka_tools.output.cells import Row
from kafka_tools.output.rows import Rows
from kafka_tools.shown_text import one_line

Value = Callable[[Row], float | None]


class ExposedMetric(NamedTuple):
    """A gauge. ``value``: a column, or a function of the line; None for no sample. ``labels``: label -> column."""

    name: str
    help: str
    value: str | Value
    labels: Mapping[str, str]


def _seconds(column: str) -> Value:
    return lambda line: None if line[column] is None else line[column] / 1000


def _of_partition(line: Row, value: float) -> float | None:
    """``value``, or no sample for the line of a topic without its partitions."""
    return value if line.get("partition") is not None else None


_OF_A_GROUP = {"consumergroup": "group", "topic": "topic", "partition": "partition"}
_OF_A_PARTITION = {"topic": "topic", "partition": "partition"}
_OF_A_DIRECTORY = {"broker": "broker", "log_dir": "log_dir"}
_OF_A_REPLICA = {**_OF_A_DIRECTORY, **_OF_A_PARTITION, "future": "is_future"}

METRICS: Mapping[str, Sequence[ExposedMetric]] = {
    "group-lag": (
        ExposedMetric("kafka_consumergroup_current_offset", "Committed offset.", "current_offset", _OF_A_GROUP),
        ExposedMetric("kafka_consumergroup_lag", "Offsets from the committed one to the end.", "lag", _OF_A_GROUP),
        ExposedMetric(
            "kafka_consumergroup_lag_seconds", "Age of the oldest unread record; no sample if it is unknown.",
            _seconds("age_ms"), _OF_A_GROUP,
        ),
        ExposedMetric(
            "kafka_consumergroup_lag_blocked", "Unread offsets at or after the last stable offset.", "blocked",
            _OF_A_GROUP,
        ),
        ExposedMetric("kafka_topic_partition_current_offset", "End offset.", "log_end_offset", _OF_A_PARTITION),
    ),
    "topics": (
        ExposedMetric("kafka_topic_partitions", "Number of partitions.", "partition_count", {"topic": "topic"}),
        ExposedMetric("kafka_topic_partition_leader", "Leader; -1 without one.",
               lambda line: _of_partition(line, -1 if line.get("leader") is None else line["leader"]), _OF_A_PARTITION),
        ExposedMetric("kafka_topic_partition_replicas", "Number of replicas.",
               lambda line: _of_partition(line, len(line.get("replicas", ()))), _OF_A_PARTITION),
        ExposedMetric("kafka_topic_partition_in_sync_replica", "Number of in-sync replicas.",
               lambda line: _of_partition(line, len(line.get("isr", ()))), _OF_A_PARTITION),
        ExposedMetric("kafka_topic_partition_under_replicated_partition", "1 if replicas are not in sync, otherwise 0.",
               lambda line: _of_partition(line, len(line.get("isr", ())) < len(line.get("replicas", ()))),
               _OF_A_PARTITION),
    ),
    "log-dirs": (
        ExposedMetric("kafka_log_dir_up", "1 if the log directory is online, otherwise 0.",
               lambda line: float(line["error"] is None), _OF_A_DIRECTORY),
        ExposedMetric("kafka_log_dir_total_bytes", "Size of the volume.", "total_bytes", _OF_A_DIRECTORY),
        ExposedMetric("kafka_log_dir_usable_bytes", "Free bytes of the volume.", "usable_bytes", _OF_A_DIRECTORY),
        ExposedMetric("kafka_log_dir_replica_size_bytes", "Size of the replica.",
               lambda line: line.get("size_bytes"), _OF_A_REPLICA),
        ExposedMetric("kafka_log_dir_replica_offset_lag", "Offsets that the replica is behind.",
               lambda line: line.get("offset_lag"), _OF_A_REPLICA),
    ),
}  # fmt: skip
"""Kind -> its metrics, with a sample for each line of ``-o wide``. Samples with the same labels appear once."""


def write(result: Rows, stream: TextIO) -> None:
    """Write the samples of ``result``. Raises ValueError for rows of a kind without metrics."""
    from kafka_tools.output.kinds import KINDS

    if result.rows and result.kind not in METRICS:
        raise ValueError(result.kind)
    lines = [line for row in result.rows for line in KINDS[result.kind].lines(row)]
    for metric in METRICS.get(result.kind, ()):
        samples = {_labels(metric, line): value for line in lines if (value := _value(metric, line)) is not None}
        if samples:
            stream.write(f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} gauge\n")
            shown = one_line if stream.isatty() else str  # the format leaves control characters as they are
            stream.writelines(f"{metric.name}{shown(labels)} {_number(value)}\n" for labels, value in samples.items())


def _value(metric: ExposedMetric, line: Row) -> float | None:
    found = line.get(metric.value) if isinstance(metric.value, str) else metric.value(line)
    return None if found is None or found != found else found


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def _labels(metric: ExposedMetric, line: Row) -> str:
    pairs = ((label, line.get(column)) for label, column in metric.labels.items())
    return "{" + ",".join(f'{label}="{_escaped(value)}"' for label, value in pairs) + "}"


def _escaped(value: object) -> str:
    """The value of a label: a backslash before quotes and backslashes, and ``\\n`` for a line end."""
    text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
