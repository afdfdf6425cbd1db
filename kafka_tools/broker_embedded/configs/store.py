"""Configs of topics, brokers, groups and client metrics: the values set, and the effective values that follow.

Set values are Kafka's ``ConfigRecord``s; everything else comes from server.properties and the tables of
``config_definitions``. Values are typed (int, bool, float, str, list of str). ``alter`` checks changes, ``describe``
serves DescribeConfigs. Precedence as in KIP-226: topic or group, this broker, all brokers, server.properties, default.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from kafka_tools.config_definitions.broker_names import broker_row, broker_synonyms, listener_base
from kafka_tools.config_definitions.values import Value, check, default_of, parse
from kafka_tools.protocol.enums import ConfigResourceType, ConfigSource
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord, RemoveTopicRecord, TopicRecord

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.features import FinalizedFeatures
    from kafka_tools.broker_embedded.cluster.journal import Journal

TOPIC, BROKER, BROKER_LOGGER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER
CLIENT_METRICS, GROUP = ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP
KINDS = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
"""Resource types on the wire (``ConfigResource.Type``)."""

STATIC_SOURCE = ConfigSource.STATIC_BROKER_CONFIG
"""DescribeConfigs' number for server.properties; ``ConfigStore.broker_layers`` lists the stronger sources."""

_UNIT_MS = {"hours": 3_600_000, "minutes": 60_000, "ms": 1}


def check_properties(properties: Mapping[str, str]) -> None:
    """Check a server.properties as Kafka does at start. Raises ConfigError for an invalid value."""
    for name, text in properties.items():
        row = broker_row(name)
        if row is not None:
            check(name, row, text)


class View:
    """Typed values of one resource by config name. Parsed once; the store drops the cache on a change."""

    def __init__(self, find: Callable[[str], Value]) -> None:
        """``find`` returns the value of a config that is not in the cache, or raises KeyError for an unknown name."""
        self._find = find
        self._cache: dict[str, Value] = {}

    def get(self, name: str) -> Value:
        """The current value. KeyError for a name that is not a config of this kind."""
        try:
            return self._cache[name]
        except KeyError:
            value = self._cache[name] = self._find(name)
            return value

    def integer(self, name: str) -> int:
        """``get`` for a config of type INT, SHORT or LONG that has a value."""
        value = self.get(name)
        assert isinstance(value, int)
        return value

    def number(self, name: str) -> float:
        """``get`` for a config of type DOUBLE that has a value."""
        value = self.get(name)
        assert isinstance(value, int | float)
        return float(value)

    def milliseconds(self, name: str) -> Value:
        """A broker config in ms, with synonyms in minutes or hours: the value of the strongest synonym."""
        for synonym in broker_synonyms(name):
            value = self.get(synonym)
            if value is not None:
                assert isinstance(value, int)
                return value * _UNIT_MS[synonym.rpartition(".")[2]]
        return None

    def forget(self) -> None:
        self._cache.clear()


