"""``kafka-acls``: add, remove and list access control entries (Kafka's AclCommand).

Unlike that tool, what failed is on stderr with exit status 1 for the entries that failed, not a stack trace on stdout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import group_names, topic_names
from kafka_tools.commands.options.command import Command, one_of, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import PatternType

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.security.acl_plan import Plan, ResourcePattern
    from kafka_tools.output.rows import ItemError

RESOURCES = "Resources"
PATTERN_TYPES = tuple(name.lower() for name in PatternType.known())
WHO = "Who and what"


@click.command(name="kafka-acls", cls=Command)
@option("--add", is_flag=True, section="Actions", help="Add entries.")
@option("--remove", is_flag=True, section="Actions", help="Remove entries.")
@option("--list", "list", is_flag=True, section="Actions", help="List entries, of the named resources or all.")
@option(
    "--topic", metavar="NAME", multiple=True, section=RESOURCES, shell_complete=topic_names,
    help="A topic; * stands for all. May be repeated, as the others.",
)  # fmt: skip
@option("--group", metavar="ID", multiple=True, section=RESOURCES, shell_complete=group_names, help="A group.")
@option("--cluster", is_flag=True, section=RESOURCES, help="The cluster.")
@option("--transactional-id", metavar="ID", multiple=True, section=RESOURCES, help="A transactional id.")
@option("--delegation-token", metavar="ID", multiple=True, section=RESOURCES, help="A delegation token.")
@option("--user-principal", metavar="NAME", multiple=True, section=RESOURCES, help="A user, as the owner of tokens.")
@option(
    "--resource-pattern-type", type=click.Choice(PATTERN_TYPES, case_sensitive=False),
    default="literal", section=RESOURCES,
    help="How names are meant: literal (default) or prefixed; to list and remove also any, for both, and match, for "
    "every pattern that applies to the name.",
)  # fmt: skip
@option("--operation", metavar="NAME", multiple=True, section=WHO, help="Read, Write, Describe, ...; default All.")
@option(
    "--allow-principal",
    metavar="TYPE:NAME",
    multiple=True,
    section=WHO,
    help="Principal to allow: User:alice, or User:*.",
)
@option(
    "--deny-principal",
    metavar="TYPE:NAME",
    multiple=True,
    section=WHO,
    help="Principal to deny; denying wins over allowing.",
)
@option(
    "--allow-host",
    metavar="ADDRESS",
    multiple=True,
    section=WHO,
    help="Address from which they are allowed; default *.",
)
@option(
    "--deny-host", metavar="ADDRESS", multiple=True, section=WHO, help="Address from which they are denied; default *."
)
@option("--producer", is_flag=True, section=WHO, help="What a producer needs: Write, Describe, Create on --topic.")
@option(
    "--consumer", is_flag=True, section=WHO, help="What a consumer needs: Read, Describe on --topic, Read on --group."
)
@option("--idempotent", is_flag=True, section=WHO, help="With --producer: IdempotentWrite on the cluster (before 2.8).")
@option("--principal", metavar="TYPE:NAME", multiple=True, section=WHO, help="With --list: only entries of this one.")
@option("--force", is_flag=True, help="Remove without asking.")
@connection_options(controllers=True)
@output_options({"list": "acls", "add": "changed-acls", "remove": "changed-acls"})
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Add, remove and list access control entries."""
    from kafka_tools.commands.security import acl_plan

    action = one_of(context, "add", "remove", "list")
    acl_plan.check(given, action)
    planned = acl_plan.plan(given, action) if action != "list" else {}
    connection.check()
    refused = []
    if action == "remove" and not given["force"]:
        refused = [resource for resource, entries in planned.items() if not _confirmed(resource, entries)]
        planned = {resource: entries for resource, entries in planned.items() if resource not in refused}
    with connection.admin() as admin:
        if action == "add":
            return _add(admin, planned, output_format)
        if action == "remove":
            return _remove(admin, planned, refused, output_format)
        return _list(admin, acl_plan.resources(given), given["principal"], output_format)


