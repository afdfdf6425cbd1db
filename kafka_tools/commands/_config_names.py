"""Names and values of configs that TAB offers: Kafka 4.3.1's own tables, without asking a cluster.

``shell_complete`` callbacks of options that take ``key=value`` or keys. A value is offered where Kafka only takes some.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TABLES = {
    "topics": "topic",
    "brokers": "broker",
    "groups": "group",
    "client-metrics": "client_metrics",
}
_CHOICES = re.compile(r"\[([a-zA-Z_]+(?:, [a-zA-Z_]+)*)\]")


def topic_setting(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``key=value`` of a topic, for ``kafka-topics --config``."""
    return _settings("", incomplete, _table("topics"))


def added_settings(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``key=value,key=value`` of the entity on the line; the last pair is completed."""
    done, comma, last = incomplete.rpartition(",")
    return _settings(done + comma, last, _choices_of(context))


def deleted_keys(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``key,key`` of the entity on the line."""
    done, comma, last = incomplete.rpartition(",")
    return _items(done + comma + key for key in _choices_of(context) if key.startswith(last))


def _settings(before: str, incomplete: str, choices: dict[str, list[str]]) -> list[CompletionItem]:
    key, equals, value = incomplete.partition("=")
    if equals:
        return _items(f"{before}{key}={each}" for each in choices.get(key, ()) if each.startswith(value))
    return _items(f"{before}{each}=" for each in choices if each.startswith(key))


def _choices_of(context: click.Context) -> dict[str, list[str]]:
    """Config key -> values to choose from, of the entity types that the line names so far."""
    from kafka_tools.commands._config_changes import IP_QUOTAS, SCRAM_MECHANISMS, USER_QUOTAS
    from kafka_tools.commands._config_entities import SHORT, SHORT_DEFAULTS

    given: dict[str, Any] = context.params
    types = {*(given.get("entity_type") or ())}
    types |= {kind for option, kind in {**SHORT, **SHORT_DEFAULTS}.items() if given.get(option)}
    if types & {"users", "clients"}:
        scram = SCRAM_MECHANISMS if types == {"users"} else {}
        return {key: [] for key in (*USER_QUOTAS, *scram)}
    if types == {"ips"}:
        return {key: [] for key in IP_QUOTAS}
    if types == {"broker-loggers"}:
        return {"root": ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]}
    return _table(next(iter(types))) if len(types) == 1 else {}


def _table(entity_type: str) -> dict[str, list[str]]:
    tables = "kafka_tools.broker_embedded.config_tables"
    table = dict(import_module(f"{tables}.{_TABLES[entity_type]}").TABLE)
    if entity_type == "brokers":
        # The others only change with a restart.
        dynamic = import_module(f"{tables}.dynamic")
        changeable = dynamic.PER_BROKER | dynamic.CLUSTER_WIDE
        table = {key: row for key, row in table.items() if key in changeable} | dynamic.THROTTLES
    found = {}
    for key, (kind, _default, allowed, *marks) in table.items():
        if "internal" not in marks:
            match = _CHOICES.fullmatch(allowed)
            found[key] = match.group(1).split(", ") if match else ["true", "false"] if kind == "BOOLEAN" else []
    return found


def _items(values: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(value) for value in sorted(values)]
