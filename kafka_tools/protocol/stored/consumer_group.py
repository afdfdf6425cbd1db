"""KIP-848 consumer groups in ``__consumer_offsets``: record types 3 to 8 and 16."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, bytes_, int8, int32, int64, string, struct, uuid


class ConsumerGroupMetadataKey(Stored, id=3, versions="0"):
    """Key: consumer group metadata."""

    group_id = string()


class ConsumerGroupMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: consumer group metadata."""

    epoch = int32()
    metadata_hash = int64(tag=0)


class ConsumerGroupPartitionMetadataKey(Stored, id=4, versions="0"):
    """Key: consumer group partition metadata."""

    group_id = string()


class ConsumerGroupPartitionMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: consumer group partition metadata."""

    class TopicMetadata(Struct):
        topic_id = uuid()
        topic_name = string()
        num_partitions = int32()

        class PartitionMetadata(Struct):
            partition = int32()
            racks = array(string())

        partition_metadata = array(PartitionMetadata)

    topics = array(TopicMetadata)


class ConsumerGroupMemberMetadataKey(Stored, id=5, versions="0"):
    """Key: consumer group member metadata."""

    group_id = string()
    member_id = string()


class ConsumerGroupMemberMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: consumer group member metadata."""

    instance_id = string(nullable="0+")
    rack_id = string(nullable="0+")
    client_id = string()
    client_host = string()
    subscribed_topic_names = array(string())
    subscribed_topic_regex = string(nullable="0+")
    rebalance_timeout_ms = int32(default=-1)
    server_assignor = string(nullable="0+")

    class ClassicMemberMetadata(Struct):
        session_timeout_ms = int32()

        class ClassicProtocol(Struct):
            name = string()
            metadata = bytes_()

        supported_protocols = array(ClassicProtocol)

    classic_member_metadata = struct(ClassicMemberMetadata, nullable="0+", tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(Stored, id=6, versions="0"):
    """Key: consumer group target assignment metadata."""

    group_id = string()


class ConsumerGroupTargetAssignmentMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: consumer group target assignment metadata."""

    assignment_epoch = int32()
    assignment_timestamp = int64(tag=0, ignorable=True)


class ConsumerGroupTargetAssignmentMemberKey(Stored, id=7, versions="0"):
    """Key: consumer group target assignment member."""

    group_id = string()
    member_id = string()


class ConsumerGroupTargetAssignmentMemberValue(Stored, versions="0", flexible="0+"):
    """Value: consumer group target assignment member."""

    class TopicPartition(Struct):
        topic_id = uuid()
        partitions = array(int32())

    topic_partitions = array(TopicPartition)


class ConsumerGroupCurrentMemberAssignmentKey(Stored, id=8, versions="0"):
    """Key: consumer group current member assignment."""

    group_id = string()
    member_id = string()


class TopicPartitions(Struct):
    topic_id = uuid()
    partitions = array(int32())
    assignment_epochs = array(int32(), nullable="0+", tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(Stored, versions="0", flexible="0+"):
    """Value: consumer group current member assignment."""

    member_epoch = int32()
    previous_member_epoch = int32()
    state = int8()
    assigned_partitions = array(TopicPartitions)
    partitions_pending_revocation = array(TopicPartitions)


class ConsumerGroupRegularExpressionKey(Stored, id=16, versions="0"):
    """Key: consumer group regular expression."""

    group_id = string()
    regular_expression = string()


class ConsumerGroupRegularExpressionValue(Stored, versions="0", flexible="0+"):
    """Value: consumer group regular expression."""

    topics = array(string())
    version = int64()
    timestamp = int64()


KEYS: dict[int, type[Stored]] = {
    3: ConsumerGroupMetadataKey,
    4: ConsumerGroupPartitionMetadataKey,
    5: ConsumerGroupMemberMetadataKey,
    6: ConsumerGroupTargetAssignmentMetadataKey,
    7: ConsumerGroupTargetAssignmentMemberKey,
    8: ConsumerGroupCurrentMemberAssignmentKey,
    16: ConsumerGroupRegularExpressionKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    3: ConsumerGroupMetadataValue,
    4: ConsumerGroupPartitionMetadataValue,
    5: ConsumerGroupMemberMetadataValue,
    6: ConsumerGroupTargetAssignmentMetadataValue,
    7: ConsumerGroupTargetAssignmentMemberValue,
    8: ConsumerGroupCurrentMemberAssignmentValue,
    16: ConsumerGroupRegularExpressionValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
