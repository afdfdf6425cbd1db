"""GetTelemetrySubscriptions (71): find out which metrics to push, and how often.

Sent by clients to any broker before they push metrics with PushTelemetry. The broker assigns the client its instance id
(KIP-714).

Errors
    THROTTLING_QUOTA_EXCEEDED: the client asks again before the push interval is over.
    INVALID_REQUEST: the client instance id is reserved.
    UNSUPPORTED_VERSION: no plugin on the broker receives metrics.
    UNKNOWN_SERVER_ERROR: the broker failed to compute the subscription.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, array, boolean, int8, int16, int32, string, uuid


class GetTelemetrySubscriptionsRequest(Request, key=71, effect="reads", versions="0", flexible="0+"):
    # Zero: the first request of a client. Later requests send the id from the response.
    client_instance_id = uuid()


class GetTelemetrySubscriptionsResponse(Response, key=71, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # The id that the client sends from now on. A new one, if the request had zero.
    client_instance_id = uuid()
    # Checksum of the subscription. PushTelemetry sends it. An outdated one leads to UNKNOWN_SUBSCRIPTION_ID.
    subscription_id = int32()
    # Codecs for PushTelemetry, the preferred one first. 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
    accepted_compression_types = array(int8())
    # Time between two pushes, in milliseconds. Earlier requests lead to THROTTLING_QUOTA_EXCEEDED.
    push_interval_ms = int32()
    # Largest size of the metrics in one push, in bytes, after compression.
    telemetry_max_bytes = int32()
    # True: counters start again with each push. False: they count from the client's start.
    delta_temporality = boolean()
    # Prefixes of metric names. An empty list: no metrics. One empty prefix: all metrics.
    requested_metrics = array(string())
