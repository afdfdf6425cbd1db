"""Commands of scripts: groups and their members, commits. A function's name is the verb, with ``-`` for ``_``.

A member is the script's name for it; ``member=a`` is also the client that asks. Which group and generation it is in,
and under which id, is kept from its last join.
"""

from __future__ import annotations

from typing import Any

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import decode_versioned, encode_versioned
from kafka_tools.protocol.enums import CoordinatorGroupType
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tests.broker_embedded.stories.broker import Broker, error, place, seconds

COMMANDS = ("join", "sync", "heartbeat", "leave", "remove", "group", "groups", "delete_group", "commit", "committed")

_COMMITTED_IN = 9
"""The newest version that names topics, which a script reads better than ids."""


class Member:
    """What a client knows of itself as a member."""

    def __init__(self, name: str, group: str, instance: str | None) -> None:
        self.name = name
        self.group = group
        self.instance = instance
        self.id = ""
        self.generation = -1
        self.protocol = ""


def join(
    story: Broker,
    group: str,
    member: str,
    topics: str = "t",
    protocols: str = "range",
    session: str = "10s",
    rebalance: str = "60s",
    instance: str | None = None,
    new: str = "",
) -> None:
    """``join group=g member=a topics=t,u session=10s rebalance=60s instance=i protocols=range,sticky new=yes``

    With the id from the last join, unless it is ``new``: a process that was started again. A member without one is
    given its id first, as in KIP-394.
    """
    known = story.kept.get(member)
    if not isinstance(known, Member) or new or known.group != group:
        known = story.kept[member] = Member(member, group, instance)
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=round(seconds(session) * 1000),
        rebalance_timeout_ms=round(seconds(rebalance) * 1000),
        member_id=known.id,
        group_instance_id=known.instance,
        protocol_type="consumer",
    )
    metadata = encode_versioned(ConsumerProtocolSubscription(topics=topics.split(",")), 1)
    request.protocols = [request.RequestProtocol(name=name, metadata=metadata) for name in protocols.split(",")]

    def show(found: Any) -> list[str]:
        if found.error_code == error_codes.MEMBER_ID_REQUIRED:
            known.id = request.member_id = found.member_id
            story.names[found.member_id] = member
            story.ask(member, request, show)
            return []
        if found.error_code:
            return [error(found.error_code)]
        known.id, known.generation, known.protocol = found.member_id, found.generation_id, found.protocol_name
        story.names[found.member_id] = member
        role = (
            f"leads {_names(story, found.members)}"
            if found.members
            else f"follows {story.name(found.leader) or 'nobody'}"
        )
        skips = ", with nothing to assign" if found.skip_assignment else ""
        return [f"joined generation {found.generation_id}, {role}{skips}"]

    story.ask(member, request, show)


def sync(story: Broker, member: str, **assigned: str) -> None:
    """``sync member=a a=t-0 b=t-1,t-2``: the leader says who gets what; followers say nothing."""
    known = story.kept[member]
    request = SyncGroupRequest(
        group_id=known.group, generation_id=known.generation, member_id=known.id, group_instance_id=known.instance
    )
    request.protocol_type, request.protocol_name = "consumer", known.protocol
    for name, places in assigned.items():
        topics: dict[str, list[int]] = {}
        for where in filter(None, places.split(",")):
            topic, number = place(where)
            topics.setdefault(topic, []).append(number)
        parts = [ConsumerProtocolAssignment.TopicPartition(topic=t, partitions=n) for t, n in topics.items()]
        value = encode_versioned(ConsumerProtocolAssignment(assigned_partitions=parts), 1)
        request.assignments.append(request.RequestAssignment(member_id=story.kept[name].id, assignment=value))

    def show(found: Any) -> str:
        if found.error_code:
            return error(found.error_code)
        if not found.assignment:
            return "gets nothing"
        _, assignment = decode_versioned({1: ConsumerProtocolAssignment}, bytes(found.assignment))
        assert isinstance(assignment, ConsumerProtocolAssignment)
        parts = assignment.assigned_partitions
        return "gets " + (", ".join(f"{p.topic}-{n}" for p in parts for n in p.partitions) or "no partition")

    story.ask(member, request, show)


