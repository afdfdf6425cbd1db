"""What is explained: an error code, an API, or a config. Each explanation is a row of plain values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_tools.config_definitions import Row as ConfigRow
from kafka_tools.config_definitions import dynamic
from kafka_tools.config_definitions.lookup import table_of
from kafka_tools.explain.api_texts import purpose, sections
from kafka_tools.explain.causes import CAUSES, Cause
from kafka_tools.protocol import error_codes, registry

Explanation = dict[str, Any]
"""``subject`` (error, api or config), ``name``, ``number`` (or None), ``meaning``, ``facts`` (name -> text),
``details`` (a list of ``name`` and ``text``), ``cause`` (or None), ``next`` (commands)."""

ENTITY_TYPES = ("topics", "brokers", "groups", "client-metrics")
_SET_ON = {
    "topics": "a topic",
    "brokers": "brokers",
    "groups": "a group",
    "client-metrics": "a subscription to client metrics",
}
_ENTITY_OPTION = {
    "topics": "--topic TOPIC",
    "brokers": "--broker ID",
    "groups": "--group GROUP",
    "client-metrics": "--client-metrics NAME",
}


def error(row: error_codes.ErrorCode) -> Explanation:
    """An error code."""
    answering = []
    for api in registry.rows():
        when = sections(api.stem)[1].get("Errors", {}).get(row.name)
        if when is not None:
            answering.append({"name": api.name, "text": when})
    cause = CAUSES.get(row.name, Cause(""))
    retried = "yes, by clients themselves" if row.retriable else "no"
    if row.refresh_metadata:
        retried += ", after new metadata"
    meaning = row.text[:1].upper() + row.text[1:] + "."
    return _explanation(
        "error", row.name, row.code, meaning, {"tried again": retried}, answering, cause.text or None, cause.next
    )


def api(row: registry.Row) -> Explanation:
    """An API."""
    head, found = sections(row.stem)
    request = registry.api(row.key).request
    facts = {"versions": f"{row.min_version} to {row.max_version}" + (", the newest unstable" * row.latest_unstable)}
    if row.oldest_since_4 > row.min_version:
        facts["versions of Kafka 4"] = f"{row.oldest_since_4} to {row.max_version}"
    facts["effect"] = f"{request.EFFECT} data" if request.EFFECT == "destroys" else request.EFFECT
    if request.RIGHTS:
        facts["rights"] = ", ".join(f"{operation} on the {kind}" for kind, operation in request.RIGHTS.items())
    meaning = " ".join([purpose(row.stem), *(" ".join(part.split()) for part in head.strip().split("\n\n")[1:])])
    details = [{"name": name, "text": text} for name, text in found.get("Errors", {}).items()]
    more = [{"name": f"v{name}".replace("vv", "v"), "text": text} for name, text in found.get("Versions", {}).items()]
    return _explanation("api", row.name, row.key, meaning, facts, more + details, None, ())


def config(entity_type: str, name: str) -> Explanation:
    """A config of one of ``ENTITY_TYPES``, or ``clients``."""
    if entity_type == "clients":
        return _client_config(name)
    row = table_of(entity_type)[name]
    facts = {"set on": _SET_ON[entity_type], **_facts(name, row)}
    other = _other_level(entity_type, name)
    if other:
        facts[other[0]] = other[1]
    if entity_type == "brokers":
        facts["changed"] = _change(name)
    option = _ENTITY_OPTION[entity_type]
    commands = (f"kafka-configs -b $B --describe --all {option}",)
    return _explanation("config", name, None, _meaning(entity_type, name), facts, [], None, commands)


def _client_config(name: str) -> Explanation:
    from kafka_tools.config_definitions import client
    from kafka_tools.explain.config_meanings import CLIENTS

    kinds = [kind for kind, names in (("producer", client.PRODUCER), ("consumer", client.CONSUMER)) if name in names]
    facts = {"set in": f"the properties of a {' or a '.join(kinds) or 'client'}"}
    number = client.NUMBERS.get(name) or client.FRACTIONS.get(name)
    default = client.TEXTS.get(name) if number is None else str(number.default)
    if default is not None:
        facts["default"] = _shown(name, default)
    return _explanation("config", name, None, CLIENTS.get(name, ""), facts, [], None, ())


def _explanation(
    subject: str, name: str, number: int | None, meaning: str, facts: dict[str, str], details: list[dict[str, str]],
    cause: str | None, commands: tuple[str, ...],
) -> Explanation:  # fmt: skip
    return {
        "subject": subject,
        "name": name,
        "number": number,
        "meaning": meaning,
        "facts": facts,
        "details": details,
        "cause": cause,
        "next": list(commands),
    }


def _facts(name: str, row: ConfigRow) -> dict[str, str]:
    kind, default, valid = row[:3]
    shown = "none" if default is None else _shown(name, default)
    return {"type": kind.lower(), "default": shown} | ({"valid values": valid} if valid else {})


_UNITS = {
    ".ms": (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000)),
    ".bytes": (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)),
}


def _shown(name: str, value: str) -> str:
    """A value, with a unit if it is a round number of it: ``604800000 (7 days)``."""
    units = next((units for suffix, units in _UNITS.items() if name.endswith(suffix)), ())
    number = int(value) if value.isdigit() else 0
    if number == 2**63 - 1:
        return f"{value} (no limit)"
    for unit, size in units:
        if number >= size and number % size == 0:
            count = number // size
            return f"{value} ({count} {unit.removesuffix('s') if count == 1 else unit})"
    return value or "(empty)"


def _meaning(entity_type: str, name: str) -> str:
    from kafka_tools.explain.config_meanings import BROKERS, GROUPS, TOPICS

    if entity_type == "topics":
        return TOPICS.get(name, "")
    if entity_type == "groups":
        return GROUPS.get(name, "")
    if entity_type != "brokers":
        return ""
    for narrower, meanings in (("topics", TOPICS), ("groups", GROUPS)):
        for each in _narrower(narrower, name):
            return BROKERS.get(name) or meanings.get(each, "")
    return BROKERS.get(name, "")


def _narrower(entity_type: str, broker_config: str) -> Iterator[str]:
    """The topic or group config whose default a broker config is."""
    from kafka_tools.config_definitions import group, topic

    if entity_type == "topics":
        yield from (name for name, broker in topic.BROKER_NAME.items() if broker == broker_config)
    else:
        yield from (name for name in group.TABLE if group.broker_name(name) == broker_config)


def _other_level(entity_type: str, name: str) -> tuple[str, str] | None:
    """(label, name) of the config that defines the default, or that overrides this one."""
    from kafka_tools.config_definitions import group, topic

    if entity_type == "topics" and name in topic.BROKER_NAME:
        return "default set by", f"{topic.BROKER_NAME[name]} of the broker"
    if entity_type == "groups" and group.broker_name(name) in table_of("brokers"):
        return "default set by", f"{group.broker_name(name)} of the broker"
    if entity_type == "brokers":
        for narrower, label in (("topics", "topic"), ("groups", "group")):
            for each in _narrower(narrower, name):
                return "overridden by", f"{each} of the {label}"
    return None


def _change(name: str) -> str:
    if name in dynamic.CLUSTER_WIDE:
        return "without a restart, for one broker or as the default of all"
    if name in dynamic.PER_BROKER:
        return "without a restart, for one broker at a time"
    return "in server.properties, with a restart"
