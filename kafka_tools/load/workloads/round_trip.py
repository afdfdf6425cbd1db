"""RoundTrip: sends messages and reads each of them back. Source: Trogdor's ``RoundTripWorker``.

A message that could not be sent is sent again. A header marks the messages of this run; others are ignored. A message
that comes back with other contents, and one that was acknowledged and does not come back, fail the task.
"""

from __future__ import annotations

import uuid
from collections import deque
from itertools import cycle
from threading import Event, Lock
from typing import Any

from kafka_tools.clients import Consumer
from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.load.latency import LatencySketch
from kafka_tools.load.pace import ConstantRate
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.payloads import SequentialPayloads, TimestampPayloads
from kafka_tools.load.specs.workload_specs import RoundTripSpec
from kafka_tools.load.workloads.sending import PacedProducer
from kafka_tools.load.workloads.task_worker import TaskWorker
from kafka_tools.load.workloads.threads import run_all
from kafka_tools.load.workloads.topic_creation import create_topics
from kafka_tools.shown_text import counted
from kafka_tools.values import TopicPartition

_KEYS = SequentialPayloads(4)
_POLL_S = 0.05
_LAST_READ_S = 10.0
"""Time to read what was acknowledged before the task was stopped."""
_LISTED = 5
_HEADER = "kafka-tools-load"


class _Trips:
    """Which messages are to be sent and to be read back."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._lock = Lock()
        self._to_repeat: deque[int] = deque()
        self._open: dict[int, float] = {}
        """Index of a message that was sent -> its intended time."""
        self._unacknowledged: set[int] = set()
        self.sent = 0
        self.received = 0
        self.round_trips = LatencySketch()

    def next(self) -> int | None:
        """The index of the next message to send; None if there is none at the moment."""
        with self._lock:
            if self._to_repeat:
                return self._to_repeat.popleft()
            if self.sent >= self._total:
                return None
            self.sent += 1
            return self.sent - 1

    def sending(self, index: int, intended_s: float) -> None:
        with self._lock:
            self._open.setdefault(index, intended_s)
            self._unacknowledged.add(index)

    def acknowledged(self, index: int, error: KafkaToolsError | None) -> None:
        with self._lock:
            if error is None:
                self._unacknowledged.discard(index)
            else:
                self._to_repeat.append(index)

    def arrived(self, index: int, now_s: float) -> None:
        with self._lock:
            intended_s = self._open.pop(index, None)
        if intended_s is not None:
            self.received += 1
            self.round_trips.add(now_s - intended_s)

    @property
    def is_sent(self) -> bool:
        """Whether every message was sent and acknowledged."""
        with self._lock:
            return self.sent >= self._total and not self._unacknowledged and not self._to_repeat

    def missing(self) -> list[int]:
        """Messages that were acknowledged and not read back."""
        with self._lock:
            return sorted(self._open.keys() - self._unacknowledged)


class RoundTripWorker(TaskWorker):
    """See the module."""

    def __init__(self, task_id: str, platform: Platform, clock: Clock, spec: RoundTripSpec) -> None:
        super().__init__(task_id, platform, clock)
        self._spec = spec
        self._trips = _Trips(spec.max_messages)
        self._sending: PacedProducer | None = None
        self._producer_is_done = False
        self._consumer_is_ready = Event()
        self._headers = ((_HEADER, uuid.uuid4().bytes),)
        self._partitions = [
            TopicPartition(topic, at) for topic, layout in spec.active.items() for at in range(layout.partitions)
        ]

    def run(self) -> None:
        create_topics(self._spec.clients.of("admin"), self._spec.active)
        run_all([self._send, self._receive], self.stopping)
        trips = self._trips
        missing = trips.missing()
        if missing:
            listed = ", ".join(map(str, missing[:_LISTED])) + (", ..." if len(missing) > _LISTED else "")
            count = counted(len(missing), "message was", "messages were")
            raise KafkaToolsError(f"{count} acknowledged and not read back, starting with {listed}")
        if self._sending is not None and not trips.received and self._spec.max_messages:
            self._sending.check()
            raise KafkaToolsError("no message was read back")

    def _send(self) -> None:
        spec = self._spec
        while not self._consumer_is_ready.wait(_POLL_S):
            if self.stopping.is_set():
                return
        defaults = {"client.id": f"producer.{self.task_id}", "acks": "all", "max.block.ms": "10000"}
        sending = self._sending = PacedProducer(spec.clients.of("producer", defaults), self.clock, self.stopping)
        rate = ConstantRate(spec.per_second, self.clock.monotonic_s())
        targets = cycle(self._partitions)
        try:
            while not (self.stopping.is_set() or self._trips.is_sent):
                index = self._trips.next()
                if index is None:
                    sending.producer.poll(_POLL_S)
                    continue
                intended_s = sending.wait_until(rate.next_s())
                self._trips.sending(index, intended_s)
                topic, partition = next(targets)
                key, value = (each.generate(index, self.clock) for each in (_KEYS, spec.values))
                sending.send(
                    topic, partition, key, value, intended_s, headers=self._headers,
                    then=lambda _, error, index=index: self._trips.acknowledged(index, error),  # type: ignore[misc]
                )  # fmt: skip
        finally:
            sending.close()
            self._producer_is_done = True

    def _receive(self) -> None:
        defaults = {
            "client.id": f"consumer.{self.task_id}",
            "group.id": f"round-trip-consumer-group-{self.task_id}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
        }
        with Consumer(self._spec.clients.of("consumer", defaults)) as consumer:
            consumer.assign(self._partitions)
            starts = consumer.end_offsets(self._partitions)  # records of earlier runs are not ours
            for partition, offset in starts.items():
                consumer.seek(partition, offset)
            self._consumer_is_ready.set()
            end_s: float | None = None
            while not (self._producer_is_done and not self._trips.missing()):
                for record in consumer.poll(_POLL_S):
                    self._check(record)
                if self._producer_is_done:
                    now_s = self.clock.monotonic_s()
                    end_s = now_s + _LAST_READ_S if end_s is None else end_s
                    if now_s >= end_s:
                        return

    def _check(self, record: ConsumedRecord) -> None:
        if record.headers != self._headers:
            return
        index = int.from_bytes(record.key or b"", "little")
        values = self._spec.values
        wanted = values.generate(index, self.clock)
        is_same = isinstance(values, TimestampPayloads) or record.value == wanted
        if len(record.key or b"") != 4 or not is_same:
            place = f"{record.topic}-{record.partition} at offset {record.offset}"
            raise KafkaToolsError(f"{place} has a different message from the one that was sent")
        self._trips.arrived(index, self.clock.monotonic_s())

    def status(self) -> Any:
        trips = self._trips
        found = {"totalUniqueSent": trips.sent, "totalReceived": trips.received}
        return found | trips.round_trips.summary() | {"latencyFrom": "intended send time, until it was read back"}

    def measured(self) -> dict[str, Any]:
        timeline = {"timeline": self._sending.timeline.spans()} if self._sending is not None else {}
        return {"operations": self._trips.received, **timeline}
