"""UnregisterBroker (64): remove the registration of a broker that is gone."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, int16, int32, string


class UnregisterBrokerRequest(Request, key=64, route=CONTROLLER, versions="0", flexible="0+"):
    """Request of UnregisterBroker."""

    broker_id = int32()


class UnregisterBrokerResponse(Response, key=64, versions="0", flexible="0+"):
    """Response of UnregisterBroker."""

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")
