"""AddOffsetsToTxn (25): make a group's commits part of a transaction.

Sent by producers to the transaction coordinator, which adds the group's partition of __consumer_offsets to the
transaction; the commits themselves follow in TxnOffsetCommit, to the group's coordinator.

Versions
    v1: throttled clients wait by themselves; the response comes first (KIP-219).
    v2: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588).
    v3: flexible.
    v4: TRANSACTION_ABORTABLE (KIP-890).

Errors
    NOT_COORDINATOR: another broker coordinates the transactional id.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __transaction_state.
    INVALID_REQUEST: an empty transactional id.
    INVALID_PRODUCER_ID_MAPPING: the id is not known, or has another producer id.
    INVALID_PRODUCER_EPOCH: the epoch is not the newest one of the id (before v2).
    PRODUCER_FENCED: the epoch is not the newest one of the id (v2).
    CONCURRENT_TRANSACTIONS: the last transaction is still being completed: try again.
    INVALID_TXN_STATE: the transaction is in a state to which nothing can be added.
    TRANSACTION_ABORTABLE: reserved for clients that know it (v4).
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: no WRITE on the transactional id.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    NOT_ENOUGH_REPLICAS: the log of transactions cannot be written.
    REQUEST_TIMED_OUT: the log of transactions was not written in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, int64, string


class AddOffsetsToTxnRequest(
    Request, key=25, versions="0-4", flexible="3+", rights={"transactional id": "Write", "group": "Read"}
):
    transactional_id = string()
    producer_id = int64()
    producer_epoch = int16()
    group_id = string()


class AddOffsetsToTxnResponse(Response, key=25, versions="0-4", flexible="3+", throttles="1+"):
    throttle_time_ms = int32()
    error_code = int16()
