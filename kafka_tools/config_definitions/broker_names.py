"""Names of broker configs: synonyms, listener prefixes, and the row that a name has (``DynamicBrokerConfig``)."""

from __future__ import annotations

import re

from kafka_tools.config_definitions import Row, broker, dynamic

_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]*\.(.*)")

_SYNONYMS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The possible names of a broker config, the one with the highest precedence first (``DynamicBrokerConfig``)."""
    for names in _SYNONYMS:
        if name in names:
            return names
    if name == "log.flush.interval.ms":
        return (name, "log.flush.scheduler.interval.ms")
    base = listener_base(name)
    return (name, base) if base is not None else (name,)


def listener_base(name: str) -> str | None:
    """``max.connections`` for ``listener.name.plain.max.connections``; None without that prefix."""
    match = _LISTENER_PREFIX.fullmatch(name)
    if match is None:
        return None
    rest = match[1]
    return next((config for config in dynamic.LISTENER_MECHANISM if rest.endswith(config)), rest)


def broker_row(name: str) -> Row | None:
    """The row of a broker config, without its listener prefix; None for a name that Kafka does not define."""
    return broker.TABLE.get(name) or dynamic.THROTTLES.get(name) or broker.TABLE.get(listener_base(name) or "")
