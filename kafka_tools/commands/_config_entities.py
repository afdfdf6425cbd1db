"""Whose configuration ``kafka-configs`` is about: entity types and names, from long and short options.

Follows ConfigCommand.ConfigCommandOptions of Kafka 4.3.1: several types only for a user and a client together, names
paired with types in the order they were given, an empty name standing for the default entity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka_tools.errors import UsageError

DEFAULT_TYPES = ("clients", "users", "brokers", "ips")
QUOTA_TYPES = {"users": "user", "clients": "client-id", "ips": "ip"}
"""Entity type -> the protocol's name of it in a client quota."""

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
    """One entity: plural type, and a name; the name is None for all of the type and "" for the default one."""

    type: str
    name: str | None

    @property
    def singular(self) -> str:
        return self.type[:-1]


def entities(given: Mapping[str, Any], arguments: Sequence[str], alter: bool) -> list[Entity]:
    """The entities that the options name, one or the pair of a user and a client. UsageError if they do not fit."""
    types = [*given["entity_type"]]
    names = names_in_order(arguments)
    short = [(kind, given[option]) for option, kind in SHORT.items() if given[option] is not None]
    short += [(kind, "") for option, kind in SHORT_DEFAULTS.items() if given[option]]
    if short and (types or names):
        raise UsageError(
            "--entity-type, --entity-name and --entity-default do not go with the short forms such as --topic"
        )
    types += [kind for kind, _ in short]
    names += [name for _, name in short]
    _check_types(types)
    if len(names) > len(types):
        raise UsageError("there are more entity names than entity types: give --entity-type for each name")
    if alter and len(names) < len(types):
        raise UsageError(
            f"--alter needs the name of each entity: give --entity-name or --entity-default for {types[-1]}"
        )
    found = [Entity(kind, names[at] if at < len(names) else None) for at, kind in enumerate(types)]
    for entity in found:
        _check_name(entity, alter)
    return found


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


def _check_types(types: Sequence[str]) -> None:
    if not types:
        raise UsageError("an entity type is needed: --entity-type, or a short form such as --topic NAME")
    if len(set(types)) != len(types):
        raise UsageError(f"the entity type {next(kind for kind in types if types.count(kind) > 1)} is given twice")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise UsageError("only users and clients may be given together")


def _check_name(entity: Entity, alter: bool) -> None:
    kind, name = entity
    if name == "" and kind not in DEFAULT_TYPES:
        raise UsageError(f"there are no default {kind}: name one with --entity-name")
    if kind == "broker-loggers" and not name:
        raise UsageError("broker-loggers needs the id of a broker")
    if kind in ("brokers", "broker-loggers") and name:
        try:
            int(name)
        except ValueError:
            raise UsageError(f"the entity name for {kind} must be the id of a broker, not '{name}'") from None
