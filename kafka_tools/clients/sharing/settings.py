"""Settings of share consumers, as ``ShareConsumerConfig`` of Kafka's Java client reads them."""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig

UNSUPPORTED = (
    "auto.offset.reset",
    "enable.auto.commit",
    "group.instance.id",
    "isolation.level",
    "partition.assignment.strategy",
    "interceptor.classes",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "group.protocol",
    "group.remote.assignor",
)
"""Settings that mean nothing in a share group: the group's configs on the broker decide."""


class ShareSettings(NamedTuple):
    """``consumer``: fetches, times and group id. ``is_explicit``: the application acknowledges each record."""

    consumer: ConsumerSettings
    is_explicit: bool = False
    is_limit_strict: bool = False
    """``share.acquire.mode`` is ``record_limit``: a fetch never acquires more than ``max.poll.records`` (KIP-1206)."""

    @classmethod
    def load(cls, config: ClientConfig) -> ShareSettings:
        """The settings of ``config``; ConfigError names one that cannot be used."""
        given = [key for key in UNSUPPORTED if key in config.values]
        if given:
            raise ConfigError(
                f"{', '.join(given)} cannot be set when using a share group.",
                hint="set share.auto.offset.reset, share.isolation.level, share.session.timeout.ms of the group on the "
                "brokers instead",
            )
        consumer = ConsumerSettings.load(config)
        if consumer.group_id is None:
            raise ConfigError("You must provide a valid group.id in the consumer configuration.")
        return cls(
            consumer,
            _choice(config, "share.acknowledgement.mode", ("implicit", "explicit")) == "explicit",
            _choice(config, "share.acquire.mode", ("batch_optimized", "record_limit")) == "record_limit",
        )


def _choice(config: ClientConfig, key: str, names: tuple[str, ...]) -> str:
    found = config.values.get(key, names[0]).strip().lower()
    if found not in names:
        raise ConfigError(f"invalid {key} '{config.values[key]}': expected one of {', '.join(names)}")
    return found
