"""Applying the changes of ``kafka-configs --alter``: resources, client quotas, SCRAM credentials.

Everything is checked before anything is sent. A user's SCRAM mechanisms are sent one request each: brokers refuse a
user that appears twice in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.commands._config_changes import IP_QUOTAS, SCRAM_MECHANISMS, USER_QUOTAS, parse_quota, parse_scram
from kafka_tools.commands._config_entities import QUOTA_TYPES, Entity
from kafka_tools.errors import InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

RESOURCE_TYPES = {
    "topics": "topic",
    "brokers": "broker",
    "broker-loggers": "broker-logger",
    "client-metrics": "client-metrics",
    "groups": "group",
}
"""Entity type -> the admin client's resource type."""


def apply(admin: AdminClient, entities: Sequence[Entity], added: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Change one entity (or the pair of a user and a client); raises when the broker refuses."""
    if entities[0].type in RESOURCE_TYPES:
        _alter_resource(admin, entities[0], added, deleted)
        return
    scram = [key for key in (*added, *deleted) if key in SCRAM_MECHANISMS]
    check_names(entities, [*added, *deleted], scram)
    if scram:
        _alter_scram(admin, entities[0].name or "", added, deleted)
    else:
        _alter_quotas(admin, entities, added, deleted)


def _alter_resource(admin: AdminClient, entity: Entity, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    from kafka_tools.admin.client import ConfigChange, ConfigResource

    resource = ConfigResource(RESOURCE_TYPES[entity.type], entity.name or "")
    changes = [ConfigChange(key, "set", value) for key, value in added.items()]
    changes += [ConfigChange(key, "delete", None) for key in deleted]
    admin.alter_configs_incremental({resource: changes}).raise_any()


def check_names(entities: Sequence[Entity], names: Sequence[str], scram: Sequence[str]) -> None:
    """UsageError unless users, clients or addresses may have these quotas, or these SCRAM credentials."""
    kinds = [entity.type for entity in entities]
    alone = kinds == ["users"]
    known = IP_QUOTAS if kinds == ["ips"] else (*USER_QUOTAS, *(SCRAM_MECHANISMS if alone else ()))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"Only {', '.join(known)} can be changed for {' and '.join(kinds)}. "
            f"Unexpected config names: {', '.join(unknown)}"
        )
    if scram:
        if not entities[0].name:
            raise UsageError("SCRAM credentials belong to a user: there are none of the default user")
        if len(scram) < len(names):
            raise UsageError("Cannot alter both quota and SCRAM credential configs simultaneously for 'users'.")


def _alter_scram(admin: AdminClient, user: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    from kafka_tools.admin.client import ScramDeletion, ScramUpsertion

    credentials = [parse_scram(mechanism, value) for mechanism, value in added.items()]
    changes: list[ScramDeletion | ScramUpsertion] = [ScramDeletion(user, mechanism) for mechanism in deleted]
    changes += [ScramUpsertion(user, each.mechanism, each.password, each.iterations) for each in credentials]
    for change in changes:
        admin.alter_user_scram_credentials([change]).raise_any()


def _alter_quotas(
    admin: AdminClient, entities: Sequence[Entity], added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    from kafka_tools.admin.client import quota_entity

    key = quota_entity({QUOTA_TYPES[entity.type]: entity.name or None for entity in entities})
    changes: dict[str, float | None] = {name: parse_quota(name, value) for name, value in added.items()}
    if deleted:
        from kafka_tools.commands._config_rows import quotas_of

        existing = quotas_of(admin, entities).get(key, {})
        missing = [name for name in deleted if name not in existing]
        if missing:
            raise InputError(f"Invalid config(s): {','.join(missing)}", hint="the entity has no such quota to delete")
        changes |= dict.fromkeys(deleted)
    admin.alter_client_quotas({key: changes}).raise_any()
