"""WriteTxnMarkers (27): write transaction markers to partitions; from a transaction coordinator to leaders."""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, int64, string


class WriteTxnMarkersRequest(Request, key=27, route=PARTITION_LEADER, versions="0-2", flexible="1+"):
    """Request of WriteTxnMarkers.

    v1: flexible.
    v2: adds markers[].transaction_version.
    """

    class WritableTxnMarker(Struct):
        producer_id = int64()
        producer_epoch = int16()
        transaction_result = boolean()

        class WritableTxnMarkerTopic(Struct):
            name = string()
            partition_indexes = array(int32())

        topics = array(WritableTxnMarkerTopic)
        coordinator_epoch = int32()
        transaction_version = int8(versions="2+", ignorable=True)

    markers = array(WritableTxnMarker)


class WriteTxnMarkersResponse(Response, key=27, versions="0-2", flexible="1+"):
    """Response of WriteTxnMarkers.

    v1: flexible.
    """

    class WritableTxnMarkerResult(Struct):
        producer_id = int64()

        class WritableTxnMarkerTopicResult(Struct):
            name = string()

            class WritableTxnMarkerPartitionResult(Struct):
                partition_index = int32()
                error_code = int16()

            partitions = array(WritableTxnMarkerPartitionResult)

        topics = array(WritableTxnMarkerTopicResult)

    markers = array(WritableTxnMarkerResult)