class ConfigStore:
    """``topic(name)``, ``group(id)`` and ``broker`` are views; ``dynamic(type, name)`` returns set values as text."""

    def __init__(
        self, journal: Journal, properties: Mapping[str, str], node_id: int, features: FinalizedFeatures
    ) -> None:
        """``properties``: server.properties."""
        self.properties = dict(properties)
        self.node_name = str(node_id)
        """This broker's resource name."""
        self._features = features
        self.on_topic_changed: list[Callable[[str], None]] = []
        """Called with the name of a topic whose configs have changed."""
        self.on_broker_changed: list[Callable[[], None]] = []
        """Called after a broker config has changed."""
        self.on_client_metrics_changed: list[Callable[[], None]] = []
        """Called after a subscription to client metrics has changed."""
        self.running_checks: list[Callable[[Mapping[str, str]], None]] = []
        """Called with all new configs before a broker config changes. Raises ConfigError to refuse the change."""
        self._set: dict[tuple[int, str], Mapping[str, str]] = {}
        """Set configs by resource. The mapping of a resource is replaced, never modified."""
        self._topic_names: dict[uuid.UUID, str] = {}
        self._views: dict[tuple[int, str], View] = {}
        self.broker = View(self._of_broker)
        """The configs of this broker, by the broker's names."""
        journal.on_record(TopicRecord, self._apply_topic)
        journal.on_record(RemoveTopicRecord, self._apply_remove_topic)
        journal.on_record(ConfigRecord, self._apply_config)
        journal.on_image(self._image)

    @property
    def elr_enabled(self) -> bool:
        """Whether eligible leader replicas are on."""
        return self._features.elr_enabled

    def topic(self, name: str) -> View:
        view = self._views.get((TOPIC, name))
        if view is None:
            view = self._views[TOPIC, name] = View(lambda config: self._of_topic(config, self.dynamic(TOPIC, name)))
        return view

    def topic_with(self, overrides: Mapping[str, str]) -> View:
        """The configs that a topic with these overrides would have."""
        return View(lambda config: self._of_topic(config, overrides))

    def group(self, group_id: str) -> View:
        """The configs of a group. Groups without own configs share a view, because clients choose group ids."""
        key = GROUP, group_id if (GROUP, group_id) in self._set else ""
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = View(lambda config: self._of_group(config, key[1]))
        return view

    def dynamic(self, resource_type: int, name: str) -> Mapping[str, str]:
        """The configs set for a resource; a broker named "" is the default of all brokers."""
        return self._set.get((resource_type, name), {})

    def names(self, resource_type: int) -> list[str]:
        """The resources of this type with set configs, sorted."""
        return sorted(name for kind, name in self._set if kind == resource_type)

    def broker_layers(self) -> list[tuple[Mapping[str, str], int]]:
        """The sources of this broker's configs, strongest first, with DescribeConfigs' number of the source."""
        return [
            (self.dynamic(BROKER, self.node_name), ConfigSource.DYNAMIC_BROKER_CONFIG),
            (self.dynamic(BROKER, ""), ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self.static_properties(), STATIC_SOURCE),
        ]

    def broker_properties(
        self, own: Mapping[str, str] | None = None, default: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """All set configs of this broker; ``own`` and ``default`` replace the dynamic ones of it and of all brokers."""
        for_all = self.dynamic(BROKER, "") if default is None else default
        for_it = self.dynamic(BROKER, self.node_name) if own is None else own
        return {**self.static_properties(), **for_all, **for_it}

    def static_properties(self) -> Mapping[str, str]:
        """server.properties, with the broker's id under both of its names, as in Kafka."""
        return {**self.properties, "node.id": self.node_name, "broker.id": self.node_name}

    def topic_default(self, name: str) -> Value:
        """The value of a topic config that the topic does not set (``KafkaConfig.extractLogConfigMap``)."""
        from kafka_tools.config_definitions import topic

        broker_name = topic.BROKER_NAME.get(name)
        if broker_name is None:
            return default_of(name, topic.TABLE[name])
        if name == "flush.ms":
            value = self.broker.get(broker_name)
            return value if value is not None else self.broker.get("log.flush.scheduler.interval.ms")
        if name in ("retention.ms", "segment.ms", "segment.jitter.ms"):
            value = self.broker.milliseconds(broker_name)
            return -1 if isinstance(value, int) and value < 0 else value
        return self.broker.get(broker_name)

    def _of_broker(self, name: str) -> Value:
        row = broker_row(name)
        text = self._broker_text(name)
        if row is None:
            if text is None:
                raise KeyError(name)
            return text
        return default_of(name, row) if text is None else parse(name, row[0], text)

    def _broker_text(self, name: str) -> str | None:
        """The strongest set text of a config, or None.

        A dynamic config hides weaker settings of its synonyms too, as in Kafka: after log.retention.ms is set,
        log.retention.hours has its default again.
        """
        synonyms = () if listener_base(name) else broker_synonyms(name)
        for values, source in self.broker_layers():
            if name in values:
                return values[name]
            if source != STATIC_SOURCE and any(synonym in values for synonym in synonyms):
                return None
        return None

    def _of_topic(self, name: str, overrides: Mapping[str, str]) -> Value:
        from kafka_tools.config_definitions import topic

        row = topic.TABLE[name]
        return parse(name, row[0], overrides[name]) if name in overrides else self.topic_default(name)

    def _of_group(self, name: str, group_id: str) -> Value:
        from kafka_tools.config_definitions import broker, group

        row = group.TABLE[name]
        text = self.dynamic(GROUP, group_id).get(name)
        if text is not None:
            return parse(name, row[0], text)
        theirs = group.broker_name(name)
        return self.broker.get(theirs) if theirs in broker.TABLE else default_of(name, row)

    def _apply_topic(self, record: TopicRecord) -> None:
        self._topic_names[record.topic_id] = record.name

    def _apply_remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self._topic_names.pop(record.topic_id, None)
        if name is not None:
            self._set.pop((TOPIC, name), None)
            self._views.pop((TOPIC, name), None)

    def _apply_config(self, record: ConfigRecord) -> None:
        key = (record.resource_type, record.resource_name)
        values = dict(self._set.get(key, {}))
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        if values:
            self._set[key] = values
        else:
            self._set.pop(key, None)
        if not values and record.resource_type == GROUP:
            self._views.pop(key, None)
        self._changed(*key)

    def _image(self) -> Iterator[Stored]:
        resources = list(self._set.items())
        return (
            ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)
            for (kind, resource), values in resources
            for name, value in values.items()
        )

    def _changed(self, resource_type: int, name: str) -> None:
        if resource_type == BROKER:  # defaults of topics and groups come from the broker's configs
            self.broker.forget()
            for view in self._views.values():
                view.forget()
            for broker_changed in self.on_broker_changed:
                broker_changed()
        elif (resource_type, name) in self._views:
            self._views[resource_type, name].forget()
        if resource_type == TOPIC:
            for topic_changed in self.on_topic_changed:
                topic_changed(name)
        elif resource_type == CLIENT_METRICS:
            for subscription_changed in self.on_client_metrics_changed:
                subscription_changed()
