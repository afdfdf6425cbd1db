"""What runs while a broker is killed: an idempotent producer, and a transactional copier in a group. Both are ours."""

from __future__ import annotations

import threading
import time
import traceback
from abc import abstractmethod
from functools import partial
from random import Random
from typing import Any

from kafka_tools import Consumer, Producer
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition

END_S = 240.0
"""Time for what is left at the end, when no broker is killed any more."""
QUIET_S = 10.0
"""The copier ends when nothing has come for so long after ``stop``."""
_MOST_WAITING = 400
"""Records that are not acknowledged at once."""


class ClientLoad(threading.Thread):
    """A thread that works until ``stop``, then finishes what it has begun. ``failure``: why it ended early."""

    def __init__(self, address: str, seed: str) -> None:
        super().__init__(daemon=True, name=type(self).__name__)
        self.settings: dict[str, Any] = {"bootstrap.servers": address, "delivery.timeout.ms": int(END_S * 1000)}
        self.dice = Random(seed)
        self.stopping = threading.Event()
        self.failure = ""

    def run(self) -> None:
        try:
            self.work()
        except BaseException:  # noqa: BLE001 - the run reports it
            self.failure = traceback.format_exc()

    def stop(self) -> None:
        self.stopping.set()

    @abstractmethod
    def work(self) -> None: ...


class NumberedProducer(ClientLoad):
    """Writes 0, 1, 2, ... in turn to the partitions of a topic, with idempotence."""

    def __init__(self, address: str, seed: str, topic: str, partitions: int) -> None:
        super().__init__(address, seed)
        self.topic = topic
        self.partitions = partitions
        self.acknowledged: dict[int, tuple[int, int]] = {}
        """Number -> partition and offset (-1 for a batch that the broker had already)."""
        self.refused: list[str] = []
        self.sent = 0

    def work(self) -> None:
        codec = self.dice.choice(["none", "lz4", "zstd", "gzip", "snappy"])
        with Producer(self.settings | {"linger.ms": 3, "compression.type": codec}) as producer:
            while not self.stopping.is_set():
                for _ in range(self.dice.randrange(1, 30)):
                    number, self.sent = self.sent, self.sent + 1
                    delivered = partial(self._delivered, number)
                    producer.send(self.topic, b"%d" % number, partition=number % self.partitions, on_delivery=delivered)
                time.sleep(self.dice.random() * 0.02)
                while self.sent - len(self.acknowledged) > _MOST_WAITING and not self.stopping.is_set():
                    time.sleep(0.02)
            producer.flush(END_S)

    def _delivered(self, number: int, sent: Any, error: Exception | None) -> None:
        if error is not None:
            self.refused.append(f"record {number} was given up: {error}")
        else:
            self.acknowledged[number] = (sent.partition, sent.offset)


class Copier(ClientLoad):
    """Copies a topic to another one in transactions, with the offsets of its group in them."""

    def __init__(self, address: str, seed: str, source: str, target: str, group: str) -> None:
        super().__init__(address, seed)
        self.source, self.target, self.group = source, target, group
        self.committed = self.aborted = self.producers = 0

    def work(self) -> None:
        reading = {"group.id": self.group, "isolation.level": "read_committed", "auto.offset.reset": "earliest",
                   "enable.auto.commit": "false", "max.poll.records": 50}  # fmt: skip
        idle_until_s = float("inf")
        with Consumer(self.settings | reading) as consumer:
            consumer.subscribe([self.source])
            producer: Producer | None = None
            while time.monotonic() < idle_until_s:
                if self.stopping.is_set() and idle_until_s == float("inf"):
                    idle_until_s = time.monotonic() + QUIET_S
                try:
                    if producer is None:
                        producer = self._producer()
                    records = consumer.poll(0.5)
                    if not records:
                        continue
                    if self.stopping.is_set():
                        idle_until_s = time.monotonic() + QUIET_S
                    self._copy(consumer, producer, records)
                except KafkaToolsError:
                    self.aborted += 1
                    producer = self._given_up(producer)
                    self._rewind(consumer)
            if producer is not None:
                producer.close(END_S)

    def _producer(self) -> Producer:
        self.producers += 1
        producer = Producer(
            self.settings | {"transactional.id": f"copier-of-{self.source}", "transaction.timeout.ms": 20_000}
        )
        try:
            producer.init_transactions()
        except KafkaToolsError:
            producer.close(0.0)
            raise
        return producer

    def _copy(self, consumer: Consumer, producer: Producer, records: list[Any]) -> None:
        producer.begin_transaction()
        for record in records:
            producer.send(self.target, record.value, partition=record.partition)
        offsets = {TopicPartition(each.topic, each.partition): OffsetAndMetadata(each.offset + 1) for each in records}
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        if self.dice.random() < 0.1:
            producer.abort_transaction()
            self.aborted += 1
            self._rewind(consumer)
        else:
            producer.commit_transaction()
            self.committed += 1

    def _given_up(self, producer: Producer | None) -> Producer | None:
        """The producer if its transaction could be aborted, else None: the next one fences it."""
        if producer is None:
            return None
        if self.dice.random() < 0.5:
            try:
                producer.abort_transaction()
                return producer
            except KafkaToolsError:
                pass
        producer.close(0.0)
        return None

    def _rewind(self, consumer: Consumer) -> None:
        """Read again from what the group has committed."""
        end_s = time.monotonic() + END_S
        while True:
            try:
                assigned = list(consumer.assignment())
                committed = consumer.committed(assigned) if assigned else {}
                for partition in assigned:
                    offset = committed.get(partition)
                    if offset is None:
                        consumer.seek_to_beginning([partition])
                    else:
                        consumer.seek(partition, offset.offset)
                return
            except KafkaToolsError:
                if time.monotonic() > end_s:
                    raise
                time.sleep(0.2)
