"""A consumer group in the response of ConsumerGroupDescribe (``ConsumerGroup.asDescribedGroup``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import ConsumerMember, Partitions
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.consumer.group_topics import GroupTopics

Described = ConsumerGroupDescribeResponse.DescribedGroup
_CLASSIC, _CONSUMER = 0, 1
"""Types of members on the wire (KIP-1099)."""


def described(group: ConsumerGroup, default_assignor: str, topics: GroupTopics) -> Work[Described]:
    """The group and its members, with current and target assignments, as they were at the time of the call."""
    answer = Described(
        group_id=group.id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.preferred_assignor(None, None) or default_assignor,
    )
    for member, target in [(member, group.targets.get(member.id, {})) for member in group.members.values()]:
        answer.members.append((yield from _member(member, target, topics)))
    return answer


def _member(member: ConsumerMember, target: Partitions, topics: GroupTopics) -> Work[Described.Member]:
    has: dict[UUID, list[int]] = {}
    for epochs in (member.assigned, member.revoking):
        for topic_id, numbers in epochs.items():
            yield
            has.setdefault(topic_id, []).extend(numbers)
    return Described.Member(
        member_id=member.id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=(yield from _assignment(has, topics)),
        target_assignment=(yield from _assignment(target, topics)),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(partitions: Mapping[UUID, Collection[int]], topics: GroupTopics) -> Work[Assignment]:
    """Partitions of topics that exist."""
    found = Assignment()
    for topic_id, numbers in partitions.items():
        yield
        name = topics.name(topic_id)
        if name is not None:
            found.topic_partitions.append(
                TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(numbers))
            )
    return found
