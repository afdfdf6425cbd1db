"""KIP-848 consumer groups in ``__consumer_offsets``: record types 3 to 8 and 16."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, bytes_, int8, int32, int64, string, struct, uuid


class ConsumerGroupMetadataKey(Stored, id=3, versions="0"):
    """Key of a consumer group's epoch. No value (a tombstone): the group is deleted or has become a classic one."""

    group_id = string()


class ConsumerGroupMetadataValue(Stored, versions="0", flexible="0+"):
    """The group epoch.

    The group coordinator writes it whenever members, subscriptions or the metadata of subscribed topics change.
    """

    # Raised by 1 with each change. A target assignment is computed for each epoch.
    epoch = int32()
    # Hash of ids, partitions and racks of the subscribed topics. Another hash means that they have changed. 0: no
    # topic, or a coordinator before 4.1.
    metadata_hash = int64(tag=0)


class ConsumerGroupPartitionMetadataKey(Stored, id=4, versions="0"):
    """Key of the topics that a consumer group subscribes to, of Kafka 3.7 to 4.0."""

    group_id = string()


class ConsumerGroupPartitionMetadataValue(Stored, versions="0", flexible="0+"):
    """The subscribed topics as the coordinator last saw them.

    Group coordinators before Kafka 4.1 wrote it to notice changes. Since then metadata_hash of the group does that, and
    the record is deleted when the group changes (KIP-1101).
    """

    class TopicMetadata(Struct):
        topic_id = uuid()
        topic_name = string()
        # Number when the record was written.
        num_partitions = int32()

        class PartitionMetadata(Struct):
            partition = int32()
            # Racks of the replicas' brokers. Empty if none has a rack.
            racks = array(string())

        # Empty if no broker has a rack, and since Kafka 4.0.
        partition_metadata = array(PartitionMetadata)

    # One entry per subscribed topic that exists.
    topics = array(TopicMetadata)


class ConsumerGroupMemberMetadataKey(Stored, id=5, versions="0"):
    """Key of a member's own data. No value (a tombstone): the member left or was removed."""

    group_id = string()
    # Chosen by the member, or by the coordinator for clients of ConsumerGroupHeartbeat v0 and of the classic protocol.
    member_id = string()


class ConsumerGroupMemberMetadataValue(Stored, versions="0", flexible="0+"):
    """Identity, subscription and settings of a member.

    The group coordinator writes it when a member joins with ConsumerGroupHeartbeat, or with JoinGroup during a
    migration, and when it changes its subscription or settings.
    """

    # group.instance.id of a static member (KIP-345). Null: a dynamic member.
    instance_id = string(nullable="0+")
    # client.rack. Null if the member has none.
    rack_id = string(nullable="0+")
    # client.id of the member.
    client_id = string()
    # The member's address as the coordinator saw it, such as /10.0.0.7.
    client_host = string()
    # Topics by name. Empty if the member subscribes by pattern alone.
    subscribed_topic_names = array(string())
    # RE2 pattern of topic names. Null or empty: none.
    subscribed_topic_regex = string(nullable="0+")
    # Longest time to release revoked partitions, max.poll.interval.ms of consumers. -1: not sent.
    rebalance_timeout_ms = int32(default=-1)
    # Assignor that the member prefers, such as uniform or range. Null: any.
    server_assignor = string(nullable="0+")

    class ClassicMemberMetadata(Struct):
        # Longest time between two heartbeats of the classic protocol.
        session_timeout_ms = int32()

        class ClassicProtocol(Struct):
            # Name of the member's assignor, such as cooperative-sticky.
            name = string()
            # ConsumerProtocolSubscription with its version before it.
            metadata = bytes_()

        # As sent in JoinGroup, the most preferred first.
        supported_protocols = array(ClassicProtocol)

    # Set for a member that still uses the classic protocol. Null for one of the consumer protocol.
    classic_member_metadata = struct(ClassicMemberMetadata, nullable="0+", tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(Stored, id=6, versions="0"):
    """Key of the epoch of a group's target assignment. No value (a tombstone): the group is deleted."""

    group_id = string()


class ConsumerGroupTargetAssignmentMetadataValue(Stored, versions="0", flexible="0+"):
    """The group epoch for which the target assignment was computed.

    The group coordinator writes it after the assignments of all members that changed.
    """

    # Group epoch of the assignment. Less than the group's while the assignor has yet to run.
    assignment_epoch = int32()
    # Time at which the assignor finished, in ms since 1970. 0: unknown.
    assignment_timestamp = int64(tag=0, ignorable=True)


class ConsumerGroupTargetAssignmentMemberKey(Stored, id=7, versions="0"):
    """Key of a member's target assignment. No value (a tombstone): the member left or was removed."""

    group_id = string()
    member_id = string()


class ConsumerGroupTargetAssignmentMemberValue(Stored, versions="0", flexible="0+"):
    """The partitions that a member is to own.

    The group coordinator writes it for every member whose target the assignor has changed.
    """

    class TopicPartition(Struct):
        topic_id = uuid()
        # Indexes of the partitions.
        partitions = array(int32())

    # Empty if the member receives nothing.
    topic_partitions = array(TopicPartition)


class ConsumerGroupCurrentMemberAssignmentKey(Stored, id=8, versions="0"):
    """Key of what a member owns now. No value (a tombstone): the member left or was removed."""

    group_id = string()
    member_id = string()


class TopicPartitions(Struct):
    topic_id = uuid()
    # Indexes of the partitions.
    partitions = array(int32())
    # Member epoch at which each of the partitions was assigned. Offset commits with an older epoch are fenced. Null:
    # written by an older Kafka, member_epoch applies.
    assignment_epochs = array(int32(), nullable="0+", tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(Stored, versions="0", flexible="0+"):
    """Progress of a member from its old partitions to the target assignment.

    The group coordinator writes it when a heartbeat moves the member on: to revoke partitions, to own new ones, to the
    next epoch.
    """

    # Epoch that the member must send in its heartbeats. -2: a static member has left and may return.
    member_epoch = int32()
    # Also accepted, from a member that did not receive the last response.
    previous_member_epoch = int32()
    # 0: stable. 1: has partitions to revoke. 2: waits for partitions that others have yet to release.
    state = int8()
    # The member may consume these.
    assigned_partitions = array(TopicPartitions)
    # The member was told to stop consuming these and has not confirmed it yet.
    partitions_pending_revocation = array(TopicPartitions)


class ConsumerGroupRegularExpressionKey(Stored, id=16, versions="0"):
    """Key of the topics that match a pattern. No value (a tombstone): no member uses the pattern any more."""

    group_id = string()
    # RE2 pattern as the members sent it.
    regular_expression = string()


class ConsumerGroupRegularExpressionValue(Stored, versions="0", flexible="0+"):
    """The topics that a pattern of the group matches.

    The group coordinator writes it when a pattern is new and when topics were created or deleted.
    """

    # Names of the topics that match and that the members may describe.
    topics = array(string())
    # Offset of the cluster metadata that was searched.
    version = int64()
    # Time at which the pattern was matched, in ms since 1970.
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
