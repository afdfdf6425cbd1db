"""AllocateProducerIds (67): a broker asks for a block of producer ids."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, int16, int32, int64


class AllocateProducerIdsRequest(Request, key=67, route=CONTROLLER, versions="0", flexible="0+"):
    """Request of AllocateProducerIds."""

    broker_id = int32()
    broker_epoch = int64(default=-1)


class AllocateProducerIdsResponse(Response, key=67, versions="0", flexible="0+"):
    """Response of AllocateProducerIds."""

    throttle_time_ms = int32()
    error_code = int16()
    producer_id_start = int64()
    producer_id_len = int32()
