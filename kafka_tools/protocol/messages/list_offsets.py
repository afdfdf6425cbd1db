"""ListOffsets (2): find offsets by timestamp or by position.

timestamp -1 asks for the log end (the last stable offset when read committed), -2 the log start, -3 the
record of the largest timestamp (v7), -4 the local log start (v8), -5 the last tiered offset (v9).
v0 answers with a list of segment offsets instead of one offset.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string


class ListOffsetsRequest(Request, key=2, route=PARTITION_LEADER, versions="0-11", flexible="6+"):
    """Request of ListOffsets.

    v1: drops topics[].partitions[].max_num_offsets.
    v2: adds isolation_level.
    v4: adds topics[].partitions[].current_leader_epoch.
    v6: flexible.
    v10: adds timeout_ms.
    """

    replica_id = int32()
    isolation_level = int8(versions="2+")

    class Topic(Struct):
        name = string()

        class Partition(Struct):
            partition_index = int32()
            current_leader_epoch = int32(versions="4+", default=-1, ignorable=True)
            timestamp = int64()
            max_num_offsets = int32(versions="0", default=1)

        partitions = array(Partition)

    topics = array(Topic)
    timeout_ms = int32(versions="10+", ignorable=True)


class ListOffsetsResponse(Response, key=2, versions="0-11", flexible="6+"):
    """Response of ListOffsets.

    v1: adds topics[].partitions[].timestamp, topics[].partitions[].offset; drops
        topics[].partitions[].old_style_offsets.
    v2: adds throttle_time_ms.
    v4: adds topics[].partitions[].leader_epoch.
    v6: flexible.
    """

    throttle_time_ms = int32(versions="2+", ignorable=True)

    class TopicResponse(Struct):
        name = string()

        class PartitionResponse(Struct):
            partition_index = int32()
            error_code = int16()
            old_style_offsets = array(int64(), versions="0")
            timestamp = int64(versions="1+", default=-1)
            offset = int64(versions="1+", default=-1)
            leader_epoch = int32(versions="4+", default=-1)

        partitions = array(PartitionResponse)

    topics = array(TopicResponse)
