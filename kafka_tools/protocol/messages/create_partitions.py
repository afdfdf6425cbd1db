"""CreatePartitions (37): add partitions to topics.

Sent by clients to any broker, which forwards it to the controller. Existing records stay where they are, but new
records of a key can go to another partition than the old ones (KIP-195).

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: THROTTLING_QUOTA_EXCEEDED (KIP-599).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not finish within timeout_ms. The change may still happen.
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist.
    INVALID_PARTITIONS: count is not larger than the number of partitions now.
    INVALID_REPLICATION_FACTOR: fewer brokers are alive than the new partitions need.
    INVALID_REPLICA_ASSIGNMENT: a broker does not exist or occurs twice in a list, or the number of lists is wrong.
    INVALID_REQUEST: a topic occurs twice.
    REASSIGNMENT_IN_PROGRESS: partitions of the topic are being moved.
    INVALID_TOPIC_EXCEPTION: the name is not a valid topic name, or the topic is being deleted.
    TOPIC_AUTHORIZATION_FAILED: the client lacks ALTER on the topic.
    THROTTLING_QUOTA_EXCEEDED: controller_mutation_rate is used up (KIP-599).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string


class CreatePartitionsRequest(
    Request, key=37, effect="changes", versions="0-3", flexible="2+", rights={"topic": "Alter"}
):
    class Topic(Struct):
        name = string(map_key=True)
        # Total number of partitions afterwards. Not more than now leads to INVALID_PARTITIONS.
        count = int32()

        class Assignment(Struct):
            # Replicas of one new partition, the preferred leader first.
            broker_ids = array(int32())

        # One list for each new partition. Null: the controller chooses the brokers.
        assignments = array(Assignment, nullable="0+")

    topics = array(Topic)
    # How long the controller may take, in milliseconds. Then it answers REQUEST_TIMED_OUT.
    timeout_ms = int32()
    # True: check the request and report errors, but change nothing.
    validate_only = boolean()


class CreatePartitionsResponse(Response, key=37, versions="0-3", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class TopicResult(Struct):
        name = string()
        # Error of this topic. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+", default=None)

    # One result for each topic of the request.
    results = array(TopicResult)
