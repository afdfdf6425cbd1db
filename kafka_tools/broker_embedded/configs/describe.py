"""The configs of a resource as DescribeConfigs returns them, each with its source and synonyms.

Follows Kafka's ``ConfigHelper``: the listed synonyms, their order, and the one that defines
the source. Sensitive values (type PASSWORD, and configs that Kafka does not define) are never returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from kafka_tools.broker_embedded.configs.store import BROKER, CLIENT_METRICS, GROUP, TOPIC, ConfigStore
from kafka_tools.config_definitions import Row
from kafka_tools.config_definitions.broker_names import broker_row, broker_synonyms
from kafka_tools.config_definitions.secrets import is_sensitive
from kafka_tools.config_definitions.values import Value, default_of, parse, to_text
from kafka_tools.protocol.enums import ConfigSource, ConfigType

DEFAULT = ConfigSource.DEFAULT_CONFIG


class Synonym(NamedTuple):
    """One possible source of a config's value. ``value`` is None for a sensitive config."""

    name: str
    value: str | None
    source: int


class DescribedConfig(NamedTuple):
    """One config as described. ``config_type`` is the number of the protocol; ``value`` is None if it is not shown."""

    name: str
    value: str | None
    source: int
    read_only: bool
    sensitive: bool
    config_type: int
    synonyms: tuple[Synonym, ...]


def describe(
    store: ConfigStore, resource_type: int, resource: str, names: Collection[str] | None
) -> list[DescribedConfig]:
    """The configs of a resource (type TOPIC, BROKER, GROUP or CLIENT_METRICS), sorted by name.

    ``names`` selects configs; None or empty selects all. A broker named "" is the default of all brokers.
    """
    if resource_type == BROKER:
        entries = _broker(store) if resource else _broker_default(store)
    elif resource_type == TOPIC:
        entries = _topic(store, store.dynamic(TOPIC, resource))
    elif resource_type == GROUP:
        entries = _group(store, resource)
    else:
        assert resource_type == CLIENT_METRICS
        entries = _client_metrics(store, resource)
    return sorted(entry for entry in entries if not names or entry.name in names)


def describe_new_topic(store: ConfigStore, given: Mapping[str, str]) -> list[DescribedConfig]:
    """The configs of a topic to be created with ``given``, sorted by name; given values stay unchanged."""
    return sorted(entry._replace(value=given.get(entry.name, entry.value)) for entry in _topic(store, given))


def _topic(store: ConfigStore, given: Mapping[str, str]) -> list[DescribedConfig]:
    from kafka_tools.config_definitions.topic import BROKER_NAME, TABLE

    inherited = {name: _broker_chain(store, BROKER_NAME[name]) for name in TABLE if name in BROKER_NAME}
    return _with_overrides(TABLE, given, store.topic_with(given).get, inherited, ConfigSource.DYNAMIC_TOPIC_CONFIG)


def _group(store: ConfigStore, group_id: str) -> list[DescribedConfig]:
    from kafka_tools.config_definitions import broker
    from kafka_tools.config_definitions.group import TABLE, broker_name

    inherited = {}
    for name, row in TABLE.items():
        own = Synonym(name, to_text(default_of(name, row)), DEFAULT)
        theirs = broker_name(name)
        inherited[name] = _broker_chain(store, theirs) if theirs in broker.TABLE else [own]
    given = store.dynamic(GROUP, group_id)
    return _with_overrides(TABLE, given, store.group(group_id).get, inherited, ConfigSource.DYNAMIC_GROUP_CONFIG)


def _client_metrics(store: ConfigStore, subscription: str) -> list[DescribedConfig]:
    from kafka_tools.config_definitions.client_metrics import TABLE

    given = store.dynamic(CLIENT_METRICS, subscription)

    def value_of(name: str) -> Value:
        row = TABLE[name]
        return parse(name, row[0], given[name]) if name in given else default_of(name, row)

    return _with_overrides(TABLE, given, value_of, {}, ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG)


def _with_overrides(
    table: Mapping[str, Row],
    given: Mapping[str, str],
    value_of: Callable[[str], Value],
    inherited: Mapping[str, list[Synonym]],
    source: int,
) -> list[DescribedConfig]:
    """The configs of a resource whose own settings override the broker's."""
    entries = []
    for name, row in table.items():
        if len(row) > 3 and name not in given:
            continue  # internal configs are shown only if they are set
        value = to_text(value_of(name))
        own = [Synonym(name, value, source)] if name in given else []
        synonyms = (*own, *inherited.get(name, ()))
        shown_source = synonyms[0].source if synonyms else DEFAULT
        entries.append(DescribedConfig(name, value, shown_source, False, False, ConfigType.numbers[row[0]], synonyms))
    return entries


def _broker(store: ConfigStore) -> list[DescribedConfig]:
    from kafka_tools.config_definitions.broker import TABLE

    written = {name for values, _ in store.broker_layers() for name in values}
    shown = [name for name, row in TABLE.items() if len(row) < 4 or name in written]
    return [_broker_entry(store, name) for name in [*shown, *(name for name in written if name not in TABLE)]]


def _broker_default(store: ConfigStore) -> list[DescribedConfig]:
    entries, source = [], ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    for name, text in store.dynamic(BROKER, "").items():
        entry = _broker_entry(store, name)
        synonyms = tuple(each for each in entry.synonyms if each.source == source)
        entries.append(entry._replace(value=None if entry.sensitive else text, source=source, synonyms=synonyms))
    return entries


def _broker_entry(store: ConfigStore, name: str) -> DescribedConfig:
    from kafka_tools.config_definitions.dynamic import CLUSTER_WIDE, PER_BROKER

    row = broker_row(name)
    sensitive = is_sensitive(name)
    synonyms = _broker_chain(store, name)
    source = synonyms[0].source if synonyms else DEFAULT
    value = None if sensitive else to_text(store.broker.get(name))
    read_only = name not in PER_BROKER and name not in CLUSTER_WIDE
    config_type = ConfigType.numbers[row[0]] if row else ConfigType.UNKNOWN
    return DescribedConfig(name, value, source, read_only, sensitive, config_type, tuple(synonyms))


def _broker_chain(store: ConfigStore, name: str) -> list[Synonym]:
    """The synonyms of a broker config, strongest first, from the first one with the config's own name.

    So the list is empty if only a synonym in another unit is set (log.retention.hours for log.retention.ms).
    """
    from kafka_tools.config_definitions.broker import TABLE

    sensitive = is_sensitive(name)
    names = broker_synonyms(name)
    chain = [
        Synonym(synonym, None if sensitive else values[synonym], source)
        for values, source in store.broker_layers()
        for synonym in names
        if synonym in values
    ]
    for synonym in names:
        default = TABLE[synonym][1] if synonym in TABLE else None
        if default is not None:
            chain.append(Synonym(synonym, None if sensitive else default, DEFAULT))
    first = next((position for position, synonym in enumerate(chain) if synonym.name == name), len(chain))
    return chain[first:]
