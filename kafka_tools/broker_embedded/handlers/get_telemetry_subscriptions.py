"""GetTelemetrySubscriptions (71): which metrics a client pushes, and how often (KIP-714).

Kafka serves this API only with a plugin that receives the metrics. Here the broker itself receives them, so it always
serves it, except in the role of a release before 4.0: those brokers in ZooKeeper mode did not.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.telemetry.instances import ACCEPTED_CODECS
from kafka_tools.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse

VERSIONS = (0, 0)
AUTHORIZE = ()  # every connected client may push its metrics


def handle(call: Call) -> GetTelemetrySubscriptionsResponse:
    telemetry = call.broker.telemetry
    instance = telemetry.ask(call.request.client_instance_id, call.client_id, call.connection)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance.id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=list(ACCEPTED_CODECS),
        push_interval_ms=instance.wanted.interval_ms,
        telemetry_max_bytes=telemetry.most_bytes,
        delta_temporality=True,
        requested_metrics=list(instance.wanted.metrics),
    )
