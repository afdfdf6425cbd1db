"""ProduceBench: sends messages at a rate and measures their acknowledgements. Source: ``ProduceBenchWorker``."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from kafka_tools.clock import Clock
from kafka_tools.load.pace import ConstantRate
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.workload_specs import ProduceBenchSpec
from kafka_tools.load.workloads.sending import PacedProducer
from kafka_tools.load.workloads.task_worker import TaskWorker
from kafka_tools.load.workloads.topic_creation import create_topics
from kafka_tools.load.workloads.transactions import TransactionSteps
from kafka_tools.shown_text import counted


class ProduceBenchWorker(TaskWorker):
    """See the module."""

    def __init__(self, task_id: str, platform: Platform, clock: Clock, spec: ProduceBenchSpec) -> None:
        super().__init__(task_id, platform, clock)
        self._spec = spec
        self._sending: PacedProducer | None = None
        self._text = ""

    def run(self) -> None:
        spec = self._spec
        topics = spec.active | spec.inactive
        self._text = f"Creating {counted(len(topics), 'topic', 'topics')}"
        create_topics(spec.clients.of("admin"), topics)
        defaults = {"client.id": f"producer.{self.task_id}"}
        if spec.transactions is not None:
            defaults["transactional.id"] = f"produce-bench-transaction-id-{uuid.uuid4()}"
        sending = PacedProducer(spec.clients.of("producer", defaults), self.clock, self.stopping)
        self._sending = sending
        try:
            self._send(sending)
        finally:
            sending.close()
        if spec.max_messages:
            sending.check()

    def _send(self, sending: PacedProducer) -> None:
        spec, rate = self._spec, ConstantRate(self._spec.per_second, self.clock.monotonic_s())
        transactions = TransactionSteps(sending, spec.transactions, self.clock)
        groups, position = self._targets(), 0
        for _ in range(spec.max_messages):
            intended_s = sending.wait_until(rate.next_s())
            if self.stopping.is_set():
                break
            transactions.before_message()
            for topic, partition in next(groups):
                key, value = (each.generate(position, self.clock) for each in (spec.keys, spec.values))
                sending.send(topic, partition, key, value, intended_s)
                position += 1
            transactions.after_message()
        transactions.end()

    def _targets(self) -> Iterator[list[tuple[str, int | None]]]:
        """The topics and partitions of each round; a round of one message unless the specification has rounds."""
        spec = self._spec
        if spec.in_rounds:
            return cycle([[(topic, 0) for topic in spec.active]])
        if spec.with_partitioner:
            weighted = [topic for topic, layout in spec.active.items() for _ in range(layout.partitions)]
            return cycle([[(topic, None)] for topic in weighted])
        return cycle([[(topic, at)] for topic, layout in spec.active.items() for at in range(layout.partitions)])

    def status(self) -> Any:
        if self._sending is None:
            return self._text or None
        return {**self._sending.status(), "transactionsCommitted": self._sending.transactions}

    def measured(self) -> dict[str, Any]:
        sending = self._sending
        return {} if sending is None else {"operations": sending.latencies.count, "timeline": sending.timeline.spans()}
