"""ReadShareGroupStateSummary (87): read start offset and epochs of share partitions.

Sent by group coordinators to the share coordinator (KIP-932).

Versions
    v1: how many deliveries are complete, for the lag of a group (KIP-1226).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class ReadShareGroupStateSummaryRequest(Request, key=87, versions="0-1", flexible="0+"):
    group_id = string()

    class ReadStateSummaryData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            partition = int32()
            leader_epoch = int32()

        partitions = array(PartitionData)

    topics = array(ReadStateSummaryData)


class ReadShareGroupStateSummaryResponse(Response, key=87, versions="0-1", flexible="0+"):
    class ReadStateSummaryResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)
            state_epoch = int32()
            leader_epoch = int32(on_error=0)
            start_offset = int64()
            delivery_complete_count = int32(versions="1+", default=-1, ignorable=True)

        partitions = array(PartitionResult)

    results = array(ReadStateSummaryResult)
