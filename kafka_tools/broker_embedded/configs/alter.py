"""The checks of AlterConfigs and IncrementalAlterConfigs.

Functions that turn a change into Kafka's ``ConfigRecord``s; they write nothing. The rules
and their texts follow Kafka: ``ConfigAdminManager`` for brokers, ``ConfigurationControlManager`` for the rest.
``validation`` checks the resulting configs of a resource.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka_tools.broker_embedded.configs.store import BROKER, CLIENT_METRICS, GROUP, TOPIC, ConfigStore
from kafka_tools.broker_embedded.configs.together import Misfit, check_together
from kafka_tools.broker_embedded.configs.validation import check_node, validate
from kafka_tools.broker_embedded.refusals import bad_config, bad_request
from kafka_tools.config_definitions import Row
from kafka_tools.config_definitions.secrets import is_sensitive
from kafka_tools.config_definitions.values import default_of, to_text
from kafka_tools.errors import BrokerError, ConfigError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import ConfigOperation
from kafka_tools.protocol.primitives import MOST_STRING_BYTES
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord
from kafka_tools.shown_text import MASK
from kafka_tools.texts.lists import split

log = logging.getLogger(__name__)

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT
"""Operations on the wire (``AlterConfigOp.OpType``, KIP-339)."""

MIN_ISR = "min.insync.replicas"


class RefusedByController(BrokerError):
    """A change of a broker's configs that only the controller refuses, after it has checked authorization."""

    def __init__(self, message: str, code: int = error_codes.INVALID_CONFIG) -> None:
        super().__init__(error_codes.error(code), message)


class Change(NamedTuple):
    """One operation on one config. ``value`` is None for DELETE."""

    name: str
    operation: int
    value: str | None


def incremental(store: ConfigStore, resource_type: int, resource: str, changes: Sequence[Change]) -> list[ConfigRecord]:
    """The records that apply ``changes`` to a resource. Raises BrokerError for invalid changes."""
    check_node(store, resource_type, resource)
    check_operations(changes)
    current = store.dynamic(resource_type, resource)
    wanted = dict(current)
    for change in changes:
        value = _applied(resource_type, change, current.get(change.name))
        if value is None:
            wanted.pop(change.name, None)
        else:
            wanted[change.name] = value
    validate(store, resource_type, resource, wanted)
    return _records(store, resource_type, resource, wanted, {change.name for change in changes})


def check_given(configs: Sequence[Any]) -> None:
    """Raises BrokerError for a duplicate config or a missing value, in the entries of both requests."""
    names = [config.name for config in configs]
    if len(set(names)) != len(names):
        raise bad_request("Error due to duplicate config keys")
    missing = [
        config.name for config in configs if config.value is None and getattr(config, "config_operation", SET) != DELETE
    ]
    if missing:
        raise bad_request(f"Null value not supported for : {', '.join(missing)}")


def check_operations(changes: Sequence[Change]) -> None:
    """Raises BrokerError for an unknown operation. Only the controller checks it."""
    for change in changes:
        if not SET <= change.operation <= SUBTRACT:
            raise RefusedByController(f"Unknown operations type {change.operation}", error_codes.INVALID_REQUEST)


def replacement(store: ConfigStore, resource_type: int, resource: str, wanted: Mapping[str, str]) -> list[ConfigRecord]:
    """The records that replace all configs set for a resource by ``wanted`` (the old AlterConfigs)."""
    validate(store, resource_type, resource, wanted)
    return _records(store, resource_type, resource, wanted, set(wanted))


