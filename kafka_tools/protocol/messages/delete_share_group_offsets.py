"""DeleteShareGroupOffsets (92): delete share-group offsets of topics."""

from __future__ import annotations

from kafka_tools.protocol.routes import GROUP_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uuid


class DeleteShareGroupOffsetsRequest(Request, key=92, route=GROUP_COORDINATOR, versions="0", flexible="0+"):
    """Request of DeleteShareGroupOffsets."""

    group_id = string()

    class RequestTopic(Struct):
        topic_name = string()

    topics = array(RequestTopic)


class DeleteShareGroupOffsetsResponse(Response, key=92, versions="0", flexible="0+"):
    """Response of DeleteShareGroupOffsets."""

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)

    class ResponseTopic(Struct):
        topic_name = string()
        topic_id = uuid()
        error_code = int16()
        error_message = string(nullable="0+", default=None)

    responses = array(ResponseTopic)
