"""A run: loads of our clients while a broker is killed, and what stands in the topics at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Protocol

from kafka_tools import Consumer
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition
from tests.clients.kills.loads import END_S, Copier, NumberedProducer

SOURCE, TARGET, PARTITIONS = "numbers", "copies", 3


class Broker(Protocol):
    """A broker that can be killed and started again with its data."""

    address: str

    def kill(self) -> None: ...
    def start(self) -> None: ...


class KillRun:
    """``kills`` kills of a broker under both loads. ``problems`` is empty if nothing is lost, twice or out of order."""

    def __init__(self, broker: Broker, seed: int, say: Callable[[str], None]) -> None:
        self.broker = broker
        self.dice = Random(f"{seed} kills")
        self.say = say
        address = broker.address
        self.producer = NumberedProducer(address, f"{seed} numbers", SOURCE, PARTITIONS)
        self.copier = Copier(address, f"{seed} copies", SOURCE, TARGET, "copiers")
        self.problems: list[str] = []
        self.copied = 0

    def run(self, kills: int, *, most_up_s: float) -> None:
        """Kill so many times, at moments of chance, then let the loads finish and look at what is there."""
        with AdminClient(self.broker.address, timeout_s=END_S) as admin:
            admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (SOURCE, TARGET)]).raise_any()
        self.producer.start()
        self.copier.start()
        for number in range(kills):
            time.sleep(self.dice.random() * most_up_s)
            self.broker.kill()
            time.sleep(self.dice.random() * 0.3)
            self.broker.start()
            if (number + 1) % 10 == 0:
                self.say(f"{number + 1} kills, {self.counts()}")
        for load in (self.producer, self.copier):
            load.stop()
            load.join(END_S)
            if load.is_alive():
                self.problems.append(f"{load.name} did not end within {END_S:.0f} s")
            if load.failure:
                self.problems.append(f"{load.name} failed: {load.failure}")
        self._judge()

    def counts(self) -> str:
        copier = self.copier
        return (
            f"{len(self.producer.acknowledged)} of {self.producer.sent} records acknowledged, {copier.committed} "
            f"transactions committed, {copier.aborted} aborted, {copier.producers} transactional producers"
        )

    def _judge(self) -> None:
        self.problems += self.producer.refused[:5]
        written, copied = self._values(SOURCE), self._values(TARGET)
        self.copied = sum(map(len, copied.values()))
        for number, (partition, offset) in self.producer.acknowledged.items():
            if offset >= 0 and written[partition].get(offset) != number:
                self.problems.append(f"{number} was acknowledged at {partition}@{offset} and is not there")
        for name, found in (("written", written), ("copied", copied)):
            times = Counter(number for values in found.values() for number in values.values())
            self.problems += [f"{number} was {name} {count} times" for number, count in times.items() if count > 1][:5]
            lost = sorted(self.producer.acknowledged.keys() - times.keys())
            if lost:
                self.problems.append(f"{len(lost)} of the acknowledged were not {name}: {lost[:5]}")
            for partition, values in found.items():
                in_order = [values[offset] for offset in sorted(values)]
                if in_order != sorted(in_order):
                    self.problems.append(f"partition {partition} is out of order as {name}")

    def _values(self, topic: str) -> dict[int, dict[int, int]]:
        """Partition -> offset -> number, of what is committed."""
        found: dict[int, dict[int, int]] = {number: {} for number in range(PARTITIONS)}
        with Consumer(self.broker.address, isolation_level="read_committed") as consumer:
            partitions = [TopicPartition(topic, number) for number in found]
            consumer.assign(partitions)
            consumer.seek_to_beginning(partitions)
            ends = consumer.end_offsets(partitions)
            end_s = time.monotonic() + END_S
            while any(consumer.position(each) < ends[each] for each in partitions):
                if time.monotonic() > end_s:
                    raise KafkaToolsError(f"{topic} could not be read to its end")
                for record in consumer.poll(1.0):
                    found[record.partition][record.offset] = int(record.value or b"-1")
        return found
