"""The records of committed offsets in ``__consumer_offsets``. Layouts: ``protocol.stored.offset_commit``.

Records are written in the versions that Kafka writes, and read in every version.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.values import ZERO_UUID, TopicPartition

_VERSION, _VERSION_WITH_EXPIRY = 4, 1


class OffsetCommit(NamedTuple):
    """A committed offset of a partition. ``expire_ms``: -1 unless an old client requested its own retention."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int = -1
    topic_id: uuid.UUID = ZERO_UUID


def offset_record(group_id: str, partition: TopicPartition, committed: OffsetCommit) -> CoordinatorRecord:
    """The record of a committed offset."""
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
        topic_id=committed.topic_id,
    )
    version = _VERSION if committed.expire_ms == -1 else _VERSION_WITH_EXPIRY
    return offset_tombstone(group_id, partition)._replace(value=value, version=version)


def offset_tombstone(group_id: str, partition: TopicPartition) -> CoordinatorRecord:
    """The tombstone of a committed offset that is deleted or expired."""
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return CoordinatorRecord(key, None)


def committed_of_value(value: OffsetCommitValue) -> OffsetCommit:
    """The commit that a record contains."""
    return OffsetCommit(
        value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp, value.topic_id
    )
