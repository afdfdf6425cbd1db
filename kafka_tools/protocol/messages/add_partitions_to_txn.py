"""AddPartitionsToTxn (24): add partitions to a transaction.

v4 and later are for brokers, with several transactions in one request.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import TRANSACTION_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class Topic(Struct):
    name = string(map_key=True)
    partitions = array(int32())


class AddPartitionsToTxnRequest(Request, key=24, route=TRANSACTION_COORDINATOR, versions="0-5", flexible="3+"):
    """Request of AddPartitionsToTxn.

    v3: flexible.
    v4: adds transactions; drops v3_and_below_transactional_id, v3_and_below_producer_id,
        v3_and_below_producer_epoch, v3_and_below_topics.
    """

    class Transaction(Struct):
        transactional_id = string(versions="4+", map_key=True)
        producer_id = int64(versions="4+")
        producer_epoch = int16(versions="4+")
        verify_only = boolean(versions="4+")
        topics = array(Topic, versions="4+")

    transactions = array(Transaction, versions="4+")
    v3_and_below_transactional_id = string(versions="0-3")
    v3_and_below_producer_id = int64(versions="0-3")
    v3_and_below_producer_epoch = int16(versions="0-3")
    v3_and_below_topics = array(Topic, versions="0-3")


class PartitionResult(Struct):
    partition_index = int32(map_key=True)
    partition_error_code = int16()


class TopicResult(Struct):
    name = string(map_key=True)
    results_by_partition = array(PartitionResult)


class AddPartitionsToTxnResponse(Response, key=24, versions="0-5", flexible="3+"):
    """Response of AddPartitionsToTxn.

    v3: flexible.
    v4: adds error_code, results_by_transaction; drops results_by_topic_v3_and_below.
    """

    throttle_time_ms = int32()
    error_code = int16(versions="4+", ignorable=True)

    class Result(Struct):
        transactional_id = string(versions="4+", map_key=True)
        topic_results = array(TopicResult, versions="4+")

    results_by_transaction = array(Result, versions="4+")
    results_by_topic_v3_and_below = array(TopicResult, versions="0-3")
