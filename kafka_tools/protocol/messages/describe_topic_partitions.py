"""DescribeTopicPartitions (75): describe topics and partitions page by page (KIP-966).

The broker limits the page; next_cursor says where to go on, null that this was all.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, struct, uuid


class DescribeTopicPartitionsRequest(Request, key=75, route=ANY_NODE, versions="0", flexible="0+"):
    """Request of DescribeTopicPartitions."""

    class TopicRequest(Struct):
        name = string()

    topics = array(TopicRequest)
    response_partition_limit = int32(default=2000)

    class Cursor(Struct):
        topic_name = string()
        partition_index = int32()

    cursor = struct(Cursor, nullable="0+", default=None)


class DescribeTopicPartitionsResponse(Response, key=75, versions="0", flexible="0+"):
    """Response of DescribeTopicPartitions."""

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
            eligible_leader_replicas = array(int32(), nullable="0+", default=None)
            last_known_elr = array(int32(), nullable="0+", default=None)
            offline_replicas = array(int32(), ignorable=True)

        partitions = array(ResponsePartition)
        topic_authorized_operations = int32(default=-2147483648)

    topics = array(ResponseTopic)

    class Cursor(Struct):
        topic_name = string()
        partition_index = int32()

    next_cursor = struct(Cursor, nullable="0+", default=None)
