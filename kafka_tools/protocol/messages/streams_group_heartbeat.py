"""StreamsGroupHeartbeat (88): the one request of a member of a Kafka Streams group.

Sent to the group's coordinator, which assigns tasks and makes the internal topics that the topology needs: member_epoch
0 joins, -1 leaves, -2 leaves for a short time as a static member (KIP-1071).

Versions
    v1: the coordinator asks for a description of the topology (KIP-1331); the acceptable recovery lag is 64 bits wide.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    TOPIC_AUTHORIZATION_FAILED: no DESCRIBE on a topic of the topology, or no CREATE for an internal one.
    INVALID_REQUEST: a first heartbeat that lacks a field, or a field that its state does not allow.
    INVALID_GROUP_ID: the group id is empty.
    GROUP_ID_NOT_FOUND: the group is of another type.
    UNKNOWN_MEMBER_ID: the group has no such member.
    FENCED_MEMBER_EPOCH: the epoch is not the member's: give up all tasks and join again.
    UNRELEASED_INSTANCE_ID: another member still uses this group.instance.id.
    FENCED_INSTANCE_ID: another member took over this group.instance.id.
    GROUP_MAX_SIZE_REACHED: the group has group.streams.max.size members.
    STREAMS_INVALID_TOPOLOGY: the topology contradicts itself.
    STREAMS_INVALID_TOPOLOGY_EPOCH: the topology epoch is newer than the group's.
    STREAMS_TOPOLOGY_FENCED: the topology is another one than the group's of this epoch.
    UNSUPPORTED_VERSION: streams groups are not enabled.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
    uint16,
)


class KeyValue(Struct):
    key = string()
    value = string()


class TopicInfo(Struct):
    name = string()
    partitions = int32()
    replication_factor = int16()
    topic_configs = array(KeyValue)


class Endpoint(Struct):
    host = string()
    port = uint16()


class TaskOffset(Struct):
    subtopology_id = string()
    partition = int32()
    offset = int64()


class TaskIds(Struct):
    subtopology_id = string()
    partitions = array(int32())


class StreamsGroupHeartbeatRequest(
    Request,
    key=88,
    versions="0-1",
    flexible="0+",
    rights={"group": "Read", "topic": "Describe on the topic, or Create on an internal one"},
):
    group_id = string()
    member_id = string()
    member_epoch = int32()
    endpoint_information_epoch = int32()
    instance_id = string(nullable="0+", default=None)
    rack_id = string(nullable="0+", default=None)
    rebalance_timeout_ms = int32(default=-1)

    class Topology(Struct):
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

    topology = struct(Topology, nullable="0+", default=None)
    active_tasks = array(TaskIds, nullable="0+", default=None)
    standby_tasks = array(TaskIds, nullable="0+", default=None)
    warmup_tasks = array(TaskIds, nullable="0+", default=None)
    process_id = string(nullable="0+", default=None)
    user_endpoint = struct(Endpoint, nullable="0+", default=None)
    client_tags = array(KeyValue, nullable="0+", default=None)
    task_offsets = array(TaskOffset, nullable="0+", default=None)
    task_end_offsets = array(TaskOffset, nullable="0+", default=None)
    shutdown_application = boolean()


class Status(Struct):
    # 0: stale topology, 1: missing source topics, 2: source topics not co-partitioned, 3: missing internal topics,
    # 4: the application shuts down, 5: assignment delayed, 6: members without client tags that the assignor needs (v1)
    status_code = int8()
    status_detail = string()


class TopicPartition(Struct):
    topic = string()
    partitions = array(int32())


class StreamsGroupHeartbeatResponse(Response, key=88, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    member_id = string()
    member_epoch = int32()
    heartbeat_interval_ms = int32()
    acceptable_recovery_lag_legacy = int32(versions="0")
    task_offset_interval_ms = int32()
    acceptable_recovery_lag = int64(versions="1+", default=-1, ignorable=True)  # in offsets; -1: the broker has none
    status = array(Status, nullable="0+")
    active_tasks = array(TaskIds, nullable="0+", default=None)
    standby_tasks = array(TaskIds, nullable="0+", default=None)
    warmup_tasks = array(TaskIds, nullable="0+", default=None)
    topology_description_required = boolean(versions="1+")
    endpoint_information_epoch = int32()

    class EndpointToPartitions(Struct):
        user_endpoint = struct(Endpoint)
        active_partitions = array(TopicPartition)
        standby_partitions = array(TopicPartition)

    partitions_by_user_endpoint = array(EndpointToPartitions, nullable="0+", default=None)
