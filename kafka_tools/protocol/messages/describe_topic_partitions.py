"""DescribeTopicPartitions (75): describe topics and their partitions, page by page.

Sent by tools to any broker, which returns the topics in the order of their names (KIP-966). Only this API returns
eligible leader replicas.

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the topic does not exist, or the client lacks DESCRIBE on it.
    INVALID_TOPIC_EXCEPTION: the name is not a valid topic name.
    INVALID_REQUEST: the partition of the cursor is negative, or its topic is not among the requested ones.
    TOPIC_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the topic.
    LEADER_NOT_AVAILABLE: the partition has no leader.
    LISTENER_NOT_FOUND: the leader has no listener of the name on which the request came.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, struct, uuid


class DescribeTopicPartitionsRequest(
    Request, key=75, effect="reads", versions="0", flexible="0+", rights={"topic": "Describe"}
):
    class TopicRequest(Struct):
        name = string()

    # Topics to describe, in any order. Empty: all that the client may describe.
    topics = array(TopicRequest)
    # Maximum number of partitions in the response. max.request.partition.size.limit of the broker limits it further.
    response_partition_limit = int32(default=2000)

    class Cursor(Struct):
        # First topic to return, in the order of names. If topics is not empty, it must be in it.
        topic_name = string()
        # First partition to return of this topic. A negative one leads to INVALID_REQUEST.
        partition_index = int32()

    # The next_cursor of the last response. Null: begin with the first topic.
    cursor = struct(Cursor, nullable="0+", default=None)


class DescribeTopicPartitionsResponse(Response, key=75, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(ignorable=True)

    class ResponseTopic(Struct):
        # Error of this topic. 0: no error.
        error_code = int16()
        # As in the request. Null: brokers never send it.
        name = string(nullable="0+", map_key=True)
        # Zero: with an error.
        topic_id = uuid(ignorable=True)
        # True: Kafka's own topic, such as __consumer_offsets.
        is_internal = boolean(ignorable=True)

        class ResponsePartition(Struct):
            # Always 0: a partition without a leader is no error here.
            error_code = int16()
            partition_index = int32()
            # -1: no live broker leads the partition, or the leader has no listener of the name on which the request
            # came.
            leader_id = int32()
            # Rises with each election. -1: not known.
            leader_epoch = int32(default=-1, ignorable=True)
            # Brokers that have a replica, the preferred leader first.
            replica_nodes = array(int32())
            # Brokers whose replica is in sync.
            isr_nodes = array(int32())
            # Not in sync, but with every committed record. Safe to elect when no in-sync replica is left (KIP-966).
            eligible_leader_replicas = array(int32(), nullable="0+", default=None)
            # Were eligible until they stopped uncleanly, so that committed records may be missing. Elected as a last
            # resort.
            last_known_elr = array(int32(), nullable="0+", default=None)
            # Replicas on brokers that are fenced, or in failed log directories.
            offline_replicas = array(int32(), ignorable=True)

        partitions = array(ResponsePartition)
        # Operations that the client may perform: bit n is set for AclOperation n. -2147483648: not requested.
        topic_authorized_operations = int32(default=-2147483648)

    topics = array(ResponseTopic)

    class Cursor(Struct):
        # Topic with which the next page begins.
        topic_name = string()
        # Partition with which the next page begins.
        partition_index = int32()

    # Send it with the next request. Null: this was the last page.
    next_cursor = struct(Cursor, nullable="0+", default=None)
