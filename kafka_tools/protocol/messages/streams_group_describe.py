"""StreamsGroupDescribe (89): describe Kafka Streams groups, their topologies, members and tasks.

Sent by tools to the coordinator of the groups (KIP-1071).

Versions
    v1: the description of the topology (KIP-1331), and the name of the assignor (KIP-1357).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on a topic of the topology.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: the group does not exist or has another type.
    INVALID_REQUEST: the request is malformed.
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
    Request, key=89, effect="reads", versions="0-1", flexible="0+", rights={"group": "Describe", "topic": "Describe"}
):
    # Groups of this coordinator. An id of another type of group leads to GROUP_ID_NOT_FOUND.
    group_ids = array(string())
    # True: fill authorized_operations in the response.
    include_authorized_operations = boolean()
    # True: fill topology_description in the response.
    include_topology_description = boolean(versions="1+")


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


class Assignment(Struct):
    # Tasks that the member processes.
    active_tasks = array(TaskIds)
    # Tasks whose state the member copies, to take them over quickly after a failure.
    standby_tasks = array(TaskIds)
    # Tasks whose state the member restores, to become active when it has caught up.
    warmup_tasks = array(TaskIds)


class KeyValue(Struct):
    key = string()
    value = string()


class TopicInfo(Struct):
    name = string()
    # Number of partitions. 0: as many as the task needs.
    partitions = int32()
    # 0: the default of the broker.
    replication_factor = int16()
    # Configs with which the topic is created.
    topic_configs = array(KeyValue)


class TopologyNode(Struct):
    # Name that Kafka Streams gave the node, such as KSTREAM-SOURCE-0000000000.
    name = string()
    # 1 source, 2 processor, 3 sink.
    node_type = int8()
    # Topics that a source reads. Empty: another type of node, or a source with a pattern.
    source_topics = array(string())
    # Topic that a sink writes to. Null: another type of node, or each record decides.
    sink_topic = string(nullable="0+")
    # State stores that a processor uses. Empty: none, or another type of node.
    stores = array(string())
    # Names of the nodes that get the output of this node.
    successors = array(string())


class TopologyDescription(Struct):
    class SubtopologyDescription(Struct):
        # Such as 0 or 1, as in the topology of the group.
        subtopology_id = string()
        nodes = array(TopologyNode)

    # Connected parts of the topology. Different members can process them.
    subtopologies = array(SubtopologyDescription)

    class GlobalStore(Struct):
        # Node that reads the topic of the store.
        source = struct(TopologyNode)
        # Node that fills the store.
        processor = struct(TopologyNode)

    # Stores of which every instance has a full copy.
    global_stores = array(GlobalStore)


class StreamsGroupDescribeResponse(Response, key=89, versions="0-1", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class DescribedGroup(Struct):
        # Error of this group. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+", default=None)
        group_id = string()
        # Empty, NotReady, Assigning, Reconciling, Stable or Dead. Empty text with an error.
        group_state = string()
        # Rises with every change of the members, of the topology, or of its topics.
        group_epoch = int32()
        # Group epoch for which the coordinator has computed the assignment. Lower than group_epoch: it is still
        # computing.
        assignment_epoch = int32()

        class Topology(Struct):
            # Version of the topology that the group uses.
            epoch = int32()

            class Subtopology(Struct):
                # Created by Kafka Streams from the topology, such as 0 or 1.
                subtopology_id = string()
                # Topics that the subtopology reads, patterns resolved.
                source_topics = array(string())
                # Repartition topics that the subtopology writes to.
                repartition_sink_topics = array(string())
                # Topics that log the changes of state stores. The coordinator creates them.
                state_changelog_topics = array(TopicInfo)
                # Repartition topics that the subtopology reads. The coordinator creates them.
                repartition_source_topics = array(TopicInfo)

            # Null: source topics are missing or have wrong numbers of partitions.
            subtopologies = array(Subtopology, nullable="0+", default=None)

        # Null: with an error.
        topology = struct(Topology, nullable="0+", default=None)

        class Member(Struct):
            member_id = string()
            # Group epoch that the member has reached. It is reconciling while this is lower than assignment_epoch.
            member_epoch = int32()
            # The member's group.instance.id. Null: a dynamic member.
            instance_id = string(nullable="0+", default=None)
            # The member's client.rack. Null: not configured.
            rack_id = string(nullable="0+", default=None)
            # The member's client.id.
            client_id = string()
            # Address of the member, with a slash before it.
            client_host = string()
            # Version of the topology that the member has.
            topology_epoch = int32()
            # Identifies the Kafka Streams instance, which has one member for each of its threads.
            process_id = string()
            # The application.server of the instance, for interactive queries. Null: not configured.
            user_endpoint = struct(Endpoint, nullable="0+", default=None)
            # Tags of the instance, such as its zone, by which the assignor spreads standby tasks.
            client_tags = array(KeyValue)
            # How far the member has restored the state of its tasks.
            task_offsets = array(TaskOffset)
            # Where the changelogs of these tasks end.
            task_end_offsets = array(TaskOffset)
            # Tasks that the member has now.
            assignment = struct(Assignment)
            # Tasks that the member will have when it has reconciled.
            target_assignment = struct(Assignment)
            # True: the member still uses the classic protocol.
            is_classic = boolean()

        members = array(Member)
        # Operations that the client may perform: bit n is set for AclOperation n. -2147483648: not requested.
        authorized_operations = int32(default=-2147483648)
        # Null unless topology_description_status is 3.
        topology_description = struct(TopologyDescription, versions="1+", nullable="1+", default=None)
        # 0 not requested, 1 none is stored, 2 the broker failed to get it, 3 available.
        topology_description_status = int8(versions="1+")
        # Assignor of the next assignment. A change of this config does not start one. Null: with an error.
        assignor_name = string(versions="1+", nullable="1+", default=None, ignorable=True)

    # One result for each group of the request.
    groups = array(DescribedGroup)
