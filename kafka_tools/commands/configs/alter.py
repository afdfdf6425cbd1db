"""Applying the changes of ``kafka-configs --alter`` through a broker: resources, client quotas, SCRAM credentials.

What the command line can say is checked before anything is sent; what became of each target is a value. A user's SCRAM
mechanisms go in one request each: brokers refuse a user that appears twice in one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafka_tools.commands.configs.changes import (
    IP_QUOTAS,
    LIST_OPERATIONS,
    SCRAM_MECHANISMS,
    USER_QUOTAS,
    missing_quotas,
    parse_quota,
    parse_scram,
)
from kafka_tools.commands.configs.entities import Target, target_text
from kafka_tools.commands.configs.rows import quotas_of
from kafka_tools.commands.configs.targets import is_resource, quota_key, resource_of
from kafka_tools.errors import KafkaToolsError, UsageError
from kafka_tools.texts.near_names import did_you_mean

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.admin.client import AdminClient

Ended = dict[Target, KafkaToolsError | None]
"""Target -> the error that kept it from being changed, None for a changed one."""


def check(targets: Sequence[Target], changes: Sequence[ConfigChange]) -> None:
    """UsageError for changes that no target of these types can have; values of quotas and credentials included."""
    if is_resource(targets[0]):
        return
    check_names(targets, [change.name for change in changes])
    for change in changes:
        if change.operation in LIST_OPERATIONS:
            raise UsageError(f"cannot {change.operation} values of {change.name}: it is not a list")
        if change.operation == "set":
            value = change.value or ""
            parse_scram(change.name, value) if change.name in SCRAM_MECHANISMS else parse_quota(change.name, value)


def check_names(targets: Sequence[Target], names: Sequence[str]) -> None:
    """UsageError unless users, clients or addresses may have these quotas, or these SCRAM credentials."""
    kinds = [entity.type for entity in targets[0]]
    alone = kinds == ["users"]
    known = IP_QUOTAS if kinds == ["ips"] else (*USER_QUOTAS, *(SCRAM_MECHANISMS if alone else ()))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"Only {', '.join(known)} can be changed for {' and '.join(kinds)}. "
            f"Unexpected config names: {', '.join(unknown)}",
            hint=did_you_mean(unknown, known),
        )
    scram = [name for name in names if name in SCRAM_MECHANISMS]
    if scram:
        if not all(target[0].name for target in targets):
            raise UsageError("cannot set SCRAM credentials of the default user: credentials belong to a user")
        if len(scram) < len(names):
            raise UsageError("Cannot alter both quota and SCRAM credential configs simultaneously for 'users'.")


def apply(
    admin: AdminClient, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool = False
) -> Ended:
    """Make the changes on every target, or only let the broker judge them.

    Credentials cannot be judged without being stored: with ``validate_only`` nothing is sent of them.
    """
    if is_resource(targets[0]):
        return _alter_resources(admin, targets, changes, validate_only)
    if changes[0].name in SCRAM_MECHANISMS:
        return (
            dict.fromkeys(targets) if validate_only else {each: _alter_scram(admin, each, changes) for each in targets}
        )
    return _alter_quotas(admin, targets, changes, validate_only)


def quota_changes(changes: Iterable[ConfigChange]) -> dict[str, float | None]:
    """Quota name -> new value, None to remove it."""
    return {
        change.name: None if change.operation == "delete" else parse_quota(change.name, change.value or "")
        for change in changes
    }


def _alter_resources(
    admin: AdminClient, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool
) -> Ended:
    resources = {resource_of(target): target for target in targets}
    outcomes = admin.alter_configs_incremental(dict.fromkeys(resources, changes), validate_only=validate_only)
    return {resources[resource]: outcome.error for resource, outcome in outcomes.items()}


def _alter_scram(admin: AdminClient, target: Target, changes: Sequence[ConfigChange]) -> KafkaToolsError | None:
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
        error = admin.alter_user_scram_credentials([each])[user].error
        if error is not None:
            if done:
                error.hint = f"already changed for {target_text(target)}: {', '.join(done)}"
            return error
        done.append(each.mechanism)
    return None


def _alter_quotas(
    admin: AdminClient, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool
) -> Ended:
    keys = {quota_key(target): target for target in targets}
    ended: Ended = dict.fromkeys(targets)
    # Controllers change quotas, but tell nobody which there are; they take the removal of one that is not there.
    if any(change.operation == "delete" for change in changes) and not admin.config.is_controllers:
        for key, target in keys.items():
            ended[target] = missing_quotas(changes, quotas_of(admin, target).get(key, {}))
    wanted = {key: quota_changes(changes) for key, target in keys.items() if ended[target] is None}
    if wanted:
        outcomes = admin.alter_client_quotas(wanted, validate_only=validate_only)
        ended |= {keys[key]: outcome.error for key, outcome in outcomes.items()}
    return ended
