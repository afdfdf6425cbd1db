"""The entities of ``kafka-configs``: types and names, from long and short options.

Like Kafka's ConfigCommand.ConfigCommandOptions: several types only for a user and a client together, names paired with
types in their order, and an empty name for the default entity. In addition, names can be repeated: ``--topic a --topic
b`` are two entities, ``--user a --user b --client c`` two pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from kafka_tools.config_definitions.quota_entities import CLIENT_ID, IP, USER
from kafka_tools.errors import UsageError
from kafka_tools.values import parse_integer

DEFAULT_TYPES = ("clients", "users", "brokers", "ips")
QUOTA_TYPES = {"users": USER, "clients": CLIENT_ID, "ips": IP}
"""Entity type -> its name in the protocol's client quotas."""

# Short option -> type, in the order in which Kafka reads them.
SHORT = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker_logger": "broker-loggers",
    "ip": "ips",
    "client_metrics": "client-metrics",
    "group": "groups",
}
SHORT_DEFAULTS = {
    "client_defaults": "clients",
    "user_defaults": "users",
    "broker_defaults": "brokers",
    "ip_defaults": "ips",
}


class Entity(NamedTuple):
    """One entity: plural type and name. The name None means all entities of the type, "" the default entity."""

    type: str
    name: str | None

    @property
    def singular(self) -> str:
        return self.type[:-1]


Target = tuple[Entity, ...]
"""The target of one change or description: one entity, or a user and a client together."""


def target_text(target: Target) -> str:
    """The target in a message: ``topic 'orders'``, ``user 'alice', default client``."""
    return ", ".join(f"{each.singular} '{each.name}'" if each.name else f"default {each.singular}" for each in target)


def targets(given: Mapping[str, Any], arguments: Sequence[str], alter: bool) -> list[Target]:
    """The targets of the options, of the same type or types, without duplicates. Raises UsageError for conflicts."""
    short = _short_forms(given)
    types = list(given["entity_type"])
    names = names_in_order(arguments)
    if short and (types or names):
        raise UsageError(
            "--entity-type, --entity-name and --entity-default cannot be combined with the short forms such as --topic"
        )
    chosen = short or _paired(types, names, alter)
    if len(chosen) > 1 and set(chosen) != {"users", "clients"}:
        raise UsageError("only users and clients can be combined")
    for kind, kind_names in chosen.items():
        for name in kind_names:
            _check_name(Entity(kind, name), alter)
    kinds = [[Entity(kind, name) for name in dict.fromkeys(kind_names)] for kind, kind_names in chosen.items()]
    return list(product(*kinds))


def _short_forms(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Entity type -> names of short options, with "" for the default entity."""
    found = {kind: list(given[option]) for option, kind in SHORT.items() if given[option]}
    for option, kind in SHORT_DEFAULTS.items():
        if given[option]:
            found.setdefault(kind, []).append("")
    return found


def _paired(types: Sequence[str], names: Sequence[str], alter: bool) -> Mapping[str, Sequence[str | None]]:
    """Entity type -> names, from --entity-type and --entity-name; None means all entities of the type."""
    if not types:
        raise UsageError("missing entity type: give --entity-type, or a short form such as --topic NAME")
    nameless = UsageError(
        f"--alter needs the name of each entity: give --entity-name or --entity-default for {types[-1]}"
    )
    if alter and not names:
        raise nameless
    kinds = list(dict.fromkeys(types))
    if len(types) not in (len(kinds), len(names)) or (len(kinds) > 1 and len(types) > len(kinds)):
        raise UsageError(
            f"the entity type {next(kind for kind in types if types.count(kind) > 1)} is given twice",
            hint="give it once and repeat --entity-name. To combine several users and clients, use --user and --client",
        )
    if len(kinds) == 1:
        return {kinds[0]: names or [None]}
    if len(names) > len(kinds):
        raise UsageError(
            "there are more entity names than entity types", hint="use --user and --client for several pairs"
        )
    if alter and len(names) < len(kinds):
        raise nameless
    return {kind: [names[at] if at < len(names) else None] for at, kind in enumerate(kinds)}


def names_in_order(arguments: Sequence[str]) -> list[str]:
    """The values of ``--entity-name`` and, as "", of ``--entity-default``, in the order of the command line."""
    names = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--entity-default":
            names.append("")
        elif argument == "--entity-name":
            names.append(next(rest, ""))
        elif argument.startswith("--entity-name="):
            names.append(argument.partition("=")[2])
    return names


def _check_name(entity: Entity, alter: bool) -> None:
    kind, name = entity
    if name == "" and kind not in DEFAULT_TYPES:
        raise UsageError(f"no default {kind} exist: give --entity-name")
    if kind == "broker-loggers" and not name:
        raise UsageError("missing broker id for broker-loggers")
    if kind in ("brokers", "broker-loggers") and name:
        try:
            parse_integer(name)
        except ValueError:
            raise UsageError(f"invalid entity name '{name}' for {kind}: expected the id of a broker") from None
