"""Beans as Prometheus text, and the HTTP port that serves it. The only importer of ``prometheus_client``.

Names are those that the JMX exporter gives Kafka's beans with its example configuration for Kafka:
``kafka_server_brokertopicmetrics_messagesin_total{topic="orders"}``. A meter becomes a counter, a distribution a
summary with quantiles, everything else a gauge. Rates of meters are left out: Prometheus computes them from counters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kafka_tools.errors import ConfigError

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

Beans = Mapping[str, Mapping[str, Any]]
"""Name of a bean -> attribute -> value."""

_TAG = re.compile(r'([^=,]+)=("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)')
_QUANTILES = {
    "50thPercentile": "0.5",
    "75thPercentile": "0.75",
    "95thPercentile": "0.95",
    "98thPercentile": "0.98",
    "99thPercentile": "0.99",
    "999thPercentile": "0.999",
}
_LABELS = {"client-id": "clientId"}
_PER_SECOND = re.compile(r"PerSec$")
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]")


class MetricsPort:
    """A port that answers ``GET /metrics``. ``beans`` is called on a thread of its own for each request.

    Raises ConfigError if the address cannot be used, or if the package prometheus-client is missing.
    """

    def __init__(self, host: str, port: int, beans: Callable[[], Beans]) -> None:
        self._beans = beans
        _check_installed()
        from prometheus_client import CollectorRegistry, start_http_server

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except (OSError, OverflowError) as error:
            text = getattr(error, "strerror", None) or str(error)
            raise ConfigError(f"cannot listen on {host}:{port} for metrics: {text}") from error
        self.address = f"{host}:{self._server.server_port}"

    def collect(self) -> Iterator[Family]:
        """The families now (called by prometheus_client)."""
        return iter(families(self._beans()).values())

    def close(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def exposition(beans: Beans) -> str:
    """The Prometheus text of beans. Raises ConfigError if the package prometheus-client is missing."""
    _check_installed()
    from prometheus_client import CollectorRegistry, generate_latest

    class Once:
        def collect(self) -> Iterator[Family]:
            return iter(families(beans).values())

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Once())
    return generate_latest(registry).decode("utf-8")


def families(beans: Beans) -> dict[str, Family]:
    """Name -> family, of beans with values that are numbers. Other values are left out."""
    found: dict[str, Family] = {}
    for name, attributes in beans.items():
        prefix, short, labels = _parsed(name)
        if "50thPercentile" in attributes:
            _add_distribution(found, f"{prefix}_{_clean(short)}", labels, attributes)
        elif "EventType" in attributes:
            _add(found, f"{prefix}_{_clean(_PER_SECOND.sub('', short))}", "counter", labels, attributes["Count"])
        elif "Value" in attributes:
            _add(found, f"{prefix}_{_clean(short)}", "gauge", labels, attributes["Value"])
        else:
            for attribute, value in attributes.items():
                kind = "counter" if attribute.endswith("-total") else "gauge"
                _add(found, f"{prefix}_{_clean(attribute.removesuffix('-total'))}", kind, labels, value)
    return found


def _parsed(name: str) -> tuple[str, str, dict[str, str]]:
    """(domain and type, the value of ``name``, labels) of a bean's name."""
    domain, _, rest = name.partition(":")
    tags = {tag: _unquoted(value) for tag, value in _TAG.findall(rest)}
    kind, short = tags.pop("type", ""), tags.pop("name", "")
    labels = {_LABELS.get(tag, _NO_NAME.sub("_", tag)): value for tag, value in tags.items()}
    return f"{_clean(domain)}_{_clean(kind)}", short, labels


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value


def _clean(text: str) -> str:
    return _NO_NAME.sub("_", text).lower()


def _family(found: dict[str, Family], name: str, kind: str) -> Family:
    if name not in found:
        from prometheus_client.core import Metric as Family

        found[name] = Family(name, f"Kafka metric {name}", kind)
    return found[name]


def _add(found: dict[str, Family], name: str, kind: str, labels: dict[str, str], value: Any) -> None:
    if isinstance(value, int | float):
        sample = f"{name}_total" if kind == "counter" else name
        _family(found, name, kind).add_sample(sample, labels, float(value))


def _add_distribution(
    found: dict[str, Family], name: str, labels: dict[str, str], attributes: Mapping[str, Any]
) -> None:
    family = _family(found, name, "summary")
    for attribute, quantile in _QUANTILES.items():
        family.add_sample(name, {**labels, "quantile": quantile}, float(attributes[attribute]))
    family.add_sample(f"{name}_count", labels, float(attributes["Count"]))
    family.add_sample(f"{name}_sum", labels, float(attributes["Mean"]) * float(attributes["Count"]))


def _check_installed() -> None:
    try:
        import prometheus_client  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            "metrics as Prometheus text need the Python package prometheus-client",
            hint="pip install 'kafka-operator-tools[metrics]'",
        ) from error
