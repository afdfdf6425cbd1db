"""DescribeProducers (61): list the producers of partitions, with their epochs and open transactions.

Sent by tools to the leader of each partition, to find hanging transactions (KIP-664).

Errors
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no replica of the partition.
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    INVALID_TOPIC_EXCEPTION: the name is not a valid topic name.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DescribeProducersRequest(Request, key=61, effect="reads", versions="0", flexible="0+", rights={"topic": "Read"}):
    class TopicRequest(Struct):
        name = string()
        partition_indexes = array(int32())

    topics = array(TopicRequest)


class DescribeProducersResponse(Response, key=61, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class TopicResponse(Struct):
        name = string()

        class PartitionResponse(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Explains the error in words. Null: no explanation.
            error_message = string(nullable="0+", default=None)

            class ProducerState(Struct):
                producer_id = int64()
                # The newest epoch that has written here.
                producer_epoch = int32()
                # Sequence number of the producer's last record here. -1: none.
                last_sequence = int32(default=-1)
                # Timestamp of the producer's last batch here, in milliseconds since 1970. -1: none.
                last_timestamp = int64(default=-1)
                # Epoch of the transaction coordinator that wrote the producer's last marker here. -1: none yet.
                coordinator_epoch = int32()
                # Offset where the producer's open transaction begins here. -1: no open transaction.
                current_txn_start_offset = int64(default=-1)

            # Producers that the leader remembers, until producer.id.expiration.ms after their last batch.
            active_producers = array(ProducerState)

        partitions = array(PartitionResponse)

    topics = array(TopicResponse)
