"""Consumers: a group that commits what it has read, and one without a group that follows what is committed."""

from __future__ import annotations

import threading
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from tests.broker_embedded.kills.load import At, Load, Place, Seen


class GroupMember(Load):
    """A member of a group, of either protocol: reads, and now and then commits how far it is.

    One with an ``instance`` comes back to its place in the group. One without leaves it and joins again as a new
    member; where it cannot say so, as the broker is away, it is a member until its session is over.
    """

    def __init__(
        self, address: str, seed: str, protocol: str, topics: list[str], shared: GroupLedger, instance: str | None
    ) -> None:
        super().__init__(address, seed)
        self._group = shared.group
        self._protocol = {"group.protocol": protocol}
        if protocol == "classic":
            self._protocol |= {"session.timeout.ms": "6000", "heartbeat.interval.ms": "300"}
        if instance is not None:
            self._protocol["group.instance.id"] = instance
        self._topics = topics
        self._shared = shared

    def counts(self) -> str:
        return f"{self._group}: {self._shared.commits} commits acknowledged"

    def work(self) -> None:
        while not self.stopping.is_set():
            settings = self.settings(group_id=self._group, auto_offset_reset="earliest", fetch_wait_max_ms=50)
            consumer = Consumer({**settings, **self._protocol, "enable.auto.commit": False})
            consumer.subscribe(self._topics)
            for _ in range(self.dice.randrange(20, 400)):
                if self.stopping.is_set():
                    break
                self._step(consumer)
            consumer.close()

    def _step(self, consumer: Consumer) -> None:
        for message in consumer.consume(100, 0.1):
            if message.error() is None:
                self._shared.read(message)
        if self.dice.random() < 0.3:
            try:
                positions = [at for at in consumer.position(consumer.assignment()) if at.offset > 0]
                if positions:
                    self._shared.commit(consumer, positions)
            except KafkaException as error:
                if error.args[0].fatal():
                    raise


class GroupLedger:
    """What the members of one group have read and committed, all together."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.seen = Seen()
        self.acknowledged: dict[At, int] = {}
        self.attempted: dict[At, int] = {}
        self.commits = 0
        self._lock = threading.Lock()

    def read(self, message: Any) -> None:
        with self._lock:
            self.seen.take((message.topic(), message.partition(), message.offset()), message.value())

    def commit(self, consumer: Consumer, positions: list[TopicPartition]) -> None:
        with self._lock:
            for at in positions:
                key = (at.topic, at.partition)
                self.attempted[key] = max(self.attempted.get(key, 0), at.offset)
        done = consumer.commit(offsets=positions, asynchronous=False)
        with self._lock:
            for at in done:
                if at.error is None:
                    key = (at.topic, at.partition)
                    self.acknowledged[key] = max(self.acknowledged.get(key, 0), at.offset)
                    self.commits += 1

    def least_committed(self) -> dict[At, int]:
        with self._lock:
            return dict(self.acknowledged)

    def problems(self, committed: dict[At, int], final: dict[Place, bytes]) -> list[str]:
        """What is wrong with the commits and with what was read, beside what stands in the topics at the end."""
        found = list(self.seen.problems)
        for at, least in self.acknowledged.items():
            if not least <= committed.get(at, -1) <= self.attempted[at]:
                told = f"{least} was acknowledged and {self.attempted[at]} the highest asked for"
                found.append(f"{self.group}, {at}: {committed.get(at)} is committed; {told}")
        for place, value in self.seen.values.items():
            if final.get(place) != value:
                found.append(f"{place}: {value!r} was read there, and {final.get(place)!r} is there")
        for topic, partition, offset in final:
            if offset < committed.get((topic, partition), 0) and (topic, partition, offset) not in self.seen.values:
                found.append(f"{self.group}, {topic}-{partition}: {offset} is committed, and nobody has read it")
        return found


class CommittedReader(Load):
    """Follows topics with read_committed: what it was shown once is there at the end."""

    def __init__(self, address: str, seed: str, partitions: list[At]) -> None:
        super().__init__(address, seed)
        self.seen = Seen()
        self._partitions = partitions

    def counts(self) -> str:
        return f"read_committed showed {len(self.seen.values)} records"

    def work(self) -> None:
        settings = self.settings(group_id="unused", enable_auto_commit=False, isolation_level="read_committed")
        consumer = Consumer(settings | {"fetch.wait.max.ms": 50})
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for topic, partition in self._partitions])
        while not self.stopping.is_set():
            for message in consumer.consume(200, 0.1):
                if message.error() is None:
                    self.seen.take((message.topic(), message.partition(), message.offset()), message.value())
        consumer.close()

    def problems(self, final: dict[Place, bytes]) -> list[str]:
        """What was shown and is not there."""
        found = list(self.seen.problems)
        for place, value in self.seen.values.items():
            if final.get(place) != value:
                found.append(f"{place}: read_committed showed {value!r}, and {final.get(place)!r} is there")
        return found
