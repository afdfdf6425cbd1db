"""Described configuration as rows, one per entity: configs of resources, client quotas, SCRAM credentials.

``kind`` of a row says which of the three it is; ``entity`` is type -> name, None for the default one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.commands.configs.changes import SCRAM_MECHANISMS, missing_quotas
from kafka_tools.commands.configs.entities import QUOTA_TYPES, Entity, Target, target_text
from kafka_tools.commands.configs.targets import (
    DYNAMIC_DEFAULT_BROKER,
    OF_ONE_TARGET,
    RESOURCE_TYPES,
    is_resource,
    own_source,
    quota_key,
    resource_of,
)
from kafka_tools.errors import KafkaToolsError, UnsupportedVersion
from kafka_tools.output.cells import Row
from kafka_tools.output.kafka import text as kafka_text
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.protocol.enums import ConfigSource

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.admin.calls.configs import ConfigEntry
    from kafka_tools.admin.calls.quotas import QuotaEntity
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.configs.plan import Held

KIND = "configs"
DEFAULT_CONFIG = ConfigSource.word(ConfigSource.DEFAULT_CONFIG)


def describe(admin: AdminClient, targets: Sequence[Target], show_all: bool, documentation: bool = False) -> Rows:
    """The rows of each target: one entity, all of a type, or pairs of users and clients; errors of one target aside."""
    rows: list[Row] = []
    errors: list[ItemError] = []
    if is_resource(targets[0]):
        rows, errors = _resources(admin, [target[0] for target in targets], show_all, documentation)
        return Rows(KIND, rows, errors)
    for target in targets:
        try:
            found = quotas_of(admin, target)
            rows += [{"kind": "quota", "entity": dict(key), "quotas": values} for key, values in found.items()]
            if [entity.type for entity in target] == ["users"] and target[0].name != "":
                credentials, failures = _scram_if_any(admin, target)
                rows += credentials
                errors += failures
        except OF_ONE_TARGET as error:
            errors.append(ItemError.of(target_text(target), error))
    return Rows(KIND, rows, errors)


def credentials(admin: AdminClient, users: Sequence[str]) -> Rows:
    """The SCRAM credentials of these users, or of all users if none are named."""
    return Rows(KIND, *_scram(admin, users))


def quotas_of(admin: AdminClient, target: Target) -> dict[QuotaEntity, dict[str, float]]:
    """Quotas by entity, of exactly the kinds of entities asked for; by name, the default first."""
    from kafka_tools.admin.calls.quotas import ANY, DEFAULT, EXACT, QuotaFilter

    matches = {None: ANY, "": DEFAULT}
    wanted = [
        QuotaFilter(QUOTA_TYPES[entity.type], matches.get(entity.name, EXACT), entity.name or None) for entity in target
    ]
    found = admin.describe_client_quotas(wanted, strict=True)
    order = sorted(found, key=lambda entity: [(name is not None, name or "") for _, name in entity])
    return {entity: dict(sorted(found[entity].items())) for entity in order}


def plan(admin: AdminClient, target: Target, changes: Sequence[ConfigChange]) -> list[Row]:
    """The effect of each change on the target, as rows of ``plan``. Raises InputError, BrokerError."""
    from kafka_tools.commands.configs import plan as config_plan

    if is_resource(target):
        resource = resource_of(target)
        entries = {
            entry.name: entry for entry in admin.describe_configs([resource], include_synonyms=True)[resource].get()
        }
        own = own_source(target[0])
        return [
            config_plan.resource_row(target, change, _held(entries.get(change.name), change.name, target[0], own), own)
            for change in changes
        ]
    if changes[0].name in SCRAM_MECHANISMS:
        infos = admin.describe_user_scram_credentials([target[0].name or ""])[target[0].name or ""]
        if infos.error is not None and not _is_missing(infos.error):
            raise infos.error
        iterations = {each.mechanism: each.iterations for each in infos.value or ()}
        missing = missing_quotas(changes, iterations)
        if missing is not None:
            raise missing
        return [config_plan.scram_row(target, change, iterations) for change in changes]
    quotas = quotas_of(admin, target).get(quota_key(target), {})
    return [config_plan.quota_row(target, change, quotas) for change in changes]


def as_kafka_text(result: Rows, show_all: bool) -> str:
    """The text that Kafka's tool prints."""
    texts: list[str] = []
    for row in running.shown(result.rows):
        if row["kind"] == "resource":
            ((entity_type, name),) = row["entity"].items()
            texts.append(kafka_text.config_heading(entity_type, name or "", show_all))
            texts += [kafka_text.config_line(config) for config in row["configs"]]
        elif row["kind"] == "quota":
            texts.append(kafka_text.quota_line(row["entity"], row["quotas"]))
        else:
            texts.append(kafka_text.scram_line(row["entity"]["user"], row["credentials"]))
    return "".join(texts)


