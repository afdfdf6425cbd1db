"""Classic groups as records of ``__consumer_offsets``. Layouts: ``protocol.stored.group_metadata``."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_tools.broker_embedded.coordinators.classic.group import EMPTY, STABLE, ClassicGroup
from kafka_tools.broker_embedded.coordinators.classic.member import Member
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata

_VERSION = 3


def group_record(group: ClassicGroup, assignment: Mapping[str, bytes]) -> CoordinatorRecord:
    """The record of a group, with its new assignment."""
    protocol = group.protocol or ""
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=group.state_since_ms,
        members=[
            MemberMetadata(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(protocol),
                assignment=assignment[member.id],
            )
            for member in group.members.values()
        ],
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.id), value, _VERSION, elements=len(group.members))


def group_of_value(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group that a record contains: Stable if it has members, else Empty (``GroupMetadataManager.replay``)."""
    group = ClassicGroup(group_id, value.current_state_timestamp)
    group.generation = value.generation
    for stored in value.members:
        member = Member(
            stored.member_id,
            instance_id=stored.group_instance_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            # version 0 had no rebalance timeout: the session timeout was used for both
            rebalance_timeout_ms=stored.session_timeout if stored.rebalance_timeout == -1 else stored.rebalance_timeout,
            session_timeout_ms=stored.session_timeout,
            protocol_type=value.protocol_type,
            protocols=[(value.protocol or "", bytes(stored.subscription))],
            assignment=bytes(stored.assignment),
        )
        group.add(member)
    group.protocol_type = value.protocol_type or None
    group.protocol = value.protocol
    group.leader = value.leader if group.members else None
    group.state = STABLE if group.members else EMPTY
    group.refresh_subscriptions()
    return group
