"""OffsetDelete (47): delete committed offsets of a group for topics nobody subscribes to."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class OffsetDeleteRequest(Request, key=47, route=GROUP_COORDINATOR, versions="0"):
    """Request of OffsetDelete."""

    group_id = string()

    class RequestTopic(Struct):
        name = string(map_key=True)

        class RequestPartition(Struct):
            partition_index = int32()

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class OffsetDeleteResponse(Response, key=47, versions="0"):
    """Response of OffsetDelete."""

    error_code = int16()
    throttle_time_ms = int32(ignorable=True)

    class ResponseTopic(Struct):
        name = string(map_key=True)

        class ResponsePartition(Struct):
            partition_index = int32(map_key=True)
            error_code = int16()

        partitions = array(ResponsePartition)

    topics = array(ResponseTopic)
