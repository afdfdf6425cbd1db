"""StreamsGroupHeartbeat (88): join a Kafka Streams group, stay in it or leave it.

Sent by members to the coordinator of the group at every heartbeat interval. The coordinator assigns tasks, and creates
the internal topics that the topology needs. If the client lacks CREATE on them, status 3 of the response says so
(KIP-1071).

Versions
    v1: the coordinator asks for a description of the topology (KIP-1331), and the acceptable recovery lag has 64 bits.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on a topic of the topology.
    INVALID_REQUEST: a field is empty, missing from the first heartbeat, or not allowed with this member epoch.
    GROUP_ID_NOT_FOUND: the group has another type.
    UNKNOWN_MEMBER_ID: the group does not have this member.
    FENCED_MEMBER_EPOCH: the epoch is not the current one of the member. Close all tasks and join again.
    UNRELEASED_INSTANCE_ID: another member still has this group.instance.id.
    FENCED_INSTANCE_ID: another member has taken over this group.instance.id.
    GROUP_MAX_SIZE_REACHED: the group already has group.streams.max.size members.
    STREAMS_INVALID_TOPOLOGY: the topology contradicts itself or has invalid topic names.
    STREAMS_INVALID_TOPOLOGY_EPOCH: the topology epoch is newer than that of the group.
    STREAMS_TOPOLOGY_FENCED: the group has another topology with this epoch.
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
    # Number of partitions. 0: as many as the tasks need, and always for changelogs.
    partitions = int32()
    # 0: the default of the broker.
    replication_factor = int16()
    # Configs with which the coordinator creates the topic.
    topic_configs = array(KeyValue)


class Endpoint(Struct):
    host = string()
    port = uint16()


class TaskOffset(Struct):
    # With the partition it identifies the task.
    subtopology_id = string()
    partition = int32()
    # Sum of the offsets in all changelog partitions of the task.
    offset = int64()


class TaskIds(Struct):
    # With each partition it identifies a task.
    subtopology_id = string()
    # Partitions of the source topics, one for each task.
    partitions = array(int32())


class StreamsGroupHeartbeatRequest(
    Request,
    key=88,
    effect="changes",
    versions="0-1",
    flexible="0+",
    rights={"group": "Read", "topic": "Describe"},
):
    # The application.id. Empty leads to INVALID_REQUEST.
    group_id = string()
    # The member creates a random UUID and keeps it.
    member_id = string()
    # 0: join. -1: leave. -2: leave as a static member that will be back soon. Otherwise the epoch of the last response.
    member_epoch = int32()
    # The value of the last response. The coordinator sends partitions_by_user_endpoint only if it has a newer one.
    endpoint_information_epoch = int32()
    # The member's group.instance.id, sent when it joins. Null: a dynamic member, or no change.
    instance_id = string(nullable="0+", default=None)
    # The member's client.rack, sent when it joins. Null: not configured, or no change.
    rack_id = string(nullable="0+", default=None)
    # How long the member may take to revoke tasks, in milliseconds. Later the group removes it. -1: no change.
    rebalance_timeout_ms = int32(default=-1)

    class Topology(Struct):
        # Version of the topology. A newer one than the group's leads to STREAMS_INVALID_TOPOLOGY_EPOCH.
        epoch = int32()

        class Subtopology(Struct):
            # Created by Kafka Streams from the topology, such as 0 or 1.
            subtopology_id = string()
            # Topics that the subtopology reads, given by name.
            source_topics = array(string())
            # Regular expressions for topics that the subtopology reads.
            source_topic_regex = array(string())
            # Topics that log the changes of state stores. The coordinator creates them.
            state_changelog_topics = array(TopicInfo)
            # Repartition topics that the subtopology writes to.
            repartition_sink_topics = array(string())
            # Repartition topics that the subtopology reads. The coordinator creates them.
            repartition_source_topics = array(TopicInfo)

            class CopartitionGroup(Struct):
                # Positions in source_topics of the subtopology, from 0.
                source_topics = array(int16())
                # Positions in source_topic_regex of the subtopology, from 0.
                source_topic_regex = array(int16())
                # Positions in repartition_source_topics of the subtopology, from 0.
                repartition_source_topics = array(int16())

            # Sets of topics that must have the same number of partitions.
            copartition_groups = array(CopartitionGroup)

        subtopologies = array(Subtopology)

    # Sent when the member joins. Null: it has already joined.
    topology = struct(Topology, nullable="0+", default=None)
    # Tasks that the member processes now. Null: no change. Empty when joining.
    active_tasks = array(TaskIds, nullable="0+", default=None)
    # Tasks whose state the member copies now. Null: no change. Empty when joining.
    standby_tasks = array(TaskIds, nullable="0+", default=None)
    # Tasks whose state the member restores now. Null: no change. Empty when joining.
    warmup_tasks = array(TaskIds, nullable="0+", default=None)
    # Identifies the Kafka Streams instance, which has one member for each of its threads. Null: no change.
    process_id = string(nullable="0+", default=None)
    # The application.server of the instance, for interactive queries. Null: not configured, or no change.
    user_endpoint = struct(Endpoint, nullable="0+", default=None)
    # Tags of the instance, such as its zone, by which the assignor spreads standby tasks. Null: no change.
    client_tags = array(KeyValue, nullable="0+", default=None)
    # How far the member has restored the state of its tasks. Null: no change.
    task_offsets = array(TaskOffset, nullable="0+", default=None)
    # Where the changelogs of these tasks end. Null: no change.
    task_end_offsets = array(TaskOffset, nullable="0+", default=None)
    # True: all instances of the application are to stop. The others get status 4.
    shutdown_application = boolean()


class Status(Struct):
    # 0: the member has an old topology. 1: source topics are missing. 2: topics have wrong numbers of partitions. 3:
    # internal topics are missing. 4: the application shuts down. 5: the assignment is delayed. 6: client tags that the
    # assignor needs are missing (v1).
    status_code = int8()
    # Explains the status in words, for example which topics are missing.
    status_detail = string()


class TopicPartition(Struct):
    topic = string()
    partitions = array(int32())


class StreamsGroupHeartbeatResponse(Response, key=88, versions="0-1", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)
    # The value from the request.
    member_id = string()
    # The new epoch, for the next heartbeat. -1 or -2: the member has left.
    member_epoch = int32()
    # When the next heartbeat is due, in milliseconds. Set by group.streams.heartbeat.interval.ms of the group.
    heartbeat_interval_ms = int32()
    # The same as acceptable_recovery_lag, in 32 bits.
    acceptable_recovery_lag_legacy = int32(versions="0")
    # How often the member is to send task_offsets, in milliseconds.
    task_offset_interval_ms = int32()
    # Offsets that a task may lag behind and still become active on this member. -1: the broker does not support it.
    acceptable_recovery_lag = int64(versions="1+", default=-1, ignorable=True)
    # States of the group that the member must know of. Null or empty: none.
    status = array(Status, nullable="0+")
    # Tasks that the member must process. Null: no change.
    active_tasks = array(TaskIds, nullable="0+", default=None)
    # Tasks whose state the member must copy. Null: no change.
    standby_tasks = array(TaskIds, nullable="0+", default=None)
    # Tasks whose state the member must restore. Null: no change.
    warmup_tasks = array(TaskIds, nullable="0+", default=None)
    # True: the member should send StreamsGroupTopologyDescriptionUpdate.
    topology_description_required = boolean(versions="1+")
    # Version of partitions_by_user_endpoint, for the next heartbeat.
    endpoint_information_epoch = int32()

    class EndpointToPartitions(Struct):
        # The application.server of an instance. Several entries can have the same one, because each member has its own.
        user_endpoint = struct(Endpoint)
        # Source topic partitions of the active tasks of the member.
        active_partitions = array(TopicPartition)
        # Source topic partitions of the standby and warmup tasks of the member.
        standby_partitions = array(TopicPartition)

    # Where interactive queries find the state of which partitions. Null: no change.
    partitions_by_user_endpoint = array(EndpointToPartitions, nullable="0+", default=None)
