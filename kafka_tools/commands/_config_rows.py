"""Described configuration as rows, one per entity: configs of resources, client quotas, SCRAM credentials.

``kind`` of a row says which of the three it is; ``entity`` is type -> name, None for the default one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.commands._config_alter import RESOURCE_TYPES
from kafka_tools.commands._config_entities import QUOTA_TYPES, Entity
from kafka_tools.errors import KafkaToolsError
from kafka_tools.output import kafka_text
from kafka_tools.output.rows import ItemError, Row, Rows

if TYPE_CHECKING:
    from kafka_tools.admin.calls.quotas import QuotaEntity
    from kafka_tools.admin.client import AdminClient

DYNAMIC_SOURCES = {
    "topics": "DYNAMIC_TOPIC_CONFIG",
    "brokers": "DYNAMIC_BROKER_CONFIG",
    "client-metrics": "DYNAMIC_CLIENT_METRICS_CONFIG",
    "groups": "DYNAMIC_GROUP_CONFIG",
}
DYNAMIC_DEFAULT_BROKER = "DYNAMIC_DEFAULT_BROKER_CONFIG"
COLUMNS = ("entity", "name", "value", "source", "sensitive", "read_only")


def describe(admin: AdminClient, entities: Sequence[Entity], show_all: bool) -> Rows:
    """The rows of one entity, of all of a type, or of the pairs of users and clients."""
    if entities[0].type in RESOURCE_TYPES:
        rows, errors = _resources(admin, entities[0], show_all)
    else:
        found = quotas_of(admin, entities)
        rows = [{"kind": "quota", "entity": dict(key), "quotas": values} for key, values in found.items()]
        errors = []
        if [entity.type for entity in entities] == ["users"] and entities[0].name != "":
            credentials, errors = _scram(admin, entities[0].name)
            rows += credentials
    return Rows("configs", COLUMNS, rows, errors)


def credentials(admin: AdminClient, user: str | None) -> Rows:
    """The SCRAM credentials of one user, or of all."""
    rows, errors = _scram(admin, user)
    return Rows("scram", COLUMNS, rows, errors)


def quotas_of(admin: AdminClient, entities: Sequence[Entity]) -> dict[QuotaEntity, dict[str, float]]:
    """Quotas by entity, of exactly the kinds of entities asked for; by name, the default first."""
    from kafka_tools.admin.calls.quotas import ANY, DEFAULT, EXACT, QuotaFilter

    matches = {None: ANY, "": DEFAULT}
    wanted = [
        QuotaFilter(QUOTA_TYPES[entity.type], matches.get(entity.name, EXACT), entity.name or None)
        for entity in entities
    ]
    found = admin.describe_client_quotas(wanted, strict=True)
    order = sorted(found, key=lambda entity: [(name is not None, name or "") for _, name in entity])
    return {entity: dict(sorted(found[entity].items())) for entity in order}


def as_kafka_text(result: Rows, show_all: bool) -> str:
    """What Kafka's tool prints."""
    text = ""
    for row in result.rows:
        if row["kind"] == "resource":
            ((entity_type, name),) = row["entity"].items()
            text += kafka_text.config_heading(entity_type, name or "", show_all)
            text += "".join(kafka_text.config_line(config) for config in row["configs"])
        elif row["kind"] == "quota":
            text += kafka_text.quota_line(row["entity"], row["quotas"])
        else:
            text += kafka_text.scram_line(row["entity"]["user"], row["credentials"])
    return text


def for_table(result: Rows) -> Rows:
    """One row per config, quota or credential."""
    rows: list[Row] = []
    for row in result.rows:
        entity = ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in row["entity"].items())
        entries: list[Row] = row.get("configs", [])
        entries += [{"name": name, "value": value} for name, value in row.get("quotas", {}).items()]
        entries += [
            {"name": each["mechanism"], "value": f"iterations={each['iterations']}"}
            for each in row.get("credentials", ())
        ]
        rows += [{"entity": entity} | entry for entry in entries]
    return result._replace(rows=rows)


def _resources(admin: AdminClient, entity: Entity, show_all: bool) -> tuple[list[Row], list[ItemError]]:
    from kafka_tools.admin.client import ConfigResource

    names = [entity.name] if entity.name is not None else _all_names(admin, entity.type)
    resources = {ConfigResource(RESOURCE_TYPES[entity.type], name): name for name in names}
    outcomes = admin.describe_configs(list(resources), include_synonyms=True) if resources else {}
    rows = []
    errors = []
    for resource, outcome in outcomes.items():
        name = resources[resource]
        if outcome.error is not None:
            errors.append(ItemError.of(f"{entity.singular} '{name}'", outcome.error))
            continue
        entries = sorted(outcome.get(), key=lambda each: each.name)
        if not entries and entity.name:
            errors.append(_nothing_there(entity))
            continue
        kept = [_config_row(each) for each in entries if show_all or _is_dynamic(entity.type, name, each)]
        rows.append({"kind": "resource", "entity": {entity.type: name or None}, "configs": kept})
    return rows, errors


def _nothing_there(entity: Entity) -> ItemError:
    text = f"The {entity.singular} '{entity.name}' doesn't exist and doesn't have dynamic config."
    return ItemError(f"{entity.singular} '{entity.name}'", None, text)


def _all_names(admin: AdminClient, entity_type: str) -> list[str]:
    if entity_type == "topics":
        return sorted(topic.name for topic in admin.list_topics(include_internal=True))
    if entity_type == "brokers":
        return [*(str(node.id) for node in admin.describe_cluster().nodes), ""]
    return sorted(resource.name for resource in admin.list_config_resources([RESOURCE_TYPES[entity_type]]))


def _is_dynamic(entity_type: str, name: str, entry: Any) -> bool:
    if entity_type == "broker-loggers":
        return True
    wanted = DYNAMIC_DEFAULT_BROKER if entity_type == "brokers" and not name else DYNAMIC_SOURCES[entity_type]
    return bool(entry.source == wanted)


def _config_row(entry: Any) -> Row:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source,
        "sensitive": entry.is_sensitive,
        "read_only": entry.is_read_only,
        "synonyms": [{"name": each.name, "value": each.value, "source": each.source} for each in entry.synonyms],
    }


def _scram(admin: AdminClient, user: str | None) -> tuple[list[Row], list[ItemError]]:
    rows = []
    errors = []
    outcomes = admin.describe_user_scram_credentials([user] if user else None)
    for name, outcome in outcomes.items():
        if outcome.error is None:
            credentials = [{"mechanism": each.mechanism, "iterations": each.iterations} for each in outcome.get()]
            rows.append({"kind": "scram", "entity": {"user": name}, "credentials": credentials})
        elif not _is_missing(outcome.error):
            errors.append(ItemError.of(f"SCRAM credentials of user '{name}'", outcome.error))
    return rows, errors


def _is_missing(error: KafkaToolsError) -> bool:
    """A user without credentials is no failure: there is nothing to show."""
    from kafka_tools.protocol import error_codes

    return getattr(getattr(error, "code", None), "code", None) == error_codes.RESOURCE_NOT_FOUND
