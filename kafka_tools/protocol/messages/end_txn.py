"""EndTxn (26): commit or abort a transaction.

Sent by producers to the transaction coordinator, which answers once the decision is written; the markers follow.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588).
    v3: flexible.
    v4: TRANSACTION_ABORTABLE (KIP-890).
    v5: the epoch is raised with every transaction, and comes back (KIP-890).

Errors
    NOT_COORDINATOR: another broker coordinates the transactional id.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __transaction_state.
    INVALID_REQUEST: the transactional id is empty.
    INVALID_PRODUCER_ID_MAPPING: the transactional id is unknown or has another producer id.
    INVALID_PRODUCER_EPOCH: the epoch is not the current one of the transactional id (before v2).
    PRODUCER_FENCED: the epoch is not the current one of the transactional id (v2).
    CONCURRENT_TRANSACTIONS: the same decision is still being carried out: try again.
    INVALID_TXN_STATE: there is no transaction to end, or the other decision has been taken.
    TRANSACTION_ABORTABLE: reserved for clients that know it (v4).
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the client lacks WRITE on the transactional id.
    NOT_ENOUGH_REPLICAS: too few replicas of __transaction_state are in sync.
    REQUEST_TIMED_OUT: __transaction_state was not written in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, boolean, int16, int32, int64, string


class EndTxnRequest(Request, key=26, versions="0-5", flexible="3+", rights={"transactional id": "Write"}):
    transactional_id = string()
    producer_id = int64()
    producer_epoch = int16()
    committed = boolean()  # true commits, false aborts


class EndTxnResponse(Response, key=26, versions="0-5", flexible="3+", throttles="1+"):
    throttle_time_ms = int32()
    error_code = int16()
    producer_id = int64(versions="5+", default=-1, ignorable=True)
    producer_epoch = int16(versions="5+", default=-1, ignorable=True)
