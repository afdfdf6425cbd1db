"""The rows of ``kafka-configs --alter --dry-run``: each key of each target, before and after.

The values are the effective ones. If a config is deleted, the value beneath it (the cluster's default,
server.properties, Kafka's default) takes effect, and the row contains it. No row contains the value of a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.commands.configs.changes import LIST_OPERATIONS, parse_quota, parse_scram
from kafka_tools.commands.configs.entities import QUOTA_TYPES, Entity, Target
from kafka_tools.commands.configs.targets import RESOURCE_TYPES, own_source
from kafka_tools.output.cells import Row
from kafka_tools.scram_math import MECHANISMS
from kafka_tools.shown_text import KAFKAS_MASK
from kafka_tools.texts.java_numbers import java_double

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange

COLUMNS = ("entity", "name", "operation", "old", "new", "new_source")


class Held(NamedTuple):
    """The effective value of a key: None if it has none or is hidden. ``beneath`` is the value after its deletion.

    APPEND and SUBTRACT start from ``list_base``: brokers use Kafka's default if nothing is set.
    """

    value: str | None
    source: str | None = None
    sensitive: bool = False
    beneath: tuple[str | None, str | None] = (None, None)
    list_base: str | None = None


def resource_row(target: Target, change: ConfigChange, held: Held, own_source: str) -> Row:
    """The row of one change of a resource. ``own_source`` is the source of the target's own settings."""
    new, source = change.value, own_source
    if change.operation == "delete":
        new, found = held.beneath
        source = found or ""
    elif change.operation in LIST_OPERATIONS:
        from kafka_tools.admin.calls.merged_configs import changed_list

        new = changed_list(held.list_base, change)
    row = _row({entity.type: entity.name or None for entity in target}, change, held.sensitive)
    shown: Row
    if held.sensitive:
        shown = {"old": None, "new": None, "changed": None}
    else:
        shown = {"old": held.value, "new": new, "changed": held.value != new or (held.source or "") != source}
    return row | shown | {"old_source": held.source, "new_source": source or None}


def quota_row(target: Target, change: ConfigChange, quotas: Mapping[str, float]) -> Row:
    """The row of one change of a quota, or of the quotas of an address."""
    old = quotas.get(change.name)
    new = None if change.operation == "delete" else parse_quota(change.name, change.value or "")
    row = _row({QUOTA_TYPES[entity.type]: entity.name or None for entity in target}, change, sensitive=False)
    texts = {"old": None if old is None else java_double(old), "new": None if new is None else java_double(new)}
    return row | texts | {"changed": old != new, "old_source": None, "new_source": None}


def scram_row(target: Target, change: ConfigChange, iterations: Mapping[str, int]) -> Row:
    """The row of one change of a user's credentials. ``iterations``: mechanism -> iterations of existing
    credentials."""
    old = iterations.get(change.name)
    new = None if change.operation == "delete" else parse_scram(change.name, change.value or "").iterations
    row = _row({"user": target[0].name}, change, sensitive=True)
    texts = {"old": old and f"iterations={old}", "new": new and f"iterations={new},password={KAFKAS_MASK}"}
    return row | texts | {"changed": True, "old_source": None, "new_source": None}


def as_text(rows: Sequence[Row]) -> str:
    """One heading for each target, with a line below for each key: ``name: old -> new``, and their sources."""
    text = ""
    target = None
    for row in rows:
        if row["entity"] != target:
            target = row["entity"]
            text += f"Would update {_whose(target)}:\n"
        ((kind, name), *_) = row["entity"].items()
        own = own_source(Entity(kind, name)) if kind in RESOURCE_TYPES else None
        old = _side(row["old"], row["old_source"], own, row)
        new = _side(row["new"], row["new_source"], own, row)
        text += f"  {row['name']}: {old} -> {new}{'' if row['changed'] is not False else ' (no change)'}\n"
    return text


def _whose(entity: Mapping[str, str | None]) -> str:
    """``config for topic orders``, ``config for user alice, default client-id``."""
    kinds = ((kind.removesuffix("s") if kind != "client-metrics" else kind, name) for kind, name in entity.items())
    return "config for " + ", ".join(f"default {kind}" if name is None else f"{kind} {name}" for kind, name in kinds)


def _side(value: str | None, source: str | None, own: str | None, row: Row) -> str:
    if row["sensitive"] and row["name"] not in MECHANISMS:
        return KAFKAS_MASK if source else "(not set)"
    if value is None:
        return "(not set)" if source is None else "null"
    return value if source in (None, own) else f"{value} ({source.replace('_', ' ').lower()})"


def _row(entity: Row, change: ConfigChange, sensitive: bool) -> Row:
    return {"entity": entity, "name": change.name, "operation": change.operation, "sensitive": sensitive}
