"""Produce (0): append record batches to partitions.

acks is 0 (no response is sent), 1 (the leader has it) or -1 (all in-sync replicas have it); any other
value is INVALID_REQUIRED_ACKS. v0 and v1 carry magic 0 or 1, v2 magic 1, v3 and later magic 2 only; zstd
needs v7. v12 lets the broker add partitions to a transaction by itself (KIP-890); v13 names topics by id.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class ProduceRequest(Request, key=0, route=PARTITION_LEADER, versions="0-13", flexible="9+"):
    """Request of Produce.

    v3: adds transactional_id.
    v9: flexible.
    v13: adds topic_data[].topic_id; drops topic_data[].name.
    """

    transactional_id = string(versions="3+", nullable="3+", default=None)
    acks = int16()
    timeout_ms = int32()

    class TopicProduceData(Struct):
        name = string(versions="0-12", ignorable=True, map_key=True)
        topic_id = uuid(versions="13+", ignorable=True, map_key=True)

        class PartitionProduceData(Struct):
            index = int32()
            records = records(nullable="0+")

        partition_data = array(PartitionProduceData)

    topic_data = array(TopicProduceData)


class ProduceResponse(Response, key=0, versions="0-13", flexible="9+"):
    """Response of Produce.

    v1: adds throttle_time_ms.
    v2: adds responses[].partition_responses[].log_append_time_ms.
    v5: adds responses[].partition_responses[].log_start_offset.
    v8: adds responses[].partition_responses[].record_errors,
        responses[].partition_responses[].error_message.
    v9: flexible.
    v10: adds responses[].partition_responses[].current_leader, node_endpoints.
    v13: adds responses[].topic_id; drops responses[].name.
    """

    class TopicProduceResponse(Struct):
        name = string(versions="0-12", ignorable=True, map_key=True)
        topic_id = uuid(versions="13+", ignorable=True, map_key=True)

        class PartitionProduceResponse(Struct):
            index = int32()
            error_code = int16()
            base_offset = int64()
            log_append_time_ms = int64(versions="2+", default=-1, ignorable=True)
            log_start_offset = int64(versions="5+", default=-1, ignorable=True)

            class BatchIndexAndErrorMessage(Struct):
                batch_index = int32(versions="8+")
                batch_index_error_message = string(versions="8+", nullable="8+", default=None)

            record_errors = array(BatchIndexAndErrorMessage, versions="8+", ignorable=True)
            error_message = string(versions="8+", nullable="8+", default=None, ignorable=True)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32(versions="10+", default=-1)
                leader_epoch = int32(versions="10+", default=-1)

            current_leader = struct(LeaderIdAndEpoch, versions="10+", tag=0)

        partition_responses = array(PartitionProduceResponse)

    responses = array(TopicProduceResponse)
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class NodeEndpoint(Struct):
        node_id = int32(versions="10+", map_key=True)
        host = string(versions="10+")
        port = int32(versions="10+")
        rack = string(versions="10+", nullable="10+", default=None)

    node_endpoints = array(NodeEndpoint, versions="10+", tag=0)
