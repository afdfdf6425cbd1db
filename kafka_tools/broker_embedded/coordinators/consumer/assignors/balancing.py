"""``uniform`` where members subscribe to different topics: balanced among the subscribers of each topic.

Every member keeps its partitions of topics to which it still subscribes. Unassigned partitions go to the subscriber
with the fewest, topic by topic, those with the most partitions per subscriber first. Then partitions move from the
member with the most to the one with the fewest, topic by topic, until no topic changes anything, sixteen times at most.
Kafka's ``UniformHeterogeneousAssignmentBuilder``, whose order of members is that of its hash table (``hash_order``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.consumer.assignors import MemberSpec, Target, hash_order
from kafka_tools.broker_embedded.slices import Work

MOST_ROUNDS = 16
NOBODY = -1
PARTITIONS_AT_ONCE = 256
"""The number of moves after which the work yields."""


def assign(members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> Work[dict[str, Target]]:
    """The next target of every member. Raises KeyError for a topic without a number of partitions."""
    balance = _Balance((yield from hash_order.members_in_order(members)))
    yield from balance.keep_what_is_subscribed(members, partitions)
    yield from balance.assign_what_nobody_has()
    yield from balance.move_from_most_to_least()
    return (yield from balance.targets())


class _Balance:
    """The current owner of every partition, as the member's place among ``members``, which are in Kafka's order."""

    def __init__(self, members: Sequence[str]) -> None:
        self.members = members
        self.counts = [0] * len(members)
        self.subscribers: dict[UUID, list[int]] = {}
        self.owners: dict[UUID, list[int]] = {}
        self.topics: list[UUID] = []

    def keep_what_is_subscribed(self, members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> Work[None]:
        """Keep every member's present target, except topics to which it does not subscribe any more."""
        for index, member in enumerate(self.members):
            yield
            for topic in members[member].topics:
                self.subscribers.setdefault(topic, []).append(index)
        self.owners = {topic: [NOBODY] * partitions[topic] for topic in self.subscribers}
        for index, member in enumerate(self.members):
            yield
            spec = members[member]
            for topic, kept in spec.assigned.items():
                if topic in spec.topics:
                    owners = self.owners[topic]
                    for partition in kept:  # the log may be invalid: one owner for each existing partition
                        if 0 <= partition < len(owners) and owners[partition] == NOBODY:
                            owners[partition] = index
                            self.counts[index] += 1
        self.topics = sorted(self.subscribers, key=self._rank)

    def _rank(self, topic: UUID) -> tuple[float, int, tuple[int, int]]:
        """Most partitions per subscriber first, then fewest subscribers."""
        subscribers = len(self.subscribers[topic])
        return -len(self.owners[topic]) / subscribers, subscribers, hash_order.topic_rank(topic)

    def _give(self, topic: UUID, partition: int, index: int) -> None:
        owners = self.owners[topic]
        before = owners[partition]
        if before != NOBODY:
            self.counts[before] -= 1
        owners[partition] = index
        self.counts[index] += 1

    def assign_what_nobody_has(self) -> Work[None]:
        """Assign each unassigned partition to the subscriber with the fewest partitions."""
        for topic in self.topics:
            yield
            free = [partition for partition, owner in enumerate(self.owners[topic]) if owner == NOBODY]
            if not free:
                continue
            line = _Line(self.counts, self.subscribers[topic])
            for done, partition in enumerate(free):
                if done % PARTITIONS_AT_ONCE == PARTITIONS_AT_ONCE - 1:
                    yield
                self._give(topic, partition, line.next_least())

    def move_from_most_to_least(self) -> Work[None]:
        """Round by round until nothing has changed since the topic that is next."""
        shared = [topic for topic in self.topics if len(self.subscribers[topic]) > 1]
        last_changed = None
        for _ in range(MOST_ROUNDS):
            for topic in shared:
                if topic == last_changed:
                    return
                moved = yield from self._move(topic)
                if moved or last_changed is None:
                    last_changed = topic

    def _move(self, topic: UUID) -> Work[int]:
        """Balance the subscribers of a topic with its partitions; returns the number of moves."""
        yield
        line = _Line(self.counts, self.subscribers[topic])
        if line.imbalance <= 1:
            return 0
        had: dict[int, list[int]] = {}
        for partition, owner in enumerate(self.owners[topic]):
            had.setdefault(owner, []).append(partition)
        moved = 0
        while not line.balanced():
            most = line.next_most()
            while most != NOBODY and not had.get(most):
                line.leave_out_most()
                most = line.next_most()
            if most == NOBODY:
                break
            partition = had[most].pop()
            least = line.next_least()
            if line.balanced():
                break
            self._give(topic, partition, least)
            moved += 1
            if moved % PARTITIONS_AT_ONCE == 0:
                yield
        return moved

    def targets(self) -> Work[dict[str, Target]]:
        """The partitions of each member now."""
        found: dict[str, Target] = {member: {} for member in self.members}
        for topic, owners in self.owners.items():
            yield
            had: dict[int, list[int]] = {}
            for partition, owner in enumerate(owners):
                had.setdefault(owner, []).append(partition)
            for owner, of_topic in had.items():
                found[self.members[owner]][topic] = frozenset(of_topic)
        return found


class _Line:
    """The subscribers of a topic, from the fewest partitions to the most, and the next member at both ends.

    At the lower end a growing range of members with the same count gets one partition each, then the range grows by
    those who already had as many; at the upper end likewise, downwards. ``counts`` changes meanwhile as asked for.
    """

    def __init__(self, counts: Sequence[int], subscribers: Sequence[int]) -> None:
        self._counts = counts
        self._line = sorted(subscribers, key=counts.__getitem__)  # among equals the order of members
        least, most = counts[self._line[0]], counts[self._line[-1]]
        self.imbalance = most - least
        self._least = least - 1
        self._least_end = self._next_least = 0
        self._most = most + 1
        self._most_start = self._most_end = len(self._line)
        self._next_most = len(self._line) - 1

    def balanced(self) -> bool:
        """Whether both ends have met, as far as they have been asked for."""
        return self._most - self._least <= 1

    def next_least(self) -> int:
        """The member that gets a partition next."""
        if self._next_least >= self._least_end:
            self._least += 1
            while self._least_end < len(self._line) and self._counts[self._line[self._least_end]] == self._least:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return self._line[self._next_least - 1]

    def next_most(self) -> int:
        """The member that loses a partition next, or NOBODY."""
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most = self._counts[self._line[self._most_start - 1]]
            else:
                self._most -= 1
            while self._most_start > 0 and self._counts[self._line[self._most_start - 1]] == self._most:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return NOBODY
        self._next_most -= 1
        return self._line[self._next_most + 1]

    def leave_out_most(self) -> None:
        """The member that ``next_most`` returned has no partition of this topic to give up."""
        line, at, last = self._line, self._next_most + 1, self._most_end - 1
        line[at], line[last] = line[last], line[at]
        self._most_end = last
