"""CreatePartitions (37): add partitions to topics."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string


class CreatePartitionsRequest(Request, key=37, route=CONTROLLER, versions="0-3", flexible="2+"):
    """Request of CreatePartitions.

    v2: flexible.
    """

    class Topic(Struct):
        name = string(map_key=True)
        count = int32()

        class Assignment(Struct):
            broker_ids = array(int32())

        assignments = array(Assignment, nullable="0+")

    topics = array(Topic)
    timeout_ms = int32()
    validate_only = boolean()


class CreatePartitionsResponse(Response, key=37, versions="0-3", flexible="2+"):
    """Response of CreatePartitions.

    v2: flexible.
    """

    throttle_time_ms = int32()

    class TopicResult(Struct):
        name = string()
        error_code = int16()
        error_message = string(nullable="0+", default=None)

    results = array(TopicResult)
