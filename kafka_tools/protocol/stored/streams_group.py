"""Kafka Streams groups in ``__consumer_offsets``: record types 17 to 23."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int8, int16, int32, int64, string, struct, uint16


class StreamsGroupMetadataKey(Stored, id=17, versions="0"):
    """Key of a streams group's epoch. No value (a tombstone): the group is deleted."""

    group_id = string()


class LastAssignmentConfig(Struct):
    # Name without the prefix streams., such as num.standby.replicas.
    key = string()
    value = string()


class StreamsGroupMetadataValue(Stored, versions="0", flexible="0+"):
    """The group epoch and the data that it was computed from.

    The group coordinator writes it whenever members, the topology or the metadata of its topics change.
    """

    # Raised by 1 with each change. A target assignment is computed for each epoch.
    epoch = int32()
    # Hash of ids, partitions and racks of the topology's topics. Another hash means that they have changed. 0: no
    # topic.
    metadata_hash = int64()
    # Newest topology epoch whose topics were found present and with fitting partitions. -1: none.
    validated_topology_epoch = int32(default=-1, tag=0)
    # Group configs with which the target assignment was computed. Null: none.
    last_assignment_configs = array(LastAssignmentConfig, nullable="0+", tag=1)
    # Topology epoch whose description the plugin of the brokers holds. -1: none. -2: an update was interrupted, and the
    # description is requested again.
    stored_description_topology_epoch = int32(default=-1, tag=2)
    # Topology epoch whose description the plugin refuses permanently, so that it is not requested again. -1: none.
    failed_description_topology_epoch = int32(default=-1, tag=3)


class StreamsGroupMemberMetadataKey(Stored, id=19, versions="0"):
    """Key of a member's own data. No value (a tombstone): the member left or was removed."""

    group_id = string()
    # Chosen by the member before it joins.
    member_id = string()


class Endpoint(Struct):
    # Host of application.server.
    host = string()
    # Port of application.server.
    port = uint16()


class KeyValue(Struct):
    # Tag of client.tag.*, such as zone.
    key = string()
    value = string()


class StreamsGroupMemberMetadataValue(Stored, versions="0", flexible="0+"):
    """Identity and settings of a member, which is one thread of a Streams application.

    The group coordinator writes it when a member joins with StreamsGroupHeartbeat and when its data change.
    """

    # group.instance.id of a static member (KIP-345). Null: a dynamic member.
    instance_id = string(nullable="0+")
    # client.rack. Null if the member has none.
    rack_id = string(nullable="0+")
    # client.id of the member.
    client_id = string()
    # The member's address as the coordinator saw it, such as /10.0.0.7.
    client_host = string()
    # Longest time to release revoked tasks. -1: not sent.
    rebalance_timeout_ms = int32(default=-1)
    # Epoch of the topology that the member runs.
    topology_epoch = int32()
    # Shared by the members of one process, which have one state directory.
    process_id = string()
    # Address at which the process answers interactive queries. Null: none.
    user_endpoint = struct(Endpoint, nullable="0+", default=None)
    # Used to place standby tasks in other racks or zones.
    client_tags = array(KeyValue)


class StreamsGroupTargetAssignmentMetadataKey(Stored, id=20, versions="0"):
    """Key of the epoch of a group's target assignment. No value (a tombstone): the group is deleted."""

    group_id = string()


class StreamsGroupTargetAssignmentMetadataValue(Stored, versions="0", flexible="0+"):
    """The group epoch for which the target assignment was computed.

    The group coordinator writes it after the assignments of all members that changed.
    """

    # Group epoch of the assignment. Less than the group's while the assignor has yet to run.
    assignment_epoch = int32()
    # Time at which the assignor finished, in ms since 1970. 0: unknown.
    assignment_timestamp = int64(tag=0, ignorable=True)


class StreamsGroupTargetAssignmentMemberKey(Stored, id=21, versions="0"):
    """Key of a member's target assignment. No value (a tombstone): the member left or was removed."""

    group_id = string()
    member_id = string()


# Tasks of one subtopology. A task is a subtopology and a partition.
class TaskIds(Struct):
    # Id from the topology, such as 0.
    subtopology_id = string()
    # Partition of each task. The task reads it from all source topics.
    partitions = array(int32())


class StreamsGroupTargetAssignmentMemberValue(Stored, versions="0", flexible="0+"):
    """The tasks that a member is to own.

    The group coordinator writes it for every member whose target the assignor has changed.
    """

    # The member processes these.
    active_tasks = array(TaskIds)
    # The member keeps a copy of the state of these, to take over when a process fails.
    standby_tasks = array(TaskIds)
    # The member builds up the state of these, to own them later.
    warmup_tasks = array(TaskIds)


