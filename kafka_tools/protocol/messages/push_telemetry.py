"""PushTelemetry (72): metrics of a client, as OTLP.

Sent by clients to the broker that told them what to push (KIP-714).

Errors
    UNKNOWN_SUBSCRIPTION_ID: the subscription has changed: ask for it again.
    THROTTLING_QUOTA_EXCEEDED: pushed again before the interval is over.
    TELEMETRY_TOO_LARGE: more than telemetry.max.bytes.
    UNSUPPORTED_COMPRESSION_TYPE: a codec that the broker did not offer.
    INVALID_RECORD: the metrics cannot be decompressed or read.
    INVALID_REQUEST: an instance id that is reserved or ended.
    UNKNOWN_SERVER_ERROR: the receiver of metrics failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, boolean, bytes_, int8, int16, int32, uuid


class PushTelemetryRequest(Request, key=72, versions="0", flexible="0+"):
    client_instance_id = uuid()
    subscription_id = int32()
    terminating = boolean()  # the last push of this client
    compression_type = int8()
    metrics = bytes_()


class PushTelemetryResponse(Response, key=72, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
