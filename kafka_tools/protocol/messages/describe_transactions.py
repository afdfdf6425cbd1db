"""DescribeTransactions (65): get the state of transactions, by transactional id.

Sent by tools to the coordinator of the ids (KIP-664). The response omits partitions of topics on which the client lacks
DESCRIBE.

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
    Request, key=65, effect="reads", versions="0", flexible="0+", rights={"transactional id": "Describe"}
):
    # Ids of this coordinator. Empty: none are described.
    transactional_ids = array(string())


class DescribeTransactionsResponse(Response, key=65, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class TransactionState(Struct):
        # Error of this transactional id. 0: no error.
        error_code = int16()
        transactional_id = string()
        # Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort or PrepareEpochFence. Empty text
        # with an error.
        transaction_state = string()
        # The producer's transaction.timeout.ms. The coordinator aborts the transaction after it.
        transaction_timeout_ms = int32()
        # When the open transaction began, in milliseconds since 1970. -1: none is open.
        transaction_start_time_ms = int64()
        # The id with which the producer writes. It stays the same between transactions, until its epochs are used up.
        producer_id = int64()
        # The current epoch. Producers with an older one are fenced.
        producer_epoch = int16()

        class TopicData(Struct):
            topic = string(map_key=True)
            partitions = array(int32())

        # Partitions of the open transaction. While it is being completed: those that still lack a marker.
        topics = array(TopicData)

    # One result for each id of the request.
    transaction_states = array(TransactionState)
