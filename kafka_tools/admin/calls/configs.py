"""Configurations of topics, brokers, broker loggers, groups and client metrics: describe, alter, list.

Changes are incremental (KIP-339). Brokers before 2.3 only accept whole configurations. For them ``merge_changes``
merges the current settings with the changes. It refuses to drop a sensitive value, because brokers do not return
sensitive values. Requests about a broker's configuration go to that broker, others to any node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.driver import ALL, AdminCall, KeysRefused, Reply
from kafka_tools.admin.lookups import AnyNodeLookup, ControllerLookup, GivenNodeLookup, Lookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError, KafkaToolsError, UnsupportedVersion
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import ConfigResourceType, ConfigSource, ConfigType
from kafka_tools.protocol.schema import Request

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.describe_configs import DescribeConfigsResponse
    from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesResponse

TYPE_IDS = {name.lower().replace("_", "-"): number for name, number in ConfigResourceType.known().items()}
TYPE_NAMES = {id: name for name, id in TYPE_IDS.items()}

TOPIC_CONFIG = ConfigSource.word(ConfigSource.DYNAMIC_TOPIC_CONFIG)
STATIC_CONFIG = ConfigSource.word(ConfigSource.STATIC_BROKER_CONFIG)
DEFAULT_CONFIG = ConfigSource.word(ConfigSource.DEFAULT_CONFIG)


class ConfigResource(NamedTuple):
    """A resource with a configuration: ``type`` is a key of TYPE_IDS; a broker named "" is the default of all."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type} {self.name or '(default)'}"

    def __repr__(self) -> str:
        """As Kafka's ConfigResource prints it: ``ConfigResource(type=TOPIC, name='orders')``."""
        return f"ConfigResource(type={self.type.replace('-', '_').upper()}, name='{self.name}')"


class ConfigSynonym(NamedTuple):
    """Another place that the value could come from, in order of precedence."""

    name: str
    value: str | None
    source: str


class ConfigEntry(NamedTuple):
    """One setting. ``value`` is None where the broker hides it (sensitive) or has none."""

    name: str
    value: str | None
    source: str
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: str | None = None
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether it is the default: not set for this resource, the broker or the cluster."""
        return self.source == DEFAULT_CONFIG


def type_id(resource: ConfigResource) -> int:
    """The wire's number of a resource's type; InputError for a type that has no configuration."""
    found = TYPE_IDS.get(resource.type)
    if found is None:
        raise InputError(f"invalid type '{resource.type}': expected one of {', '.join(TYPE_IDS)}")
    return found


def _owner(resource: ConfigResource) -> int | None:
    """The broker that alone can answer, or None for any."""
    if resource.type not in ("broker", "broker-logger") or not resource.name:
        return None
    try:
        return int(resource.name)
    except ValueError:
        raise InputError(f"invalid broker id '{resource.name}': expected a whole number") from None


def owner_lookup(to_controllers: bool) -> Lookup[ConfigResource]:
    """Brokers' own settings to the broker; with bootstrap controllers everything to the active controller."""
    return ControllerLookup() if to_controllers else GivenNodeLookup(_owner)


def refuse_unknown_types(keys: list[ConfigResource], versions: NodeVersions) -> None:
    """KeysRefused for resources of types that the node has no configuration of.

    Old brokers leave such a resource out of their answer, or call the request malformed.
    """
    from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
    from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
    from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesRequest

    # An API whose version introduced the type, and the releases that have it.
    known_by = {
        "broker-logger": (IncrementalAlterConfigsRequest, 1, "Kafka 2.4 and later"),
        "client-metrics": (
            ListConfigResourcesRequest,
            0,
            "Kafka 3.7 and later in KRaft mode (without ZooKeeper)",
        ),
        "group": (DescribeGroupsRequest, 6, "Kafka 4.0 and later"),
    }
    errors: dict[ConfigResource, KafkaToolsError] = {}
    for key in keys:
        request, version, who = known_by.get(key.type, (None, 0, ""))
        if request is not None and not versions.has(request, version):
            text = f"{versions.peer} does not support configs of type {key.type}; supported by {who}"
            errors[key] = UnsupportedVersion(text, api="DescribeConfigs")
    if errors:
        raise KeysRefused(errors)


