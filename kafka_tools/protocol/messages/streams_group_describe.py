"""StreamsGroupDescribe (89): Kafka Streams groups with topology, members, and the tasks of each.

Sent by tools to the coordinator of the groups (KIP-1071).

Versions
    v1: the description of the topology (KIP-1331), and the name of the assignor (KIP-1357).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no DESCRIBE on the group.
    TOPIC_AUTHORIZATION_FAILED: the topology has a topic without DESCRIBE for the caller.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: no such group, or one of another type.
    INVALID_REQUEST: the request cannot be served as it is.
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


class StreamsGroupDescribeRequest(
    Request, key=89, versions="0-1", flexible="0+", rights={"group": "Describe", "topic": "Describe"}
):
    group_ids = array(string())
    include_authorized_operations = boolean()
    include_topology_description = boolean(versions="1+")


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


class Assignment(Struct):
    active_tasks = array(TaskIds)
    standby_tasks = array(TaskIds)
    warmup_tasks = array(TaskIds)


class KeyValue(Struct):
    key = string()
    value = string()


class TopicInfo(Struct):
    name = string()
    partitions = int32()
    replication_factor = int16()
    topic_configs = array(KeyValue)


class TopologyNode(Struct):
    name = string()
    node_type = int8()  # 1: source, 2: processor, 3: sink
    source_topics = array(string())  # of a source; empty where a pattern subscribes
    sink_topic = string(nullable="0+")  # of a sink; null where each record decides
    stores = array(string())
    successors = array(string())


class TopologyDescription(Struct):
    class SubtopologyDescription(Struct):
        subtopology_id = string()
        nodes = array(TopologyNode)

    subtopologies = array(SubtopologyDescription)

    class GlobalStore(Struct):
        source = struct(TopologyNode)
        processor = struct(TopologyNode)

    global_stores = array(GlobalStore)


class StreamsGroupDescribeResponse(Response, key=89, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()

    class DescribedGroup(Struct):
        error_code = int16()
        error_message = string(nullable="0+", default=None)
        group_id = string()
        group_state = string()
        group_epoch = int32()
        assignment_epoch = int32()

        class Topology(Struct):
            epoch = int32()

            class Subtopology(Struct):
                subtopology_id = string()
                source_topics = array(string())
                repartition_sink_topics = array(string())
                state_changelog_topics = array(TopicInfo)
                repartition_source_topics = array(TopicInfo)

            subtopologies = array(Subtopology, nullable="0+", default=None)

        topology = struct(Topology, nullable="0+", default=None)

        class Member(Struct):
            member_id = string()
            member_epoch = int32()
            instance_id = string(nullable="0+", default=None)
            rack_id = string(nullable="0+", default=None)
            client_id = string()
            client_host = string()
            topology_epoch = int32()
            process_id = string()
            user_endpoint = struct(Endpoint, nullable="0+", default=None)
            client_tags = array(KeyValue)
            task_offsets = array(TaskOffset)
            task_end_offsets = array(TaskOffset)
            assignment = struct(Assignment)
            target_assignment = struct(Assignment)
            is_classic = boolean()

        members = array(Member)
        authorized_operations = int32(default=-2147483648)
        topology_description = struct(TopologyDescription, versions="1+", nullable="1+", default=None)
        # 0: not asked for, 1: none is stored, 2: the broker could not get it, 3: it is there
        topology_description_status = int8(versions="1+")
        # of the next assignment, which a change of the config does not start; null with an error
        assignor_name = string(versions="1+", nullable="1+", default=None, ignorable=True)

    groups = array(DescribedGroup)
