"""Groups: list, describe, delete.

A listing asks every broker, because each knows only the groups that it coordinates. A description asks the group's
coordinator: for a KIP-848 group if brokers support them, and for a classic group if it is not one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kafka_tools.admin.calls.permissions import operations_of
from kafka_tools.admin.driver import AdminCall, Reply
from kafka_tools.admin.lookups import CoordinatorLookup, SameNodeLookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import BrokerError, WireError
from kafka_tools.net.broker_errors import broker_error, error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE, CoordinatorGroupType, GroupState
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.protocol.messages import consumer_group_describe, share_group_describe
    from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
    from kafka_tools.protocol.messages.delete_groups import DeleteGroupsResponse
    from kafka_tools.protocol.messages.describe_groups import DescribeGroupsResponse
    from kafka_tools.protocol.messages.list_groups import ListGroupsResponse
    from kafka_tools.protocol.messages.share_group_describe import ShareGroupDescribeResponse
    from kafka_tools.protocol.messages.streams_group_describe import StreamsGroupDescribeResponse

    DescribedGroupsResponse = (
        DescribeGroupsResponse
        | ConsumerGroupDescribeResponse
        | ShareGroupDescribeResponse
        | StreamsGroupDescribeResponse
    )

D = TypeVar("D")

_NEWER_TYPES = {
    CoordinatorGroupType.SHARE: "share groups are new in Kafka 4.1",
    CoordinatorGroupType.STREAMS: "streams groups are new in Kafka 4.2",
}
"""Types of groups that are younger than the request that lists groups by type."""


class GroupListing(NamedTuple):
    """One group of a listing. ``state`` and ``type`` are None where brokers do not tell (before 2.6, 3.8)."""

    group_id: str
    protocol_type: str
    state: str | None
    type: str | None

    @property
    def is_simple(self) -> bool:
        """A group that only commits offsets, without members."""
        return self.protocol_type == ""


class MemberDescription(NamedTuple):
    """One member. Epoch, target and subscription belong to KIP-848 groups and are None or empty in others."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...] | None = None
    epoch: int | None = None
    rack: str | None = None
    subscribed_topics: tuple[str, ...] = ()
    subscribed_regex: str | None = None
    upgraded: bool | None = None
    """Whether the member uses the KIP-848 protocol; None if the broker does not return it."""


class GroupDescription(NamedTuple):
    """One group. ``protocol`` is the assignor that was chosen; epochs are None for classic groups."""

    group_id: str
    type: str
    protocol_type: str
    protocol: str
    state: str
    coordinator: Node
    members: tuple[MemberDescription, ...]
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    authorized_operations: tuple[str, ...] | None = None
    """The ACL operations that the principal is authorized for; None unless requested (2.3)."""

    @property
    def is_simple(self) -> bool:
        return self.protocol_type == ""


