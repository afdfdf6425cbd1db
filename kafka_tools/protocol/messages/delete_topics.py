"""DeleteTopics (20): delete topics with all their records.

Sent by clients to any broker, which passes it to the controller.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: TOPIC_DELETION_DISABLED (KIP-322).
    v4: flexible.
    v5: error messages; THROTTLING_QUOTA_EXCEEDED (KIP-599).
    v6: topics by name or id (KIP-516).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms; the change may still happen.
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist, or the client lacks DESCRIBE on it.
    UNKNOWN_TOPIC_ID: no topic has this id (v6).
    INVALID_REQUEST: a topic given twice, or with neither name nor id, or with both.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DELETE on the topic.
    TOPIC_DELETION_DISABLED: delete.topic.enable is false (v3).
    INVALID_TOPIC_EXCEPTION: an internal topic of the broker.
    UNSUPPORTED_VERSION: topic ids in a cluster that has none (v6).
    THROTTLING_QUOTA_EXCEEDED: controller_mutation_rate is used up (KIP-599).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uuid


class DeleteTopicsRequest(Request, key=20, versions="0-6", dropped="0", flexible="4+", rights={"topic": "Delete"}):
    class DeleteTopicState(Struct):
        name = string(versions="6+", nullable="6+", default=None)
        topic_id = uuid(versions="6+")

    topics = array(DeleteTopicState, versions="6+")
    topic_names = array(string(), versions="0-5", ignorable=True)
    timeout_ms = int32()


class DeleteTopicsResponse(Response, key=20, versions="0-6", flexible="4+", throttles="2+"):
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class DeletableTopicResult(Struct):
        name = string(nullable="6+", map_key=True)
        topic_id = uuid(versions="6+", ignorable=True)
        error_code = int16()
        error_message = string(versions="5+", nullable="5+", default=None, ignorable=True)

    responses = array(DeletableTopicResult)