def _add(admin: AdminClient, planned: Plan, output_format: str | None) -> int:
    from kafka_tools.admin.calls.acls import AclBinding
    from kafka_tools.commands.security.acl_plan import AccessControlEntry
    from kafka_tools.output.kafka import acl_text
    from kafka_tools.output.rows import ItemError

    bindings = {
        resource: [AclBinding(*_words(resource), *entry) for entry in entries] for resource, entries in planned.items()
    }
    outcomes = admin.create_acls([binding for each in bindings.values() for binding in each])
    for resource, each in bindings.items() if output_format is None else ():
        added = [binding for binding in each if outcomes[binding].error is None]
        if added:
            entries = [str(AccessControlEntry(*binding[3:])) for binding in added]
            running.emit(acl_text.adding(running.shown(str(resource)), running.shown(entries)))
    errors = [ItemError.of(_shown(key), error) for key, error in outcomes.failures().items()]
    return _finish(list(outcomes.succeeded()), "added", errors, output_format)


def _remove(admin: AdminClient, planned: Plan, refused: list[ResourcePattern], output_format: str | None) -> int:
    from kafka_tools.admin.calls.acls import AclFilter
    from kafka_tools.output.rows import ItemError

    filters = {}
    for resource, entries in planned.items():
        for entry in entries:
            filters[AclFilter(*_words(resource), *entry)] = resource
        if not entries:
            filters[AclFilter(*_words(resource))] = resource
    done = []
    errors = [ItemError(str(resource), None, "the answer was not y, nothing is removed") for resource in refused]
    for key, outcome in admin.delete_acls(filters).items() if filters else ():
        if outcome.error is not None:
            errors.append(ItemError.of(filters[key], outcome.error))
            continue
        matched = outcome.get()
        if not matched:
            what = _shown(key) if key.principal is not None else f"of {filters[key]}"
            running.note(f"nothing to remove: there is no entry {what}")
        for binding, ended in matched:
            if ended.error is not None:
                errors.append(ItemError.of(_shown(binding), ended.error))
            else:
                done.append(binding)
    return _finish(done, "removed", errors, output_format)


def _finish(done: list[Any], result: str, errors: list[ItemError], output_format: str | None) -> int:
    from kafka_tools.output.rows import Rows

    rows = [{**binding._asdict(), "result": result} for binding in sorted(done)]
    failed = "could not add" if result == "added" else "could not remove"
    return running.finish(Rows("changed-acls", rows, errors), output_format, failed)


def _list(
    admin: AdminClient, resources: list[ResourcePattern], principals: tuple[str, ...], output_format: str | None
) -> int:
    from kafka_tools.admin.calls.acls import AclFilter
    from kafka_tools.output.kafka import acl_text
    from kafka_tools.output.rows import Rows

    filters = [AclFilter(*_words(resource)) for resource in resources] or [AclFilter()]
    found = sorted({binding for each in filters for binding in admin.describe_acls(each)})
    wanted = [name.strip() for name in principals]
    kept = [binding for binding in found if not wanted or binding.principal in wanted]
    if output_format is not None:
        return running.finish(Rows("acls", [binding._asdict() for binding in kept]), output_format)
    if not wanted:
        running.emit(acl_text.current(running.shown(kept)))
    for name in dict.fromkeys(wanted):
        running.emit(acl_text.of_principal(running.shown(name)))
        running.emit(acl_text.current(running.shown([binding for binding in kept if binding.principal == name])))
    return 0


def _confirmed(resource: ResourcePattern, entries: list[Any]) -> bool:
    """Ask on stderr, answered on standard input, so that a script may pipe its answer. No answer is a no."""
    if entries:
        listed = [f" \t{entry}" for entry in entries]
        running.note("Are you sure you want to remove ACLs:", *listed, f" from resource filter `{resource}`? (y/n)")
    else:
        running.note(f"Are you sure you want to delete all ACLs for resource filter `{resource}`? (y/n)")
    from kafka_tools.given_files import read_answer

    try:
        return read_answer().strip().lower() == "y"
    except OSError as error:
        raise InputError(f"no answer on standard input: {error.strerror or error}") from error


def _words(resource: ResourcePattern) -> tuple[str, str, str]:
    return resource.resource_type, resource.name, resource.pattern_type


def _shown(binding: Any) -> str:
    from kafka_tools.commands.security.acl_plan import AccessControlEntry, ResourcePattern

    return f"{AccessControlEntry(*binding[3:])} of {ResourcePattern(*binding[:3])}"
