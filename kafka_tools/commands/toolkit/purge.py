"""``kafka-tools purge``: everything that belongs to a prefix, shown first, and then deleted in a safe order.

Credentials go first, so that clients cannot connect and create topics again. Groups, topics, ACL entries and quotas
follow. A group with members stops the purge before anything is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import InputError

if TYPE_CHECKING:
    from kafka_tools.admin.calls.quotas import QuotaEntity
    from kafka_tools.admin.client import AclBinding, AdminClient
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError

KIND = "purged"
_USER = "User:"


class Belongings(NamedTuple):
    """What belongs to a prefix. ``topics``: name -> number of partitions; ``groups``: id -> state and members.

    ``users``: name -> mechanisms of its credentials; ``quotas``: entity -> quotas; ``unknown``: what cannot be listed.
    """

    topics: dict[str, int]
    groups: dict[str, tuple[str, str]]
    users: dict[str, list[str]]
    acls: list[AclBinding]
    quotas: dict[QuotaEntity, dict[str, float]]
    unknown: list[ItemError]

    def rows(self, result: str) -> list[Row]:
        """A row for each item."""
        return [
            *(_row("user", name, f"credentials: {', '.join(each)}", result) for name, each in self.users.items()),
            *(_row("group", name, " ".join(filter(None, each)), result) for name, each in self.groups.items()),
            *(_row("topic", name, f"{count} partitions", result) for name, count in self.topics.items()),
            *(_row("acl", entry_name(each), entry_words(each), result) for each in self.acls),
            *(_row("quota", entity_name(each), ", ".join(values), result) for each, values in self.quotas.items()),
        ]


@click.command(name="purge", cls=Command)
@option(
    "--prefix",
    metavar="TEXT",
    required=True,
    help="Prefix of the names to select. It applies to topics (except internal topics), groups and SCRAM users, to the "
    "users and clients of quotas, and to the resources and users of ACL entries.",
)
@option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@option("--force", is_flag=True, help="Delete without asking for confirmation.")
@connection_options()
@output_options(KIND)
def command(prefix: str, dry_run: bool, force: bool, connection: ConnectionOptions, output_format: str | None) -> int:
    """Delete everything with a prefix: topics, groups, ACL entries, users and quotas."""
    from kafka_tools.output.rows import Rows

    connection.check()
    form = output_format or "table"
    with connection.admin() as admin:
        found = find(admin, prefix)
    planned = found.rows("planned")
    if dry_run or not planned:
        status = running.finish(Rows(KIND, planned, found.unknown), form, "cannot list")
        running.tell(_counts(planned, prefix), form)
        return status
    for error in found.unknown:
        raise InputError(f"cannot list {error.item}: {error.message}", hint="nothing was deleted")
    busy = [f"{name} ({members})" for name, (_, members) in found.groups.items() if members]
    if busy:
        raise InputError(
            f"groups have members: {', '.join(busy)}", hint="nothing was deleted; stop these clients first"
        )
    if not force:
        _confirm(planned, prefix)
    with connection.admin(is_lasting=True) as admin:  # the time for an answer does not count
        rows, errors = delete(admin, found)
    status = running.finish(Rows(KIND, rows, errors), form, "cannot delete")
    running.tell(_counts(rows, prefix), form)
    return status


def find(admin: AdminClient, prefix: str) -> Belongings:
    """Find what belongs to a prefix."""
    from kafka_tools.admin.outcomes import Outcomes
    from kafka_tools.errors import KafkaToolsError, UnsupportedVersion
    from kafka_tools.net.broker_errors import has_code
    from kafka_tools.output.rows import ItemError
    from kafka_tools.protocol import error_codes
    from kafka_tools.protocol.enums import INTERNAL_TOPICS

    unknown: list[ItemError] = []

    def listed(what: str, ask: Any, otherwise: Any) -> Any:
        try:
            return ask()
        except KafkaToolsError as error:
            if isinstance(error, UnsupportedVersion):
                running.note(f"{what} are left out: {error}")
            elif not has_code(error, error_codes.SECURITY_DISABLED):
                unknown.append(ItemError.of(what, error))
            return otherwise

    names = [each.name for each in admin.list_topics() if each.name.startswith(prefix)]
    names = [name for name in names if name not in INTERNAL_TOPICS]
    topics = {}
    for name, outcome in (admin.describe_topics(names) if names else Outcomes[Any, Any](())).items():
        topics[str(name)] = 0 if outcome.value is None else len(outcome.value.partitions)
    listing = admin.list_groups()
    unknown += [ItemError.of("groups", error) for error in listing.errors]
    users = listed("users", admin.describe_user_scram_credentials, Outcomes[str, Any](())).succeeded()
    quotas = listed("quotas", admin.describe_client_quotas, {})
    return Belongings(
        topics,
        _groups(admin, [each for each in listing if each.group_id.startswith(prefix)], unknown),
        {name: [each.mechanism for each in infos] for name, infos in users.items() if name.startswith(prefix)},
        [each for each in listed("ACL entries", admin.describe_acls, []) if _is_of(each, prefix)],
        {entity: values for entity, values in quotas.items() if _names_prefix(entity, prefix)},
        unknown,
    )


def _groups(admin: AdminClient, groups: Iterable[Any], unknown: list[ItemError]) -> dict[str, tuple[str, str]]:
    """Group -> its state, and its members in words (empty without members)."""
    from kafka_tools.commands.groups.holders import named
    from kafka_tools.output.rows import ItemError
    from kafka_tools.protocol.enums import CoordinatorGroupType

    describes = {
        CoordinatorGroupType.SHARE: admin.describe_share_groups,
        CoordinatorGroupType.STREAMS: admin.describe_streams_groups,
    }
    ids: dict[Any, list[str]] = {}
    for each in groups:
        ids.setdefault(describes.get(each.type, admin.describe_groups), []).append(each.group_id)
    found = {}
    for describe, wanted in ids.items():
        for id, outcome in describe(wanted).items():
            if outcome.error is not None:
                unknown.append(ItemError.of(f"members of group '{id}'", outcome.error))
            else:
                described = outcome.get()
                found[id] = (described.state or "", named(described.members).strip())
    return dict(sorted(found.items()))


def _is_of(entry: AclBinding, prefix: str) -> bool:
    """Whether an ACL entry is about a resource or a user with the prefix."""
    is_principal = entry.principal.startswith(_USER) and entry.principal.removeprefix(_USER).startswith(prefix)
    return is_principal or (entry.resource_type != "CLUSTER" and entry.resource_name.startswith(prefix))


def _names_prefix(entity: QuotaEntity, prefix: str) -> bool:
    """Whether the user of an entity, or its client id if it has no user, starts with the prefix."""
    named = dict(entity)
    name = named.get("user", named.get("client-id")) if "user" in named else named.get("client-id")
    return name is not None and name.startswith(prefix)


def entry_name(entry: AclBinding) -> str:
    """The principal and the resource of an ACL entry."""
    return f"{entry.principal} on {entry.resource_type.lower()} {entry.resource_name}"


def entry_words(entry: AclBinding) -> str:
    """What an ACL entry allows or denies."""
    return f"{entry.permission} {entry.operation} {entry.pattern_type.lower()} from {entry.host}"


def entity_name(entity: QuotaEntity) -> str:
    """The entity of quotas: ``user alice, client-id app``."""
    return ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in entity)


def _row(kind: str, name: str, details: str, result: str) -> Row:
    return {"kind": kind, "name": name, "details": details or None, "result": result}


def _counts(rows: Iterable[Row], prefix: str) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["kind"]] = counts.get(row["kind"], 0) + 1
    words = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())
    return f"prefix '{prefix}': {words or 'nothing found'}"


def _confirm(planned: list[Row], prefix: str) -> None:
    """Show the plan on stderr, and require the prefix as the answer. No answer means no."""
    from kafka_tools.given_files import read_answer

    running.note(*[f"{row['kind']} {row['name']}  {row['details'] or ''}".rstrip() for row in planned])
    running.note(f"{_counts(planned, prefix)}. Type the prefix to delete all of them:")
    try:
        answer = read_answer()
    except OSError as error:
        raise InputError(f"cannot read the answer from standard input: {error.strerror or error}") from error
    if answer != prefix:
        raise InputError("not confirmed: nothing was deleted", hint="type the prefix, or pass --force")


def delete(admin: AdminClient, found: Belongings) -> tuple[list[Row], list[ItemError]]:
    """Delete what was found. A row for each deleted item, and an error for each other one."""
    from kafka_tools.admin.calls.acls import AclFilter
    from kafka_tools.admin.calls.scram import ScramDeletion
    from kafka_tools.output.rows import ItemError

    rows = found.rows("deleted")
    failed: dict[tuple[str, str], KafkaToolsError] = {}
    credentials = [ScramDeletion(user, each) for user, mechanisms in found.users.items() for each in mechanisms]
    if credentials:
        failed |= {("user", user): error for user, error in _failures(admin.alter_user_scram_credentials(credentials))}
    if found.groups:
        failed |= {("group", group): error for group, error in _failures(admin.delete_groups(list(found.groups)))}
    if found.topics:
        failed |= {("topic", str(name)): error for name, error in _failures(admin.delete_topics(list(found.topics)))}
    if found.acls:
        filters = {AclFilter(*entry): entry for entry in found.acls}
        for wanted, outcome in admin.delete_acls(list(filters)).items():
            errors = [outcome.error, *(each.error for _, each in outcome.value or ())]
            failed |= {("acl", entry_name(filters[wanted])): error for error in errors if error is not None}
    if found.quotas:
        removals = {entity: dict.fromkeys(values) for entity, values in found.quotas.items()}
        failed |= {
            ("quota", entity_name(each)): error for each, error in _failures(admin.alter_client_quotas(removals))
        }
    errors_ = [ItemError.of(f"{kind} {name}", error) for (kind, name), error in failed.items()]
    return [row for row in rows if (row["kind"], row["name"]) not in failed], errors_


def _failures(outcomes: Any) -> Iterable[tuple[Any, KafkaToolsError]]:
    found: dict[Any, KafkaToolsError] = outcomes.failures()
    return found.items()
