"""The assignors of a classic consumer group's leader: range and roundrobin, as in Kafka.

Pure functions over members' subscriptions and partition counts; every client of a group must reach the same result
whoever leads, so order and ties follow ``RangeAssignor``, ``RoundRobinAssignor`` and
``AbstractPartitionAssignor.MemberInfo`` of Kafka's Java client exactly (without racks).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from itertools import cycle
from typing import NamedTuple

from kafka_tools.values import TopicPartition


class SubscribedMember(NamedTuple):
    """A group member as the assignor sees it. ``instance_id`` is the static identity (KIP-345) or None.

    ``owned``: the partitions that it has had since ``generation`` (-1: not known).
    """

    member_id: str
    instance_id: str | None
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1


Assignment = dict[str, list[TopicPartition]]
"""Member id -> its partitions, in the order in which they were given."""

Assignor = Callable[[Sequence[SubscribedMember], Mapping[str, int]], Assignment]


def range_assignor(members: Sequence[SubscribedMember], partition_counts: Mapping[str, int]) -> Assignment:
    """Per topic, consecutive ranges: the first members get one more where it does not divide evenly.

    ``partition_counts``: topic -> number of partitions; topics without a row do not exist and are skipped.
    """
    assignment: Assignment = {member.member_id: [] for member in members}
    ordered = _in_order(members)
    for topic in sorted({topic for member in members for topic in member.topics}):
        subscribers = [member for member in ordered if topic in member.topics]
        each, extra = divmod(partition_counts.get(topic, 0), len(subscribers))
        start = 0
        for index, member in enumerate(subscribers):
            end = start + each + (1 if index < extra else 0)
            assignment[member.member_id] += [TopicPartition(topic, number) for number in range(start, end)]
            start = end
    return assignment


def round_robin_assignor(members: Sequence[SubscribedMember], partition_counts: Mapping[str, int]) -> Assignment:
    """All partitions of all topics dealt out one by one, skipping members that do not subscribe to the topic."""
    assignment: Assignment = {member.member_id: [] for member in members}
    if not members:
        return assignment
    turns = cycle(_in_order(members))
    for topic in sorted({topic for member in members for topic in member.topics}):
        for number in range(partition_counts.get(topic, 0)):
            # A member that does not subscribe to the topic loses its turn. Some member does, so this ends.
            member = next(each for each in turns if topic in each.topics)
            assignment[member.member_id].append(TopicPartition(topic, number))
    return assignment


ASSIGNORS: dict[str, Assignor] = {"range": range_assignor, "roundrobin": round_robin_assignor}
"""Protocol name in JoinGroup -> assignor."""


def _in_order(members: Sequence[SubscribedMember]) -> list[SubscribedMember]:
    return sorted(members, key=cmp_to_key(_compare))


def _compare(left: SubscribedMember, right: SubscribedMember) -> int:
    """Static members first, by instance id; then the others by member id."""
    if left.instance_id is not None and right.instance_id is not None:
        return _order(left.instance_id, right.instance_id)
    if left.instance_id is not None:
        return -1
    if right.instance_id is not None:
        return 1
    return _order(left.member_id, right.member_id)


def _order(left: str, right: str) -> int:
    # Java compares strings by UTF-16 unit, Python by code point: they differ above the basic plane.
    first, second = left.encode("utf-16-be", "surrogatepass"), right.encode("utf-16-be", "surrogatepass")
    return (first > second) - (first < second)
