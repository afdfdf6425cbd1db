"""``kafka-configs --zookeeper``: configs, quotas and SCRAM credentials of clusters before 4.0, without a broker.

What Kafka 2.x and 3.x took through ZooKeeper, with the same checks: nobody else makes them, and a config that cannot be
read keeps a broker from starting. Describing never shows a credential's salt and keys, which Kafka's tool printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.commands._config_alter import check_names
from kafka_tools.commands._config_changes import SCRAM_MECHANISMS, parse_quota, parse_scram
from kafka_tools.commands._config_entities import QUOTA_TYPES, Entity
from kafka_tools.errors import InputError, UsageError
from kafka_tools.output.rows import Row, Rows

if TYPE_CHECKING:
    from kafka_tools.zookeeper.configs import ZooKeeperConfigs
    from kafka_tools.zookeeper.nodes import Entity as NodeEntity

TYPES = ("topics", "clients", "users", "brokers", "ips")
_SOURCES = {"topics": "DYNAMIC_TOPIC_CONFIG", "brokers": "DYNAMIC_BROKER_CONFIG"}
_UNTIL_4_0 = ("message.format.version", "message.downconversion.enable", "message.timestamp.difference.max.ms")
"""Topic configs that brokers with ZooKeeper know and Kafka 4 does not."""


def check_types(entities: Sequence[Entity]) -> None:
    """UsageError for an entity type that Kafka never kept in ZooKeeper."""
    for entity in entities:
        if entity.type not in TYPES:
            raise UsageError(
                f"{entity.type} are not kept in ZooKeeper", hint="use --bootstrap-server with the address of a broker"
            )


def apply(
    configs: ZooKeeperConfigs, entities: Sequence[Entity], added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    """Change one entity, or the pair of a user and a client. Raises what it refuses, before anything is written."""
    kind, name = entities[0]
    if kind == "topics":
        _check_topic(configs, name or "", added, deleted)
        texts = dict(added)
    elif kind == "brokers":
        _check_broker(configs, name or None, added)
        texts = dict(added)
    else:
        scram = [key for key in (*added, *deleted) if key in SCRAM_MECHANISMS]
        check_names(entities, [*added, *deleted], scram)
        texts = {key: _user_text(key, value) for key, value in added.items()}
    configs.change(_node_entity(entities), texts, deleted)


def _user_text(key: str, value: str) -> str:
    """What is stored of a quota, or of a credential whose password was given."""
    if key not in SCRAM_MECHANISMS:
        quota = parse_quota(key, value)
        return str(int(quota)) if quota.is_integer() and key != "request_percentage" else str(quota)
    return credential_text(key, value)


def credential_text(mechanism: str, value: str) -> str:
    """The stored form of ``[iterations=N,password=...]``, without the password. Raises UsageError, InputError."""
    from kafka_tools import scram_math

    change = parse_scram(mechanism, value)
    kind = scram_math.mechanism(mechanism)
    return scram_math.credential_to_text(scram_math.credential(kind, change.password, change.iterations))


def _check_topic(configs: ZooKeeperConfigs, topic: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    from kafka_tools.broker_embedded.config_tables.topic import TABLE
    from kafka_tools.broker_embedded.config_values import check

    for name, value in added.items():
        if name in TABLE:
            check(name, TABLE[name], value)
        elif name not in _UNTIL_4_0:
            raise InputError(f"Unknown topic config name: {name}")
    if not configs.has_topic(topic):
        raise InputError(f"topic '{topic}' does not exist", hint="list topics with kafka-topics --list")


def _check_broker(configs: ZooKeeperConfigs, broker: str | None, added: Mapping[str, str]) -> None:
    from kafka_tools.broker_embedded.config_store import broker_row
    from kafka_tools.broker_embedded.config_values import SENSITIVE_TYPE, check

    running = configs.running_brokers()
    if (broker in running) if broker is not None else running:
        raise InputError(
            f"broker {broker if broker is not None else ', '.join(running)} is running: "
            "through ZooKeeper its configs can only be changed while it is not",
            hint="use --bootstrap-server with the address of a broker",
        )
    for name, value in added.items():
        row = broker_row(name)
        if row is None:
            continue  # a plugin's own config
        if row[0] == SENSITIVE_TYPE:
            raise InputError(
                f"{name} is a secret, which brokers keep encrypted with their password.encoder.secret",
                hint="set it with --bootstrap-server, once a broker runs",
            )
        check(name, row, value)


def describe(configs: ZooKeeperConfigs, entities: Sequence[Entity]) -> Rows:
    """The rows of one entity, of all of a type, or of pairs, in the shapes of ``_config_rows``."""
    from kafka_tools.commands._config_rows import COLUMNS

    rows: list[Row] = []
    for entity in _asked_for(configs, entities):
        values = configs.read(entity)
        kind, name = entity[0]
        if kind in _SOURCES:
            rows.append(_resource_row(kind, name, values))
            continue
        key = {QUOTA_TYPES[part.kind]: part.name for part in entity}
        quotas = {key: value for key, value in sorted(values.items()) if key not in SCRAM_MECHANISMS}
        if quotas:
            rows.append({"kind": "quota", "entity": key, "quotas": _numbers(quotas, entity)})
        credentials = [_credential(each, values[each]) for each in SCRAM_MECHANISMS if each in values]
        if credentials:
            rows.append({"kind": "scram", "entity": {"user": name}, "credentials": credentials})
    return Rows("configs", COLUMNS, rows, [])


def _resource_row(kind: str, name: str | None, values: Mapping[str, str]) -> Row:
    source = "DYNAMIC_DEFAULT_BROKER_CONFIG" if kind == "brokers" and name is None else _SOURCES[kind]
    entries = [_config_row(key, value, kind, source) for key, value in sorted(values.items())]
    return {"kind": "resource", "entity": {kind: name}, "configs": entries}


def _config_row(name: str, value: str, kind: str, source: str) -> Row:
    sensitive = kind == "brokers" and _is_sensitive(name)
    shown = None if sensitive else value
    synonym = {"name": name, "value": shown, "source": source}
    return synonym | {"sensitive": sensitive, "read_only": False, "synonyms": [synonym]}


def _is_sensitive(name: str) -> bool:
    from kafka_tools.broker_embedded.config_store import broker_row
    from kafka_tools.broker_embedded.config_values import SENSITIVE_TYPE

    row = broker_row(name)
    return row is None or row[0] == SENSITIVE_TYPE  # a plugin's config may be a secret; brokers mask it too


def _numbers(quotas: Mapping[str, str], entity: NodeEntity) -> dict[str, float]:
    found = {}
    for name, text in quotas.items():
        try:
            found[name] = float(text)
        except ValueError:
            from kafka_tools.zookeeper.nodes import entity_path

            raise InputError(f"ZooKeeper node /config/{entity_path(entity)}: {name} is no number") from None
    return found


def _credential(mechanism: str, text: str) -> Row:
    from kafka_tools.scram_math import credential_from_text

    return {"mechanism": mechanism, "iterations": credential_from_text(text).iterations}


def _asked_for(configs: ZooKeeperConfigs, entities: Sequence[Entity]) -> list[NodeEntity]:
    """The entities with nodes that a described entity stands for: a name of None is all of a type."""
    if all(entity.name is not None for entity in entities):
        return [_node_entity(entities)]
    ordered = sorted(entities, key=_users_first)
    if len(ordered) == 1:
        return list(configs.entities([ordered[0].type]))
    user, client = ordered
    if user.name is None:
        pairs = list(configs.entities(["users", "clients"]))
    else:
        pairs = list(configs.pairs(user.name or None))
    return [pair for pair in pairs if client.name is None or pair[1].name == (client.name or None)]


def _node_entity(entities: Sequence[Entity]) -> NodeEntity:
    from kafka_tools.zookeeper.nodes import Part

    return tuple(Part(entity.type, entity.name or None) for entity in sorted(entities, key=_users_first))


def _users_first(entity: Entity) -> bool:
    return entity.type != "users"
