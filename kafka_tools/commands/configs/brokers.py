"""Configs through a broker or a controller: resources, client quotas, SCRAM credentials.

A row's ``kind`` is one of the three. Its ``entity`` is type -> name, with None for the default entity.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from kafka_tools.commands.configs.changes import missing_quotas, parse_quota, parse_scram
from kafka_tools.commands.configs.entities import QUOTA_TYPES, Entity, Target, target_text
from kafka_tools.commands.configs.places import Ended, Place
from kafka_tools.commands.configs.plan import Held
from kafka_tools.commands.configs.rows import DEFAULT_CONFIG, KIND, config_row, default_of
from kafka_tools.commands.configs.targets import (
    DYNAMIC_DEFAULT_BROKER,
    OF_ONE_TARGET,
    RESOURCE_TYPES,
    is_resource,
    own_source,
    quota_key,
    resource_of,
)
from kafka_tools.config_definitions.quota_entities import sort_key
from kafka_tools.errors import KafkaToolsError, UnsupportedVersion
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.scram_math import MECHANISMS

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.admin.calls.configs import ConfigEntry
    from kafka_tools.admin.calls.quotas import QuotaEntity
    from kafka_tools.admin.client import AdminClient


class BrokerPlace(Place):
    """Reads and changes configs through a broker or a controller."""

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    # Changes

    def alter(self, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool = False) -> Ended:
        """With ``validate_only`` no credentials are sent, because a broker cannot validate them without storing
        them."""
        if is_resource(targets[0]):
            resources = {resource_of(target): target for target in targets}
            altered = dict.fromkeys(resources, changes)
            outcomes = self._admin.alter_configs_incremental(altered, validate_only=validate_only)
            return {resources[resource]: outcome.error for resource, outcome in outcomes.items()}
        if changes[0].name not in MECHANISMS:
            return self._alter_quotas(targets, changes, validate_only)
        return {each: None if validate_only else self._alter_scram(each, changes) for each in targets}

    def _alter_scram(self, target: Target, changes: Sequence[ConfigChange]) -> KafkaToolsError | None:
        """Send one request for each mechanism: brokers refuse a user that appears twice in a request."""
        from kafka_tools.admin.client import ScramDeletion, ScramUpsertion

        user = target[0].name or ""
        wanted: list[ScramDeletion | ScramUpsertion] = []
        for change in sorted(changes, key=lambda each: each.operation != "delete"):
            if change.operation == "delete":
                wanted.append(ScramDeletion(user, change.name))
            else:
                credential = parse_scram(change.name, change.value or "")
                wanted.append(ScramUpsertion(user, change.name, credential.password, credential.iterations))
        done: list[str] = []
        for each in wanted:
            error = self._admin.alter_user_scram_credentials([each])[user].error
            if error is not None:
                if done:
                    error.hint = f"already changed for {target_text(target)}: {', '.join(done)}"
                return error
            done.append(each.mechanism)
        return None

    def _alter_quotas(self, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool) -> Ended:
        keys = {quota_key(target): target for target in targets}
        ended: Ended = dict.fromkeys(targets)
        # Controllers change quotas but do not list them. They accept the removal of a quota that does not exist.
        if any(change.operation == "delete" for change in changes) and not self._admin.config.is_controllers:
            for target in targets:
                ended[target] = missing_quotas(changes, self.quotas(target))
        values = {
            change.name: None if change.operation == "delete" else parse_quota(change.name, change.value or "")
            for change in changes
        }
        wanted = {key: values for key, target in keys.items() if ended[target] is None}
        if wanted:
            outcomes = self._admin.alter_client_quotas(wanted, validate_only=validate_only)
            ended |= {keys[key]: outcome.error for key, outcome in outcomes.items()}
        return ended

    # Descriptions

    def describe(self, targets: Sequence[Target], show_all: bool, documentation: bool) -> Rows:
        if is_resource(targets[0]):
            return self._resources([target[0] for target in targets], show_all, documentation)
        rows: list[Row] = []
        errors: list[ItemError] = []
        for target in targets:
            try:
                found = self._quotas(target)
                rows += [{"kind": "quota", "entity": dict(key), "quotas": values} for key, values in found.items()]
                if [entity.type for entity in target] == ["users"] and target[0].name != "":
                    credentials = self._credentials_if_any(target)
                    rows += credentials.rows
                    errors += credentials.errors
            except OF_ONE_TARGET as error:
                errors.append(ItemError.of(target_text(target), error))
        return Rows(KIND, rows, errors)

    def credentials(self, users: Sequence[Target]) -> Rows:
        rows = []
        errors = []
        names = [user[0].name for user in users if user[0].name]
        for name, outcome in self._admin.describe_user_scram_credentials(names or None).items():
            if outcome.error is None:
                credentials = [{"mechanism": each.mechanism, "iterations": each.iterations} for each in outcome.get()]
                rows.append({"kind": "scram", "entity": {"user": name}, "credentials": credentials})
            elif not _is_missing(outcome.error):
                errors.append(ItemError.of(f"SCRAM credentials of user '{name}'", outcome.error))
        return Rows(KIND, rows, errors)

    def _credentials_if_any(self, target: Target) -> Rows:
        """As ``credentials``, but without failing: brokers 2.6 list quotas but no credentials."""
        try:
            return self.credentials([target])
        except UnsupportedVersion as error:
            return Rows(KIND, [], [ItemError.of(f"SCRAM credentials of {target_text(target)}", error)])

    def _quotas(self, target: Target) -> dict[QuotaEntity, dict[str, float]]:
        """Quotas by entity, of exactly these kinds of entities, sorted by name with the default first."""
        from kafka_tools.admin.calls.quotas import ANY, DEFAULT, EXACT, QuotaFilter

        matches = {None: ANY, "": DEFAULT}
        wanted = [
            QuotaFilter(QUOTA_TYPES[entity.type], matches.get(entity.name, EXACT), entity.name or None)
            for entity in target
        ]
        found = self._admin.describe_client_quotas(wanted, strict=True)
        return {entity: dict(sorted(found[entity].items())) for entity in sorted(found, key=sort_key)}

    def _resources(self, entities: Sequence[Entity], show_all: bool, documentation: bool) -> Rows:
        from kafka_tools.admin.client import ConfigResource

        kind = entities[0].type
        names = [name for each in entities for name in ([each.name] if each.name is not None else self._names(kind))]
        resources = {ConfigResource(RESOURCE_TYPES[kind], name): Entity(kind, name) for name in names}
        if not resources:
            return Rows(KIND, [])
        outcomes = self._admin.describe_configs(
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
            if not kept and not show_all and entities[0].name is not None and not self._exists(entity):
                text = f"The {entity.singular} '{entity.name}' doesn't exist and doesn't have dynamic config."
                errors.append(ItemError(target_text((entity,)), None, text))
                continue
            rows.append({"kind": "resource", "entity": {kind: entity.name or None}, "configs": kept})
        return Rows(KIND, rows, errors)

    def _exists(self, entity: Entity) -> bool:
        """Whether an entity without configs exists. Brokers also describe groups and subscriptions that do not
        exist."""
        if entity.type == "groups":
            listing = self._admin.list_groups()
            return bool(listing.errors) or any(group.group_id == entity.name for group in listing)
        return entity.type != "client-metrics"

    def _names(self, entity_type: str) -> list[str]:
        """All entities of a type."""
        admin = self._admin
        if entity_type == "topics":
            return sorted(topic.name for topic in admin.list_topics(include_internal=True))
        if entity_type == "brokers":
            return [*(str(node.id) for node in admin.describe_cluster().nodes), ""]
        if entity_type != "groups":
            return sorted(resource.name for resource in admin.list_config_resources([RESOURCE_TYPES[entity_type]]))
        names = {group.group_id for group in admin.list_groups().complete()}
        with suppress(UnsupportedVersion):  # brokers before 4.1 do not list groups that only have configs
            names |= {resource.name for resource in admin.list_config_resources(["group"])}
        return sorted(names)

    # The values before a plan

    def held(self, target: Target, changes: Sequence[ConfigChange]) -> list[Held]:
        resource = resource_of(target)
        described = self._admin.describe_configs([resource], include_synonyms=True)[resource].get()
        entries = {entry.name: entry for entry in described}
        return [_held(entries.get(change.name), change.name, target[0]) for change in changes]

    def iterations(self, target: Target) -> dict[str, int]:
        name = target[0].name or ""
        infos = self._admin.describe_user_scram_credentials([name])[name]
        if infos.error is not None and not _is_missing(infos.error):
            raise infos.error
        return {each.mechanism: each.iterations for each in infos.value or ()}

    def quotas(self, target: Target) -> dict[str, float]:
        return self._quotas(target).get(quota_key(target), {})

    def quotas_of(self, entity: QuotaEntity) -> dict[str, float]:
        from kafka_tools.admin.calls.quotas import DEFAULT, EXACT, QuotaFilter

        wanted = [QuotaFilter(kind, DEFAULT if name is None else EXACT, name) for kind, name in entity]
        return self._admin.describe_client_quotas(wanted, strict=True).get(entity, {})

    def described_names(self, target: Target, names: Sequence[str]) -> set[str]:
        resource = resource_of(target)
        outcome = self._admin.describe_configs({resource: list(names)})[resource]
        return {entry.name for entry in outcome.value or ()} & set(names)


def _is_dynamic(entity: Entity, entry: ConfigEntry) -> bool:
    return entity.type == "broker-loggers" or entry.source == own_source(entity)


def _held(entry: ConfigEntry | None, name: str, entity: Entity) -> Held:
    if entry is None:
        from kafka_tools.config_definitions.secrets import is_sensitive

        is_hidden = entity.type == "brokers" and is_sensitive(name)
        return Held(None, sensitive=is_hidden, list_base=default_of(entity.type, name))
    own = own_source(entity)
    below = [(each.value, each.source) for each in entry.synonyms if each.source != own]
    default = next((value for value, source in below if source == DEFAULT_CONFIG), default_of(entity.type, name))
    # If no synonym has a value, brokers return none, and Kafka's default applies; but not for all brokers together.
    everybody = own == DYNAMIC_DEFAULT_BROKER or default is None
    beneath = below[0] if below else (None, None) if everybody else (default, DEFAULT_CONFIG)
    base = entry.value if entry.source == own else default
    return Held(entry.value, entry.source, entry.is_sensitive, beneath, base)


def _is_missing(error: KafkaToolsError) -> bool:
    """Whether a user has no credentials, which is not a failure."""
    from kafka_tools.protocol import error_codes

    return getattr(getattr(error, "code", None), "code", None) == error_codes.RESOURCE_NOT_FOUND
