"""DeleteRecords (21): move the log start offset of partitions forward.

offset -1 means the high watermark. Asks the leader of each partition.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class DeleteRecordsRequest(Request, key=21, route=PARTITION_LEADER, versions="0-2", flexible="2+"):
    """Request of DeleteRecords.

    v2: flexible.
    """

    class Topic(Struct):
        name = string()

        class Partition(Struct):
            partition_index = int32()
            offset = int64()

        partitions = array(Partition)

    topics = array(Topic)
    timeout_ms = int32()


class DeleteRecordsResponse(Response, key=21, versions="0-2", flexible="2+"):
    """Response of DeleteRecords.

    v2: flexible.
    """

    throttle_time_ms = int32()

    class TopicResult(Struct):
        name = string(map_key=True)

        class PartitionResult(Struct):
            partition_index = int32(map_key=True)
            low_watermark = int64()
            error_code = int16()

        partitions = array(PartitionResult)

    topics = array(TopicResult)
