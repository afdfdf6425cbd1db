"""PushTelemetry (72): push metrics of a client, as OTLP.

Sent by clients to the broker that answered GetTelemetrySubscriptions (KIP-714).

Errors
    UNKNOWN_SUBSCRIPTION_ID: the subscription has changed. Send GetTelemetrySubscriptions again.
    THROTTLING_QUOTA_EXCEEDED: the client pushes again before the push interval is over.
    TELEMETRY_TOO_LARGE: the metrics have more than telemetry.max.bytes.
    UNSUPPORTED_COMPRESSION_TYPE: the broker did not offer the codec.
    INVALID_RECORD: the metrics cannot be decompressed or parsed.
    INVALID_REQUEST: the client instance id is reserved, or has already sent its last push.
    UNKNOWN_SERVER_ERROR: the plugin that receives metrics failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, boolean, bytes_, int8, int16, int32, uuid


class PushTelemetryRequest(Request, key=72, effect="reads", versions="0", flexible="0+"):
    # The id from GetTelemetrySubscriptions. Zero leads to INVALID_REQUEST.
    client_instance_id = uuid()
    # The value from GetTelemetrySubscriptions. An outdated one leads to UNKNOWN_SUBSCRIPTION_ID.
    subscription_id = int32()
    # True: the last push of this client, which may come before the interval is over.
    terminating = boolean()
    # 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
    compression_type = int8()
    # MetricsData of OpenTelemetry as protobuf, compressed with compression_type.
    metrics = bytes_()


class PushTelemetryResponse(Response, key=72, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
