"""The records of classic groups and committed offsets in ``__consumer_offsets``, and what a failed append means.

Layouts: ``protocol.stored.group_metadata`` and ``protocol.stored.offset_commit``. Records are written in
the versions that Kafka writes, and read in every version.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from kafka_tools.broker_embedded.coordinators.classic.group import EMPTY, STABLE, ClassicGroup
from kafka_tools.broker_embedded.coordinators.classic.member import Member
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import consumer_group, group_metadata, offset_commit
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.values import ZERO_UUID, TopicPartition

GROUPS_TOPIC = CONSUMER_OFFSETS

KEYS: dict[int, type[Stored]] = {**offset_commit.KEYS, **group_metadata.KEYS, **consumer_group.KEYS}
VALUES: dict[int, type[Stored]] = {
    **offset_commit.VALUES,
    **group_metadata.VALUES,
    **consumer_group.VALUES,
    0: OffsetCommitValue,
}
"""Record type -> struct. Types 0 and 1 share their value: version 0 of it is what type 0 wrote."""

_GROUP_VERSION = 3
_OFFSET_VERSION = 4
_OFFSET_VERSION_WITH_EXPIRY = 1


class OffsetCommit(NamedTuple):
    """A committed offset of a partition. ``expire_ms``: where an old client asked for its own retention, else -1."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int = -1
    topic_id: uuid.UUID = ZERO_UUID


def group_record(group: ClassicGroup, assignment: Mapping[str, bytes]) -> CoordinatorRecord:
    """The group as it is, with the assignment that is about to hold."""
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
    return CoordinatorRecord(GroupMetadataKey(group=group.id), value, _GROUP_VERSION, elements=len(group.members))


def group_tombstone(group_id: str) -> CoordinatorRecord:
    """The end of a group."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)


def offset_record(group_id: str, partition: TopicPartition, committed: OffsetCommit) -> CoordinatorRecord:
    """One commit."""
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
        topic_id=committed.topic_id,
    )
    version = _OFFSET_VERSION if committed.expire_ms == -1 else _OFFSET_VERSION_WITH_EXPIRY
    return CoordinatorRecord(key, value, version)


def offset_tombstone(group_id: str, partition: TopicPartition) -> CoordinatorRecord:
    """The end of a commit, deleted or expired."""
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return CoordinatorRecord(key, None)


def group_of_value(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group that a record tells of: Stable if it has members, else Empty (``GroupMetadataManager.replay``)."""
    group = ClassicGroup(group_id, value.current_state_timestamp)
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    for stored in value.members:
        member = Member(
            stored.member_id,
            instance_id=stored.group_instance_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            # version 0 had no rebalance timeout: the session's was used for both
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


def committed_of_value(value: OffsetCommitValue) -> OffsetCommit:
    """The commit that a record tells of."""
    return OffsetCommit(
        value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp, value.topic_id
    )


def response_code_of_group_append(error: BrokerError) -> int:
    """The error code for a member whose group's record could not be appended."""
    code: int = error.code.code
    return _GROUP_APPEND_CODES.get(code, code)


def response_code_of_offset_append(error: BrokerError) -> int:
    """The error code for a commit whose offsets could not be appended."""
    code: int = error.code.code
    return _OFFSET_APPEND_CODES.get(code, code)


_NOT_AVAILABLE = {
    error_codes.UNKNOWN_TOPIC_OR_PARTITION: error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_ENOUGH_REPLICAS: error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_ENOUGH_REPLICAS_AFTER_APPEND: error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_LEADER_OR_FOLLOWER: error_codes.NOT_COORDINATOR,
    error_codes.KAFKA_STORAGE_ERROR: error_codes.NOT_COORDINATOR,
}
_TOO_LARGE = (error_codes.MESSAGE_TOO_LARGE, error_codes.RECORD_LIST_TOO_LARGE, error_codes.INVALID_FETCH_SIZE)
_GROUP_APPEND_CODES = {
    **_NOT_AVAILABLE,
    **dict.fromkeys(_TOO_LARGE, error_codes.UNKNOWN_SERVER_ERROR),
    error_codes.REQUEST_TIMED_OUT: error_codes.REBALANCE_IN_PROGRESS,
}
_OFFSET_APPEND_CODES = {**_NOT_AVAILABLE, **dict.fromkeys(_TOO_LARGE, error_codes.INVALID_COMMIT_OFFSET_SIZE)}
