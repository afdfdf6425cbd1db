"""AlterShareGroupOffsets (91): set where a share group begins in partitions.

Sent by tools to the group's coordinator, for a group without members (KIP-932).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    TOPIC_AUTHORIZATION_FAILED: no READ on the topic.
    INVALID_GROUP_ID: the group id is empty.
    GROUP_ID_NOT_FOUND: no such group, or one of another type.
    NON_EMPTY_GROUP: the group has members.
    UNKNOWN_TOPIC_OR_PARTITION: no such partition.
    INVALID_REQUEST: the request cannot be served as it is.
    UNSUPPORTED_VERSION: share groups are not enabled.
    UNKNOWN_SERVER_ERROR: the share coordinator failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class AlterShareGroupOffsetsRequest(
    Request, key=91, versions="0", flexible="0+", rights={"group": "Read", "topic": "Read"}
):
    group_id = string()

    class RequestTopic(Struct):
        topic_name = string(map_key=True)

        class RequestPartition(Struct):
            partition_index = int32()
            start_offset = int64()

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class AlterShareGroupOffsetsResponse(Response, key=91, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)

    class ResponseTopic(Struct):
        topic_name = string(map_key=True)
        topic_id = uuid()

        class ResponsePartition(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

        partitions = array(ResponsePartition)

    responses = array(ResponseTopic)
