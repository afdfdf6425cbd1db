"""``kafka-configs --zookeeper``: configs, quotas and SCRAM credentials of clusters before 4.0, without a broker.

It changes what Kafka 1.1 to 3.9 change through ZooKeeper; ``judge`` validates the values. It never shows a credential's
salt and keys, which Kafka's tool printed.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.commands.configs.changes import LIST_OPERATIONS, missing_quotas, parse_scram
from kafka_tools.commands.configs.entities import QUOTA_TYPES, Entity, Target
from kafka_tools.commands.configs.places import Ended, Place
from kafka_tools.commands.configs.plan import Held
from kafka_tools.commands.configs.rows import KIND
from kafka_tools.commands.configs.targets import RESOURCE_TYPES, is_resource, own_source
from kafka_tools.errors import BrokerError, ConfigError, InputError, StoreError, UsageError
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import Rows
from kafka_tools.scram_math import MECHANISMS

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.admin.calls.quotas import QuotaEntity
    from kafka_tools.commands.configs.judge import Judge
    from kafka_tools.config_definitions import Row as ConfigRow
    from kafka_tools.zookeeper.configs import ZooKeeperConfigs
    from kafka_tools.zookeeper.nodes import Entity as NodeEntity

TYPES = ("topics", "clients", "users", "brokers", "ips")
_TOPIC_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


def check_types(targets: Sequence[Target]) -> None:
    """Raise UsageError for an entity type that Kafka never stored in ZooKeeper."""
    for entity in targets[0]:
        if entity.type not in TYPES:
            raise UsageError(
                f"{entity.type} are not stored in ZooKeeper", hint="use --bootstrap-server with the address of a broker"
            )


class ZooKeeperPlace(Place):
    """The configs in ZooKeeper's nodes. ``judge`` validates values; setting values requires it."""

    def __init__(self, configs: ZooKeeperConfigs) -> None:
        self._configs = configs
        self.judge: Judge | None = None

    # Changes

    def alter(self, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool = False) -> Ended:
        """An error of one target does not affect the others.

        But a lost session does: each remaining target gets an error that it was not tried.
        """
        from kafka_tools.zookeeper.configs import SessionLost

        ended: Ended = {}
        lost = False
        for target in targets:
            if lost:
                ended[target] = StoreError("not tried: the ZooKeeper session was lost")
                continue
            try:
                entity, edit = _node_entity(target), self._editor(target, changes)
                if validate_only:
                    edit(self._configs.read(entity))
                else:
                    self._configs.update(entity, edit)
                ended[target] = None
            except (InputError, ConfigError, StoreError, BrokerError) as error:
                ended[target] = error
                lost = isinstance(error, SessionLost)
        return ended

    def _editor(self, target: Target, changes: Sequence[ConfigChange]) -> Callable[[dict[str, str]], dict[str, str]]:
        """The edit of the target's node, from old to new. It raises InputError or BrokerError for refused values.

        Credentials are created only once, because that takes thousands of hashes.
        """
        entity, judge = target[0], self.judge
        _check_name(self._configs, entity)
        if entity.type == "brokers":
            _check_not_running(self._configs, entity.name or None, changes)
        credentials = {
            change.name: credential_text(change.name, change.value or "")
            for change in changes
            if change.operation != "delete" and change.name in MECHANISMS and not is_resource(target)
        }

        def edit(values: dict[str, str]) -> dict[str, str]:
            missing = missing_quotas(changes, values)
            if missing is not None:
                raise missing
            values = dict(values)
            for change in changes:
                if change.operation == "delete":
                    del values[change.name]
                    continue
                text = credentials.get(change.name)
                if text is None:
                    assert judge is not None, "values are set only with a judge"
                    text = _new_text(judge, target, change, values.get(change.name))
                    judge.check_value(target, change.name, text)
                values[change.name] = text
            if judge is not None and len(credentials) < len(changes):
                judge.check_whole(target, values)
            if entity.type == "brokers":
                self._check_cleaner(entity, values, changes)
            return values

        return edit

    def _check_cleaner(self, entity: Entity, values: Mapping[str, str], changes: Sequence[ConfigChange]) -> None:
        """Raise InputError if a broker could not load its dynamic configs: its own, over those of all brokers."""
        from kafka_tools.config_definitions.zookeeper.loads import CLEANER, check_cleaner

        if not any(change.name in CLEANER for change in changes):
            return
        configs = self._configs
        if entity.name:
            check_cleaner({**configs.read((("brokers", None),)), **values})
            return
        check_cleaner(values)
        for each in configs.entities(["brokers"]):
            if each[0][1] is not None:
                check_cleaner({**values, **configs.read(each)})

    # Descriptions

    def describe(self, targets: Sequence[Target], show_all: bool, documentation: bool) -> Rows:
        rows: list[Row] = []
        for entity in (each for target in targets for each in _asked_for(self._configs, target)):
            values = self._configs.read(entity)
            kind, name = entity[0]
            if kind in RESOURCE_TYPES:
                rows.append(_resource_row(kind, name, values))
                continue
            quotas = _numbers(dict(sorted(values.items())), entity)
            if quotas:
                key = {QUOTA_TYPES[type_]: each for type_, each in entity}
                rows.append({"kind": "quota", "entity": key, "quotas": quotas})
            credentials = [{"mechanism": each, "iterations": count} for each, count in _iterations(values).items()]
            if credentials:
                rows.append({"kind": "scram", "entity": {"user": name}, "credentials": credentials})
        return Rows(KIND, rows)

    def credentials(self, users: Sequence[Target]) -> Rows:
        described = self.describe(users or [(Entity("users", None),)], show_all=False, documentation=False)
        return described._replace(rows=[row for row in described.rows if row["kind"] == "scram"])

    # The values before a plan

    def held(self, target: Target, changes: Sequence[ConfigChange]) -> list[Held]:
        from kafka_tools.config_definitions.zookeeper.releases import RELEASES

        values = self._configs.read(_node_entity(target))
        release = (self.judge.releases if self.judge is not None else RELEASES)[-1]
        return [_held(target, change.name, values, release) for change in changes]

    def iterations(self, target: Target) -> dict[str, int]:
        return _iterations(self._configs.read(_node_entity(target)))

    def quotas(self, target: Target) -> dict[str, float]:
        entity = _node_entity(target)
        return _numbers(self._configs.read(entity), entity)

    def quotas_of(self, entity: QuotaEntity) -> dict[str, float]:
        kinds = {name: kind for kind, name in QUOTA_TYPES.items()}
        node = tuple((kinds[kind], name) for kind, name in entity)
        return _numbers(self._configs.read(node), node)


