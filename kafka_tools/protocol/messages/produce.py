"""Produce (0): append record batches to partitions.

Sent by producers to the leader of each partition. Partitions succeed and fail independently. With acks 0 there is no
response. A batch with a producer id is appended only once, even if the producer sends it again (KIP-98).

Versions
    v1: throttle times in the response.
    v2: message format 1, with timestamps, and the append time of the broker in the response.
    v3: only message format 2, and transactions (KIP-98).
    v4: KAFKA_STORAGE_ERROR in place of NOT_LEADER_OR_FOLLOWER when a disk fails (KIP-112).
    v5: the log start offset in the response, so that an idempotent producer can tell lost state from retention.
    v6: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v7: zstd (KIP-110).
    v8: which records of a batch the broker refused, and why (KIP-467).
    v9: flexible.
    v10: the new leader in the response, with NOT_LEADER_OR_FOLLOWER (KIP-951).
    v11: TRANSACTION_ABORTABLE (KIP-890).
    v12: the broker itself adds partitions to the transaction (KIP-890).
    v13: topics by id (KIP-516).

Errors
    CORRUPT_MESSAGE: the CRC, size or layout of a batch is wrong.
    UNKNOWN_TOPIC_OR_PARTITION: the broker does not have the partition.
    UNKNOWN_TOPIC_ID: no topic has this id (v13).
    NOT_LEADER_OR_FOLLOWER: the broker is not, or no longer, the leader of the partition.
    MESSAGE_TOO_LARGE: a batch is larger than max.message.bytes of the topic.
    RECORD_LIST_TOO_LARGE: a batch is larger than segment.bytes.
    NOT_ENOUGH_REPLICAS: with acks -1: fewer replicas are in sync than min.insync.replicas, and nothing was written.
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: the same, but the number of in-sync replicas fell after the append.
    REQUEST_TIMED_OUT: with acks -1: the replicas did not confirm within timeout_ms. The batch is in the log of the
        leader.
    INVALID_REQUIRED_ACKS: acks is not -1, 0 or 1.
    TOPIC_AUTHORIZATION_FAILED: the client lacks WRITE on the topic.
    INVALID_TOPIC_EXCEPTION: a client other than the admin client (client id __admin_client) writes to an internal
        topic.
    CLUSTER_AUTHORIZATION_FAILED: an idempotent producer lacks both IDEMPOTENT_WRITE on the cluster and WRITE on any
        topic.
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the request has transactional batches but no transactional id, or the client
        lacks WRITE on it.
    INVALID_TIMESTAMP: a timestamp differs from the broker's clock by more than message.timestamp.*.max.ms allow.
    INVALID_RECORD: a record breaks a rule: no key in a compacted topic, offsets that do not count up, or a body that
        cannot be parsed.
    UNSUPPORTED_FOR_MESSAGE_FORMAT: producer ids or headers in a message format before 2.
    UNSUPPORTED_COMPRESSION_TYPE: zstd before v7.
    OUT_OF_ORDER_SEQUENCE_NUMBER: batches are missing between the last batch of this producer and this one.
    DUPLICATE_SEQUENCE_NUMBER: the batch is older than the last five of this producer. A repetition of one of those five
        is no error.
    INVALID_PRODUCER_EPOCH: the epoch is older than the newest one of this producer id.
    UNKNOWN_PRODUCER_ID: the log no longer knows the producer, and its batch does not begin with sequence 0.
    INVALID_TXN_STATE: the transaction does not contain the partition (KIP-890).
    INVALID_PRODUCER_ID_MAPPING: the transaction belongs to another producer id (KIP-890).
    TRANSACTION_ABORTABLE: the transaction does not contain the partition. The producer must abort it (v11).
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
    INVALID_REQUEST: the records are null, or more than one batch where only one is allowed.
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
    effect="changes",
    versions="0-13",
    flexible="9+",
    rights={"topic": "Write", "transactional id": "Write", "cluster": "IdempotentWrite"},
):
    # Null: the batches are not part of a transaction.
    transactional_id = string(versions="3+", nullable="3+", default=None)
    # 0 no response, 1 when the leader has written the batches, -1 when all in-sync replicas have.
    acks = int16()
    # How long the broker may wait for the in-sync replicas with acks -1, in milliseconds. Then it answers
    # REQUEST_TIMED_OUT.
    timeout_ms = int32()

    class TopicProduceData(Struct):
        # Later versions send the topic id instead.
        name = string(versions="0-12", ignorable=True, map_key=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="13+", ignorable=True, map_key=True)

        class PartitionProduceData(Struct):
            # A partition of another leader leads to NOT_LEADER_OR_FOLLOWER.
            index = int32()
            # From v3 on exactly one batch of magic 2. Null leads to INVALID_REQUEST.
            records = records(nullable="0+")

        partition_data = array(PartitionProduceData)

    topic_data = array(TopicProduceData)


class ProduceResponse(Response, key=0, versions="0-13", flexible="9+", throttles="6+"):
    class TopicProduceResponse(Struct):
        # Later versions send the topic id instead.
        name = string(versions="0-12", ignorable=True, map_key=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="13+", ignorable=True, map_key=True)

        class PartitionProduceResponse(Struct):
            index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Offset of the first record of the batch. -1: with an error.
            base_offset = int64(on_error=-1)
            # Timestamp that the broker gave to all records of the batch, in milliseconds. -1: the records keep the
            # timestamps of the producer.
            log_append_time_ms = int64(versions="2+", default=-1, ignorable=True)
            # Start offset of the log, by which an idempotent producer tells lost state from retention. -1: unknown.
            log_start_offset = int64(versions="5+", default=-1, ignorable=True)

            class BatchIndexAndErrorMessage(Struct):
                # Position of the record in the batch, from 0.
                batch_index = int32(versions="8+")
                # Explains the error in words. Null: no explanation.
                batch_index_error_message = string(versions="8+", nullable="8+", default=None)

            # Records because of which the broker refused the whole batch. Empty: the error does not concern single
            # records.
            record_errors = array(BatchIndexAndErrorMessage, versions="8+", ignorable=True)
            # Explains the error in words. Null: no explanation.
            error_message = string(versions="8+", nullable="8+", default=None, ignorable=True)

            class LeaderIdAndEpoch(Struct):
                # Broker id of the new leader. -1: unknown.
                leader_id = int32(versions="10+", default=-1)
                # Epoch of the new leader. -1: unknown.
                leader_epoch = int32(versions="10+", default=-1)

            # Sent with NOT_LEADER_OR_FOLLOWER, so that the client needs no Metadata request.
            current_leader = struct(LeaderIdAndEpoch, versions="10+", tag=0)

        partition_responses = array(PartitionProduceResponse)

    # One result for each partition of the request. Partitions succeed and fail independently.
    responses = array(TopicProduceResponse)
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class NodeEndpoint(Struct):
        node_id = int32(versions="10+", map_key=True)
        # Host of the listener that the request came through.
        host = string(versions="10+")
        port = int32(versions="10+")
        # The broker's broker.rack. Null: not configured.
        rack = string(versions="10+", nullable="10+", default=None)

    # Endpoints of the leaders in current_leader.
    node_endpoints = array(NodeEndpoint, versions="10+", tag=0)
