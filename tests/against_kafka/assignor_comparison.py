"""The server-side assignors beside Kafka's classes: random groups over rounds, the same targets each time.

``python -m tests.against_kafka.assignor_comparison [--seed N] [--groups N]`` is the thorough run; the suite runs a
seeded part. In each round members join and leave, change what they subscribe to, come back under an instance id,
topics grow and go. The targets are the same to the partition where both are told the same; ``--history`` leaves to
Kafka's classes the order of insertion that its tables had from earlier rounds, and counts how often that decides.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.consumer.assignors import MemberSpec, Target, hash_order, uniform
from kafka_tools.broker_embedded.coordinators.consumer.assignors import range as by_range
from kafka_tools.broker_embedded.slices import whole
from tests.against_kafka.java_programs import Lines

ROUNDS = 6


class Topic(NamedTuple):
    name: str
    id: UUID
    partitions: int


class Group:
    """One random group and what happens to it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.assignor = chance.choice(("uniform", "uniform", "range"))
        self.alike = chance.random() < 0.5
        self.topics = [self.topic() for _ in range(chance.choice((1, 1, 2, 3, 5, 14, 30)))]
        self.all = [topic.name for topic in self.topics]
        self.members: dict[str, MemberSpec] = {}
        self.names: dict[str, list[str]] = {}
        self.history: dict[str, list[tuple[str, list[int]]]] = {}
        for _ in range(chance.choice((1, 2, 3, 3, 5, 8, 13, 40))):
            self.join()

    def topic(self) -> Topic:
        partitions = self.chance.choice((1, 2, 3, 6, 7, 12, 24, 50, self.chance.randint(1, 100)))
        name = f"{self.chance.choice(('orders', 'a', 'größe', 'metrics.host'))}-{self.chance.randrange(10**6)}"
        return Topic(name, UUID(int=self.chance.getrandbits(128)), partitions)

    def subscribed(self) -> list[str]:
        """What a new member asks for."""
        if self.alike:
            return self.all
        wanted = self.chance.sample(self.all, self.chance.randint(0, len(self.all)))
        return sorted(wanted)

    def join(self, instance_id: str | None = None, assigned: Target | None = None) -> str:
        if instance_id is None and self.chance.random() < 0.2:
            instance_id = f"{self.chance.choice(('host', 'Zürich', chr(0x1F600), chr(0xFFFD)))}-{len(self.members)}"
            if instance_id in {spec.instance_id for spec in self.members.values()}:
                instance_id = None
        member = str(UUID(int=self.chance.getrandbits(128)))
        if self.chance.random() < 0.1:
            member = f"{chr(self.chance.choice((0xE9, 0x1F600, 0xFFFD)))}{member}"
        self.names[member] = self.subscribed()
        self.members[member] = MemberSpec(self.ids(member), instance_id, assigned or {})
        return member

    def ids(self, member: str) -> frozenset[UUID]:
        known = {topic.name: topic.id for topic in self.topics}
        return frozenset(known[name] for name in self.names[member])

    def change(self) -> None:
        """Between two rounds."""
        chance = self.chance
        for member in list(self.members):
            if chance.random() < 0.15:
                spec = self.members.pop(member)
                del self.names[member]
                had = self.history.pop(member, [])
                if spec.instance_id is not None and chance.random() < 0.5:  # it restarted
                    self.history[self.join(spec.instance_id, dict(spec.assigned))] = had
            elif not self.alike and chance.random() < 0.1:
                self.names[member] = self.subscribed()
        for at, topic in enumerate(self.topics):
            if chance.random() < 0.15:
                self.topics[at] = topic._replace(partitions=topic.partitions + chance.randint(1, 20))
        if len(self.topics) > 1 and chance.random() < 0.2:
            gone = self.topics.pop(chance.randrange(len(self.topics)))
            self.all = [name for name in self.all if name != gone.name]
            for member, names in self.names.items():
                self.names[member] = [name for name in names if name != gone.name]
        if chance.random() < 0.3:
            self.topics.append(self.topic())
            self.all = [*self.all, self.topics[-1].name]
        for _ in range(chance.choice((0, 0, 1, 1, 2, 5))):
            self.join()
        if self.alike:
            self.names = dict.fromkeys(self.names, self.all)
        for member, spec in self.members.items():
            self.members[member] = spec._replace(topics=self.ids(member))

    def ours(self) -> dict[str, Target]:
        partitions = {topic.id: topic.partitions for topic in self.topics}
        if self.assignor == "range":
            return whole(by_range.assign(self.members, partitions))
        names = {topic.id: topic.name for topic in self.topics}
        return whole(uniform.assign(self.members, partitions, names, self.alike))

    def as_json(self, history: bool) -> dict[str, Any]:
        """The group for Kafka; targets in the order of its own tables, or in that which ours takes them to have."""
        place = {topic: at for at, topic in enumerate(self._topics_in_order())}
        members = []
        for member, spec in self.members.items():
            assigned: list[Any] = self.history.get(member, [])
            if not history:
                ranked = sorted(spec.assigned, key=lambda topic: (place.get(topic, len(place)), topic.int))
                assigned = [(topic.hex, sorted(spec.assigned[topic])) for topic in ranked]
            members.append(
                {"id": member, "instance": spec.instance_id, "topics": sorted(self.names[member]), "assigned": assigned}
            )
        topics = [{"name": topic.name, "id": topic.id.hex, "partitions": topic.partitions} for topic in self.topics]
        return {"assignor": self.assignor, "alike": self.alike, "topics": topics, "members": members}

    def _topics_in_order(self) -> list[UUID]:
        names = {topic.id: topic.name for topic in self.topics}
        return whole(hash_order.topics_in_order(names, names))

    def assigned(self, targets: dict[str, list[tuple[str, list[int]]]]) -> None:
        """What Kafka decided is what members have in the next round."""
        self.history = targets
        for member, spec in self.members.items():
            self.members[member] = spec._replace(assigned=_target(targets.get(member, [])))


def _target(topics: list[tuple[str, list[int]]]) -> Target:
    return {UUID(topic): frozenset(partitions) for topic, partitions in topics}


class Comparison:
    """How many targets were compared, and which differ."""

    def __init__(self, kafka: Lines, history: bool = False) -> None:
        self.kafka = kafka
        self.history = history
        self.compared = 0
        self.differences: list[str] = []

    def compare(self, seed: int) -> None:
        """A group and its rounds."""
        group = Group(random.Random(seed))
        for turn in range(ROUNDS):
            if not group.members:
                return
            theirs = self.kafka.ask_json(group.as_json(self.history))
            ours = group.ours()
            self.compared += 1
            expected = {member: _target(theirs.get(member, [])) for member in group.members}
            if ours != expected:
                sizes = [
                    sorted(sum(map(len, target.values())) for target in each.values()) for each in (ours, expected)
                ]
                what = "who has which" if sizes[0] == sizes[1] else "who has how many"
                self.differences.append(f"seed {seed}, round {turn}: {group.assignor}, alike {group.alike}: {what}")
            group.assigned(theirs)
            group.change()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.against_kafka.assignor_comparison", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--groups", type=int, default=5000)
    parser.add_argument("--history", action="store_true", help="tables of Kafka's classes keep their order")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, Lines.start("Assignors", Path(folder)) as kafka:
        comparison = Comparison(kafka, options.history)
        for seed in range(options.seed, options.seed + options.groups):
            comparison.compare(seed)
    print(f"{comparison.compared} targets compared, {len(comparison.differences)} differ")
    print("\n".join(comparison.differences[:50]))
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
