"""DescribeShareGroupOffsets (90): get the start offsets of share groups.

Sent by tools to the coordinator of the groups (KIP-932).

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
    Request, key=90, effect="reads", versions="0-1", flexible="0+", rights={"group": "Describe", "topic": "Describe"}
):
    class RequestGroup(Struct):
        group_id = string()

        class RequestTopic(Struct):
            topic_name = string()
            # Partitions to describe.
            partitions = array(int32())

        # Null: all partitions for which the group has state.
        topics = array(RequestTopic, nullable="0+")

    # Share groups of this coordinator.
    groups = array(RequestGroup)


class DescribeShareGroupOffsetsResponse(Response, key=90, versions="0-1", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class ResponseGroup(Struct):
        group_id = string()

        class ResponseTopic(Struct):
            topic_name = string()
            # Zero if the topic does not exist.
            topic_id = uuid()

            class ResponsePartition(Struct):
                partition_index = int32()
                # Offset of the first record that is not finally acknowledged. -1: the group has not begun to read the
                # partition.
                start_offset = int64()
                # Leader epoch of the partition at the last change of the state. 0: not known.
                leader_epoch = int32()
                # Records that the group has still to deliver or acknowledge. -1: not known.
                lag = int64(versions="1+", default=-1, ignorable=True)
                # Error of this partition. 0: no error.
                error_code = int16()
                # Explains the error in words. Null: no explanation.
                error_message = string(nullable="0+", default=None)

            partitions = array(ResponsePartition)

        topics = array(ResponseTopic)
        # Error of this group. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+", default=None)

    # One result for each group of the request.
    groups = array(ResponseGroup)
