"""ListTransactions (66): list transactions by state, producer id, duration or id pattern."""

from __future__ import annotations

from kafka_tools.protocol.routes import EVERY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class ListTransactionsRequest(Request, key=66, route=EVERY_NODE, versions="0-2", flexible="0+"):
    """Request of ListTransactions.

    v1: adds duration_filter.
    v2: adds transactional_id_pattern.
    """

    state_filters = array(string())
    producer_id_filters = array(int64())
    duration_filter = int64(versions="1+", default=-1)
    transactional_id_pattern = string(versions="2+", nullable="2+", default=None)


class ListTransactionsResponse(Response, key=66, versions="0-2", flexible="0+"):
    """Response of ListTransactions."""

    throttle_time_ms = int32()
    error_code = int16()
    unknown_state_filters = array(string())

    class TransactionState(Struct):
        transactional_id = string()
        producer_id = int64()
        transaction_state = string()

    transaction_states = array(TransactionState)