def heartbeat(story: Broker, member: str) -> None:
    """``heartbeat member=a``"""
    known = story.kept[member]
    request = HeartbeatRequest(
        group_id=known.group, generation_id=known.generation, member_id=known.id, group_instance_id=known.instance
    )
    story.ask(member, request, lambda found: error(found.error_code))


def leave(story: Broker, member: str) -> None:
    """``leave member=a``: it says so itself."""
    known = story.kept[member]
    _leave(story, member, known.group, known.id, known.instance)


def remove(story: Broker, group: str, instance: str, member: str = "") -> None:
    """``remove group=g instance=i``: an administrator removes a static member, by the id of ``member`` as well."""
    _leave(story, "client", group, story.kept[member].id if member else "", instance)


def _leave(story: Broker, who: str, group: str, member_id: str, instance: str | None) -> None:
    request = LeaveGroupRequest(group_id=group)
    request.members = [request.MemberIdentity(member_id=member_id, group_instance_id=instance)]
    story.ask(who, request, lambda found: error(found.error_code or found.members[0].error_code))


def group(story: Broker, name: str) -> None:
    """``group g``: its state, protocol, members and what they are assigned."""
    (found,) = story.answer("client", DescribeGroupsRequest(groups=[name]), 5).groups
    if found.error_code:
        story.say(name, error(found.error_code))
        return
    lines = [found.group_state + (f", protocol {found.protocol_data}" if found.protocol_data else "")]
    for member in found.members:
        static = f", instance {member.group_instance_id}" if member.group_instance_id else ""
        lines.append(f"member {story.name(member.member_id)}{static}")
    story.say(name, lines)


def groups(story: Broker) -> None:
    """``groups``: all of them."""
    found = story.answer("client", ListGroupsRequest()).groups
    for listed in found:
        of_type = "" if listed.group_type == CoordinatorGroupType.CLASSIC else f", {listed.group_type}"
        story.say(listed.group_id, listed.group_state + of_type)
    if not found:
        story.say("groups", "none")


def delete_group(story: Broker, name: str) -> None:
    """``delete-group g``"""
    request = DeleteGroupsRequest(groups_names=[name])
    story.ask("client", request, lambda found: error(found.results[0].error_code))


def commit(
    story: Broker, group: str | None = None, member: str | None = None, as_: str = "client", **places: str
) -> None:
    """``commit member=a t-0=5``, or ``commit group=g t-0=5`` by who is not a member."""
    request = OffsetCommitRequest(group_id=group or "", generation_id_or_member_epoch=-1)
    if member is not None:
        known = story.kept[member]
        request = OffsetCommitRequest(
            group_id=known.group,
            generation_id_or_member_epoch=known.generation,
            member_id=known.id,
            group_instance_id=known.instance,
        )
    for where, offset in places.items():
        topic, number = place(where)
        part = OffsetCommitRequest.RequestTopic.RequestPartition(partition_index=number, committed_offset=int(offset))
        request.topics.append(OffsetCommitRequest.RequestTopic(name=topic, partitions=[part]))

    def show(found: Any) -> list[str]:
        return [f"{t.name}-{p.partition_index} {error(p.error_code)}" for t in found.topics for p in t.partitions]

    story.ask(member or as_, request, show, _COMMITTED_IN)


def committed(story: Broker, name: str) -> None:
    """``committed g``: every offset of the group."""
    Group = OffsetFetchRequest.RequestGroup
    (found,) = story.answer("client", OffsetFetchRequest(groups=[Group(group_id=name, topics=None)]), 9).groups
    if found.error_code:
        story.say(name, error(found.error_code))
        return
    lines = [
        f"{topic.name}-{part.partition_index} at {part.committed_offset}"
        if not part.error_code
        else f"{topic.name}-{part.partition_index} {error(part.error_code)}"
        for topic in found.topics
        for part in topic.partitions
    ]
    story.say(name, lines or "no offsets")


def _names(story: Broker, members: Any) -> str:
    return ", ".join(sorted(story.name(member.member_id) for member in members))
