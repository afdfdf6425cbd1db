"""Kafka Streams groups in ``__consumer_offsets``: record types 17 to 23."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int8, int16, int32, int64, string, struct, uint16


class StreamsGroupMetadataKey(Stored, id=17, versions="0"):
    """Key: streams group metadata."""

    group_id = string()


class LastAssignmentConfig(Struct):
    key = string()
    value = string()


class StreamsGroupMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: streams group metadata."""

    epoch = int32()
    metadata_hash = int64()
    validated_topology_epoch = int32(default=-1, tag=0)
    last_assignment_configs = array(LastAssignmentConfig, nullable="0+", tag=1)
    # the topology epoch whose description the plugin holds; -1: none, -2: an update of it was interrupted
    stored_description_topology_epoch = int32(default=-1, tag=2)
    # the topology epoch whose description the plugin refuses for good; -1: none
    failed_description_topology_epoch = int32(default=-1, tag=3)


class StreamsGroupMemberMetadataKey(Stored, id=19, versions="0"):
    """Key: streams group member metadata."""

    group_id = string()
    member_id = string()


class Endpoint(Struct):
    host = string()
    port = uint16()


class KeyValue(Struct):
    key = string()
    value = string()


class StreamsGroupMemberMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: streams group member metadata."""

    instance_id = string(nullable="0+")
    rack_id = string(nullable="0+")
    client_id = string()
    client_host = string()
    rebalance_timeout_ms = int32(default=-1)
    topology_epoch = int32()
    process_id = string()
    user_endpoint = struct(Endpoint, nullable="0+", default=None)
    client_tags = array(KeyValue)


class StreamsGroupTargetAssignmentMetadataKey(Stored, id=20, versions="0"):
    """Key: streams group target assignment metadata."""

    group_id = string()


class StreamsGroupTargetAssignmentMetadataValue(Stored, versions="0", flexible="0+"):
    """Value: streams group target assignment metadata."""

    assignment_epoch = int32()
    assignment_timestamp = int64(tag=0, ignorable=True)


class StreamsGroupTargetAssignmentMemberKey(Stored, id=21, versions="0"):
    """Key: streams group target assignment member."""

    group_id = string()
    member_id = string()


class TaskIds(Struct):
    subtopology_id = string()
    partitions = array(int32())


class StreamsGroupTargetAssignmentMemberValue(Stored, versions="0", flexible="0+"):
    """Value: streams group target assignment member."""

    active_tasks = array(TaskIds)
    standby_tasks = array(TaskIds)
    warmup_tasks = array(TaskIds)


class StreamsGroupCurrentMemberAssignmentKey(Stored, id=22, versions="0"):
    """Key: streams group current member assignment."""

    group_id = string()
    member_id = string()


class StreamsGroupCurrentMemberAssignmentValueTaskIds(Struct):
    subtopology_id = string()
    partitions = array(int32())
    assignment_epochs = array(int32(), nullable="0+", tag=0)


class StreamsGroupCurrentMemberAssignmentValue(Stored, versions="0", flexible="0+"):
    """Value: streams group current member assignment."""

    member_epoch = int32()
    previous_member_epoch = int32()
    state = int8()
    active_tasks = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    standby_tasks = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    warmup_tasks = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    active_tasks_pending_revocation = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    standby_tasks_pending_revocation = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    warmup_tasks_pending_revocation = array(StreamsGroupCurrentMemberAssignmentValueTaskIds)


class StreamsGroupTopologyKey(Stored, id=23, versions="0"):
    """Key: streams group topology."""

    group_id = string()


class TopicConfig(Struct):
    key = string()
    value = string()


class TopicInfo(Struct):
    name = string()
    partitions = int32()
    replication_factor = int16()
    topic_configs = array(TopicConfig)


class StreamsGroupTopologyValue(Stored, versions="0", flexible="0+"):
    """Value: streams group topology."""

    epoch = int32()

    class Subtopology(Struct):
        subtopology_id = string()
        source_topics = array(string())
        source_topic_regex = array(string())
        state_changelog_topics = array(TopicInfo)
        repartition_sink_topics = array(string())
        repartition_source_topics = array(TopicInfo)

        class CopartitionGroup(Struct):
            source_topics = array(int16())
            source_topic_regex = array(int16())
            repartition_source_topics = array(int16())

        copartition_groups = array(CopartitionGroup)

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
