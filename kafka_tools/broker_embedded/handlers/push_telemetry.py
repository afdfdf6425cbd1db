"""PushTelemetry (72): take the metrics of a client (KIP-714). ``telemetry/pushed.py`` keeps them."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.protocol.messages.push_telemetry import PushTelemetryResponse

VERSIONS = (0, 0)
AUTHORIZE = ()  # every connected client may push its metrics


def handle(call: Call) -> PushTelemetryResponse:
    request = call.request
    call.broker.telemetry.push(
        request.client_instance_id, call.client_id, call.connection, request.subscription_id,
        request.compression_type, bytes(request.metrics or b""), terminating=request.terminating,
    )  # fmt: skip
    return PushTelemetryResponse()
