"""DeleteShareGroupOffsets (92): delete the start offsets of a share group for topics.

Sent by tools to the coordinator of the group, which must have no members (KIP-932). Later the group begins anew in
these topics.

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks DELETE on the group.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    INVALID_GROUP_ID: the group id is empty.
    GROUP_ID_NOT_FOUND: the group does not exist or has another type.
    NON_EMPTY_GROUP: the group has members.
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist, or the group has no state for it.
    INVALID_REQUEST: the request is malformed.
    UNSUPPORTED_VERSION: share groups are not enabled.
    UNKNOWN_SERVER_ERROR: the share coordinator failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uuid


class DeleteShareGroupOffsetsRequest(
    Request, key=92, effect="destroys", versions="0", flexible="0+", rights={"group": "Delete", "topic": "Read"}
):
    group_id = string()

    class RequestTopic(Struct):
        topic_name = string()

    # Topics whose start offsets and acknowledgements the group forgets, in all partitions.
    topics = array(RequestTopic)


class DeleteShareGroupOffsetsResponse(Response, key=92, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)

    class ResponseTopic(Struct):
        topic_name = string()
        # Zero if the topic does not exist.
        topic_id = uuid()
        # Error of this topic. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+", default=None)

    # One result for each topic of the request. Empty if the whole request failed.
    responses = array(ResponseTopic, on_error=[])
