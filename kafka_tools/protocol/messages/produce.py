"""Produce (0): append record batches to partitions.

Sent by producers to the leader of each partition. Partitions succeed and fail one by one; with acks 0 there is no
response at all. A batch with a producer id is appended once, however often it is sent (KIP-98).

Versions
    v1: throttle times.
    v2: message format 1, with timestamps; the broker's append time in the response.
    v3: message format 2 only, and transactions (KIP-98).
    v4: KAFKA_STORAGE_ERROR in place of NOT_LEADER_OR_FOLLOWER when a disk fails (KIP-112).
    v5: the log start offset in the response, so that an idempotent producer can tell lost state from retention.
    v6: throttled clients wait by themselves; the response comes first (KIP-219).
    v7: zstd (KIP-110).
    v8: which records of a batch were refused, and why (KIP-467).
    v9: flexible.
    v10: the leader that took over comes with NOT_LEADER_OR_FOLLOWER (KIP-951).
    v11: TRANSACTION_ABORTABLE (KIP-890).
    v12: the broker adds partitions to the transaction by itself (KIP-890).
    v13: topics by id (KIP-516).

Errors
    CORRUPT_MESSAGE: a batch whose CRC, size or layout is wrong.
    UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition.
    UNKNOWN_TOPIC_ID: no topic has this id (v13).
    NOT_LEADER_OR_FOLLOWER: the broker does not lead the partition (any more).
    MESSAGE_TOO_LARGE: a batch above max.message.bytes of the topic.
    RECORD_LIST_TOO_LARGE: a batch above segment.bytes.
    NOT_ENOUGH_REPLICAS: acks -1, and fewer in-sync replicas than min.insync.replicas; nothing was written.
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: as above, but the in-sync replicas became too few after the append.
    REQUEST_TIMED_OUT: acks -1, and the replicas did not follow within timeout_ms; the batch is in the leader's log.
    INVALID_REQUIRED_ACKS: acks is none of -1, 0 and 1.
    TOPIC_AUTHORIZATION_FAILED: no WRITE on the topic.
    INVALID_TOPIC_EXCEPTION: an internal topic, from a client that is not an admin client (client id __admin_client).
    CLUSTER_AUTHORIZATION_FAILED: an idempotent batch without IDEMPOTENT_WRITE on the cluster, or WRITE on some topic.
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: transactional batches without an id, or without WRITE on it.
    INVALID_TIMESTAMP: a timestamp further from the broker's clock than message.timestamp.*.max.ms allow.
    INVALID_RECORD: a record breaks a rule: no key where the topic is compacted, offsets that do not count up, a body
        that cannot be read.
    UNSUPPORTED_FOR_MESSAGE_FORMAT: producer ids or headers in a message format before 2.
    UNSUPPORTED_COMPRESSION_TYPE: zstd before v7.
    OUT_OF_ORDER_SEQUENCE_NUMBER: a gap between the last batch of this producer and this one.
    DUPLICATE_SEQUENCE_NUMBER: a batch older than the last five of this producer; newer repeats are not errors.
    INVALID_PRODUCER_EPOCH: an epoch older than the newest one of this producer id.
    UNKNOWN_PRODUCER_ID: a first batch that does not begin with sequence 0, of a producer the log no longer knows.
    INVALID_TXN_STATE: the partition was not added to the transaction (KIP-890).
    INVALID_PRODUCER_ID_MAPPING: the transaction is not that of this producer id (KIP-890).
    TRANSACTION_ABORTABLE: the same to clients that know it (v11).
    KAFKA_STORAGE_ERROR: the disk of the partition has failed.
    INVALID_REQUEST: the batches are null, or several where one is allowed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class ProduceRequest(
    Request,
    key=0,
    versions="0-13",
    flexible="9+",
    rights={"topic": "Write", "transactional id": "Write", "cluster": "IdempotentWrite"},
):
    transactional_id = string(versions="3+", nullable="3+", default=None)
    acks = int16()  # 0: no response; 1: the leader has written it; -1: all in-sync replicas have
    timeout_ms = int32()  # the longest wait for the replicas, with acks -1

    class TopicProduceData(Struct):
        name = string(versions="0-12", ignorable=True, map_key=True)
        topic_id = uuid(versions="13+", ignorable=True, map_key=True)

        class PartitionProduceData(Struct):
            index = int32()
            records = records(nullable="0+")  # from v3 on exactly one batch of magic 2

        partition_data = array(PartitionProduceData)

    topic_data = array(TopicProduceData)


class ProduceResponse(Response, key=0, versions="0-13", flexible="9+", throttles="6+"):
    class TopicProduceResponse(Struct):
        name = string(versions="0-12", ignorable=True, map_key=True)
        topic_id = uuid(versions="13+", ignorable=True, map_key=True)

        class PartitionProduceResponse(Struct):
            index = int32()
            error_code = int16()
            base_offset = int64(on_error=-1)  # of the first record; -1 with an error
            # -1 where records keep the producer's timestamps
            log_append_time_ms = int64(versions="2+", default=-1, ignorable=True)
            log_start_offset = int64(versions="5+", default=-1, ignorable=True)

            class BatchIndexAndErrorMessage(Struct):
                batch_index = int32(versions="8+")  # the record within the batch
                batch_index_error_message = string(versions="8+", nullable="8+", default=None)

            record_errors = array(BatchIndexAndErrorMessage, versions="8+", ignorable=True)
            error_message = string(versions="8+", nullable="8+", default=None, ignorable=True)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32(versions="10+", default=-1)
                leader_epoch = int32(versions="10+", default=-1)

            current_leader = struct(LeaderIdAndEpoch, versions="10+", tag=0)

        partition_responses = array(PartitionProduceResponse)

    responses = array(TopicProduceResponse)
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class NodeEndpoint(Struct):
        node_id = int32(versions="10+", map_key=True)
        host = string(versions="10+")
        port = int32(versions="10+")
        rack = string(versions="10+", nullable="10+", default=None)

    node_endpoints = array(NodeEndpoint, versions="10+", tag=0)