class ListGroups(AdminCall[Node, list[GroupListing], "ListGroupsResponse"]):
    """Node -> the groups it coordinates, limited to states, types and protocol types if any are given."""

    name = "list groups"
    lookup = SameNodeLookup()

    states: Sequence[str]
    types: Sequence[str]
    protocol_types: Sequence[str] = ()

    def build(self, keys: list[Node], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.list_groups import ListGroupsRequest

        if self.states:
            versions.require(ListGroupsRequest, 4, "listing groups by state")
        types = list(self.types)
        if types and not versions.has(ListGroupsRequest, 5):
            # Before 3.8 every group is a classic one.
            if not any(name.lower() == CoordinatorGroupType.CLASSIC for name in types):
                hint = _NEWER_TYPES.get(types[0].lower()) if len(types) == 1 else None
                raise versions.too_old(ListGroupsRequest, 5, f"listing groups of type {', '.join(types)}", hint)
            types = []
        return ListGroupsRequest(states_filter=list(self.states), types_filter=types)

    def interpret(self, reply: Reply[Node, list[GroupListing], ListGroupsResponse]) -> None:
        groups = [
            GroupListing(
                item.group_id,
                item.protocol_type,
                item.group_state if reply.version >= 4 else None,
                item.group_type.lower() if reply.version >= 5 else None,
            )
            for item in reply.response.groups
            if not self.protocol_types or item.protocol_type in self.protocol_types
        ]
        for key in reply.keys:
            if reply.response.error_code == error_codes.NONE:
                reply.completed[key] = groups
            else:
                said = error_codes.error(reply.response.error_code).text
                error = broker_error(reply.response.error_code, f"Error listing groups on {key}: {said}")
                reply.add_error(key, error)


class DescribeGroups(AdminCall[str, D, "DescribedGroupsResponse"]):
    """Group -> description, for groups of one type."""

    lookup = CoordinatorLookup()

    operations: bool = False

    def interpret(self, reply: Reply[str, D, DescribedGroupsResponse]) -> None:
        for item in reply.response.groups:
            error = error_of(item.error_code, item.error_message)
            if error is None:
                try:
                    reply.completed[item.group_id] = self.description(item, reply.version, reply.node)
                except (BrokerError, WireError) as problem:
                    reply.failed[item.group_id] = problem
            elif error.code.code == error_codes.GROUP_ID_NOT_FOUND:
                reply.failed[item.group_id] = not_found(item.group_id, item.error_message)
            else:
                reply.add_error(item.group_id, error)

    @abstractmethod
    def description(self, item: Any, version: int, node: Node) -> D:
        """A group of an answer that came from its coordinator, ``node``. Raises BrokerError, WireError."""


class DescribeClassicGroups(DescribeGroups[GroupDescription]):
    """By DescribeGroups."""

    name = "describe groups"

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest

        if self.operations:
            versions.require(DescribeGroupsRequest, 3, "asking for the authorized operations of groups")
        return DescribeGroupsRequest(groups=keys, include_authorized_operations=self.operations)

    def description(self, item: DescribeGroupsResponse.DescribedGroup, version: int, node: Node) -> GroupDescription:
        if item.group_state == GroupState.DEAD and not item.members:
            raise not_found(item.group_id)  # what brokers before 3.8 say of a group that does not exist
        is_consumer = item.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")
        return GroupDescription(
            item.group_id,
            CoordinatorGroupType.CLASSIC,
            item.protocol_type,
            item.protocol_data,
            item.group_state,
            node,
            tuple(_classic_member(member, is_consumer) for member in item.members),
            authorized_operations=operations_of(item.authorized_operations),
        )


def _classic_member(
    member: DescribeGroupsResponse.DescribedGroup.DescribedGroupMember, is_consumer: bool
) -> MemberDescription:
    assignment = decode_assignment(member.member_assignment) if is_consumer else ()
    return MemberDescription(
        member.member_id, member.group_instance_id, member.client_id, member.client_host, assignment
    )


def decode_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions in a consumer's assignment; none for empty bytes. Raises WireError for other bytes."""
    if not data:
        return ()
    from kafka_tools.protocol.codec import decode_prefix
    from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment

    version = int.from_bytes(data[:2], "big", signed=True)
    # A newer version starts with the fields of the newest known version (KIP-429).
    known = max(0, min(version, ConsumerProtocolAssignment.MAX_VERSION))
    found, _ = decode_prefix(ConsumerProtocolAssignment, known, data, 2)
    return tuple(
        sorted(TopicPartition(item.topic, number) for item in found.assigned_partitions for number in item.partitions)
    )


class DescribeConsumerGroups(DescribeGroups[GroupDescription]):
    """By ConsumerGroupDescribe (KIP-848)."""

    name = "describe consumer groups"

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest

        versions.require(ConsumerGroupDescribeRequest, 0, "describing groups of the new protocol")
        return ConsumerGroupDescribeRequest(group_ids=keys, include_authorized_operations=self.operations)

    def description(
        self, item: ConsumerGroupDescribeResponse.DescribedGroup, version: int, node: Node
    ) -> GroupDescription:
        return GroupDescription(
            item.group_id,
            CoordinatorGroupType.CONSUMER,
            CONSUMER_PROTOCOL_TYPE,
            item.assignor_name,
            item.group_state,
            node,
            tuple(_new_member(member) for member in item.members),
            item.group_epoch,
            item.assignment_epoch,
            operations_of(item.authorized_operations),
        )


def _new_member(member: ConsumerGroupDescribeResponse.DescribedGroup.Member) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        partitions_of(member.assignment),
        partitions_of(member.target_assignment),
        member.member_epoch,
        member.rack_id,
        tuple(member.subscribed_topic_names),
        member.subscribed_topic_regex,
        {0: False, 1: True}.get(member.member_type),
    )


def partitions_of(
    assignment: consumer_group_describe.Assignment | share_group_describe.Assignment,
) -> tuple[TopicPartition, ...]:
    """The partitions in an assignment of a KIP-848 or share group."""
    return tuple(
        sorted(
            TopicPartition(item.topic_name, number)
            for item in assignment.topic_partitions
            for number in item.partitions
        )
    )


class DeleteGroups(AdminCall[str, None, "DeleteGroupsResponse"]):
    """Groups without members (1.1)."""

    name = "delete groups"
    lookup = CoordinatorLookup()

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest

        return DeleteGroupsRequest(groups_names=keys)

    def interpret(self, reply: Reply[str, None, DeleteGroupsResponse]) -> None:
        for item in reply.response.results:
            if item.error_code == error_codes.GROUP_ID_NOT_FOUND:
                reply.failed[item.group_id] = not_found(item.group_id)
            else:
                reply.settle(item.group_id, item.error_code, None, None)


def not_found(group_id: str, said: str | None = None) -> BrokerError:
    """The error for a group that does not exist, or is of another type (``said``: the broker's message)."""
    return broker_error(error_codes.GROUP_ID_NOT_FOUND, said or f"Group {group_id} not found.")
