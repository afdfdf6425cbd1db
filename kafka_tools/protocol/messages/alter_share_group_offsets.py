"""AlterShareGroupOffsets (91): set the start offsets of a share group.

Sent by tools to the coordinator of the group, which must have no members (KIP-932).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    INVALID_GROUP_ID: the group id is empty.
    GROUP_ID_NOT_FOUND: the group does not exist or has another type.
    NON_EMPTY_GROUP: the group has members.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    INVALID_REQUEST: the request is malformed.
    UNSUPPORTED_VERSION: share groups are not enabled.
    UNKNOWN_SERVER_ERROR: the share coordinator failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class AlterShareGroupOffsetsRequest(
    Request, key=91, effect="changes", versions="0", flexible="0+", rights={"group": "Read", "topic": "Read"}
):
    group_id = string()

    class RequestTopic(Struct):
        topic_name = string(map_key=True)

        class RequestPartition(Struct):
            partition_index = int32()
            # Offset of the first record that the group reads again.
            start_offset = int64()

        partitions = array(RequestPartition)

    # Partitions to change. Their earlier state, with all acknowledgements, is deleted.
    topics = array(RequestTopic)


class AlterShareGroupOffsetsResponse(Response, key=91, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)

    class ResponseTopic(Struct):
        topic_name = string(map_key=True)
        # Zero if the topic does not exist.
        topic_id = uuid()

        class ResponsePartition(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)

        partitions = array(ResponsePartition)

    responses = array(ResponseTopic)
