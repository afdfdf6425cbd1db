"""AddOffsetsToTxn (25): make a group's commits part of a transaction.

Sent by producers to the transaction coordinator, which adds the group's partition of __consumer_offsets to the
transaction. The offsets follow in TxnOffsetCommit, which goes to the coordinator of the group.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588).
    v3: flexible.
    v4: TRANSACTION_ABORTABLE (KIP-890).

Errors
    NOT_COORDINATOR: another broker coordinates the transactional id.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __transaction_state.
    INVALID_REQUEST: the transactional id is empty.
    INVALID_PRODUCER_ID_MAPPING: the transactional id is unknown or has another producer id.
    INVALID_PRODUCER_EPOCH: the epoch is not the current one of the transactional id (before v2).
    PRODUCER_FENCED: the epoch is not the current one of the transactional id (v2).
    CONCURRENT_TRANSACTIONS: the coordinator is still completing the last transaction. Try again.
    INVALID_TXN_STATE: the state of the transaction does not allow additions.
    TRANSACTION_ABORTABLE: Kafka does not send it yet. The producer must abort the transaction (v4).
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the client lacks WRITE on the transactional id.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    NOT_ENOUGH_REPLICAS: too few replicas of __transaction_state are in sync.
    REQUEST_TIMED_OUT: __transaction_state was not written in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, int64, string


class AddOffsetsToTxnRequest(
    Request,
    key=25,
    effect="changes",
    versions="0-4",
    flexible="3+",
    rights={"transactional id": "Write", "group": "Read"},
):
    transactional_id = string()
    # The id that InitProducerId assigned. Another one leads to INVALID_PRODUCER_ID_MAPPING.
    producer_id = int64()
    # The epoch that came with the producer id. Any other one leads to PRODUCER_FENCED.
    producer_epoch = int16()
    # The group whose offsets TxnOffsetCommit will commit in this transaction.
    group_id = string()


class AddOffsetsToTxnResponse(Response, key=25, versions="0-4", flexible="3+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
