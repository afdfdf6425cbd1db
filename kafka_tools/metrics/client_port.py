"""A port at which this process shows the metrics of its clients: the setting ``metrics.prometheus.port``.

Clients with the same address share the port. It opens with the first of them and closes with the last. A client that
nobody references any more is left out.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from kafka_tools.errors import ConfigError, InputError
from kafka_tools.metrics.beans import bean_name
from kafka_tools.metrics.names import MetricName
from kafka_tools.metrics.prometheus import Beans, MetricsPort
from kafka_tools.values import parse_listener_address

SETTING = "metrics.prometheus.port"
Read = Callable[[], Mapping[MetricName, object]]

_lock = threading.Lock()
_ports: dict[tuple[str, int], _SharedPort] = {}


class _SharedPort:
    """The port, and the clients that it shows."""

    def __init__(self, host: str, port: int) -> None:
        self.shown: dict[ShownClient, None] = {}
        self.port = MetricsPort(host, port, self.beans)

    def beans(self) -> Beans:
        found: dict[str, dict[str, Any]] = {}
        for client in list(self.shown):
            found |= client.beans()
        return found


class ShownClient:
    """One client at a port. ``address`` is ``[host:]port``; without a host, the port is on 127.0.0.1.

    ``domain`` is Kafka's: ``kafka.producer``. ``read`` is the client's method ``metrics``. Raises ConfigError for an
    address that cannot be used, or if the package prometheus-client is missing.
    """

    def __init__(self, address: str, domain: str, read: Read) -> None:
        self._domain = domain
        self._read = weakref.WeakMethod(read)
        self._place = _parsed(address)
        with _lock:
            shared = _ports.get(self._place)
            if shared is None:
                shared = _ports[self._place] = _SharedPort(*self._place)
            shared.shown[self] = None
        self.url = f"http://{shared.port.address}/metrics"
        read()  # starts the measurement

    @property
    def is_alive(self) -> bool:
        """Whether the client is still referenced."""
        return self._read() is not None

    def beans(self) -> dict[str, dict[str, Any]]:
        """The client's metrics, as beans."""
        read = self._read()
        if read is None:
            return {}
        found: dict[str, dict[str, Any]] = {}
        for name, value in read().items():
            found.setdefault(bean_name(self._domain, name.group, name.tags), {})[name.name] = value
        return found

    def close(self) -> None:
        """Show the client no longer. May be called again."""
        with _lock:
            shared = _ports.get(self._place)
            if shared is None or self not in shared.shown:
                return
            shared.shown = {each: None for each in shared.shown if each is not self and each.is_alive}
            if shared.shown:
                return
            del _ports[self._place]
        shared.port.close()


def _parsed(address: str) -> tuple[str, int]:
    try:
        host, port = parse_listener_address(address if ":" in address else f"127.0.0.1:{address}")
    except InputError as error:
        raise ConfigError(f"invalid {SETTING} '{address}': expected PORT or HOST:PORT") from error
    return host or "0.0.0.0", port
