"""CreatePartitions (37): add partitions to topics.

Sent by clients to any broker, which passes it to the controller. count is the new total; records stay where they are,
so keys go to other partitions from then on (KIP-195).

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: THROTTLING_QUOTA_EXCEEDED (KIP-599).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms; the change may still happen.
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist.
    INVALID_PARTITIONS: no more partitions than the topic has.
    INVALID_REPLICATION_FACTOR: fewer brokers are alive than the new partitions need.
    INVALID_REPLICA_ASSIGNMENT: brokers that do not exist, or not one list of unequal brokers per new partition.
    INVALID_REQUEST: a topic given twice.
    REASSIGNMENT_IN_PROGRESS: partitions of the topic are being moved.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names, or the topic is being deleted.
    TOPIC_AUTHORIZATION_FAILED: the client lacks ALTER on the topic.
    THROTTLING_QUOTA_EXCEEDED: controller_mutation_rate is used up (KIP-599).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string


class CreatePartitionsRequest(Request, key=37, versions="0-3", flexible="2+", rights={"topic": "Alter"}):
    class Topic(Struct):
        name = string(map_key=True)
        count = int32()  # the new total

        class Assignment(Struct):
            broker_ids = array(int32())

        assignments = array(Assignment, nullable="0+")  # brokers of the new partitions by hand

    topics = array(Topic)
    timeout_ms = int32()
    validate_only = boolean()


class CreatePartitionsResponse(Response, key=37, versions="0-3", flexible="2+", throttles="1+"):
    throttle_time_ms = int32()

    class TopicResult(Struct):
        name = string()
        error_code = int16()
        error_message = string(nullable="0+", default=None)

    results = array(TopicResult)