class StreamsGroupCurrentMemberAssignmentKey(Stored, id=22, versions="0"):
    """Key of what a member owns now. No value (a tombstone): the member left or was removed."""

    group_id = string()
    member_id = string()


# Tasks of one subtopology. A task is a subtopology and a partition.
class StreamsGroupCurrentMemberAssignmentValueTaskIds(Struct):
    # Id from the topology, such as 0.
    subtopology_id = string()
    # Partition of each task. The task reads it from all source topics.
    partitions = array(int32())
    # Member epoch at which each task was assigned. Offset commits with an older epoch are fenced. Null: not active
    # tasks, or written by an older Kafka.
    assignment_epochs = array(int32(), nullable="0+", tag=0)


class StreamsGroupCurrentMemberAssignmentValue(Stored, versions="0", flexible="0+"):
    """Progress of a member from its old tasks to the target assignment.

    The group coordinator writes it when a heartbeat moves the member on: to revoke tasks, to own new ones, to the next
    epoch.
    """

    # Epoch that the member must send in its heartbeats.
    member_epoch = int32()
    # Also accepted, from a member that did not receive the last response.
    previous_member_epoch = int32()
    # 1: stable. 2: has tasks to revoke. 3: waits for tasks that others have yet to release.
    state = int8()
    # The member processes these.
    active_tasks = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    # The member keeps a copy of the state of these.
    standby_tasks = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    # The member builds up the state of these.
    warmup_tasks = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    # The member was told to close these and has not confirmed it yet.
    active_tasks_pending_revocation = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    # The member was told to drop these and has not confirmed it yet.
    standby_tasks_pending_revocation = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    # The member was told to drop these and has not confirmed it yet.
    warmup_tasks_pending_revocation = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)


class StreamsGroupTopologyKey(Stored, id=23, versions="0"):
    """Key of a streams group's topology. No value (a tombstone): the group is deleted."""

    group_id = string()


class TopicConfig(Struct):
    # Topic config, such as cleanup.policy.
    key = string()
    value = string()


class TopicInfo(Struct):
    # Topic that the application owns. The coordinator creates it if it is missing.
    name = string()
    # Required number of partitions. 0: derived from the source topics, as always for changelogs.
    partitions = int32()
    # 0: default.replication.factor of the brokers.
    replication_factor = int16()
    # Configs with which the topic is created.
    topic_configs = array(TopicConfig)


class StreamsGroupTopologyValue(Stored, versions="0", flexible="0+"):
    """The topology of a Streams application.

    The group coordinator writes it when a member brings the first or a newer topology in StreamsGroupHeartbeat.
    """

    # Topology epoch. The application raises it when it is deployed with another topology.
    epoch = int32()

    class Subtopology(Struct):
        # Unique within the topology, such as 0.
        subtopology_id = string()
        # Names of the topics that the subtopology reads, without those of its own.
        source_topics = array(string())
        # Patterns of topics that the subtopology reads.
        source_topic_regex = array(string())
        # Topics that keep the state of the stores.
        state_changelog_topics = array(TopicInfo)
        # Names of the internal topics that the subtopology writes for others.
        repartition_sink_topics = array(string())
        # Internal topics that the subtopology reads from others.
        repartition_source_topics = array(TopicInfo)

        class CopartitionGroup(Struct):
            # Indexes into source_topics of the subtopology.
            source_topics = array(int16())
            # Indexes into source_topic_regex of the subtopology.
            source_topic_regex = array(int16())
            # Indexes into repartition_source_topics of the subtopology.
            repartition_source_topics = array(int16())

        # Topics that must have the same number of partitions, because they are joined.
        copartition_groups = array(CopartitionGroup)

    # The independent parts of the topology: tasks of one need no task of another.
    subtopologies = array(Subtopology)


KEYS: dict[int, type[Stored]] = {
    17: StreamsGroupMetadataKey,
    19: StreamsGroupMemberMetadataKey,
    20: StreamsGroupTargetAssignmentMetadataKey,
    21: StreamsGroupTargetAssignmentMemberKey,
    22: StreamsGroupCurrentMemberAssignmentKey,
    23: StreamsGroupTopologyKey,
}
"""Record type (the int16 before a key) -> key struct, always in version 0."""

VALUES: dict[int, type[Stored]] = {
    17: StreamsGroupMetadataValue,
    19: StreamsGroupMemberMetadataValue,
    20: StreamsGroupTargetAssignmentMetadataValue,
    21: StreamsGroupTargetAssignmentMemberValue,
    22: StreamsGroupCurrentMemberAssignmentValue,
    23: StreamsGroupTopologyValue,
}
"""Record type -> value struct; the int16 before a value is its version."""
