"""DeleteTopics (20): delete topics; v6 by name or id."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string, uuid


class DeleteTopicsRequest(Request, key=20, route=CONTROLLER, versions="0-6", flexible="4+"):
    """Request of DeleteTopics.

    v4: flexible.
    v6: adds topics; drops topic_names.
    """

    class DeleteTopicState(Struct):
        name = string(versions="6+", nullable="6+", default=None)
        topic_id = uuid(versions="6+")

    topics = array(DeleteTopicState, versions="6+")
    topic_names = array(string(), versions="0-5", ignorable=True)
    timeout_ms = int32()


class DeleteTopicsResponse(Response, key=20, versions="0-6", flexible="4+"):
    """Response of DeleteTopics.

    v1: adds throttle_time_ms.
    v4: flexible.
    v5: adds responses[].error_message.
    v6: adds responses[].topic_id.
    """

    throttle_time_ms = int32(versions="1+", ignorable=True)

    class DeletableTopicResult(Struct):
        name = string(nullable="6+", map_key=True)
        topic_id = uuid(versions="6+", ignorable=True)
        error_code = int16()
        error_message = string(versions="5+", nullable="5+", default=None, ignorable=True)

    responses = array(DeletableTopicResult)
