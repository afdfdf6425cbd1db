"""Configurations of topics, brokers, broker loggers, groups and client metrics: describe, alter, list.

Changes are incremental (KIP-339). Brokers before 2.3 only take whole configurations: there ``merge_changes`` makes
one out of what is set now and the changes, and refuses when that would drop a sensitive value, since brokers do not
return those. What belongs to a broker goes to that broker, the rest to any node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_tools.admin.driver import ALL, Call, Progress
from kafka_tools.admin.lookups import AnyNode, Controller, GivenNode, Lookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError, UnsupportedVersion
from kafka_tools.net.broker_errors import broker_error, error_of
from kafka_tools.net.connection import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node

TYPE_IDS = {"topic": 2, "broker": 4, "broker-logger": 8, "client-metrics": 16, "group": 32}
TYPE_NAMES = {id: name for name, id in TYPE_IDS.items()}

DEFAULT_CONFIG = "DEFAULT_CONFIG"
SOURCES = {
    0: "UNKNOWN",
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: DEFAULT_CONFIG,
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
"""ConfigSource of the wire -> Kafka's name."""
CONFIG_TYPES = {
    0: "UNKNOWN",
    1: "BOOLEAN",
    2: "STRING",
    3: "INT",
    4: "SHORT",
    5: "LONG",
    6: "DOUBLE",
    7: "LIST",
    8: "CLASS",
    9: "PASSWORD",
}
OPERATIONS = {"set": 0, "delete": 1, "append": 2, "subtract": 3}


class ConfigResource(NamedTuple):
    """Whose configuration: ``type`` is a key of TYPE_IDS; the empty name of a broker means all brokers' default."""

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
        """Whether nobody set it."""
        return self.source == DEFAULT_CONFIG


class ConfigChange(NamedTuple):
    """One change; ``operation`` is set, delete, append or subtract. Values may be passwords and stay out of repr."""

    name: str
    operation: str = "set"
    value: str | None = None

    def __repr__(self) -> str:
        return f"ConfigChange({self.operation} {self.name})"


def type_id(resource: ConfigResource) -> int:
    """The wire's number of a resource's type; InputError for a type that has no configuration."""
    found = TYPE_IDS.get(resource.type)
    if found is None:
        raise InputError(f"'{resource.type}' has no configuration: {', '.join(TYPE_IDS)} have")
    return found


def _owner(resource: ConfigResource) -> int | None:
    """The broker that alone can answer, or None for any."""
    if resource.type not in ("broker", "broker-logger") or not resource.name:
        return None
    try:
        return int(resource.name)
    except ValueError:
        raise InputError(f"'{resource.name}' is no broker id: a whole number is expected") from None


def owner_lookup(to_controllers: bool) -> Lookup[ConfigResource]:
    """Brokers' own settings to the broker; with bootstrap controllers everything to the active controller."""
    return Controller() if to_controllers else GivenNode(_owner)


