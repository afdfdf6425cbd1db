"""The metrics of producers and consumers, with Kafka's names and groups (``SenderMetricsRegistry``,
``FetchMetricsRegistry``, ``ConsumerCoordinatorMetrics``).

A client records once for each batch, request or poll, never for each record. Topics and nodes have at most
``MOST_LABELS`` metrics of their own; further ones count only in the totals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.clock import Clock
from kafka_tools.metrics.compound import Meter
from kafka_tools.metrics.metric import CurrentNumber
from kafka_tools.metrics.names import MetricConfig, MetricName
from kafka_tools.metrics.registry import Metrics
from kafka_tools.metrics.sampled import Avg, Max, WindowedCount
from kafka_tools.metrics.sensor import Sensor

if TYPE_CHECKING:
    from kafka_tools.clients.batch import ProducerBatch
    from kafka_tools.protocol.messages.fetch import FetchResponse
    from kafka_tools.values import TopicPartition

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


class ProducerMetrics(ClientMetrics):
    """What a producer sends. ``buffered`` returns the bytes in its buffer, and ``in_flight`` its open requests."""

    GROUP, TOPIC_GROUP, NODE_GROUP = "producer-metrics", "producer-topic-metrics", "producer-node-metrics"

    def __init__(
        self,
        clock: Clock,
        client_id: str,
        *,
        buffer_bytes: int,
        buffered: Callable[[], int],
        in_flight: Callable[[], int],
    ) -> None:
        super().__init__(clock, client_id)
        group, registry = self.GROUP, self.registry
        self._batch_size = self.avg_and_max("batch-size", "batch-size", group, "size of a batch in bytes")
        self._queue_time = self.avg_and_max(
            "queue-time", "record-queue-time", group, "time of a batch in the buffer in ms"
        )
        self._latency = self.avg_and_max("request-time", "request-latency", group, "latency of a request in ms")
        self._throttle = self.avg_and_max(
            "produce-throttle-time", "produce-throttle-time", group, "throttle time in ms"
        )
        self._per_request = registry.sensor("records-per-request")
        self.meter(self._per_request, "record-send", group, "records sent")
        name = registry.name("records-per-request-avg", group, "The average number of records per request.")
        self._per_request.add(name, Avg())
        self._errors = self.meter(registry.sensor("errors"), "record-error", group, "records that failed")
        self._retries = self.meter(registry.sensor("record-retries"), "record-retry", group, "retried records")
        self._splits = self.meter(
            registry.sensor("batch-split"), "batch-split", group, "batches that were split", events=True
        )
        self._requests = self.meter(registry.sensor("requests"), "request", group, "requests sent", events=True)
        self._responses = self.meter(registry.sensor("responses"), "response", group, "responses", events=True)
        self._bytes = self.meter(registry.sensor("bytes-sent"), "outgoing-byte", group, "bytes sent")
        self.gauge("buffer-total-bytes", group, "The size of the buffer.", lambda: buffer_bytes)
        self.gauge("buffer-available-bytes", group, "The free bytes of the buffer.", lambda: buffer_bytes - buffered())
        self.gauge("requests-in-flight", group, "The requests that wait for a response.", in_flight)

    def sent(self, node_id: int, batches: Sequence[ProducerBatch]) -> None:
        """A request with these encoded batches leaves."""
        self._requests.record()
        records = size_bytes = 0
        now_s = self._clock.monotonic_s()
        for batch in batches:
            topic, count, batch_bytes = batch.topic_partition.topic, len(batch.records), len(batch.encoded or b"")
            waited_s = now_s - batch.created_s
            records += count
            size_bytes += batch_bytes
            self._batch_size.record(batch_bytes)
            self._queue_time.record(waited_s * 1000)
            if self.labelled("topic", topic):
                self._of_topic(topic, "record-send", "records sent").record(count)
                self._of_topic(topic, "byte", "bytes sent").record(batch_bytes)
        self._per_request.record(records)
        self._bytes.record(size_bytes)
        if self.labelled("node", str(node_id)):
            self._of_node(node_id, "request", "requests sent", events=True).record()
            self._of_node(node_id, "outgoing-byte", "bytes sent").record(size_bytes)

    def answered(self, node_id: int, latency_s: float, throttle_ms: int) -> None:
        """A response to a produce request has come."""
        self._responses.record()
        self._latency.record(latency_s * 1000)
        self._throttle.record(throttle_ms)
        if self.labelled("node", str(node_id)):
            self._of_node(node_id, "response", "responses", events=True).record()
            tags = {"node-id": f"node-{node_id}"}
            sensor = self.registry.sensor(f"node-{node_id}.latency")
            sensor.add(self.registry.name("request-latency-avg", self.NODE_GROUP, tags=tags), Avg())
            sensor.add(self.registry.name("request-latency-max", self.NODE_GROUP, tags=tags), Max())
            sensor.record(latency_s * 1000)

    def failed(self, topic: str, records: int) -> None:
        """Records have failed for good."""
        self._errors.record(records)
        if self.labelled("topic", topic):
            self._of_topic(topic, "record-error", "records that failed").record(records)

    def retried(self, topic: str, records: int) -> None:
        """Records are sent again."""
        self._retries.record(records)
        if self.labelled("topic", topic):
            self._of_topic(topic, "record-retry", "retried records").record(records)

    def split(self) -> None:
        """A batch that was too large was split."""
        self._splits.record()

    def _of_topic(self, topic: str, prefix: str, what: str) -> Sensor:
        name = f"topic.{topic}.{prefix}"
        found = self.registry.find_sensor(name)
        if found is None:
            found = self.registry.sensor(name)
            self.meter(found, prefix, self.TOPIC_GROUP, what, {"topic": topic})
        return found

    def _of_node(self, node_id: int, prefix: str, what: str, *, events: bool = False) -> Sensor:
        name = f"node-{node_id}.{prefix}"
        found = self.registry.find_sensor(name)
        if found is None:
            found = self.registry.sensor(name)
            self.meter(found, prefix, self.NODE_GROUP, what, {"node-id": f"node-{node_id}"}, events=events)
        return found


class ConsumerMetrics(ClientMetrics):
    """What a consumer fetches, and what its group does. ``assigned`` returns the number of its partitions."""

    FETCH_GROUP, COORDINATOR_GROUP = "consumer-fetch-manager-metrics", "consumer-coordinator-metrics"
    GROUP = "consumer-metrics"

    def __init__(self, clock: Clock, client_id: str, *, assigned: Callable[[], int]) -> None:
        super().__init__(clock, client_id)
        fetch, coordinator, registry = self.FETCH_GROUP, self.COORDINATOR_GROUP, self.registry
        self._polled_s: float | None = None
        self._fetch_latency = self.avg_and_max("fetch-latency", "fetch-latency", fetch, "latency of a fetch in ms")
        self.meter(self._fetch_latency, "fetch", fetch, "fetch requests", events=True)
        self._throttle = self.avg_and_max("fetch-throttle-time", "fetch-throttle-time", fetch, "throttle time in ms")
        self._bytes = self.avg_and_max("bytes-fetched", "fetch-size", fetch, "bytes of a fetch")
        self.meter(self._bytes, "bytes-consumed", fetch, "bytes consumed")
        self._records = registry.sensor("records-fetched")
        name = registry.name("records-per-request-avg", fetch, "The average number of records in each request.")
        self._records.add(name, Avg())
        self.meter(self._records, "records-consumed", fetch, "records consumed")
        self._lag = registry.sensor("records-lag")
        self._lag.add(registry.name("records-lag-max", fetch, "The maximum lag in records of any partition."), Max())
        self._commits = self.avg_and_max("commit-latency", "commit-latency", coordinator, "latency of a commit in ms")
        self.meter(self._commits, "commit", coordinator, "commits", events=True)
        self.gauge("assigned-partitions", coordinator, "The number of assigned partitions.", assigned)
        self._between = self.avg_and_max("poll-interval", "time-between-poll", self.GROUP, "time between polls in ms")
        self.gauge("last-poll-seconds-ago", self.GROUP, "The seconds since the last poll.", self._since_poll_s)

    def polled(self) -> None:
        """The application calls ``poll``."""
        now_s = self._clock.monotonic_s()
        if self._polled_s is not None:
            self._between.record((now_s - self._polled_s) * 1000)
        self._polled_s = now_s

    def fetched(self, latency_s: float, response: FetchResponse) -> None:
        """A fetch response has come."""
        self._fetch_latency.record(latency_s * 1000)
        self._throttle.record(response.throttle_time_ms)
        parts = (partition for topic in response.responses for partition in topic.partitions)
        self._bytes.record(sum(len(partition.records or b"") for partition in parts))

    def consumed(self, partition: TopicPartition, records: int, lag: int) -> None:
        """The application gets records of a partition. ``lag``: the number of records after them."""
        self._records.record(records)
        self._lag.record(lag)
        if not self.labelled("partition", str(partition)):
            return
        self._of_topic(partition.topic).record(records)
        name = f"partition.{partition}.lag"
        found = self.registry.find_sensor(name)
        if found is None:
            found = self.registry.sensor(name)
            tags = {"topic": partition.topic, "partition": str(partition.partition)}
            for suffix, stat in (("-avg", Avg()), ("-max", Max())):
                found.add(self.registry.name(f"records-lag{suffix}", self.FETCH_GROUP, tags=tags), stat)
        found.record(lag)

    def _of_topic(self, topic: str) -> Sensor:
        name = f"topic.{topic}.records"
        found = self.registry.find_sensor(name)
        if found is None:
            found = self.registry.sensor(name)
            self.meter(found, "records-consumed", self.FETCH_GROUP, "records consumed", {"topic": topic})
        return found

    def committed(self, latency_s: float) -> None:
        """A commit was answered."""
        self._commits.record(latency_s * 1000)

    def _since_poll_s(self) -> float:
        return -1.0 if self._polled_s is None else self._clock.monotonic_s() - self._polled_s


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
