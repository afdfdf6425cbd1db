"""Producers without and with idempotence: what was acknowledged is there, where it was said to be, in order."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError, Producer

from tests.broker_embedded.kills.load import END_S, At, Load, Place, in_order

MOST_UNKNOWN = 400
"""Records that are on their way at once."""


class Produced(Load):
    """One producer that writes numbered records to the partitions of one topic."""

    def __init__(self, address: str, seed: str, topic: str, partitions: int, *, idempotent: bool) -> None:
        super().__init__(address, seed)
        self.topic = topic
        self.idempotent = idempotent
        self.acknowledged: dict[int, tuple[int, int]] = {}
        """Number: partition and offset; the offset is negative where the broker knew of a repeated batch only that."""
        self._partitions = partitions
        self._refused: list[str] = []
        self.sent = 0

    def counts(self) -> str:
        return f"{len(self.acknowledged)} records acknowledged in {self.topic}"

    def work(self) -> None:
        settings = self.settings(acks="all", linger_ms=2, message_timeout_ms=int(END_S * 1000))
        settings |= {"enable.idempotence": True} if self.idempotent else {"max.in.flight": 1}
        settings["compression.type"] = self.dice.choice(["none", "lz4", "zstd", "gzip", "snappy"])
        producer = Producer(settings)
        while not self.stopping.is_set():
            for _ in range(self.dice.randrange(1, 30)):
                number = self.sent
                self.sent += 1
                producer.produce(
                    self.topic, b"%d" % number, partition=number % self._partitions,
                    on_delivery=lambda error, message, number=number: self._delivered(number, error, message),
                )  # fmt: skip
            producer.poll(self.dice.random() * 0.02)
            while self.sent - len(self.acknowledged) > MOST_UNKNOWN and not self.stopping.is_set():
                producer.poll(0.05)
                assert not self._refused, self._refused[0]
        assert producer.flush(END_S) == 0, "records were never acknowledged"
        assert not self._refused, self._refused[0]

    def _delivered(self, number: int, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._refused.append(f"record {number} of {self.topic} was given up: {error}")
            return
        with self.lock:
            self.acknowledged[number] = (message.partition(), message.offset())

    def ends(self) -> dict[At, int]:
        """The end that each partition must have at least, from what was acknowledged so far."""
        found: dict[At, int] = {}
        with self.lock:
            for partition, offset in self.acknowledged.values():
                at = (self.topic, partition)
                found[at] = max(found.get(at, 0), offset + 1)
        return found

    def problems(self, values: dict[Place, bytes]) -> list[str]:
        """What is wrong with what stands in the topic at the end."""
        found: list[str] = []
        for number, (partition, offset) in self.acknowledged.items():
            if offset >= 0 and values.get((self.topic, partition, offset)) != b"%d" % number:
                found.append(f"{self.topic}-{partition}: {number} was acknowledged at {offset}, and is not there")
        here = {place: value for place, value in values.items() if place[0] == self.topic}
        for (topic, partition), records in in_order(here).items():
            offsets = [offset for offset, _ in records]
            if offsets != list(range(len(offsets))):
                found.append(f"{topic}-{partition}: offsets are missing")
            numbers = [int(value) for _, value in records]
            first = list(dict.fromkeys(numbers))
            if first != sorted(first):
                found.append(f"{topic}-{partition}: records are out of order")
            if self.idempotent and len(first) != len(numbers):
                found.append(f"{topic}-{partition}: {len(numbers) - len(first)} records are there twice")
            lost = set(range(partition, self.sent, self._partitions)) - set(numbers)
            if lost:
                found.append(f"{topic}-{partition}: {len(lost)} acknowledged records are lost, {min(lost)} the first")
        return found
