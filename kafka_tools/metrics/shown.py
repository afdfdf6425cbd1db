"""Whether a client is shown at a port. Imports nothing for the clients that are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_tools.metrics.client_port import ShownClient
    from kafka_tools.metrics.names import MetricName


def shown(address: str, domain: str, metrics: Callable[[], Mapping[MetricName, object]]) -> ShownClient | None:
    """Show a client at ``metrics.prometheus.port``; None if that is empty. Raises ConfigError as ``ShownClient``."""
    if not address:
        return None
    from kafka_tools.metrics.client_port import ShownClient

    return ShownClient(address, domain, metrics)
