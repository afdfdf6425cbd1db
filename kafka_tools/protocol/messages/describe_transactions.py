"""DescribeTransactions (65): the state of transactions, by transactional id.

Sent by tools to the coordinator of the ids (KIP-664). Partitions of topics without DESCRIBE are left out.

Errors
    NOT_COORDINATOR: another broker coordinates the transactional id.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __transaction_state.
    TRANSACTIONAL_ID_NOT_FOUND: the coordinator does not know the id.
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the transactional id.
    INVALID_REQUEST: the transactional id is empty.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DescribeTransactionsRequest(
    Request, key=65, versions="0", flexible="0+", rights={"transactional id": "Describe"}
):
    transactional_ids = array(string())


class DescribeTransactionsResponse(Response, key=65, versions="0", flexible="0+"):
    throttle_time_ms = int32()

    class TransactionState(Struct):
        error_code = int16()
        transactional_id = string()
        transaction_state = string()
        transaction_timeout_ms = int32()
        transaction_start_time_ms = int64()  # -1: nothing is open
        producer_id = int64()
        producer_epoch = int16()

        class TopicData(Struct):
            topic = string(map_key=True)
            partitions = array(int32())

        topics = array(TopicData)

    transaction_states = array(TransactionState)
