"""PushTelemetry (72): metrics of a client, in OTLP form (KIP-714)."""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, boolean, bytes_, int8, int16, int32, uuid


class PushTelemetryRequest(Request, key=72, route=ANY_NODE, versions="0", flexible="0+"):
    """Request of PushTelemetry."""

    client_instance_id = uuid()
    subscription_id = int32()
    terminating = boolean()
    compression_type = int8()
    metrics = bytes_()


class PushTelemetryResponse(Response, key=72, versions="0", flexible="0+"):
    """Response of PushTelemetry."""

    throttle_time_ms = int32()
    error_code = int16()
