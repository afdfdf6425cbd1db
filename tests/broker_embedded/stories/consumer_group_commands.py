"""Commands of scripts: consumer groups of KIP-848. A function's name is the verb, with ``-`` for ``_``.

A member is the script's name for it; ``member=a`` is also the client that asks. Which group and epoch it is in, and
what it has, is kept from its last heartbeat.
"""

from __future__ import annotations

import uuid
from typing import Any

from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.broker_embedded.stories.broker import Broker, error, place, seconds

COMMANDS = ("consume", "consumer_heartbeat", "stop_consuming", "consumer_group")

_JOINS, _LEAVES, _LEAVES_FOR_NOW = 0, -1, -2


class Consumer:
    """What a client knows of itself as a member. ``has``: the partitions that it was assigned and has not given up."""

    def __init__(self, name: str, group: str, instance: str | None) -> None:
        self.name = name
        self.group = group
        self.instance = instance
        # As a client makes it up; the same in every run of a script.
        self.id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{group}/{name}"))
        self.epoch = _JOINS
        self.has: list[str] = []

    @property
    def generation(self) -> int:
        """The epoch, as commits say it."""
        return self.epoch


def consume(
    story: Broker,
    group: str,
    member: str,
    topics: str | None = None,
    regex: str | None = None,
    assignor: str | None = None,
    rebalance: str = "60s",
    instance: str | None = None,
) -> None:
    """``consume group=g member=a topics=t,u regex=t.* assignor=uniform rebalance=60s instance=i``: join, or change."""
    known = story.kept.get(member)
    if not isinstance(known, Consumer) or known.group != group or known.epoch < 0:
        id = known.id if isinstance(known, Consumer) and known.group == group else None
        known = story.kept[member] = Consumer(member, group, instance)
        known.id = id or known.id
    story.names[known.id] = member
    request = _heartbeat(known)
    request.subscribed_topic_names = topics.split(",") if topics else []
    request.subscribed_topic_regex = regex
    request.server_assignor = assignor
    request.rebalance_timeout_ms = round(seconds(rebalance) * 1000)
    if known.epoch == _JOINS:
        request.topic_partitions = []
    _ask(story, known, request)


def consumer_heartbeat(story: Broker, member: str, has: str | None = None, epoch: str = "") -> None:
    """``consumer-heartbeat member=a has=t-0,t-1 epoch=3``: what it says it has, where that has changed."""
    known: Consumer = story.kept[member]
    request = _heartbeat(known)
    if epoch:
        request.member_epoch = int(epoch)
    if has is not None:
        known.has = [each for each in has.split(",") if each]
        request.topic_partitions = _owned(story, known.has)
    _ask(story, known, request)


def stop_consuming(story: Broker, member: str, back: str = "") -> None:
    """``stop-consuming member=a back=yes``: it leaves, or with an instance for a short time."""
    known: Consumer = story.kept[member]
    request = _heartbeat(known)
    request.member_epoch = _LEAVES_FOR_NOW if back else _LEAVES
    known.has = []
    _ask(story, known, request)


def consumer_group(story: Broker, name: str) -> None:
    """``consumer-group g``: its state and epochs, its members, what they have and what they are to have."""
    (found,) = story.answer("client", ConsumerGroupDescribeRequest(group_ids=[name])).groups
    if found.error_code:
        story.say(name, f"{error(found.error_code)}: {found.error_message}")
        return
    epochs = f"epoch {found.group_epoch}, assignment of epoch {found.assignment_epoch}"
    lines = [f"{found.group_state}, {epochs}, assignor {found.assignor_name}"]
    for member in sorted(found.members, key=lambda each: story.name(each.member_id)):
        static = f" of instance {member.instance_id}" if member.instance_id else ""
        has, to_have = (_places(part.topic_partitions) for part in (member.assignment, member.target_assignment))
        lines.append(
            f"member {story.name(member.member_id)}{static} in epoch {member.member_epoch} has {has}"
            + (f", is to have {to_have}" if to_have != has else "")
        )
    story.say(name, lines)


def _heartbeat(known: Consumer) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=known.group, member_id=known.id, member_epoch=known.epoch, instance_id=known.instance
    )


def _ask(story: Broker, known: Consumer, request: ConsumerGroupHeartbeatRequest) -> None:
    def show(found: Any) -> str:
        if found.error_code:
            return error(found.error_code) + (f": {found.error_message}" if found.error_message else "")
        known.epoch = found.member_epoch
        if known.epoch < 0:
            return "has left"
        if found.assignment is None:
            return f"epoch {known.epoch}"
        topics = story.disk.core.cluster.topics_by_id
        known.has = sorted(
            f"{topics[part.topic_id].name}-{number}"
            for part in found.assignment.topic_partitions
            for number in part.partitions
        )
        return f"epoch {known.epoch}, is given {', '.join(known.has) or 'no partition'}"

    story.ask(known.name, request, show)


def _owned(story: Broker, places: list[str]) -> list[Any]:
    topics = story.disk.core.cluster.topics
    found: dict[str, list[int]] = {}
    for where in places:
        topic, number = place(where)
        found.setdefault(topic, []).append(number)
    Part = ConsumerGroupHeartbeatRequest.TopicPartitions
    return [Part(topic_id=topics[name].id, partitions=numbers) for name, numbers in found.items()]


def _places(parts: Any) -> str:
    found = sorted(f"{part.topic_name}-{number}" for part in parts for number in part.partitions)
    return ", ".join(found) or "no partition"
