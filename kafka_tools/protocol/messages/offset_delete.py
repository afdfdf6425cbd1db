"""OffsetDelete (47): delete committed offsets of a group.

Sent by tools to the group's coordinator, for topics that no member subscribes to (KIP-496).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no DELETE on the group.
    TOPIC_AUTHORIZATION_FAILED: no READ on the topic.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: no such group.
    NON_EMPTY_GROUP: the group has members of which it is not known what they subscribe to.
    GROUP_SUBSCRIBED_TO_TOPIC: a member subscribes to the topic.
    UNKNOWN_TOPIC_OR_PARTITION: no such partition.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class OffsetDeleteRequest(Request, key=47, versions="0", rights={"group": "Delete", "topic": "Read"}):
    group_id = string()

    class RequestTopic(Struct):
        name = string(map_key=True)

        class RequestPartition(Struct):
            partition_index = int32()

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class OffsetDeleteResponse(Response, key=47, versions="0"):
    error_code = int16()
    throttle_time_ms = int32(ignorable=True)

    class ResponseTopic(Struct):
        name = string(map_key=True)

        class ResponsePartition(Struct):
            partition_index = int32(map_key=True)
            error_code = int16()

        partitions = array(ResponsePartition)

    topics = array(ResponseTopic)
