"""Completes names and values of configs, and finds names that Kafka does not have.

The functions are ``shell_complete`` callbacks of options with ``key=value`` or keys. They complete values if Kafka
accepts only some, and do not contact a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_CHOICES = re.compile(r"\[([a-zA-Z_]+(?:, [a-zA-Z_]+)*)\]")


def topic_setting(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``key=value`` of a topic, for ``kafka-topics --config``."""
    return _settings("", incomplete, _table("topics"))


def added_settings(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``key=value,key=value`` of the entity on the line; the last pair is completed."""
    done, comma, last = incomplete.rpartition(",")
    return _settings(done + comma, last, _choices_of(context))


def list_settings(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``key=value,value`` of the lists of the entity on the line; the last value is completed."""
    head, equals, values = incomplete.partition("=")
    done, comma, last = values.rpartition(",")
    choices = _choices_of(context, lists=True)
    if equals and comma:
        return _items(f"{head}={done},{each}" for each in choices.get(head, ()) if each.startswith(last))
    return _settings("", incomplete, choices)


def deleted_keys(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``key,key`` of the entity on the line."""
    done, comma, last = incomplete.rpartition(",")
    return _items(done + comma + key for key in _choices_of(context) if key.startswith(last))


def unknown_names(entity_type: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The ``names`` that Kafka does not have for the entity type, and all names that it has.

    No name of another type counts as unknown.
    """
    from kafka_tools.config_definitions.lookup import row_of, table_of

    known = [*table_of(entity_type)]
    return [name for name in names if row_of(entity_type, name) is None] if known else [], known


class EntityType(click.Choice[str]):
    """One of the entity types. The error for a misspelt type suggests the nearest one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            from kafka_tools.texts.near_names import did_you_mean

            near = did_you_mean([str(value)], self.choices)
            listed = ", ".join(self.choices)
            self.fail(f"invalid entity type '{value}': {near or f'expected one of {listed}'}", param, ctx)
        return str(value)


def _settings(before: str, incomplete: str, choices: dict[str, list[str]]) -> list[CompletionItem]:
    key, equals, value = incomplete.partition("=")
    if equals:
        return _items(f"{before}{key}={each}" for each in choices.get(key, ()) if each.startswith(value))
    return _items(f"{before}{each}=" for each in choices if each.startswith(key))


def _choices_of(context: click.Context, lists: bool = False) -> dict[str, list[str]]:
    """Config key -> possible values, for the entity types of the command line. ``lists``: only lists."""
    from kafka_tools.commands.configs.changes import IP_QUOTAS, USER_QUOTAS
    from kafka_tools.commands.configs.entities import SHORT, SHORT_DEFAULTS
    from kafka_tools.scram_math import MECHANISMS

    given: dict[str, Any] = context.params
    types = {*(given.get("entity_type") or ())}
    types |= {kind for option, kind in {**SHORT, **SHORT_DEFAULTS}.items() if given.get(option)}
    if types & {"users", "clients"}:
        scram = MECHANISMS if types == {"users"} else {}
        return {key: [] for key in (*USER_QUOTAS, *scram)}
    if types == {"ips"}:
        return {key: [] for key in IP_QUOTAS}
    if types == {"broker-loggers"}:
        return {"root": ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]}
    return _table(next(iter(types)), lists) if len(types) == 1 else {}


def _table(entity_type: str, lists: bool = False) -> dict[str, list[str]]:
    from kafka_tools.config_definitions import dynamic
    from kafka_tools.config_definitions.lookup import table_of

    table = table_of(entity_type)
    if entity_type == "brokers":
        # The other configs change only with a restart.
        changeable = dynamic.PER_BROKER | dynamic.CLUSTER_WIDE
        table = {key: row for key, row in table.items() if key in changeable} | dynamic.THROTTLES
    found = {}
    for key, (kind, _default, allowed, *marks) in table.items():
        if "internal" not in marks and (kind == "LIST" or not lists):
            match = _CHOICES.fullmatch(allowed)
            found[key] = match.group(1).split(", ") if match else ["true", "false"] if kind == "BOOLEAN" else []
    return found


def _items(values: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(value) for value in sorted(values)]