def _new_text(judge: Judge, target: Target, change: ConfigChange, now: str | None) -> str:
    """The new value of a change. ``now`` is None if nothing is set. Raises InputError."""
    if change.operation not in LIST_OPERATIONS:
        return (change.value or "").strip()
    from kafka_tools.admin.calls.merged_configs import changed_list

    row = _row(target, change.name, judge.releases[-1])
    if row is None or row[0] != "LIST":
        raise InputError(f"Can't {change.operation.upper()} to key {change.name} because its type is not LIST.")
    return changed_list(row[1] if now is None else now, change)


def _row(target: Target, name: str, release: str) -> ConfigRow | None:
    """The row of a config in a release's tables."""
    from kafka_tools.commands.configs.judge import kind_of
    from kafka_tools.config_definitions.zookeeper.releases import row_of

    return row_of(release, kind_of(target), name)


def _check_name(configs: ZooKeeperConfigs, entity: Entity) -> None:
    """Raise InputError for a name that Kafka would refuse, or that brokers do not read."""
    name = entity.name or ""
    if entity.type == "topics" and not (_TOPIC_NAME.fullmatch(name) and configs.has_topic(name)):
        raise InputError(f"topic '{name}' does not exist", hint="list topics with kafka-topics --list")
    if entity.type == "brokers" and name and name != str(int(name)):
        raise InputError(f"invalid broker id '{name}': brokers write it as {int(name)}")
    if entity.type == "ips" and name:
        try:
            socket.getaddrinfo(name, None)
        except (OSError, UnicodeError):
            raise InputError(f"{name} is not a valid IP or resolvable host.") from None


