"""DescribeProducers (61): active producers of partitions, as the leader sees them (KIP-664)."""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DescribeProducersRequest(Request, key=61, route=PARTITION_LEADER, versions="0", flexible="0+"):
    """Request of DescribeProducers."""

    class TopicRequest(Struct):
        name = string()
        partition_indexes = array(int32())

    topics = array(TopicRequest)


class DescribeProducersResponse(Response, key=61, versions="0", flexible="0+"):
    """Response of DescribeProducers."""

    throttle_time_ms = int32()

    class TopicResponse(Struct):
        name = string()

        class PartitionResponse(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

            class ProducerState(Struct):
                producer_id = int64()
                producer_epoch = int32()
                last_sequence = int32(default=-1)
                last_timestamp = int64(default=-1)
                coordinator_epoch = int32()
                current_txn_start_offset = int64(default=-1)

            active_producers = array(ProducerState)

        partitions = array(PartitionResponse)

    topics = array(TopicResponse)
