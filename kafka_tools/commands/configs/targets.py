"""The targets of ``kafka-configs`` in the protocol: resources or quota entities, and the source of their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.commands.configs.entities import QUOTA_TYPES, Entity, Target
from kafka_tools.errors import BrokerError, InputError
from kafka_tools.protocol.enums import ConfigSource

if TYPE_CHECKING:
    from kafka_tools.admin.calls.configs import ConfigResource
    from kafka_tools.admin.calls.quotas import QuotaEntity

RESOURCE_TYPES = {
    "topics": "topic",
    "brokers": "broker",
    "broker-loggers": "broker-logger",
    "client-metrics": "client-metrics",
    "groups": "group",
}
"""Entity type -> the admin client's resource type."""

DYNAMIC_SOURCES = {
    "topics": ConfigSource.word(ConfigSource.DYNAMIC_TOPIC_CONFIG),
    "brokers": ConfigSource.word(ConfigSource.DYNAMIC_BROKER_CONFIG),
    "broker-loggers": ConfigSource.word(ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG),
    "client-metrics": ConfigSource.word(ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG),
    "groups": ConfigSource.word(ConfigSource.DYNAMIC_GROUP_CONFIG),
}
DYNAMIC_DEFAULT_BROKER = ConfigSource.word(ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)

OF_ONE_TARGET = (BrokerError, InputError)
"""Errors of a single target. Other errors end the command."""


def is_resource(target: Target) -> bool:
    """Whether the target has the configs of a resource, not quotas and credentials."""
    return target[0].type in RESOURCE_TYPES


def resource_of(target: Target) -> ConfigResource:
    """The resource of a target."""
    from kafka_tools.admin.client import ConfigResource

    return ConfigResource(RESOURCE_TYPES[target[0].type], target[0].name or "")


def quota_key(target: Target) -> QuotaEntity:
    """The entity of a target's quotas."""
    from kafka_tools.admin.client import quota_entity

    return quota_entity({QUOTA_TYPES[entity.type]: entity.name or None for entity in target})


def own_source(entity: Entity) -> str:
    """The source of an entity's own settings, by its name in ``ConfigSource``."""
    return DYNAMIC_DEFAULT_BROKER if entity.type == "brokers" and not entity.name else DYNAMIC_SOURCES[entity.type]