def _resources(
    admin: AdminClient, entities: Sequence[Entity], show_all: bool, documentation: bool
) -> tuple[list[Row], list[ItemError]]:
    from kafka_tools.admin.client import ConfigResource

    kind = entities[0].type
    names = [name for each in entities for name in ([each.name] if each.name is not None else _all_names(admin, kind))]
    resources = {ConfigResource(RESOURCE_TYPES[kind], name): Entity(kind, name) for name in names}
    if not resources:
        return [], []
    outcomes = admin.describe_configs(
        list(resources),
        include_synonyms=True,
        include_documentation=documentation,
        include_defaults=show_all or kind == "broker-loggers",
    )
    rows = []
    errors = []
    for resource, outcome in outcomes.items():
        entity = resources[resource]
        if outcome.error is not None:
            errors.append(ItemError.of(target_text((entity,)), outcome.error))
            continue
        entries = sorted(outcome.get(), key=lambda each: each.name)
        kept = [config_row(each, documentation) for each in entries if show_all or _is_dynamic(entity, each)]
        if not kept and not show_all and entities[0].name is not None and not _exists(admin, entity):
            errors.append(_nothing_there(entity))
            continue
        rows.append({"kind": "resource", "entity": {kind: entity.name or None}, "configs": kept})
    return rows, errors


def _exists(admin: AdminClient, entity: Entity) -> bool:
    """Whether an entity is there although nothing is set for it; brokers describe any group and any subscription."""
    if entity.type == "groups":
        listing = admin.list_groups()
        return bool(listing.errors) or any(group.group_id == entity.name for group in listing)
    return entity.type != "client-metrics"


def _nothing_there(entity: Entity) -> ItemError:
    text = f"The {entity.singular} '{entity.name}' doesn't exist and doesn't have dynamic config."
    return ItemError(target_text((entity,)), None, text)


def _all_names(admin: AdminClient, entity_type: str) -> list[str]:
    if entity_type == "topics":
        return sorted(topic.name for topic in admin.list_topics(include_internal=True))
    if entity_type == "brokers":
        return [*(str(node.id) for node in admin.describe_cluster().nodes), ""]
    if entity_type == "groups":
        return _all_groups(admin)
    return sorted(resource.name for resource in admin.list_config_resources([RESOURCE_TYPES[entity_type]]))


def _all_groups(admin: AdminClient) -> list[str]:
    """The groups there are, and those that only have a configuration; brokers before 4.1 cannot tell the latter."""
    names = {group.group_id for group in admin.list_groups().complete()}
    with suppress(UnsupportedVersion):
        names |= {resource.name for resource in admin.list_config_resources(["group"])}
    return sorted(names)


def _is_dynamic(entity: Entity, entry: ConfigEntry) -> bool:
    return entity.type == "broker-loggers" or entry.source == own_source(entity)


def config_row(entry: ConfigEntry, documentation: bool = False) -> Row:
    """One setting of a resource; ``documentation`` is the broker's own text, if it gives one."""
    row = {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source,
        "sensitive": entry.is_sensitive,
        "read_only": entry.is_read_only,
        "type": entry.type,
        "synonyms": [{"name": each.name, "value": each.value, "source": each.source} for each in entry.synonyms],
    }
    return row | {"documentation": entry.documentation} if documentation else row


def _held(entry: ConfigEntry | None, name: str, entity: Entity, own: str) -> Held:
    from kafka_tools.commands.configs.plan import Held

    if entry is None:
        from kafka_tools.config_definitions.secrets import is_sensitive

        is_hidden = entity.type == "brokers" and is_sensitive(name)
        return Held(None, sensitive=is_hidden, list_base=_default(entity.type, name))
    below = [(each.value, each.source) for each in entry.synonyms if each.source != own]
    default = next((value for value, source in below if source == DEFAULT_CONFIG), _default(entity.type, name))
    # Where no synonym has a value brokers name none, and Kafka's default holds; but not for all brokers together.
    everybody = own == DYNAMIC_DEFAULT_BROKER or default is None
    beneath = below[0] if below else (None, None) if everybody else (default, DEFAULT_CONFIG)
    base = entry.value if entry.source == own else default
    return Held(entry.value, entry.source, entry.is_sensitive, beneath, base)


def _default(entity_type: str, name: str) -> str | None:
    """Kafka's default of a config; None where it has none, and for groups, whose defaults are configs of brokers."""
    from kafka_tools.config_definitions import client_metrics, topic
    from kafka_tools.config_definitions.broker_names import broker_row

    if entity_type == "brokers":
        row = broker_row(name)
    else:
        row = {"topics": topic.TABLE, "client-metrics": client_metrics.TABLE}.get(entity_type, {}).get(name)
    return row[1] if row else None


def _scram_if_any(admin: AdminClient, target: Target) -> tuple[list[Row], list[ItemError]]:
    """As ``_scram``; brokers 2.6 tell quotas and not credentials, which must not keep the quotas from being shown."""
    try:
        return _scram(admin, [target[0].name] if target[0].name else [])
    except UnsupportedVersion as error:
        return [], [ItemError.of(f"SCRAM credentials of {target_text(target)}", error)]


def _scram(admin: AdminClient, users: Sequence[str]) -> tuple[list[Row], list[ItemError]]:
    rows = []
    errors = []
    outcomes = admin.describe_user_scram_credentials(users or None)
    for name, outcome in outcomes.items():
        if outcome.error is None:
            credentials = [{"mechanism": each.mechanism, "iterations": each.iterations} for each in outcome.get()]
            rows.append({"kind": "scram", "entity": {"user": name}, "credentials": credentials})
        elif not _is_missing(outcome.error):
            errors.append(ItemError.of(f"SCRAM credentials of user '{name}'", outcome.error))
    return rows, errors


def _is_missing(error: KafkaToolsError) -> bool:
    """A user without credentials is not a failure: there is nothing to show."""
    from kafka_tools.protocol import error_codes

    return getattr(getattr(error, "code", None), "code", None) == error_codes.RESOURCE_NOT_FOUND
