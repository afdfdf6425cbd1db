"""Committed offsets in ``__consumer_offsets``: keys and values.

Source: kafka-group-coordinator, record types 0 and 1.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, int32, int64, string, uuid


class LegacyOffsetCommitKey(Stored, id=0, versions="0"):
    """Key of an offset committed before 0.8.2 stored it under type 1."""

    group = string()
    topic = string()
    partition = int32()


class LegacyOffsetCommitValue(Stored, versions="0"):
    """The offset, in the oldest form."""

    offset = int64()
    metadata = string()
    commit_timestamp = int64()


class OffsetCommitKey(Stored, id=1, versions="0"):
    """Group, topic and partition of a committed offset."""

    group = string()
    topic = string()
    partition = int32()


class OffsetCommitValue(Stored, versions="0-4", flexible="4+"):
    """A committed offset; no value (a tombstone) means it was deleted or expired.

    v1: adds expire_timestamp.
    v2: drops expire_timestamp.
    v3: adds leader_epoch.
    v4: adds topic_id; flexible.
    """

    offset = int64()
    leader_epoch = int32(versions="3+", default=-1, ignorable=True)
    metadata = string()
    commit_timestamp = int64()
    expire_timestamp = int64(versions="1", default=-1, ignorable=True)
    topic_id = uuid(versions="4+", tag=0, ignorable=True)


KEYS: dict[int, type[Stored]] = {
    0: LegacyOffsetCommitKey,
    1: OffsetCommitKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    0: LegacyOffsetCommitValue,
    1: OffsetCommitValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
