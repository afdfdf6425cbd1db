"""Beans of client telemetry (KIP-714): what the broker counts, and the metrics that clients pushed to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.metrics.tables.bean import Beans, named
from kafka_tools.metrics.beans import quoted
from kafka_tools.values import uuid_text

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core

PUSHED = "kafka.client:type=pushed"
_COUNTERS = "kafka.server:type=client-metrics"
MOST_CLIENTS = 1000
"""The maximum number of instances with a bean of their own."""


def telemetry_beans(core: Core) -> Beans:
    """``client-metrics``: of all clients, and of the instances that sent the latest requests."""
    count, rate = core.counts.telemetry.rates(core.counts.now_ms())["unknown_subscriptions"]
    unknown = {"unknown-subscription-request-count": count, "unknown-subscription-request-rate": rate}
    instances = core.telemetry.instances()
    yield _COUNTERS, {"instance-count": len(instances), **unknown}
    for instance in instances[-MOST_CLIENTS:]:
        counts = instance.counts
        yield (
            f"{_COUNTERS},client_instance_id={quoted(uuid_text(instance.id))}",
            {
                "throttle-count": counts.throttles,
                "plugin-export-count": counts.exports,
                "plugin-error-count": counts.errors,
            },
        )


def pushed_beans(core: Core) -> Beans:
    """A bean for each metric of each client. The name and the labels are those that the client pushed."""
    for id, client in core.telemetry.pushed.clients().items():
        tags = {"client_id": client.client_id, "client_instance_id": uuid_text(id)}
        counts = {"pushes": client.pushes, "undecoded-pushes": client.undecoded, "left-out-values": client.left_out}
        yield f"{PUSHED}" + "".join(f",{tag}={quoted(value)}" for tag, value in tags.items()), counts
        for (_, labels), point in client.values.items():
            yield named(PUSHED, quoted(point.name), **{**tags, **dict(labels)}), {"Value": point.value}
