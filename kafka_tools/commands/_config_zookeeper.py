"""``kafka-configs --zookeeper``: configs, quotas and SCRAM credentials of clusters before 4.0, without a broker.

What Kafka 2.x and 3.x took through ZooKeeper, with the same checks: nobody else makes them, and a config that cannot be
read keeps a broker from starting. Describing never shows a credential's salt and keys, which Kafka's tool printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.commands._config_alter import RESOURCE_TYPES, Ended, is_resource, missing_quotas
from kafka_tools.commands._config_changes import LIST_OPERATIONS, SCRAM_MECHANISMS, parse_quota, parse_scram
from kafka_tools.commands._config_entities import QUOTA_TYPES, Entity, Target
from kafka_tools.commands._config_names import did_you_mean
from kafka_tools.commands._config_rows import KIND, is_sensitive, own_source
from kafka_tools.config_definitions.values import check as check_value
from kafka_tools.errors import InputError, StoreError, UsageError
from kafka_tools.output.rows import Row, Rows

if TYPE_CHECKING:
    from kafka_tools.admin.calls.configs import ConfigChange
    from kafka_tools.admin.calls.quotas import QuotaEntity
    from kafka_tools.commands._config_plan import Held
    from kafka_tools.config_definitions import Row as ConfigRow
    from kafka_tools.zookeeper.configs import ZooKeeperConfigs
    from kafka_tools.zookeeper.nodes import Entity as NodeEntity

TYPES = ("topics", "clients", "users", "brokers", "ips")
_UNTIL_4_0 = ("message.format.version", "message.downconversion.enable", "message.timestamp.difference.max.ms")
"""Topic configs that brokers with ZooKeeper know and Kafka 4 does not."""


def check_types(targets: Sequence[Target]) -> None:
    """UsageError for an entity type that Kafka never kept in ZooKeeper."""
    for entity in targets[0]:
        if entity.type not in TYPES:
            raise UsageError(
                f"{entity.type} are not kept in ZooKeeper", hint="use --bootstrap-server with the address of a broker"
            )


def apply(
    configs: ZooKeeperConfigs, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool = False
) -> Ended:
    """Make the changes on every target, or only the checks; an error of one target does not keep the others.

    A lost session does: then each target that is left says that it was not tried.
    """
    from kafka_tools.zookeeper.configs import SessionLost

    ended: Ended = {}
    lost = False
    for target in targets:
        if lost:
            ended[target] = StoreError("not tried, since the session with ZooKeeper was lost")
            continue
        try:
            _apply_to(configs, target, changes, validate_only)
            ended[target] = None
        except (InputError, StoreError) as error:
            ended[target] = error
            lost = isinstance(error, SessionLost)
    return ended


def _apply_to(configs: ZooKeeperConfigs, target: Target, changes: Sequence[ConfigChange], validate_only: bool) -> None:
    entity = _node_entity(target)
    edit = _editor(configs, target, changes)
    if validate_only:
        edit(configs.read(entity))
    else:
        configs.update(entity, edit)


def plan(configs: ZooKeeperConfigs, target: Target, changes: Sequence[ConfigChange]) -> list[Row]:
    """What each change would do to the target, as rows of ``_config_plan``. Raises InputError, StoreError."""
    from kafka_tools.commands import _config_plan

    values = configs.read(_node_entity(target))
    entity = target[0]
    if is_resource(target):
        own = own_source(entity)
        return [
            _config_plan.resource_row(target, change, _held(entity, change.name, values, own), own)
            for change in changes
        ]
    if changes[0].name in SCRAM_MECHANISMS:
        iterations = {
            each: _credential(each, values[each])["iterations"] for each in SCRAM_MECHANISMS if each in values
        }
        return [_config_plan.scram_row(target, change, iterations) for change in changes]
    quotas = _numbers({key: text for key, text in values.items() if key not in SCRAM_MECHANISMS}, _node_entity(target))
    return [_config_plan.quota_row(target, change, quotas) for change in changes]


def quotas_of(configs: ZooKeeperConfigs, entity: QuotaEntity) -> dict[str, float]:
    """What is set for exactly one entity of quotas."""
    from kafka_tools.zookeeper.nodes import Part

    kinds = {name: kind for kind, name in QUOTA_TYPES.items()}
    node = tuple(Part(kinds[kind], name) for kind, name in entity)
    return _numbers({key: text for key, text in configs.read(node).items() if key not in SCRAM_MECHANISMS}, node)


def _editor(
    configs: ZooKeeperConfigs, target: Target, changes: Sequence[ConfigChange]
) -> Callable[[dict[str, str]], dict[str, str]]:
    """What makes the target's new node of its old one; raises InputError for what a broker would refuse.

    A credential is made here, once: making one takes thousands of hashes.
    """
    entity = target[0]
    if entity.type == "topics" and not configs.has_topic(entity.name or ""):
        raise InputError(f"topic '{entity.name}' does not exist", hint="list topics with kafka-topics --list")
    if entity.type == "brokers":
        _check_not_running(configs, entity.name or None)
    texts = {change.name: _user_text(change) for change in changes} if not is_resource(target) else {}

    def edit(values: dict[str, str]) -> dict[str, str]:
        missing = missing_quotas(changes, values)
        if missing is not None:
            raise missing
        values = dict(values)
        for change in changes:
            if change.operation == "delete":
                del values[change.name]
            elif texts:
                values[change.name] = texts[change.name]
            else:
                values[change.name] = _checked_text(entity, change, values.get(change.name))
        return values

    return edit


def _checked_text(entity: Entity, change: ConfigChange, now: str | None) -> str:
    """The new value of a config of a topic or a broker. Raises InputError, ConfigError."""
    row = _row(entity, change)
    if change.operation not in LIST_OPERATIONS:
        if row is not None:
            check_value(change.name, row, change.value or "")
        return change.value or ""
    from kafka_tools.admin.calls.configs import changed_list

    if row is None or row[0] != "LIST":
        raise InputError(f"Can't {change.operation.upper()} to key {change.name} because its type is not LIST.")
    text = changed_list(row[1] if now is None else now, change)
    check_value(change.name, row, text)
    return text


def _row(entity: Entity, change: ConfigChange) -> ConfigRow | None:
    """What Kafka's tables say of a config, None for one that only brokers with ZooKeeper, or a plugin, know."""
    from kafka_tools.config_definitions.broker_names import broker_row
    from kafka_tools.config_definitions.topic import TABLE
    from kafka_tools.config_definitions.values import SENSITIVE_TYPE

    name = change.name
    if entity.type == "topics":
        if name not in TABLE and name not in _UNTIL_4_0:
            raise InputError(f"Unknown topic config name: {name}", hint=did_you_mean([name], TABLE))
        return TABLE.get(name)
    row = broker_row(name)
    if row is not None and row[0] == SENSITIVE_TYPE:
        raise InputError(
            f"{name} is a secret, which brokers keep encrypted with their password.encoder.secret",
            hint="set it with --bootstrap-server, once a broker runs",
        )
    return row


