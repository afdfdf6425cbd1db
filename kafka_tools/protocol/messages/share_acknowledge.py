"""ShareAcknowledge (79): acknowledge records of a share group."""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
    uuid,
)


class ShareAcknowledgeRequest(Request, key=79, route=PARTITION_LEADER, versions="0-2", flexible="0+"):
    """Request of ShareAcknowledge.

    v2: adds is_renew_ack.
    """

    group_id = string(nullable="0+", default=None)
    member_id = string(nullable="0+")
    share_session_epoch = int32()
    is_renew_ack = boolean(versions="2+")

    class AcknowledgeTopic(Struct):
        topic_id = uuid(map_key=True)

        class AcknowledgePartition(Struct):
            partition_index = int32(map_key=True)

            class AcknowledgementBatch(Struct):
                first_offset = int64()
                last_offset = int64()
                acknowledge_types = array(int8())

            acknowledgement_batches = array(AcknowledgementBatch)

        partitions = array(AcknowledgePartition)

    topics = array(AcknowledgeTopic)


class ShareAcknowledgeResponse(Response, key=79, versions="0-2", flexible="0+"):
    """Response of ShareAcknowledge.

    v2: adds acquisition_lock_timeout_ms.
    """

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    acquisition_lock_timeout_ms = int32(versions="2+", ignorable=True)

    class TopicResponse(Struct):
        topic_id = uuid(map_key=True)

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32()
                leader_epoch = int32()

            current_leader = struct(LeaderIdAndEpoch)

        partitions = array(PartitionData)

    responses = array(TopicResponse)

    class NodeEndpoint(Struct):
        node_id = int32(map_key=True)
        host = string()
        port = int32()
        rack = string(nullable="0+", default=None)

    node_endpoints = array(NodeEndpoint)
