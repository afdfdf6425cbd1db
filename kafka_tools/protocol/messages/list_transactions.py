"""ListTransactions (66): the transactional ids that a broker coordinates, with their states.

Sent by tools to every broker (KIP-664). Filters are states, producer ids, age and a pattern; unknown states come back
in the answer.

Versions
    v1: a filter by age (KIP-994).
    v2: a filter by pattern (KIP-1152).

Errors
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping.
    COORDINATOR_LOAD_IN_PROGRESS: some partition of __transaction_state is still being read.
    INVALID_REGULAR_EXPRESSION: the pattern cannot be read (v2).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class ListTransactionsRequest(Request, key=66, versions="0-2", flexible="0+"):
    state_filters = array(string())
    producer_id_filters = array(int64())
    duration_filter = int64(versions="1+", default=-1)  # in ms; -1: no filter
    transactional_id_pattern = string(versions="2+", nullable="2+", default=None)


class ListTransactionsResponse(Response, key=66, versions="0-2", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    unknown_state_filters = array(string())  # states that the broker does not know

    class TransactionState(Struct):
        transactional_id = string()
        producer_id = int64()
        transaction_state = string()

    transaction_states = array(TransactionState)
