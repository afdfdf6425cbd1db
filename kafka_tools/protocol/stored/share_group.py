"""Share groups in ``__consumer_offsets``: record types 10 to 15."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int8, int32, int64, string, uuid


class ShareGroupMemberMetadataKey(Stored, id=10, versions="0"):
    """Key: share group member metadata."""

    group_id = string()
    member_id = string()


class ShareGroupMemberMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: share group member metadata."""

    rack_id = string(nullable="0+")
    client_id = string()
    client_host = string()
    subscribed_topic_names = array(string())


class ShareGroupMetadataKey(Stored, id=11, versions="0"):
    """Key: share group metadata."""

    group_id = string()


class ShareGroupMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: share group metadata."""

    epoch = int32()
    metadata_hash = int64()


class ShareGroupTargetAssignmentMetadataKey(Stored, id=12, versions="0"):
    """Key: share group target assignment metadata."""

    group_id = string()


class ShareGroupTargetAssignmentMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: share group target assignment metadata."""

    assignment_epoch = int32()
    assignment_timestamp = int64(tag=0, ignorable=True)


class ShareGroupTargetAssignmentMemberKey(Stored, id=13, versions="0"):
    """Key: share group target assignment member."""

    group_id = string()
    member_id = string()


class ShareGroupTargetAssignmentMemberValue(Stored, versions="0", flexible="0+"):
    """Value: share group target assignment member."""

    class TopicPartition(Struct):
        topic_id = uuid()
        partitions = array(int32())

    topic_partitions = array(TopicPartition)


class ShareGroupCurrentMemberAssignmentKey(Stored, id=14, versions="0"):
    """Key: share group current member assignment."""

    group_id = string()
    member_id = string()


class TopicPartitions(Struct):
    topic_id = uuid()
    partitions = array(int32())


class ShareGroupCurrentMemberAssignmentValue(Stored, versions="0", flexible="0+"):
    """Value: share group current member assignment."""

    member_epoch = int32()
    previous_member_epoch = int32()
    state = int8()
    assigned_partitions = array(TopicPartitions)


class ShareGroupStatePartitionMetadataKey(Stored, id=15, versions="0"):
    """Key: share group state partition metadata."""

    group_id = string()


class TopicPartitionsInfo(Struct):
    topic_id = uuid()
    topic_name = string()
    partitions = array(int32())


class TopicInfo(Struct):
    topic_id = uuid()
    topic_name = string()


class ShareGroupStatePartitionMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: share group state partition metadata."""

    initializing_topics = array(TopicPartitionsInfo)
    initialized_topics = array(TopicPartitionsInfo)
    deleting_topics = array(TopicInfo)


KEYS: dict[int, type[Stored]] = {
    10: ShareGroupMemberMetadataKey,
    11: ShareGroupMetadataKey,
    12: ShareGroupTargetAssignmentMetadataKey,
    13: ShareGroupTargetAssignmentMemberKey,
    14: ShareGroupCurrentMemberAssignmentKey,
    15: ShareGroupStatePartitionMetadataKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    10: ShareGroupMemberMetadataValue,
    11: ShareGroupMetadataValue,
    12: ShareGroupTargetAssignmentMetadataValue,
    13: ShareGroupTargetAssignmentMemberValue,
    14: ShareGroupCurrentMemberAssignmentValue,
    15: ShareGroupStatePartitionMetadataValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
