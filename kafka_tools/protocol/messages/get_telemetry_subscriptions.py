"""GetTelemetrySubscriptions (71): which metrics a client should push (KIP-714)."""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, array, boolean, int8, int16, int32, string, uuid


class GetTelemetrySubscriptionsRequest(Request, key=71, route=ANY_NODE, versions="0", flexible="0+"):
    """Request of GetTelemetrySubscriptions."""

    client_instance_id = uuid()


class GetTelemetrySubscriptionsResponse(Response, key=71, versions="0", flexible="0+"):
    """Response of GetTelemetrySubscriptions."""

    throttle_time_ms = int32()
    error_code = int16()
    client_instance_id = uuid()
    subscription_id = int32()
    accepted_compression_types = array(int8())
    push_interval_ms = int32()
    telemetry_max_bytes = int32()
    delta_temporality = boolean()
    requested_metrics = array(string())
