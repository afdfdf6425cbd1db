"""InitProducerId (22): get a producer id and epoch, for an idempotent or transactional producer.

An idempotent producer, which has no transactional id, sends it to any broker. A transactional producer sends it to the
coordinator of its transactional id. The coordinator aborts the open transaction of the id and raises the epoch, which
fences older producers of the id.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: a producer raises its own epoch after an error (KIP-360).
    v4: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588).
    v5: TRANSACTION_ABORTABLE (KIP-890).
    v6: two-phase commit (KIP-939).

Errors
    NOT_COORDINATOR: another broker coordinates the transactional id.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __transaction_state.
    INVALID_REQUEST: the transactional id is empty, or only one of producer id and epoch is given.
    INVALID_TRANSACTION_TIMEOUT: the timeout is above transaction.max.timeout.ms, or not above 0.
    CONCURRENT_TRANSACTIONS: the coordinator is still completing the last transaction. Try again.
    INVALID_PRODUCER_EPOCH: the epoch is not the current one of the transactional id (before v4).
    PRODUCER_FENCED: the epoch is not the current one of the transactional id (v4).
    INVALID_PRODUCER_ID_MAPPING: the transactional id has another producer id (v3).
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the client lacks WRITE on the transactional id, or TWO_PHASE_COMMIT if it
        asks for that.
    CLUSTER_AUTHORIZATION_FAILED: an idempotent producer lacks both IDEMPOTENT_WRITE on the cluster and WRITE on any
        topic.
    TRANSACTION_ABORTABLE: Kafka does not send it yet. The producer must abort the transaction (v5).
    NOT_ENOUGH_REPLICAS: too few replicas of __transaction_state are in sync.
    REQUEST_TIMED_OUT: __transaction_state was not written in time, or the controller gave no block of ids in time.
    UNSUPPORTED_VERSION: two-phase commit is not enabled (v6).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, boolean, int16, int32, int64, string


class InitProducerIdRequest(
    Request,
    key=22,
    effect="changes",
    versions="0-6",
    flexible="2+",
    latest_unstable=True,
    rights={"transactional id": "Write", "cluster": "IdempotentWrite"},
):
    # Null: a producer that is only idempotent.
    transactional_id = string(nullable="0+")
    # How long a transaction may stay open before the coordinator aborts it, in milliseconds. At most
    # transaction.max.timeout.ms.
    transaction_timeout_ms = int32()
    # -1: a new producer. A producer that recovers from an error sends its id, to raise its epoch.
    producer_id = int64(versions="3+", default=-1)
    # The epoch that belongs to producer_id. -1: none.
    producer_epoch = int16(versions="3+", default=-1)
    # True: two-phase commit, in which no timeout aborts a transaction (KIP-939).
    enable2_pc = boolean(versions="6+")
    # True: keep the open transaction, so that the producer can complete it. False: abort it.
    keep_prepared_txn = boolean(versions="6+")


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(ignorable=True)
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Id for the producer's batches. -1: with an error.
    producer_id = int64(default=-1)
    # Epoch for the producer's batches. It fences older producers of the same transactional id.
    producer_epoch = int16(on_error=-1)
    # Producer id of the transaction that was kept. -1: none was open.
    ongoing_txn_producer_id = int64(versions="6+", default=-1)
    # Epoch of the transaction that was kept. -1: none was open.
    ongoing_txn_producer_epoch = int16(versions="6+", default=-1)
