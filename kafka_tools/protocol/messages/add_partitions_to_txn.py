"""AddPartitionsToTxn (24): add partitions to a transaction.

Up to v3 sent by producers to the transaction coordinator before they write to a partition. Later versions are for
brokers, which add or only verify the partitions of several transactions at once (KIP-890).

Versions
    v1: throttled clients wait by themselves; the response comes first (KIP-219).
    v2: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588).
    v3: flexible.
    v4: from brokers: several transactions, and verify_only (KIP-890).
    v5: TRANSACTION_ABORTABLE (KIP-890).

Errors
    NOT_COORDINATOR: another broker coordinates the transactional id.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __transaction_state.
    INVALID_REQUEST: an empty transactional id.
    INVALID_PRODUCER_ID_MAPPING: the id is not known, or has another producer id.
    INVALID_PRODUCER_EPOCH: the epoch is not the newest one of the id (before v2).
    PRODUCER_FENCED: the epoch is not the newest one of the id (v2).
    CONCURRENT_TRANSACTIONS: the last transaction is still being completed, or another change of it is under way: try
        again.
    INVALID_TXN_STATE: the transaction is in a state to which nothing can be added.
    TRANSACTION_ABORTABLE: verify_only, and the partition is not in the transaction (v5).
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: no WRITE on the transactional id.
    TOPIC_AUTHORIZATION_FAILED: no WRITE on the topic.
    CLUSTER_AUTHORIZATION_FAILED: v4 from somebody without CLUSTER_ACTION.
    UNKNOWN_TOPIC_OR_PARTITION: no such partition.
    OPERATION_NOT_ATTEMPTED: another partition of the request was refused, so none was added.
    NOT_ENOUGH_REPLICAS: the log of transactions cannot be written.
    REQUEST_TIMED_OUT: the log of transactions was not written in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class Topic(Struct):
    name = string(map_key=True)
    partitions = array(int32())


class AddPartitionsToTxnRequest(
    Request,
    key=24,
    versions="0-5",
    flexible="3+",
    rights={"transactional id": "Write", "topic": "Write", "cluster": "ClusterAction"},
):
    class Transaction(Struct):
        transactional_id = string(versions="4+", map_key=True)
        producer_id = int64(versions="4+")
        producer_epoch = int16(versions="4+")
        verify_only = boolean(versions="4+")  # only say whether the partitions are in the transaction
        topics = array(Topic, versions="4+")

    transactions = array(Transaction, versions="4+")
    v3_and_below_transactional_id = string(versions="0-3")  # of a producer's request, which has one transaction
    v3_and_below_producer_id = int64(versions="0-3")
    v3_and_below_producer_epoch = int16(versions="0-3")
    v3_and_below_topics = array(Topic, versions="0-3")


class PartitionResult(Struct):
    partition_index = int32(map_key=True)
    partition_error_code = int16()


class TopicResult(Struct):
    name = string(map_key=True)
    results_by_partition = array(PartitionResult)


class AddPartitionsToTxnResponse(Response, key=24, versions="0-5", flexible="3+", throttles="1+"):
    throttle_time_ms = int32()
    error_code = int16(versions="4+", ignorable=True)

    class Result(Struct):
        transactional_id = string(versions="4+", map_key=True)
        topic_results = array(TopicResult, versions="4+")

    results_by_transaction = array(Result, versions="4+")
    results_by_topic_v3_and_below = array(TopicResult, versions="0-3")