def _check_not_running(configs: ZooKeeperConfigs, broker: str | None) -> None:
    running = configs.running_brokers()
    if (broker in running) if broker is not None else running:
        raise InputError(
            f"broker {broker if broker is not None else ', '.join(running)} is running: "
            "through ZooKeeper its configs can only be changed while it is not",
            hint="use --bootstrap-server with the address of a broker",
        )


def _held(entity: Entity, name: str, values: Mapping[str, str], own: str) -> Held:
    """What ZooKeeper knows of a config: brokers' own files are not there, so what is beneath is Kafka's default."""
    from kafka_tools.commands._config_plan import Held
    from kafka_tools.config_definitions.broker_names import broker_row
    from kafka_tools.config_definitions.topic import TABLE

    row = TABLE.get(name) if entity.type == "topics" else broker_row(name)
    default, source = (row[1], "DEFAULT_CONFIG") if row is not None else (None, None)
    sensitive = entity.type == "brokers" and is_sensitive(name)
    if name in values:
        return Held(values[name], own, sensitive, (default, source), values[name])
    return Held(default, source, sensitive, (default, source), default)


def _user_text(change: ConfigChange) -> str:
    """What is stored of a quota, or of a credential whose password was given."""
    if change.operation == "delete":
        return ""
    key, value = change.name, change.value or ""
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


def describe(configs: ZooKeeperConfigs, targets: Sequence[Target]) -> Rows:
    """The rows of each target: one entity, all of a type, or pairs, in the shapes of ``_config_rows``."""
    rows: list[Row] = []
    for entity in (each for target in targets for each in _asked_for(configs, target)):
        values = configs.read(entity)
        kind, name = entity[0]
        if kind in RESOURCE_TYPES:
            rows.append(_resource_row(kind, name, values))
            continue
        key = {QUOTA_TYPES[part.kind]: part.name for part in entity}
        quotas = {key: value for key, value in sorted(values.items()) if key not in SCRAM_MECHANISMS}
        if quotas:
            rows.append({"kind": "quota", "entity": key, "quotas": _numbers(quotas, entity)})
        credentials = [_credential(each, values[each]) for each in SCRAM_MECHANISMS if each in values]
        if credentials:
            rows.append({"kind": "scram", "entity": {"user": name}, "credentials": credentials})
    return Rows(KIND, rows)


def _resource_row(kind: str, name: str | None, values: Mapping[str, str]) -> Row:
    source = own_source(Entity(kind, name))
    entries = [_config_row(key, value, kind, source) for key, value in sorted(values.items())]
    return {"kind": "resource", "entity": {kind: name}, "configs": entries}


def _config_row(name: str, value: str, kind: str, source: str) -> Row:
    sensitive = kind == "brokers" and is_sensitive(name)
    shown = None if sensitive else value
    synonym = {"name": name, "value": shown, "source": source}
    return synonym | {"sensitive": sensitive, "read_only": False, "type": None, "synonyms": [synonym]}


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


def _asked_for(configs: ZooKeeperConfigs, entities: Target) -> list[NodeEntity]:
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


def _node_entity(entities: Target) -> NodeEntity:
    from kafka_tools.zookeeper.nodes import Part

    return tuple(Part(entity.type, entity.name or None) for entity in sorted(entities, key=_users_first))


def _users_first(entity: Entity) -> bool:
    return entity.type != "users"
