"""Checks of related configs, at the start and at each change, with Kafka's rules and texts.

Sources: ``GroupCoordinatorConfig`` and ``KafkaConfig.validateValues``, except rules for several brokers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping

from kafka_tools.broker_embedded.configs.assignors import consumer_assignors
from kafka_tools.config_definitions.values import Value, check, default_of
from kafka_tools.errors import ConfigError

_AT_LEAST, _AT_MOST = "must be greater than or equal to", "must be less than or equal to"
_BELOW = "must be less than"
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    _AT_LEAST: operator.ge,
    _AT_MOST: operator.le,
    _BELOW: operator.lt,
}
_CLEANER_THREADS, _CLEANER_BUFFER = "log.cleaner.threads", "log.cleaner.dedupe.buffer.size"
_CLEANER_BYTES = 1 << 20
_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
"""The first config that is set applies."""


class Misfit(ConfigError):
    """Values that contradict each other; at least one of them can be set dynamically."""

    def __init__(self, message: str, *names: str) -> None:
        super().__init__(message)
        self.names = names


def check_together(properties: Mapping[str, str]) -> None:
    """Raise ConfigError for the first individually valid values with which Kafka or this broker does not start.

    ``properties``: all effective ones. The error is a Misfit for values that can be set dynamically.
    """
    from kafka_tools.config_definitions.broker import TABLE

    def value(name: str) -> Value:
        row = TABLE[name]
        return check(name, row, properties[name]) if name in properties else default_of(name, row)

    def number(name: str) -> int:
        found = value(name)
        assert isinstance(found, int)
        return found

    for first, relation, second in _pairs():
        if not _RELATIONS[relation](number(first), number(second)):
            raise ConfigError(f"{first} {relation} {second}: they are {number(first)} and {number(second)}")
    assignors = value("group.consumer.assignors")
    assert isinstance(assignors, list)
    consumer_assignors(assignors)
    if value("log.roll.ms") is not None and number("log.roll.ms") < 1:
        raise Misfit("log.roll.ms must be greater than or equal to 1", "log.roll.ms")
    if value("log.roll.jitter.ms") is not None and number("log.roll.jitter.ms") < 0:
        raise Misfit("log.roll.jitter.ms must be greater than or equal to 0", "log.roll.jitter.ms")
    if next((number(name) for name in _RETENTION if value(name) is not None), -1) == 0:
        raise Misfit("log.retention.ms must be unlimited (-1) or, greater than or equal to 1", *_RETENTION)
    threads = number(_CLEANER_THREADS)
    if threads < 1:
        raise Misfit("Log cleaner threads should be at least 1", _CLEANER_THREADS)
    if number(_CLEANER_BUFFER) // threads <= _CLEANER_BYTES:
        text = "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
        raise Misfit(text, _CLEANER_THREADS, _CLEANER_BUFFER)
    if 0 < number("queued.max.request.bytes") < number("socket.request.max.bytes"):
        raise ConfigError("queued.max.request.bytes must be larger or equal to socket.request.max.bytes")
    if not number("max.connections.per.ip") and not value("max.connections.per.ip.overrides"):
        text = "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."
        raise Misfit(text, "max.connections.per.ip", "max.connections.per.ip.overrides")
    delay_ms, idle_ms = number("connection.failed.authentication.delay.ms"), number("connections.max.idle.ms")
    if 0 <= idle_ms <= delay_ms:
        raise ConfigError(
            f"connection.failed.authentication.delay.ms={delay_ms} should always be less than "
            f"connections.max.idle.ms={idle_ms} to prevent failed authentication responses from timing out"
        )
    if value("remote.log.storage.system.enable"):
        raise ConfigError(
            "remote.log.storage.system.enable=true: this broker does not support tiered storage; remove the setting"
        )


def _pairs() -> Iterator[tuple[str, str, str]]:
    for kind in ("consumer", "share", "streams"):
        for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"):
            own, least, most = (f"group.{kind}.{bound}{name}" for bound in ("", "min.", "max."))
            yield most, _AT_LEAST, least
            yield own, _AT_LEAST, least
            yield own, _AT_MOST, most
        yield f"group.{kind}.heartbeat.interval.ms", _BELOW, f"group.{kind}.session.timeout.ms"
    yield "group.streams.num.standby.replicas", _AT_MOST, "group.streams.max.standby.replicas"