class DescribeConfigs(AdminCall[ConfigResource, list[ConfigEntry], "DescribeConfigsResponse"]):
    """Resource -> its settings, by name. ``names`` limits them per resource (None: all).

    ``include_defaults``: also settings that are not set.
    """

    name = "describe configs"

    names: Mapping[ConfigResource, Sequence[str] | None]
    include_synonyms: bool
    include_documentation: bool
    include_defaults: bool
    lookup: Lookup[ConfigResource]

    def build(self, keys: list[ConfigResource], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest

        refuse_unknown_types(keys, versions)
        resources = []
        for key in keys:
            names = self.names.get(key)
            resources.append(
                DescribeConfigsRequest.Resource(
                    resource_type=type_id(key),
                    resource_name=key.name,
                    configuration_keys=None if names is None else list(names),
                )
            )
        return DescribeConfigsRequest(
            resources=resources,
            include_synonyms=self.include_synonyms and versions.has(DescribeConfigsRequest, 1),
            include_documentation=self.include_documentation and versions.has(DescribeConfigsRequest, 3),
        )

    def interpret(self, reply: Reply[ConfigResource, list[ConfigEntry], DescribeConfigsResponse]) -> None:
        for item in reply.response.results:
            key = ConfigResource(TYPE_NAMES.get(item.resource_type, ""), item.resource_name)
            entries = [
                _entry(config, reply.version, key)
                for config in item.configs
                if self.include_defaults or not _is_default(config, reply.version)
            ]
            if item.error_code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
                reply.failed[key] = broker_error(item.error_code, item.error_message)  # not worth the grace
            else:
                reply.take(key, item.error_code, item.error_message, entries)


def _entry(
    config: DescribeConfigsResponse.Result.ResourceResult, version: int, resource: ConfigResource
) -> ConfigEntry:
    if version == 0:
        # Brokers of 0.11 and 1.0 say only whether it is the default.
        source = DEFAULT_CONFIG if _is_default(config, version) else _OWN_SOURCE.get(resource.type, "UNKNOWN")
    else:
        source = ConfigSource.word(config.config_source)
    synonyms = tuple([ConfigSynonym(item.name, item.value, ConfigSource.word(item.source)) for item in config.synonyms])
    kind = ConfigType.word(config.config_type) if version >= 3 else None
    documentation = config.documentation if version >= 3 else None
    return ConfigEntry(
        config.name, config.value, source, config.is_sensitive, config.read_only, synonyms, kind, documentation
    )


def _is_default(config: DescribeConfigsResponse.Result.ResourceResult, version: int) -> bool:
    return config.is_default if version == 0 else config.config_source == ConfigSource.DEFAULT_CONFIG


_OWN_SOURCE = {"topic": TOPIC_CONFIG, "broker": STATIC_CONFIG}


class ListConfigResources(AdminCall[str, list[ConfigResource], "ListConfigResourcesResponse"]):
    """Resources that have a configuration of their own (4.1; before that client metrics only, from 3.7)."""

    name = "list config resources"
    lookup = AnyNodeLookup()

    types: Sequence[str]

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesRequest

        versions.require(ListConfigResourcesRequest, 0, "listing resources with a configuration")
        if not versions.has(ListConfigResourcesRequest, 1):
            if list(self.types) != ["client-metrics"]:
                raise versions.too_old(ListConfigResourcesRequest, 1, f"listing {', '.join(self.types) or 'all types'}")
            return ListConfigResourcesRequest()
        return ListConfigResourcesRequest(resource_types=[type_id(ConfigResource(name, "")) for name in self.types])

    def interpret(self, reply: Reply[str, list[ConfigResource], ListConfigResourcesResponse]) -> None:
        found = [
            ConfigResource(
                TYPE_NAMES.get(item.resource_type, str(item.resource_type)) if reply.version else "client-metrics",
                item.resource_name,
            )
            for item in reply.response.config_resources
        ]
        reply.take(ALL, reply.response.error_code, None, sorted(found))
