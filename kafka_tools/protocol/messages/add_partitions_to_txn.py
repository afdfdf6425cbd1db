"""AddPartitionsToTxn (24): add partitions to a transaction.

Up to v3 sent by producers to the transaction coordinator before they write to a partition. From v4 on brokers send it.
They add or only verify the partitions, of several transactions in one request (KIP-890).

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588).
    v3: flexible.
    v4: sent by brokers, with several transactions and verify_only (KIP-890).
    v5: TRANSACTION_ABORTABLE (KIP-890).

Errors
    NOT_COORDINATOR: another broker coordinates the transactional id.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __transaction_state.
    INVALID_REQUEST: the transactional id is empty.
    INVALID_PRODUCER_ID_MAPPING: the transactional id is unknown or has another producer id.
    INVALID_PRODUCER_EPOCH: the epoch is not the current one of the transactional id (before v2).
    PRODUCER_FENCED: the epoch is not the current one of the transactional id (v2).
    CONCURRENT_TRANSACTIONS: the coordinator is still completing the last transaction or another change. Try again.
    INVALID_TXN_STATE: the state of the transaction does not allow additions.
    TRANSACTION_ABORTABLE: verify_only, and the partition is not in the transaction (v5).
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the client lacks WRITE on the transactional id.
    TOPIC_AUTHORIZATION_FAILED: the client lacks WRITE on the topic.
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster (v4).
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    OPERATION_NOT_ATTEMPTED: another partition of the request failed, so the coordinator added none.
    NOT_ENOUGH_REPLICAS: too few replicas of __transaction_state are in sync.
    REQUEST_TIMED_OUT: __transaction_state was not written in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class Topic(Struct):
    name = string(map_key=True)
    partitions = array(int32())


class AddPartitionsToTxnRequest(
    Request,
    key=24,
    effect="changes",
    versions="0-5",
    flexible="3+",
    rights={"transactional id": "Write", "topic": "Write", "cluster": "ClusterAction"},
):
    class Transaction(Struct):
        transactional_id = string(versions="4+", map_key=True)
        # The id that InitProducerId assigned. Another one leads to INVALID_PRODUCER_ID_MAPPING.
        producer_id = int64(versions="4+")
        # The epoch that came with the producer id. Any other one leads to PRODUCER_FENCED.
        producer_epoch = int16(versions="4+")
        # True: only check that the transaction contains the partitions. False: add them.
        verify_only = boolean(versions="4+")
        # Partitions to add or to verify.
        topics = array(Topic, versions="4+")

    # Transactions of the same coordinator. Sent by brokers for the producers that write to them.
    transactions = array(Transaction, versions="4+")
    # A request of a producer has only one transaction, which this and the next three fields describe.
    v3_and_below_transactional_id = string(versions="0-3")
    # The id that InitProducerId assigned. Another one leads to INVALID_PRODUCER_ID_MAPPING.
    v3_and_below_producer_id = int64(versions="0-3")
    # The epoch that came with the producer id. Any other one leads to PRODUCER_FENCED.
    v3_and_below_producer_epoch = int16(versions="0-3")
    # Partitions to which the producer is about to write.
    v3_and_below_topics = array(Topic, versions="0-3")


class PartitionResult(Struct):
    partition_index = int32(map_key=True)
    # 0: the partition is in the transaction. OPERATION_NOT_ATTEMPTED: another partition failed.
    partition_error_code = int16()


class TopicResult(Struct):
    name = string(map_key=True)
    results_by_partition = array(PartitionResult)


class AddPartitionsToTxnResponse(Response, key=24, versions="0-5", flexible="3+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request, such as CLUSTER_AUTHORIZATION_FAILED. 0: no error.
    error_code = int16(versions="4+", ignorable=True)

    class Result(Struct):
        transactional_id = string(versions="4+", map_key=True)
        topic_results = array(TopicResult, versions="4+")

    # One result for each requested transaction.
    results_by_transaction = array(Result, versions="4+")
    # One result for each partition of the producer's request. One error means that no partition was added.
    results_by_topic_v3_and_below = array(TopicResult, versions="0-3")
