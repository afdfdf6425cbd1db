"""Share groups in ``__consumer_offsets``: record types 10 to 15."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int8, int32, int64, string, uuid


class ShareGroupMemberMetadataKey(Stored, id=10, versions="0"):
    """Key of a member's own data. No value (a tombstone): the member left or was removed."""

    group_id = string()
    # Chosen by the member before it joins.
    member_id = string()


class ShareGroupMemberMetadataValue(Stored, versions="0", flexible="0+"):
    """Identity and subscription of a member.

    The group coordinator writes it when a member joins with ShareGroupHeartbeat and when its subscription changes.
    """

    # client.rack. Null if the member has none.
    rack_id = string(nullable="0+")
    # client.id of the member.
    client_id = string()
    # The member's address as the coordinator saw it, such as /10.0.0.7.
    client_host = string()
    # Topics by name. A share group has no patterns.
    subscribed_topic_names = array(string())


class ShareGroupMetadataKey(Stored, id=11, versions="0"):
    """Key of a share group's epoch. No value (a tombstone): the group is deleted."""

    group_id = string()


class ShareGroupMetadataValue(Stored, versions="0", flexible="0+"):
    """The group epoch.

    The group coordinator writes it whenever members, subscriptions or the metadata of subscribed topics change.
    """

    # Raised by 1 with each change. A target assignment is computed for each epoch.
    epoch = int32()
    # Hash of ids, partitions and racks of the subscribed topics. Another hash means that they have changed. 0: no
    # topic.
    metadata_hash = int64()


class ShareGroupTargetAssignmentMetadataKey(Stored, id=12, versions="0"):
    """Key of the epoch of a group's target assignment. No value (a tombstone): the group is deleted."""

    group_id = string()


class ShareGroupTargetAssignmentMetadataValue(Stored, versions="0", flexible="0+"):
    """The group epoch for which the target assignment was computed.

    The group coordinator writes it after the assignments of all members that changed.
    """

    # Group epoch of the assignment. Less than the group's while the assignor has yet to run.
    assignment_epoch = int32()
    # Time at which the assignor finished, in ms since 1970. 0: unknown.
    assignment_timestamp = int64(tag=0, ignorable=True)


class ShareGroupTargetAssignmentMemberKey(Stored, id=13, versions="0"):
    """Key of a member's target assignment. No value (a tombstone): the member left or was removed."""

    group_id = string()
    member_id = string()


class ShareGroupTargetAssignmentMemberValue(Stored, versions="0", flexible="0+"):
    """The partitions that a member is to consume. Several members may share one.

    The group coordinator writes it for every member whose target the assignor has changed.
    """

    class TopicPartition(Struct):
        topic_id = uuid()
        # Indexes of the partitions.
        partitions = array(int32())

    # Empty if the member receives nothing.
    topic_partitions = array(TopicPartition)


class ShareGroupCurrentMemberAssignmentKey(Stored, id=14, versions="0"):
    """Key of what a member consumes now. No value (a tombstone): the member left or was removed."""

    group_id = string()
    member_id = string()


class TopicPartitions(Struct):
    topic_id = uuid()
    # Indexes of the partitions.
    partitions = array(int32())


class ShareGroupCurrentMemberAssignmentValue(Stored, versions="0", flexible="0+"):
    """The partitions that a member received last.

    The group coordinator writes it when a heartbeat brings the member to the newest target assignment.
    """

    # Epoch that the member must send in its heartbeats.
    member_epoch = int32()
    # Also accepted, from a member that did not receive the last response.
    previous_member_epoch = int32()
    # Always 0 (stable): members of share groups revoke nothing.
    state = int8()
    # The member may fetch from these.
    assigned_partitions = array(TopicPartitions)


class ShareGroupStatePartitionMetadataKey(Stored, id=15, versions="0"):
    """Key of the partitions with share-group state. No value (a tombstone): the group is deleted."""

    group_id = string()


class TopicPartitionsInfo(Struct):
    topic_id = uuid()
    # Name when the record was written.
    topic_name = string()
    # Indexes of the partitions.
    partitions = array(int32())


class TopicInfo(Struct):
    topic_id = uuid()
    # Name when the record was written.
    topic_name = string()


class ShareGroupStatePartitionMetadataValue(Stored, versions="0", flexible="0+"):
    """The partitions for which the share coordinator keeps state.

    The group coordinator writes it around InitializeShareGroupState and DeleteShareGroupState, so that a new
    coordinator resumes what was in progress.
    """

    # InitializeShareGroupState is in progress for these.
    initializing_topics = array(TopicPartitionsInfo)
    # The share coordinator has state of these. Members may be assigned them.
    initialized_topics = array(TopicPartitionsInfo)
    # DeleteShareGroupState is in progress for these.
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
