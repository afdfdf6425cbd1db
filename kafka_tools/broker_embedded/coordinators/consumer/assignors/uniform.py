"""``uniform``: members get equal numbers of partitions, and keep as many of their partitions as possible.

If all subscribe to the same topics, each member gets the total divided by the members, some of them one more. Members
above their share lose partitions, and members below it get them, in the order of Kafka's hash tables
(``hash_order``). For different subscriptions, see ``balancing``. Kafka's ``UniformAssignor`` and
``UniformHomogeneousAssignmentBuilder``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.consumer.assignors import (
    MemberSpec,
    Target,
    balancing,
    hash_order,
)
from kafka_tools.broker_embedded.slices import Work

_PARTITIONS_AT_ONCE = 256


def assign(
    members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int], names: Mapping[UUID, str], alike: bool
) -> Work[dict[str, Target]]:
    """The next target of every member; yields between topics, members and a thousand partitions.

    ``partitions`` and ``names`` have each subscribed topic. On names depends who gets which partitions, as in Kafka.
    ``alike`` is Kafka's subscription type: whether all members name the same topics, also those that do not exist.
    Raises KeyError for a topic without a number of partitions.
    """
    if not members:
        return {}
    if not alike:
        return (yield from balancing.assign(members, partitions))
    return (yield from _assign_alike(members, partitions, names))


def _assign_alike(
    members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int], names: Mapping[UUID, str]
) -> Work[dict[str, Target]]:
    topics = yield from hash_order.topics_in_order(next(iter(members.values())).topics, names)
    if not topics:
        return {member: {} for member in members}
    place = {topic: at for at, topic in enumerate(topics)}
    order = yield from hash_order.members_in_order(members)
    unassigned = yield from _unassigned(members, topics, partitions)
    share, one_more = divmod(sum(partitions[topic] for topic in topics), len(order))
    targets: dict[str, Target] = {}
    wanting: list[tuple[str, int]] = []
    for at, member in enumerate(order):
        yield
        target = {topic: kept for topic, kept in members[member].assigned.items() if topic in place}
        quota = share + (one_more > 0)
        quota -= sum(map(len, target.values()))
        if quota < 0:
            unassigned += yield from _give_away(members[member].assigned, target, quota, place)
            quota = 0
        # The members with one partition more come first, then others if there are not enough of them.
        has_one_more = one_more > 0
        if quota > 0 and has_one_more and len(order) - at > one_more:
            quota -= 1
            has_one_more = False
        if quota > 0:
            wanting.append((member, quota))
        one_more -= has_one_more
        targets[member] = target
    rest = iter(unassigned)
    for member, quota in wanting:
        yield from _add(targets[member], islice(rest, quota))
    if next(rest, None) is None:
        return targets
    # A client has written targets that contradict each other or the topics: ignore them.
    without = {member: spec._replace(assigned={}) for member, spec in members.items()}
    return (yield from _assign_alike(without, partitions, names))


def _unassigned(
    members: Mapping[str, MemberSpec], topics: list[UUID], partitions: Mapping[UUID, int]
) -> Work[list[tuple[UUID, int]]]:
    """The partitions of these topics that no member has, topic by topic."""
    taken: dict[UUID, set[int]] = {topic: set() for topic in topics}
    for spec in members.values():
        yield
        for topic, kept in spec.assigned.items():
            if topic in taken:
                taken[topic] |= kept
    found = []
    for topic in topics:
        yield
        of_topic = taken[topic]
        if len(of_topic) != partitions[topic]:
            found += [(topic, partition) for partition in range(partitions[topic]) if partition not in of_topic]
    return found


def _give_away(
    assigned: Mapping[UUID, frozenset[int]], target: Target, quota: int, place: Mapping[UUID, int]
) -> Work[list[tuple[UUID, int]]]:
    """Takes from a target, made of ``assigned``, the ``-quota`` partitions that are last in Kafka's order."""
    in_order: list[tuple[UUID, int]] = []
    for topic in (yield from hash_order.assigned_in_order(assigned, place)):
        yield
        if topic in target:
            in_order += [(topic, partition) for partition in hash_order.partitions_in_order(target[topic])]
    given = in_order[quota:]
    by_topic: dict[UUID, list[int]] = {}
    for at, (topic, partition) in enumerate(given):
        if not at % _PARTITIONS_AT_ONCE:
            yield
        by_topic.setdefault(topic, []).append(partition)
    for topic, partitions in by_topic.items():
        yield
        left = target[topic].difference(partitions)
        if left:
            target[topic] = left
        else:
            del target[topic]
    return given


def _add(target: Target, added: islice[tuple[UUID, int]]) -> Work[None]:
    by_topic: dict[UUID, list[int]] = {}
    for at, (topic, partition) in enumerate(added):
        if not at % _PARTITIONS_AT_ONCE:
            yield
        by_topic.setdefault(topic, []).append(partition)
    for topic, of_topic in by_topic.items():
        yield
        target[topic] = target.get(topic, frozenset()).union(of_topic)