class DescribeConfigs(Call[ConfigResource, list[ConfigEntry]]):
    """Resource -> its settings, by name. ``names`` limits them per resource (None: all)."""

    name = "describe configs"

    def __init__(
        self,
        names: Mapping[ConfigResource, Sequence[str] | None],
        *,
        include_synonyms: bool,
        include_documentation: bool,
        lookup: Lookup[ConfigResource],
    ) -> None:
        self.lookup = lookup
        self._names = names
        self._synonyms = include_synonyms
        self._documentation = include_documentation

    def build(self, keys: list[ConfigResource], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest

        resources = []
        for key in keys:
            names = self._names.get(key)
            resources.append(
                DescribeConfigsRequest.Resource(
                    resource_type=type_id(key),
                    resource_name=key.name,
                    configuration_keys=None if names is None else list(names),
                )
            )
        return DescribeConfigsRequest(
            resources=resources,
            include_synonyms=self._synonyms and versions.has(DescribeConfigsRequest, 1),
            include_documentation=self._documentation and versions.has(DescribeConfigsRequest, 3),
        )

    def interpret(
        self,
        keys: list[ConfigResource],
        response: Any,
        version: int,
        node: Node,
        progress: Progress[ConfigResource, list[ConfigEntry]],
    ) -> None:
        for item in response.results:
            key = ConfigResource(TYPE_NAMES.get(item.resource_type, ""), item.resource_name)
            entries = [_entry(config, version, key) for config in item.configs]
            if item.error_code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
                progress.failed[key] = broker_error(item.error_code, item.error_message)  # not worth the grace
            else:
                progress.take(key, item.error_code, item.error_message, entries)
        for key in keys:
            told = key in progress.completed or key in progress.failed or key in progress.again
            if not told and key.type not in ("topic", "broker"):
                # Older brokers leave out resource types that they do not know; of any other key the driver tells.
                text = f"{node} is too old to have a configuration of type {key.type}"
                progress.failed[key] = UnsupportedVersion(text, api="DescribeConfigs", version=version)


def _entry(config: Any, version: int, resource: ConfigResource) -> ConfigEntry:
    if version == 0:
        # Brokers of 0.11 and 1.0 say only whether it is the default.
        source = DEFAULT_CONFIG if config.is_default else _OWN_SOURCE.get(resource.type, SOURCES[0])
    else:
        source = SOURCES.get(config.config_source, f"UNKNOWN_SOURCE_{config.config_source}")
    synonyms = tuple(
        ConfigSynonym(item.name, item.value, SOURCES.get(item.source, f"UNKNOWN_SOURCE_{item.source}"))
        for item in config.synonyms
    )
    kind = CONFIG_TYPES.get(config.config_type, CONFIG_TYPES[0]) if version >= 3 else None
    documentation = config.documentation if version >= 3 else None
    return ConfigEntry(
        config.name, config.value, source, config.is_sensitive, config.read_only, synonyms, kind, documentation
    )


_OWN_SOURCE = {"topic": SOURCES[1], "broker": SOURCES[4]}


class IncrementalAlterConfigs(Call[ConfigResource, None]):
    """Resource -> changes, all of them or none (2.3 and later)."""

    name = "alter configs"

    def __init__(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        validate_only: bool,
        lookup: Lookup[ConfigResource],
    ) -> None:
        self.lookup = lookup
        self._changes = changes
        self._validate_only = validate_only

    def build(self, keys: list[ConfigResource], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

        versions.require(IncrementalAlterConfigsRequest, 0, "an incremental change")
        Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        resources = [
            Resource(
                resource_type=type_id(key),
                resource_name=key.name,
                configs=[
                    Resource.AlterableConfig(
                        name=change.name, config_operation=operation_id(change), value=change.value
                    )
                    for change in self._changes[key]
                ],
            )
            for key in keys
        ]
        return IncrementalAlterConfigsRequest(resources=resources, validate_only=self._validate_only)

    def interpret(
        self,
        keys: list[ConfigResource],
        response: Any,
        version: int,
        node: Node,
        progress: Progress[ConfigResource, None],
    ) -> None:
        for item in response.responses:
            key = ConfigResource(TYPE_NAMES.get(item.resource_type, ""), item.resource_name)
            progress.settle(key, item.error_code, item.error_message, None)


def operation_id(change: ConfigChange) -> int:
    """The wire's number of a change's operation; InputError for another word."""
    found = OPERATIONS.get(change.operation)
    if found is None:
        raise InputError(f"'{change.operation}' is no operation on a setting: {', '.join(OPERATIONS)} are")
    return found


class ReplaceConfigs(Call[ConfigResource, None]):
    """Resource -> its whole configuration: what is not named returns to its default (AlterConfigs)."""

    name = "replace configs"

    def __init__(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        validate_only: bool,
        lookup: Lookup[ConfigResource],
    ) -> None:
        self.lookup = lookup
        self._configs = configs
        self._validate_only = validate_only

    def build(self, keys: list[ConfigResource], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.alter_configs import AlterConfigsRequest

        Resource = AlterConfigsRequest.Resource
        resources = [
            Resource(
                resource_type=type_id(key),
                resource_name=key.name,
                configs=[
                    Resource.AlterableConfig(name=name, value=value) for name, value in self._configs[key].items()
                ],
            )
            for key in keys
        ]
        return AlterConfigsRequest(resources=resources, validate_only=self._validate_only)

    interpret = IncrementalAlterConfigs.interpret


def merge_changes(
    resource: ConfigResource, current: Iterable[ConfigEntry], changes: Sequence[ConfigChange]
) -> dict[str, str | None]:
    """The whole configuration after ``changes``, for brokers that only replace.

    InputError when a sensitive value that is set now is not among the changes: it cannot be read, so replacing
    would silently drop it.
    """
    if resource.type not in ("topic", "broker"):
        raise InputError(f"{resource}: brokers before 2.3 cannot change this")
    dynamic = {"topic": SOURCES[1], "broker": SOURCES[2] if resource.name else SOURCES[3]}[resource.type]
    entries = {entry.name: entry for entry in current}
    kept = {entry.name: entry.value for entry in entries.values() if entry.source == dynamic}
    given = {change.name for change in changes if change.operation in ("set", "delete")}
    lost = [name for name in kept if entries[name].is_sensitive and name not in given]
    if lost:
        raise InputError(
            f"{resource}: brokers before 2.3 replace the whole configuration and do not return sensitive values, "
            f"so this change would drop {', '.join(sorted(lost))}",
            hint="give these settings again in the same call, or use that release's own tool",
        )
    for change in changes:
        operation_id(change)
        if change.operation == "set":
            kept[change.name] = change.value
        elif change.operation == "delete":
            kept.pop(change.name, None)
        else:
            now = kept.get(change.name, entries[change.name].value if change.name in entries else None)
            kept[change.name] = changed_list(now, change)
    return kept


def changed_list(now: str | None, change: ConfigChange) -> str:
    """A list after APPEND or SUBTRACT: what is there already is not added again, as brokers have it."""
    items = [item.strip() for item in (now or "").split(",") if item.strip()]
    given = [item.strip() for item in (change.value or "").split(",") if item.strip()]
    if change.operation == "append":
        return ",".join(dict.fromkeys([*items, *given]))
    return ",".join(item for item in items if item not in given)


class ListConfigResources(Call[str, list[ConfigResource]]):
    """Resources that have a configuration of their own (4.1; before that client metrics only, from 3.7)."""

    name = "list config resources"

    def __init__(self, types: Sequence[str]) -> None:
        self.lookup = AnyNode()
        self._types = types

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesRequest

        versions.require(ListConfigResourcesRequest, 0, "listing resources with a configuration")
        if not versions.has(ListConfigResourcesRequest, 1):
            if list(self._types) != ["client-metrics"]:
                raise versions.too_old(
                    ListConfigResourcesRequest, 1, f"listing {', '.join(self._types) or 'all types'}"
                )
            return ListConfigResourcesRequest()
        return ListConfigResourcesRequest(resource_types=[type_id(ConfigResource(name, "")) for name in self._types])

    def interpret(
        self, keys: list[str], response: Any, version: int, node: Node, progress: Progress[str, list[ConfigResource]]
    ) -> None:
        error = error_of(response.error_code)
        if error is not None:
            progress.refuse(ALL, error)
            return
        found = [
            ConfigResource(
                TYPE_NAMES.get(item.resource_type, str(item.resource_type)) if version else "client-metrics",
                item.resource_name,
            )
            for item in response.config_resources
        ]
        progress.completed[ALL] = sorted(found)
