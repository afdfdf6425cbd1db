"""GetTelemetrySubscriptions (71): which metrics a client should push, and how often.

Sent by clients to any broker; the broker gives the client its instance id (KIP-714).

Errors
    THROTTLING_QUOTA_EXCEEDED: asked again before the push interval is over.
    INVALID_REQUEST: the instance id is a reserved one.
    UNSUPPORTED_VERSION: the broker has no receiver for metrics.
    UNKNOWN_SERVER_ERROR: the subscription could not be made.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, array, boolean, int8, int16, int32, string, uuid


class GetTelemetrySubscriptionsRequest(Request, key=71, versions="0", flexible="0+"):
    client_instance_id = uuid()  # zero: the broker makes one


class GetTelemetrySubscriptionsResponse(Response, key=71, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    client_instance_id = uuid()
    subscription_id = int32()
    accepted_compression_types = array(int8())
    push_interval_ms = int32()
    telemetry_max_bytes = int32()
    delta_temporality = boolean()  # counters since the last push, not since the start
    requested_metrics = array(string())
