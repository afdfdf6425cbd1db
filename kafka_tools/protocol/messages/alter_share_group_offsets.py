"""AlterShareGroupOffsets (91): set share-group start offsets."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class AlterShareGroupOffsetsRequest(Request, key=91, route=GROUP_COORDINATOR, versions="0", flexible="0+"):
    """Request of AlterShareGroupOffsets."""

    group_id = string()

    class RequestTopic(Struct):
        topic_name = string(map_key=True)

        class RequestPartition(Struct):
            partition_index = int32()
            start_offset = int64()

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class AlterShareGroupOffsetsResponse(Response, key=91, versions="0", flexible="0+"):
    """Response of AlterShareGroupOffsets."""

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)

    class ResponseTopic(Struct):
        topic_name = string(map_key=True)
        topic_id = uuid()

        class ResponsePartition(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)

        partitions = array(ResponsePartition)

    responses = array(ResponseTopic)
