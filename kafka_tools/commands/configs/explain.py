"""``kafka-configs --describe --explain``: the quota level that applies to a user and a client, or to an address.

For each quota, a broker checks eight levels, the most specific first. The first level with this quota applies, and is
not combined with the others (KIP-55, KIP-257, ``ClientQuotaManager.DefaultQuotaCallback``).
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.commands.configs.changes import IP_QUOTAS, USER_QUOTAS
from kafka_tools.commands.configs.entities import QUOTA_TYPES, Target
from kafka_tools.config_definitions.quota_entities import IP, SOURCES, QuotaEntity, levels
from kafka_tools.errors import UsageError
from kafka_tools.output.cells import Row
from kafka_tools.texts.java_numbers import java_double

QuotasOf = Callable[[QuotaEntity], dict[str, float]]
"""A function for the quotas of exactly one entity."""


def check(targets: list[Target]) -> None:
    """Raise UsageError unless each target is a named or default user, client, both of them, or an address."""
    for target in targets:
        if target[0].type not in ("users", "clients", "ips") or any(entity.name is None for entity in target):
            raise UsageError(
                "--explain needs a user, a client, both, or an IP address",
                hint="for example --describe --explain --user alice --client app",
            )


def explain(targets: list[Target], quotas_of: QuotasOf) -> list[Row]:
    """A row for each target and quota: the level that applies, and the value of each level.

    Without a client the row is about clients that have no quota of their own, and likewise for users.
    """
    return [row for target in targets for row in _explain(target, quotas_of)]


def _explain(target: Target, quotas_of: QuotasOf) -> list[Row]:
    names = {entity.type: entity.name or None for entity in target}
    known, levels = _levels(names)
    held = [(level, source, entity, quotas_of(entity)) for level, source, entity in levels]
    others = sorted({name for *_, quotas in held for name in quotas} - set(known))
    rows = []
    for quota in (*known, *others):
        listed = [
            {"level": level, "source": source, "entity": dict(entity), "value": quotas.get(quota)}
            for level, source, entity, quotas in held
        ]
        winner = next((level for level in listed if level["value"] is not None), None)
        rows.append(
            {
                "entity": {key: names[kind] for kind, key in QUOTA_TYPES.items() if kind in names},
                "quota": quota,
                "value": winner["value"] if winner else None,
                "level": winner["level"] if winner else None,
                "source": winner["source"] if winner else None,
                "set_on": winner["entity"] if winner else None,
                "levels": listed,
            }
        )
    return rows


def _levels(names: dict[str, str | None]) -> tuple[tuple[str, ...], list[tuple[int, str, QuotaEntity]]]:
    """The possible quotas, and the levels in order of precedence: number, name and entity."""
    if "ips" in names:
        own: QuotaEntity = ((IP, names["ips"]),)
        of_address: list[tuple[int, str, QuotaEntity]] = [(1, "Ip", own), (2, "Default ip", ((IP, None),))]
        return IP_QUOTAS, of_address if names["ips"] is not None else of_address[1:]
    found = enumerate(zip(SOURCES, levels(names.get("users"), names.get("clients")), strict=True), 1)
    return USER_QUOTAS, [(level, source, entity) for level, (source, entity) in found if entity is not None]


def as_text(rows: list[Row]) -> str:
    """A heading for each target. Each quota has a line with the value that applies, then the levels that have it."""
    text = ""
    target = None
    for row in rows:
        if row["entity"] != target:
            target = row["entity"]
            text += f"Quotas in effect for {_who(target)}:\n"
        if row["level"] is None:
            text += f"  {row['quota']}: no quota on any level\n"
            continue
        text += f"  {row['quota']}={java_double(row['value'])} from level {row['level']}, {row['source'].lower()}: "
        text += f"{_entity(row['set_on'])}\n"
        for level in row["levels"]:
            if level["value"] is not None and level["level"] != row["level"]:
                text += f"    overrides level {level['level']}, {level['source'].lower()}: {_entity(level['entity'])}, "
                text += f"{java_double(level['value'])}\n"
    return text


def _who(entity: dict[str, str | None]) -> str:
    """The heading of a target: ``user 'alice' with any client id that has no quota of its own``."""
    if "ip" in entity:
        return "any IP address without a quota of its own" if entity["ip"] is None else f"ip '{entity['ip']}'"
    parts = []
    for kind, word in (("user", "user"), ("client-id", "client-id")):
        name = entity.get(kind)
        parts.append(f"any {word} without a quota of its own" if name is None else f"{word} '{name}'")
    return " and ".join(parts)


def _entity(entity: dict[str, str | None]) -> str:
    return ", ".join(f"default {kind}" if name is None else f"{kind} '{name}'" for kind, name in entity.items())
