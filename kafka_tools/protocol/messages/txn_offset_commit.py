"""TxnOffsetCommit (28): commit a group's offsets as part of a transaction."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class TxnOffsetCommitRequest(Request, key=28, route=GROUP_COORDINATOR, versions="0-5", flexible="3+"):
    """Request of TxnOffsetCommit.

    v2: adds topics[].partitions[].committed_leader_epoch.
    v3: adds generation_id, member_id, group_instance_id; flexible.
    """

    transactional_id = string()
    group_id = string()
    producer_id = int64()
    producer_epoch = int16()
    generation_id = int32(versions="3+", default=-1)
    member_id = string(versions="3+")
    group_instance_id = string(versions="3+", nullable="3+", default=None)

    class RequestTopic(Struct):
        name = string()

        class RequestPartition(Struct):
            partition_index = int32()
            committed_offset = int64()
            committed_leader_epoch = int32(versions="2+", default=-1, ignorable=True)
            committed_metadata = string(nullable="0+")

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class TxnOffsetCommitResponse(Response, key=28, versions="0-5", flexible="3+"):
    """Response of TxnOffsetCommit.

    v3: flexible.
    """

    throttle_time_ms = int32()

    class ResponseTopic(Struct):
        name = string()

        class ResponsePartition(Struct):
            partition_index = int32()
            error_code = int16()

        partitions = array(ResponsePartition)

    topics = array(ResponseTopic)
