"""DescribeProducers (61): the producers that write to partitions, with their epochs and open transactions.

Sent by tools to the leader of each partition, to find transactions that hang (KIP-664).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    INVALID_TOPIC_EXCEPTION: the name breaks the rules for topic names.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DescribeProducersRequest(Request, key=61, versions="0", flexible="0+", rights={"topic": "Read"}):
    class TopicRequest(Struct):
        name = string()
        partition_indexes = array(int32())

    topics = array(TopicRequest)


class DescribeProducersResponse(Response, key=61, versions="0", flexible="0+"):
    throttle_time_ms = int32()

    class TopicResponse(Struct):
        name = string()

        class PartitionResponse(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

            class ProducerState(Struct):
                producer_id = int64()
                producer_epoch = int32()
                last_sequence = int32(default=-1)
                last_timestamp = int64(default=-1)
                coordinator_epoch = int32()  # of the last marker; -1: none
                current_txn_start_offset = int64(default=-1)  # -1: no open transaction

            active_producers = array(ProducerState)

        partitions = array(PartitionResponse)

    topics = array(TopicResponse)
