"""DescribeTransactions (65): describe transactions by transactional id (KIP-664)."""

from __future__ import annotations

from kafka_tools.protocol.routes import TRANSACTION_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DescribeTransactionsRequest(Request, key=65, route=TRANSACTION_COORDINATOR, versions="0", flexible="0+"):
    """Request of DescribeTransactions."""

    transactional_ids = array(string())


class DescribeTransactionsResponse(Response, key=65, versions="0", flexible="0+"):
    """Response of DescribeTransactions."""

    throttle_time_ms = int32()

    class TransactionState(Struct):
        error_code = int16()
        transactional_id = string()
        transaction_state = string()
        transaction_timeout_ms = int32()
        transaction_start_time_ms = int64()
        producer_id = int64()
        producer_epoch = int16()

        class TopicData(Struct):
            topic = string(map_key=True)
            partitions = array(int32())

        topics = array(TopicData)

    transaction_states = array(TransactionState)
