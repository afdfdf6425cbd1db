"""A consumer group as ConsumerGroupDescribe tells it (``ConsumerGroup.asDescribedGroup``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.consumer.group import ConsumerGroup
from kafka_tools.broker_embedded.coordinators.consumer.member import ConsumerMember
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


def described(group: ConsumerGroup, default_assignor: str, topics: GroupTopics) -> Described:
    """The group with its members, and the current and the target assignment of each."""
    return Described(
        group_id=group.id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.preferred_assignor(None, None) or default_assignor,
        members=[_member(group, member, topics) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: ConsumerMember, topics: GroupTopics) -> Described.Member:
    has: dict[UUID, list[int]] = {}
    for epochs in (member.assigned, member.revoking):
        for topic_id, numbers in epochs.items():
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
        assignment=_assignment(has, topics),
        target_assignment=_assignment(group.targets.get(member.id, {}), topics),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(partitions: Mapping[UUID, Collection[int]], topics: GroupTopics) -> Assignment:
    """Partitions of topics that exist."""
    named = ((topic_id, topics.name(topic_id), numbers) for topic_id, numbers in partitions.items())
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(numbers))
            for topic_id, name, numbers in named
            if name is not None
        ]
    )
