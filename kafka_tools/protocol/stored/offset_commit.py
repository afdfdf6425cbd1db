"""Committed offsets in ``__consumer_offsets``: keys and values.

Source: kafka-group-coordinator, record types 0 and 1.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, int32, int64, string, uuid


class LegacyOffsetCommitKey(Stored, id=0, versions="0"):
    """Key of a committed offset as Kafka before 0.8.2 wrote it. Type 1 has replaced it."""

    # Group id.
    group = string()
    topic = string()
    partition = int32()


class LegacyOffsetCommitValue(Stored, versions="0"):
    """Value of a committed offset as Kafka before 0.8.2 wrote it."""

    # The next offset to consume.
    offset = int64()
    # Text of the client's choice, stored as it is.
    metadata = string()
    # Time at which the offset was committed, in ms since 1970.
    commit_timestamp = int64()


class OffsetCommitKey(Stored, id=1, versions="0"):
    """Key of one partition's committed offset in one group."""

    # Group id.
    group = string()
    topic = string()
    # Index within the topic.
    partition = int32()


class OffsetCommitValue(Stored, versions="0-4", flexible="4+"):
    """A committed offset. No value (a tombstone): it was deleted or has expired.

    The group coordinator writes it on OffsetCommit, and on TxnOffsetCommit in a transactional batch, which counts once
    its transaction is committed.

    v1: adds expire_timestamp.
    v2: drops expire_timestamp.
    v3: adds leader_epoch.
    v4: adds topic_id; flexible.
    """

    # The next offset to consume.
    offset = int64()
    # Leader epoch of the last consumed record, so that truncation is detected. -1: not sent.
    leader_epoch = int32(versions="3+", default=-1, ignorable=True)
    # Text of the client's choice, stored as it is. Empty if there is none.
    metadata = string()
    # Time at which the offset was committed, in ms since 1970.
    commit_timestamp = int64()
    # Time at which the offset expires, in ms since 1970. -1: by offsets.retention.minutes. Only clients before
    # OffsetCommit v5 set it.
    expire_timestamp = int64(versions="1", default=-1, ignorable=True)
    # Id of the topic when the offset was committed. Zero: unknown.
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
