"""Share groups (KIP-932, KIP-1043): describe, and the offsets from which they share partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.groups import DescribeGroups, GroupDescription, MemberDescription, partitions_of
from kafka_tools.admin.calls.permissions import operations_of
from kafka_tools.admin.calls.records import by_topic, grouped
from kafka_tools.admin.driver import AdminCall, Reply
from kafka_tools.admin.lookups import CoordinatorLookup
from kafka_tools.admin.outcomes import Outcome, Outcomes, answered
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.enums import CoordinatorGroupType
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsResponse
    from kafka_tools.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsResponse
    from kafka_tools.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsResponse
    from kafka_tools.protocol.messages.share_group_describe import ShareGroupDescribeResponse


class ShareOffset(NamedTuple):
    """The share-partition start offset; ``lag`` in records, None before 4.2."""

    start_offset: int
    leader_epoch: int | None
    lag: int | None


class DescribeShareGroups(DescribeGroups[GroupDescription]):
    """By ShareGroupDescribe."""

    name = "describe share groups"

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.share_group_describe import ShareGroupDescribeRequest

        versions.require(ShareGroupDescribeRequest, 0, "describing share groups")
        return ShareGroupDescribeRequest(group_ids=keys, include_authorized_operations=self.operations)

    def description(
        self, item: ShareGroupDescribeResponse.DescribedGroup, version: int, node: Node
    ) -> GroupDescription:
        members = tuple(
            MemberDescription(
                member.member_id,
                None,
                member.client_id,
                member.client_host,
                partitions_of(member.assignment),
                epoch=member.member_epoch,
                rack=member.rack_id,
                subscribed_topics=tuple(member.subscribed_topic_names),
            )
            for member in item.members
        )
        return GroupDescription(
            item.group_id,
            CoordinatorGroupType.SHARE,
            CoordinatorGroupType.SHARE,
            item.assignor_name,
            item.group_state,
            node,
            members,
            item.group_epoch,
            item.assignment_epoch,
            operations_of(item.authorized_operations),
        )


ShareOffsets = Outcomes[TopicPartition, "ShareOffset | None"]


class DescribeShareOffsets(AdminCall[str, ShareOffsets, "DescribeShareGroupOffsetsResponse"]):
    """Group -> partitions (None: all it shares); the value is an outcome per partition, None for no offset yet."""

    name = "list share group offsets"
    lookup = CoordinatorLookup()

    wanted: Mapping[str, Sequence[TopicPartition] | None]

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest

        versions.require(DescribeShareGroupOffsetsRequest, 0, "offsets of share groups")
        Group = DescribeShareGroupOffsetsRequest.RequestGroup
        groups = []
        for key in keys:
            wanted = self.wanted[key]
            topics = None
            if wanted is not None:
                found = by_topic(wanted)
                topics = [Group.RequestTopic(topic_name=name, partitions=found[name]) for name in found]
            groups.append(Group(group_id=key, topics=topics))
        return DescribeShareGroupOffsetsRequest(groups=groups)

    def interpret(self, reply: Reply[str, ShareOffsets, DescribeShareGroupOffsetsResponse]) -> None:
        for group in reply.response.groups:
            found: dict[TopicPartition, Outcome[ShareOffset | None]] = {}
            for topic in group.topics:
                for item in topic.partitions:
                    key = TopicPartition(topic.topic_name, item.partition_index)
                    failure = error_of(item.error_code, item.error_message)
                    found[key] = Outcome(_offset(item)) if failure is None else Outcome(None, failure)
            wanted = self.wanted.get(group.group_id)
            offsets = answered(sorted(found) if wanted is None else wanted, found, reply.node)
            reply.take(group.group_id, group.error_code, group.error_message, offsets)


def _offset(
    item: DescribeShareGroupOffsetsResponse.ResponseGroup.ResponseTopic.ResponsePartition,
) -> ShareOffset | None:
    if item.start_offset < 0:
        return None
    epoch = item.leader_epoch if item.leader_epoch >= 0 else None
    return ShareOffset(item.start_offset, epoch, item.lag if item.lag >= 0 else None)


class AlterShareOffsets(AdminCall[str, Outcomes[TopicPartition, None], "AlterShareGroupOffsetsResponse"]):
    """Start sharing from other offsets; groups must have no members. A request for each, an outcome per partition."""

    name = "alter share group offsets"
    lookup = CoordinatorLookup()
    per_request = 1

    offsets: Mapping[str, Mapping[TopicPartition, int]]

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest

        versions.require(AlterShareGroupOffsetsRequest, 0, "altering offsets of share groups")
        Topic = AlterShareGroupOffsetsRequest.RequestTopic
        (group_id,) = keys
        offsets = self.offsets[group_id]
        items = grouped(
            offsets, lambda key: Topic.RequestPartition(partition_index=key.partition, start_offset=offsets[key])
        )
        topics = [Topic(topic_name=name, partitions=partitions) for name, partitions in items.items()]
        return AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics)

    def interpret(self, reply: Reply[str, Outcomes[TopicPartition, None], AlterShareGroupOffsetsResponse]) -> None:
        (group_id,) = reply.keys
        response = reply.response
        found = {
            TopicPartition(topic.topic_name, item.partition_index): Outcome[None](
                None, error_of(item.error_code, item.error_message)
            )
            for topic in response.responses
            for item in topic.partitions
        }
        outcomes = answered(self.offsets[group_id], found, reply.node)
        reply.settle(group_id, response.error_code, response.error_message, outcomes)


class DeleteShareOffsets(AdminCall[str, Outcomes[str, None], "DeleteShareGroupOffsetsResponse"]):
    """Delete a group's share offsets of some topics; an outcome per topic."""

    name = "delete share group offsets"
    lookup = CoordinatorLookup()

    group_id: str
    topics: Sequence[str]

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest

        versions.require(DeleteShareGroupOffsetsRequest, 0, "deleting offsets of share groups")
        Topic = DeleteShareGroupOffsetsRequest.RequestTopic
        return DeleteShareGroupOffsetsRequest(
            group_id=self.group_id, topics=[Topic(topic_name=name) for name in self.topics]
        )

    def interpret(self, reply: Reply[str, Outcomes[str, None], DeleteShareGroupOffsetsResponse]) -> None:
        response = reply.response
        found = {
            topic.topic_name: Outcome[None](None, error_of(topic.error_code, topic.error_message))
            for topic in response.responses
        }
        outcomes = answered(self.topics, found, reply.node)
        reply.settle(self.group_id, response.error_code, response.error_message, outcomes)
