"""``range``: of each topic every subscriber gets consecutive partitions, the first ones one more where it is uneven.

Topics with as many partitions and the same subscribers are divided alike, so that a member has the same partitions of
each: they can be joined. Static members come first, by their instance ids, then the others by their member ids: a
member that restarts under the same instance id gets the same ranges. Present assignments make no difference. Kafka's
``RangeAssignor``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.consumer.assignors import MemberSpec, Target
from kafka_tools.broker_embedded.slices import Work


def assign(members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]) -> Work[dict[str, Target]]:
    """The next target of every member; yields between members and topics.

    ``partitions``: the number of partitions of each subscribed topic. Raises KeyError for a topic without one.
    """
    order = sorted(members, key=lambda member: _rank(member, members[member].instance_id))
    targets: dict[str, Target] = {member: {} for member in order}
    subscriptions = set()
    for member in order:
        yield
        subscriptions.add(members[member].topics)
    if len(subscriptions) == 1:
        for topic in subscriptions.pop():
            yield
            _divide(topic, partitions[topic], order, targets)
        return targets
    subscribers: dict[UUID, list[str]] = {}
    for member in order:
        yield
        for topic in members[member].topics:
            subscribers.setdefault(topic, []).append(member)
    for topic, of_topic in subscribers.items():
        yield
        _divide(topic, partitions[topic], of_topic, targets)
    return targets


def _divide(topic: UUID, partitions: int, subscribers: Sequence[str], targets: Mapping[str, Target]) -> None:
    """Give each subscriber its range."""
    share, one_more = divmod(partitions, len(subscribers))
    end = 0
    for place, member in enumerate(subscribers):
        start, end = end, end + share + (place < one_more)
        if start == end:
            return
        targets[member][topic] = frozenset(range(start, end))


def _rank(member: str, instance_id: str | None) -> tuple[bool, bytes]:
    """Sorts as Java compares: texts by their UTF-16 units."""
    text = member if instance_id is None else instance_id
    return instance_id is None, text.encode("utf-16-be", "surrogatepass")
