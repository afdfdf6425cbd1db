"""DescribeTopicPartitions (75): topics and their partitions, page by page.

Sent by tools to any broker; no topics ask for all. The broker limits the page, and next_cursor says where to go on:
null at the end. Eligible leader replicas are told here only (KIP-966).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist, or the client lacks DESCRIBE on it.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    INVALID_REQUEST: the cursor's partition is below 0, or its topic is not among those asked for.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the topic.
    LEADER_NOT_AVAILABLE: the partition has no leader.
    LISTENER_NOT_FOUND: the leader has no listener of the name on which the request came.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, struct, uuid


class DescribeTopicPartitionsRequest(Request, key=75, versions="0", flexible="0+", rights={"topic": "Describe"}):
    class TopicRequest(Struct):
        name = string()

    topics = array(TopicRequest)
    response_partition_limit = int32(default=2000)  # of this page

    class Cursor(Struct):
        topic_name = string()
        partition_index = int32()

    cursor = struct(Cursor, nullable="0+", default=None)  # where to begin; null: at the beginning


class DescribeTopicPartitionsResponse(Response, key=75, versions="0", flexible="0+"):
    throttle_time_ms = int32(ignorable=True)

    class ResponseTopic(Struct):
        error_code = int16()
        name = string(nullable="0+", map_key=True)
        topic_id = uuid(ignorable=True)
        is_internal = boolean(ignorable=True)

        class ResponsePartition(Struct):
            error_code = int16()
            partition_index = int32()
            leader_id = int32()
            leader_epoch = int32(default=-1, ignorable=True)
            replica_nodes = array(int32())
            isr_nodes = array(int32())
            # not in sync, but with every committed record (KIP-966)
            eligible_leader_replicas = array(int32(), nullable="0+", default=None)
            last_known_elr = array(int32(), nullable="0+", default=None)  # eligible before they stopped uncleanly
            offline_replicas = array(int32(), ignorable=True)

        partitions = array(ResponsePartition)
        topic_authorized_operations = int32(default=-2147483648)

    topics = array(ResponseTopic)

    class Cursor(Struct):
        topic_name = string()
        partition_index = int32()

    next_cursor = struct(Cursor, nullable="0+", default=None)  # where to go on; null: that was all
