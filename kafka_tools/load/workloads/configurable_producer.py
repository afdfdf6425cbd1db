"""ConfigurableProducer: sends to one topic until it is stopped. Source: ``ConfigurableProducerWorker``."""

from __future__ import annotations

from random import Random
from typing import Any

from kafka_tools.clock import Clock
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.workload_specs import ConfigurableProducerSpec
from kafka_tools.load.workloads.sending import PacedProducer
from kafka_tools.load.workloads.task_worker import TaskWorker
from kafka_tools.load.workloads.topic_creation import create_topics


class ConfigurableProducerWorker(TaskWorker):
    """See the module."""

    def __init__(self, task_id: str, platform: Platform, clock: Clock, spec: ConfigurableProducerSpec) -> None:
        super().__init__(task_id, platform, clock)
        self._spec = spec
        self._sending: PacedProducer | None = None

    def run(self) -> None:
        spec = self._spec
        create_topics(spec.clients.of("admin"), {spec.topic: spec.layout})
        settings = spec.clients.of("producer", {"client.id": f"producer.{self.task_id}"})
        sending = self._sending = PacedProducer(settings, self.clock, self.stopping)
        try:
            self._send(sending)
        finally:
            sending.close()
        sending.check()

    def _send(self, sending: PacedProducer) -> None:
        spec, random = self._spec, Random()
        windows = spec.rates.windows(self.clock.monotonic_s(), random)
        sizes = spec.flushes.sizes(random) if spec.flushes is not None else None
        until_flush = sizes() if sizes is not None else 0
        position = 0
        while True:
            intended_s = sending.wait_until(windows.next_s())
            if self.stopping.is_set():
                return
            key, value = (each.generate(position, self.clock) for each in (spec.keys, spec.values))
            sending.send(spec.topic, spec.partition, key, value, intended_s)
            position += 1
            if sizes is not None:
                until_flush -= 1
                if until_flush <= 0:
                    sending.flush()
                    until_flush = sizes()

    def status(self) -> Any:
        return None if self._sending is None else self._sending.status()

    def measured(self) -> dict[str, Any]:
        sending = self._sending
        return {} if sending is None else {"operations": sending.latencies.count, "timeline": sending.timeline.spans()}
