"""OffsetDelete (47): delete committed offsets of a group.

Sent by tools to the coordinator of the group. No member may subscribe to the topics (KIP-496).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DELETE on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    INVALID_GROUP_ID: the group id is null.
    GROUP_ID_NOT_FOUND: the group does not exist.
    NON_EMPTY_GROUP: the group has members, and the broker does not know their subscriptions.
    GROUP_SUBSCRIBED_TO_TOPIC: a member subscribes to the topic.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class OffsetDeleteRequest(
    Request, key=47, effect="destroys", versions="0", rights={"group": "Delete", "topic": "Read"}
):
    # A group that does not exist leads to GROUP_ID_NOT_FOUND.
    group_id = string()

    class RequestTopic(Struct):
        name = string(map_key=True)

        class RequestPartition(Struct):
            # A partition that does not exist leads to UNKNOWN_TOPIC_OR_PARTITION.
            partition_index = int32()

        partitions = array(RequestPartition)

    # A topic to which a member subscribes leads to GROUP_SUBSCRIBED_TO_TOPIC.
    topics = array(RequestTopic)


class OffsetDeleteResponse(Response, key=47, versions="0"):
    # Error of the whole request. 0: no error.
    error_code = int16()
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(ignorable=True)

    class ResponseTopic(Struct):
        name = string(map_key=True)

        class ResponsePartition(Struct):
            partition_index = int32(map_key=True)
            # Error of this partition. 0: no error, also if there was no offset to delete.
            error_code = int16()

        partitions = array(ResponsePartition)

    # One result for each partition of the request. Empty: the whole request failed.
    topics = array(ResponseTopic)
