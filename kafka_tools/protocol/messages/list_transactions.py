"""ListTransactions (66): list the transactional ids that a broker coordinates, with their states.

Sent by tools to every broker, because each broker knows only its own transactional ids. The response omits ids on which
the client lacks DESCRIBE (KIP-664).

Versions
    v1: a filter by age of the transaction (KIP-994).
    v2: a filter by pattern of the transactional id (KIP-1152).

Errors
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading a partition of __transaction_state.
    INVALID_REGULAR_EXPRESSION: the pattern is not a valid regular expression (v2).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class ListTransactionsRequest(Request, key=66, effect="reads", versions="0-2", flexible="0+"):
    # Only transactions in these states, such as Ongoing. An empty list: all states.
    state_filters = array(string())
    # Only transactions of these producers. An empty list: all producers.
    producer_id_filters = array(int64())
    # Only transactions that have been open for longer than this, in milliseconds. -1: all transactions.
    duration_filter = int64(versions="1+", default=-1)
    # Regular expression (RE2) that must match the whole transactional id. Null or empty: all ids.
    transactional_id_pattern = string(versions="2+", nullable="2+", default=None)


class ListTransactionsResponse(Response, key=66, versions="0-2", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # States in state_filters that the broker does not know. It ignores them.
    unknown_state_filters = array(string())

    class TransactionState(Struct):
        transactional_id = string()
        # Producer id that currently belongs to the transactional id.
        producer_id = int64()
        # Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort or PrepareEpochFence.
        transaction_state = string()

    transaction_states = array(TransactionState)
