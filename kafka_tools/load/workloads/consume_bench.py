"""ConsumeBench: reads messages with one or more consumers. Source: Trogdor's ``ConsumeBenchWorker``.

The latency of a message is the time from the end of the previous poll's processing until the poll that returned it.
With the record processor ``timestamp``, the time since the message was created is measured as well.
"""

from __future__ import annotations

import uuid
from typing import Any

from kafka_tools.clients import Consumer
from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.load.latency import LatencySketch, Timeline
from kafka_tools.load.pace import ConstantRate
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.payloads import TIMESTAMP_BYTES
from kafka_tools.load.specs.workload_specs import ConsumeBenchSpec
from kafka_tools.load.workloads.task_worker import TaskWorker
from kafka_tools.load.workloads.threads import run_all
from kafka_tools.values import TopicPartition

_POLL_S = 0.05
_CLOSE_S = 5.0


class _Reader:
    """One consumer and its figures."""

    def __init__(self, client_id: str, start_s: float) -> None:
        self.client_id = client_id
        self.latencies = LatencySketch()
        self.ages: LatencySketch | None = None
        self.timeline = Timeline(start_s)
        self.bytes = 0
        self.assigned: list[str] = []

    def status(self) -> dict[str, Any]:
        count = self.latencies.count
        found = {
            "assignedPartitions": self.assigned,
            "totalMessagesReceived": count,
            "totalBytesReceived": self.bytes,
            "averageMessageSizeBytes": self.bytes // count if count else 0,
            **self.latencies.summary(),
        }
        return found if self.ages is None else found | {"recordProcessorStatus": self.ages.summary()}


class ConsumeBenchWorker(TaskWorker):
    """See the module. The status has one member for each consumer, named by its client id."""

    def __init__(self, task_id: str, platform: Platform, clock: Clock, spec: ConsumeBenchSpec) -> None:
        super().__init__(task_id, platform, clock)
        self._spec = spec
        now_s = clock.monotonic_s()
        self._readers = [_Reader(f"consumer.{task_id}-{number}", now_s) for number in range(spec.threads)]

    def run(self) -> None:
        spec = self._spec
        for reader in self._readers:
            reader.ages = LatencySketch() if spec.with_timestamps else None
        run_all([lambda reader=reader: self._consume(reader) for reader in self._readers], self.stopping)  # type: ignore[misc]
        if spec.max_messages and not any(reader.latencies.count for reader in self._readers):
            raise KafkaToolsError("no message was received")

    def _consume(self, reader: _Reader) -> None:
        spec = self._spec
        defaults = {
            "client.id": reader.client_id,
            "group.id": spec.group or f"consume-bench-{uuid.uuid4()}",
            "auto.offset.reset": "earliest",
            "max.poll.interval.ms": "100000",
        }
        consumer = Consumer(spec.clients.of("consumer", defaults))
        try:
            self._choose(consumer)
            self._read(consumer, reader)
        finally:
            consumer.close(_CLOSE_S)

    def _choose(self, consumer: Consumer) -> None:
        topics = self._spec.topics
        if not any(topics.values()):
            consumer.subscribe(list(topics))
            return
        chosen = []
        for topic, partitions in topics.items():
            chosen += [TopicPartition(topic, at) for at in partitions or consumer.partitions_for(topic).partitions]
        consumer.assign(chosen)

    def _read(self, consumer: Consumer, reader: _Reader) -> None:
        spec = self._spec
        left = spec.max_messages
        before_s = self.clock.monotonic_s()
        rate = ConstantRate(spec.per_second, before_s)
        while left > 0 and not self.stopping.is_set():
            records = consumer.poll(_POLL_S)
            reader.assigned = [str(each) for each in consumer.assignment()]
            if not records:
                continue
            now_s, now_ms = self.clock.monotonic_s(), self.clock.now_ms()
            for record in records[:left]:
                self._count(record, reader, now_s - before_s, now_ms)
                reader.timeline.add(now_s)
                due_s = rate.next_s()
                if due_s is not None:
                    self.stopping.wait(max(0.0, due_s - self.clock.monotonic_s()))
            left -= len(records[:left])
            before_s = self.clock.monotonic_s()

    def _count(self, record: ConsumedRecord, reader: _Reader, latency_s: float, now_ms: int) -> None:
        reader.latencies.add(latency_s)
        reader.bytes += len(record.key or b"") + len(record.value or b"")
        if reader.ages is not None and record.value is not None and len(record.value) >= TIMESTAMP_BYTES:
            created_ms = int.from_bytes(record.value[:TIMESTAMP_BYTES], "little")
            reader.ages.add((now_ms - created_ms) / 1000)

    def status(self) -> Any:
        return {reader.client_id: reader.status() for reader in self._readers}

    def measured(self) -> dict[str, Any]:
        count = sum(reader.latencies.count for reader in self._readers)
        if len(self._readers) == 1:
            return {"operations": count, "timeline": self._readers[0].timeline.spans()}
        return {"operations": count}
