"""InitProducerId (22): a producer id and epoch, for idempotent and transactional producers.

With a transactional id sent to its coordinator, which aborts what the id has open and raises the epoch, so that older
producers of the id are fenced; without one any broker answers.

Versions
    v1: throttled clients wait by themselves; the response comes first (KIP-219).
    v2: flexible.
    v3: a producer raises its own epoch after an error (KIP-360).
    v4: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588).
    v5: TRANSACTION_ABORTABLE (KIP-890).
    v6: two-phase commit (KIP-939).

Errors
    NOT_COORDINATOR: another broker coordinates the transactional id.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __transaction_state.
    INVALID_REQUEST: an empty transactional id, or only one of producer id and epoch.
    INVALID_TRANSACTION_TIMEOUT: above transaction.max.timeout.ms, or not above 0.
    CONCURRENT_TRANSACTIONS: the id's last transaction is still being completed: try again.
    INVALID_PRODUCER_EPOCH: the epoch is not the newest one of the id (before v4).
    PRODUCER_FENCED: the epoch is not the newest one of the id (v4).
    INVALID_PRODUCER_ID_MAPPING: the producer id is not the one of the transactional id (v3).
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: no WRITE on the transactional id, or no TWO_PHASE_COMMIT where that is asked
        for.
    CLUSTER_AUTHORIZATION_FAILED: an idempotent producer without IDEMPOTENT_WRITE on the cluster or WRITE on some topic.
    TRANSACTION_ABORTABLE: reserved for clients that know it (v5).
    NOT_ENOUGH_REPLICAS: the log of transactions cannot be written.
    REQUEST_TIMED_OUT: the log of transactions was not written in time, or no block of ids came from the controller.
    UNSUPPORTED_VERSION: two-phase commit is not enabled (v6).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, boolean, int16, int32, int64, string


class InitProducerIdRequest(
    Request,
    key=22,
    versions="0-6",
    flexible="2+",
    latest_unstable=True,
    rights={"transactional id": "Write", "cluster": "IdempotentWrite"},
):
    transactional_id = string(nullable="0+")
    transaction_timeout_ms = int32()  # an open transaction is aborted after so long
    producer_id = int64(versions="3+", default=-1)  # -1, or the id whose epoch is to be raised
    producer_epoch = int16(versions="3+", default=-1)
    enable2_pc = boolean(versions="6+")  # prepare without a timeout (KIP-939)
    keep_prepared_txn = boolean(versions="6+")  # go on with a prepared transaction


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+", throttles="1+"):
    throttle_time_ms = int32(ignorable=True)
    error_code = int16()
    producer_id = int64(default=-1)
    producer_epoch = int16(on_error=-1)
    ongoing_txn_producer_id = int64(versions="6+", default=-1)  # -1: nothing was kept
    ongoing_txn_producer_epoch = int16(versions="6+", default=-1)