def _applied(resource_type: int, change: Change, current: str | None) -> str | None:
    """The text of a config after one operation; None if it is no longer set."""
    if change.operation == SET:
        return change.value
    if change.operation == DELETE:
        return None
    row = _row(resource_type, change.name)
    if resource_type == BROKER:
        if row is None:
            raise bad_config(f"Unknown config name: {change.name}")
        if row[0] != "LIST":
            verb = ConfigOperation.word(change.operation).lower()
            raise bad_config(f"Config value {verb} is not allowed for config key: {change.name}")
    elif row is None or row[0] != "LIST" or resource_type == CLIENT_METRICS:
        operation = ConfigOperation.word(change.operation)
        raise bad_config(f"Can't {operation} to key {change.name} because its type is not LIST.")
    if current is None:
        assert row is not None
        current = to_text(default_of(change.name, row)) or ""
    items = [item for item in current.split(",") if item]
    for item in split(change.value or ""):
        if change.operation == APPEND and item not in items:
            items.append(item)
        elif change.operation == SUBTRACT and item in items:
            items.remove(item)
    joined = ",".join(items)
    if change.operation == APPEND and len(joined.encode()) > MOST_STRING_BYTES:  # KAFKA-18020
        raise bad_config(
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{MOST_STRING_BYTES} bytes."
        )
    return joined


def _records(
    store: ConfigStore, resource_type: int, resource: str, wanted: Mapping[str, str], named: set[str]
) -> list[ConfigRecord]:
    """The changed configs; for brokers also unchanged ones, because setting a path again reloads its file.

    Raises BrokerError for min.insync.replicas if eligible leader replicas are enabled (KIP-966): only the cluster may
    set it, and the cluster must set it.
    """
    current = store.dynamic(resource_type, resource)
    if resource_type == BROKER and store.elr_enabled:
        if resource and MIN_ISR in named | current.keys() - wanted.keys():
            raise RefusedByController(f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.")
        if not resource and MIN_ISR in named | current.keys() and MIN_ISR not in wanted:
            raise RefusedByController(f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.")
    names = [name for name in wanted if resource_type == BROKER or wanted[name] != current.get(name)]
    names += [name for name in current if name not in wanted]
    return [
        ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=wanted.get(name))
        for name in names
    ]


def _row(resource_type: int, name: str) -> Row | None:
    """The definition of a config in APPEND and SUBTRACT. Broker configs with a listener prefix have none."""
    from kafka_tools.config_definitions import broker, client_metrics, group, topic

    tables = {BROKER: broker.TABLE, TOPIC: topic.TABLE, GROUP: group.TABLE, CLIENT_METRICS: client_metrics.TABLE}
    return tables[resource_type].get(name)


def left_out(store: ConfigStore) -> list[ConfigRecord]:
    """The records that remove configs that an earlier version accepted and Kafka refuses, at a start."""
    values = {resource: dict(store.dynamic(BROKER, resource)) for resource in (store.node_name, "")}
    records = []
    while (misfit := _misfit(store.broker_properties(*values.values()))) is not None:
        resource = next(each for each in values if values[each].keys() & set(misfit.names))
        for name in sorted(values[resource].keys() & set(misfit.names)):
            value = values[resource].pop(name)
            shown = MASK if is_sensitive(name) else value
            log.warning("removing %s=%s, which was set while the broker ran: %s", name, shown, misfit)
            records.append(ConfigRecord(resource_type=BROKER, resource_name=resource, name=name, value=None))
    return records


def _misfit(properties: Mapping[str, str]) -> Misfit | None:
    try:
        check_together(properties)
    except Misfit as misfit:
        return misfit
    except ConfigError:  # a single invalid value: no other config is removed for it
        return None
    return None


def cluster_wide_min_isr(store: ConfigStore) -> list[ConfigRecord]:
    """The records that eligible leader replicas need (KIP-966): min.insync.replicas is set only for the cluster."""
    records = []
    if MIN_ISR not in store.dynamic(BROKER, ""):
        written = str(store.static_properties().get(MIN_ISR, "1")).strip()
        records.append(ConfigRecord(resource_type=BROKER, resource_name="", name=MIN_ISR, value=written))
    records += [
        ConfigRecord(resource_type=BROKER, resource_name=name, name=MIN_ISR, value=None)
        for name in store.names(BROKER)
        if name and MIN_ISR in store.dynamic(BROKER, name)
    ]
    return records