def _check_not_running(configs: ZooKeeperConfigs, broker: str | None, changes: Sequence[ConfigChange]) -> None:
    """Raise InputError for changes that are not possible through ZooKeeper while the broker (None: any broker) runs."""
    from kafka_tools.config_definitions.zookeeper.releases import THROTTLES

    if all(change.operation == "delete" or change.name in THROTTLES for change in changes):
        return
    running = configs.running_brokers()
    if broker in running or (broker is None and running):
        whose = f"broker {broker} through ZooKeeper while it is running"
        if broker is None:
            whose = f"all brokers through ZooKeeper while some are running: {', '.join(running)}"
        raise InputError(
            f"cannot change the configs of {whose}",
            hint="use --bootstrap-server with the address of a broker",
        )


def _held(target: Target, name: str, values: Mapping[str, str], release: str) -> Held:
    """The value of a config in ZooKeeper. It does not contain brokers' files, so Kafka's default is beneath."""
    from kafka_tools.config_definitions.secrets import is_sensitive

    row = _row(target, name, release)
    default, source = (row[1], "DEFAULT_CONFIG") if row is not None else (None, None)
    sensitive = target[0].type == "brokers" and is_sensitive(name)
    if name in values:
        return Held(values[name], own_source(target[0]), sensitive, (default, source), values[name])
    return Held(default, source, sensitive, (default, source), default)


def credential_text(mechanism: str, value: str) -> str:
    """The stored form of ``[iterations=N,password=...]``, without the password. Raises UsageError, InputError."""
    from kafka_tools import scram_math

    change = parse_scram(mechanism, value)
    kind = scram_math.mechanism(mechanism)
    return scram_math.credential_to_text(scram_math.credential(kind, change.password, change.iterations))


def _resource_row(kind: str, name: str | None, values: Mapping[str, str]) -> Row:
    source = own_source(Entity(kind, name))
    entries = [_config_row(key, value, kind, source) for key, value in sorted(values.items())]
    return {"kind": "resource", "entity": {kind: name}, "configs": entries}


def _config_row(name: str, value: str, kind: str, source: str) -> Row:
    from kafka_tools.config_definitions.secrets import is_sensitive

    sensitive = kind == "brokers" and is_sensitive(name)
    shown = None if sensitive else value
    synonym = {"name": name, "value": shown, "source": source}
    return synonym | {"sensitive": sensitive, "read_only": False, "type": None, "synonyms": [synonym]}


def _numbers(values: Mapping[str, str], entity: NodeEntity) -> dict[str, float]:
    """The quotas in a node."""
    found = {}
    for name, text in values.items():
        if name in MECHANISMS:
            continue
        try:
            found[name] = float(text)
        except ValueError:
            from kafka_tools.zookeeper.nodes import entity_path

            raise InputError(
                f"ZooKeeper node /config/{entity_path(entity)}: invalid {name}: expected a number"
            ) from None
    return found


def _iterations(values: Mapping[str, str]) -> dict[str, int]:
    """Mechanism -> iterations of the credentials in a node."""
    from kafka_tools.scram_math import credential_from_text

    return {each: credential_from_text(values[each]).iterations for each in MECHANISMS if each in values}


def _asked_for(configs: ZooKeeperConfigs, entities: Target) -> list[NodeEntity]:
    """The existing entities for a described entity. The name None means all entities of a type."""
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
    return [pair for pair in pairs if client.name is None or pair[1][1] == (client.name or None)]


def _node_entity(entities: Target) -> NodeEntity:
    return tuple((entity.type, entity.name or None) for entity in sorted(entities, key=_users_first))


def _users_first(entity: Entity) -> bool:
    return entity.type != "users"
