"""ReadShareGroupStateSummary (87): read the summary (start offset, epoch) of share-group state."""

from __future__ import annotations

from kafka_tools.protocol.routes import SHARE_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class ReadShareGroupStateSummaryRequest(Request, key=87, route=SHARE_COORDINATOR, versions="0-1", flexible="0+"):
    """Request of ReadShareGroupStateSummary."""

    group_id = string()

    class ReadStateSummaryData(Struct):
        topic_id = uuid()

        class PartitionData(Struct):
            partition = int32()
            leader_epoch = int32()

        partitions = array(PartitionData)

    topics = array(ReadStateSummaryData)


class ReadShareGroupStateSummaryResponse(Response, key=87, versions="0-1", flexible="0+"):
    """Response of ReadShareGroupStateSummary.

    v1: adds results[].partitions[].delivery_complete_count.
    """

    class ReadStateSummaryResult(Struct):
        topic_id = uuid()

        class PartitionResult(Struct):
            partition = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)
            state_epoch = int32()
            leader_epoch = int32()
            start_offset = int64()
            delivery_complete_count = int32(versions="1+", default=-1, ignorable=True)

        partitions = array(PartitionResult)

    results = array(ReadStateSummaryResult)
