"""DeleteTopics (20): delete topics with all their records.

Sent by clients to any broker, which forwards it to the controller.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: TOPIC_DELETION_DISABLED (KIP-322).
    v4: flexible.
    v5: error messages; THROTTLING_QUOTA_EXCEEDED (KIP-599).
    v6: topics by name or id (KIP-516).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms. The change may still happen.
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist, or the client lacks DESCRIBE on it.
    UNKNOWN_TOPIC_ID: no topic has this id (v6).
    INVALID_REQUEST: a topic occurs twice, has neither name nor id, or has both.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DELETE on the topic.
    TOPIC_DELETION_DISABLED: delete.topic.enable is false (v3).
    INVALID_TOPIC_EXCEPTION: the topic is an internal topic of Kafka.
    UNSUPPORTED_VERSION: the cluster does not support topic ids (v6).
    THROTTLING_QUOTA_EXCEEDED: controller_mutation_rate is used up (KIP-599).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uuid


class DeleteTopicsRequest(
    Request, key=20, effect="destroys", versions="0-6", dropped="0", flexible="4+", rights={"topic": "Delete"}
):
    class DeleteTopicState(Struct):
        # Name of the topic to delete. Null: use the topic id.
        name = string(versions="6+", nullable="6+", default=None)
        # Id of the topic to delete. Zero: use the name. Both or neither lead to INVALID_REQUEST.
        topic_id = uuid(versions="6+")

    # Earlier versions send topic_names instead.
    topics = array(DeleteTopicState, versions="6+")
    # Later versions send topics instead.
    topic_names = array(string(), versions="0-5", ignorable=True)
    # How long the controller may take, in milliseconds. Then it answers REQUEST_TIMED_OUT.
    timeout_ms = int32()


class DeleteTopicsResponse(Response, key=20, versions="0-6", flexible="4+", throttles="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class DeletableTopicResult(Struct):
        # Null: the request named an id that does not exist, or whose topic the client may not describe.
        name = string(nullable="6+", map_key=True)
        # Zero: the request named a topic that does not exist, or that the client may not describe.
        topic_id = uuid(versions="6+", ignorable=True)
        # Error of this topic. 0: the deletion has begun. Brokers delete the files later.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(versions="5+", nullable="5+", default=None, ignorable=True)

    # One result for each topic of the request.
    responses = array(DeletableTopicResult)
