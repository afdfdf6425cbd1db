"""The metrics of a producer, with Kafka's names and groups (``SenderMetricsRegistry``).

A producer records once for each batch or request, never for each record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kafka_tools.clock import Clock
from kafka_tools.metrics.clients import ClientMetrics
from kafka_tools.metrics.sampled import Avg, Max
from kafka_tools.metrics.sensor import Sensor

if TYPE_CHECKING:
    from kafka_tools.clients.producing.batch import ProducerBatch
    from kafka_tools.protocol.messages.produce import ProduceResponse


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

    def answered(self, node_id: int, sent_s: float, response: ProduceResponse | None) -> None:
        """A produce request that was sent at ``sent_s`` is answered; None: the broker sends no response (acks=0)."""
        latency_s = self._clock.monotonic_s() - sent_s
        throttle_ms = 0 if response is None else response.throttle_time_ms
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
