"""Beans of the network: connections, bytes and memory of each listener."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.metrics.tables.bean import Beans, gauges

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.listeners.shared import Shared

_SOCKETS = "kafka.server:type=socket-server-metrics"
_COUNTS = {
    "created": "connection-creation",
    "closed": "connection-close",
    "bytes_in": "incoming-byte",
    "bytes_out": "outgoing-byte",
    "requests": "request",
    "responses": "response",
    "logins": "successful-authentication",
    "failed_logins": "failed-authentication",
}


def listener_beans(core: Core, shared: Shared | None) -> Beans:
    """socket-server-metrics, SocketServer and RequestChannel. ``shared``: None for a broker without sockets."""
    counts = core.counts
    now_ms = counts.now_ms()
    accepted = 0.0
    for name, listener in sorted(counts.listeners.items()):
        found: dict[str, float] = {"connection-count": listener.created - listener.closed}
        for counter, (count, rate) in listener.rates(now_ms).items():
            found[f"{_COUNTS[counter]}-total"], found[f"{_COUNTS[counter]}-rate"] = count, rate
        accepted += found["connection-creation-rate"]
        yield f"{_SOCKETS},listener={name}", {"connection-accept-rate": found["connection-creation-rate"]}
        yield f"{_SOCKETS},listener={name},networkProcessor=0", found
    yield _SOCKETS, {"broker-connection-accept-rate": accepted}
    if shared is None:
        return
    memory = shared.requests
    yield from gauges(
        "kafka.network:type=SocketServer",
        {"MemoryPoolUsed": memory.held_bytes, "MemoryPoolAvailable": max(0, memory.limit_bytes - memory.held_bytes)},
    )
    yield from gauges("kafka.network:type=RequestChannel", {"RequestQueueSize": len(shared.turns)})
