"""OffsetForLeaderEpoch (23): the end offset of a leader epoch, to find where logs diverge (KIP-101, KIP-320)."""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class OffsetForLeaderEpochRequest(Request, key=23, route=PARTITION_LEADER, versions="0-4", flexible="4+"):
    """Request of OffsetForLeaderEpoch.

    v2: adds topics[].partitions[].current_leader_epoch.
    v3: adds replica_id.
    v4: flexible.
    """

    replica_id = int32(versions="3+", default=-2, ignorable=True)

    class OffsetForLeaderTopic(Struct):
        topic = string(map_key=True)

        class OffsetForLeaderPartition(Struct):
            partition = int32()
            current_leader_epoch = int32(versions="2+", default=-1, ignorable=True)
            leader_epoch = int32()

        partitions = array(OffsetForLeaderPartition)

    topics = array(OffsetForLeaderTopic)


class OffsetForLeaderEpochResponse(Response, key=23, versions="0-4", flexible="4+"):
    """Response of OffsetForLeaderEpoch.

    v1: adds topics[].partitions[].leader_epoch.
    v2: adds throttle_time_ms.
    v4: flexible.
    """

    throttle_time_ms = int32(versions="2+", ignorable=True)

    class OffsetForLeaderTopicResult(Struct):
        topic = string(map_key=True)

        class EpochEndOffset(Struct):
            error_code = int16()
            partition = int32()
            leader_epoch = int32(versions="1+", default=-1, ignorable=True)
            end_offset = int64(default=-1)

        partitions = array(EpochEndOffset)

    topics = array(OffsetForLeaderTopicResult)
