"""DescribeShareGroupOffsets (90): where share groups begin in each partition.

Sent by tools to the coordinator of the groups; null topics ask for all (KIP-932).

Versions
    v1: the lag (KIP-1226).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the topic.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: the group does not exist or has another type.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REQUEST: the request is malformed.
    UNSUPPORTED_VERSION: share groups are not enabled.
    UNKNOWN_SERVER_ERROR: the share coordinator failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class DescribeShareGroupOffsetsRequest(
    Request, key=90, versions="0-1", flexible="0+", rights={"group": "Describe", "topic": "Describe"}
):
    class RequestGroup(Struct):
        group_id = string()

        class RequestTopic(Struct):
            topic_name = string()
            partitions = array(int32())

        topics = array(RequestTopic, nullable="0+")

    groups = array(RequestGroup)


class DescribeShareGroupOffsetsResponse(Response, key=90, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()

    class ResponseGroup(Struct):
        group_id = string()

        class ResponseTopic(Struct):
            topic_name = string()
            topic_id = uuid()

            class ResponsePartition(Struct):
                partition_index = int32()
                start_offset = int64()
                leader_epoch = int32()
                lag = int64(versions="1+", default=-1, ignorable=True)
                error_code = int16()
                error_message = string(nullable="0+", default=None)

            partitions = array(ResponsePartition)

        topics = array(ResponseTopic)
        error_code = int16()
        error_message = string(nullable="0+", default=None)

    groups = array(ResponseGroup)
