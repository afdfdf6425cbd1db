"""``kafka-acls``: add, remove and list access control entries (Kafka's AclCommand).

Kafka's tool prints a stack trace on stdout. This command prints failed entries on stderr and exits 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import group_names, topic_names
from kafka_tools.commands.options.command import Command, action_option, one_of, option, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import PatternType

if TYPE_CHECKING:
    from kafka_tools.admin.client import AclBinding, AdminClient
    from kafka_tools.commands.security.acl_plan import AccessControlEntry, Plan, ResourcePattern
    from kafka_tools.output.rows import ItemError

resource_option = section("Resources")
PATTERN_TYPES = tuple(name.lower() for name in PatternType.known())
entry_option = section("Who and what")


@click.command(name="kafka-acls", cls=Command)
@action_option("--add", is_flag=True, help="Add ACL entries.")
@action_option("--remove", is_flag=True, help="Remove ACL entries.")
@action_option("--list", "list", is_flag=True, help="List ACL entries of the named resources, or of all resources.")
@action_option(
    "--check",
    metavar="TYPE:NAME",
    help="Check whether this principal may do the operations on the resources, and show the entry that decides. The "
    "exit status is 0 if all are allowed, and 1 if not.",
)
@action_option("--who", is_flag=True, help="Show which principals may do the operations on the resources.")
@resource_option(
    "--topic", metavar="NAME", multiple=True, shell_complete=topic_names,
    help="Topic name; * matches all topics.",
)  # fmt: skip
@resource_option("--group", metavar="ID", multiple=True, shell_complete=group_names, help="Group id.")
@resource_option("--cluster", is_flag=True, help="Select the cluster as the resource.")
@resource_option("--transactional-id", metavar="ID", multiple=True, help="Transactional id.")
@resource_option("--delegation-token", metavar="ID", multiple=True, help="Delegation token.")
@resource_option("--user-principal", metavar="NAME", multiple=True, help="User that owns delegation tokens.")
@resource_option(
    "--resource-pattern-type", type=click.Choice(PATTERN_TYPES, case_sensitive=False),
    default="literal",
    help="Type of match for resource names: literal or prefixed. --list and --remove also accept any (both) and "
    "match (every pattern that applies to the name).  [default: literal]",
)  # fmt: skip
@entry_option(
    "--operation",
    metavar="NAME",
    multiple=True,
    help="Operation: Read, Write, Describe, ...  [default: All; each one with --check and --who]",
)
@entry_option(
    "--allow-principal", metavar="TYPE:NAME", multiple=True, help="Principal to allow: User:alice, or User:*."
)
@entry_option(
    "--deny-principal",
    metavar="TYPE:NAME",
    multiple=True,
    help="Principal to deny. Deny entries override allow entries.",
)
@entry_option("--allow-host", metavar="ADDRESS", multiple=True, allow_empty=True, help="Host to allow.  [default: *]")
@entry_option("--deny-host", metavar="ADDRESS", multiple=True, allow_empty=True, help="Host to deny.  [default: *]")
@entry_option(
    "--producer", is_flag=True, help="Add or remove the entries of a producer: Write, Describe and Create on --topic."
)
@entry_option(
    "--consumer",
    is_flag=True,
    help="Add or remove the entries of a consumer: Read and Describe on --topic, Read on --group.",
)
@entry_option(
    "--idempotent",
    is_flag=True,
    help="Include IdempotentWrite on the cluster, for brokers before 2.8 (with --producer).",
)
@entry_option("--principal", metavar="TYPE:NAME", multiple=True, help="Only entries of this principal (with --list).")
@entry_option(
    "--host", metavar="ADDRESS", help="Address of the client (with --check).  [default: an address that no entry names]"
)
@option("--force", is_flag=True, help="Remove entries without asking for confirmation.")
@connection_options(controllers=True)
@output_options(
    {"list": "acls", "add": "changed-acls", "remove": "changed-acls", "check": "acl-decisions", "who": "acl-decisions"}
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Add, remove, list and evaluate access control entries."""
    from kafka_tools.commands.security import acl_plan

    action = one_of(context, "add", "remove", "list", "check", "who")
    if action in ("check", "who"):
        from kafka_tools.commands.security import questions

        questions.check_options(given, action)
        with connection.admin() as admin:
            return questions.answer(admin, given, action, output_format)
    if given["host"]:
        raise click.UsageError("--host can only be used with --check.", ctx=context)
    acl_plan.check(given, action)
    planned = acl_plan.plan(given, action) if action != "list" else {}
    with connection.admin() as admin:
        if action == "add":
            return _add(admin, planned, output_format)
        if action == "remove":
            return _remove(admin, planned, output_format, is_sure=given["force"])
        resources = acl_plan.resources(given, action)
        status = _list(admin, resources, given["principal"], output_format)
        if running.tells(output_format):
            _tell_of_others(admin, resources, output_format)
        return status


def _add(admin: AdminClient, planned: Plan, output_format: str | None) -> int:
    from kafka_tools.admin.calls.acls import AclBinding, AclFilter
    from kafka_tools.admin.outcomes import Outcomes
    from kafka_tools.output.kafka import acl_text
    from kafka_tools.output.rows import ItemError

    wanted = {
        resource: [AclBinding(*resource, *entry) for entry in dict.fromkeys(entries)]
        for resource, entries in planned.items()
    }
    there = {binding for resource in wanted for binding in admin.describe_acls(AclFilter(*resource))}
    missing = [binding for each in wanted.values() for binding in each if binding not in there]
    outcomes = admin.create_acls(missing) if missing else Outcomes([])
    for resource, each in wanted.items() if output_format is None else ():
        for binding in each:
            if binding in there:
                running.emit(
                    acl_text.exists(running.shown(str(resource)), running.shown(acl_text.entry_text(*binding[3:])))
                )
        done = [binding for binding in each if binding not in there and outcomes[binding].error is None]
        added = [acl_text.entry_text(*binding[3:]) for binding in done]
        if added:
            running.emit(acl_text.adding(running.shown(str(resource)), running.shown(added)))
    errors = [ItemError.of(_shown(key), error) for key, error in outcomes.failures().items()]
    rows = dict.fromkeys((binding for each in wanted.values() for binding in each if binding in there), "unchanged")
    return _finish(rows | dict.fromkeys(outcomes.succeeded(), "added"), errors, output_format, "cannot add")


def _remove(admin: AdminClient, planned: Plan, output_format: str | None, *, is_sure: bool) -> int:
    """List the entries, ask for confirmation, remove them. A missing entry is an error."""
    from kafka_tools.admin.calls.acls import AclFilter
    from kafka_tools.output.rows import ItemError

    filters: dict[AclFilter, ResourcePattern] = {}
    errors = []
    for resource, entries in planned.items():
        listed = admin.describe_acls(AclFilter(*resource))
        found = [each for each in entries if any(binding[3:] == tuple(each) for binding in listed)]
        missing = [entry for entry in entries if entry not in found]
        # Looked up before anybody is asked: entries of other patterns for the same name.
        others = [] if not missing and (entries or listed) else _of_other_patterns(admin, resource)
        for entry in missing:
            errors.append(ItemError(f"{entry} of {resource}", None, _not_there(entry, listed, others)))
        if not entries and not listed:
            errors.append(ItemError(str(resource), None, f"no ACL entries found{_patterns(others)}"))
        if not (found or (listed and not entries)):
            continue
        if not (is_sure or _confirmed(resource, found)):
            errors.append(ItemError(str(resource), None, "not confirmed with y: nothing was removed"))
            continue
        filters |= {AclFilter(*resource, *entry): resource for entry in found}
        if not entries:
            filters[AclFilter(*resource)] = resource
    done: dict[Any, str] = {}
    for key, outcome in admin.delete_acls(filters).items() if filters else ():
        if outcome.error is not None:
            errors.append(ItemError.of(filters[key], outcome.error))
            continue
        for binding, ended in outcome.get():
            if ended.error is not None:
                errors.append(ItemError.of(_shown(binding), ended.error))
            else:
                done[binding] = "removed"
    if output_format is None:
        plural = "entry was" if len(done) == 1 else "entries were"
        running.note(f"{len(done)} {plural} removed")
    return _finish(done, errors, output_format, "cannot remove")


def _of_other_patterns(admin: AdminClient, resource: ResourcePattern) -> list[AclBinding]:
    """The entries that a pattern of another kind has for the same name, or that apply to it."""
    from kafka_tools.admin.calls.acls import AclFilter

    if resource.pattern_type not in ("LITERAL", "PREFIXED"):
        return []
    kinds = ("MATCH", "PREFIXED" if resource.pattern_type == "LITERAL" else "LITERAL")
    found = {each for kind in kinds for each in admin.describe_acls(AclFilter(*resource[:2], kind))}
    return sorted(each for each in found if each[:3] != tuple(resource))


def _patterns(others: list[AclBinding]) -> str:
    """The patterns of entries, to append to a reason."""
    named = sorted({f"{each.pattern_type.lower()} {each.resource_name}" for each in others})
    return f"; entries exist for {', '.join(named)} (--resource-pattern-type)" if named else ""


def _not_there(entry: AccessControlEntry, listed: list[AclBinding], others: list[AclBinding]) -> str:
    """The reason why an entry cannot be removed, with the operations that the same principal does have there."""
    same = (entry.principal, entry.host, entry.permission)
    operations = sorted({each.operation for each in listed if (each.principal, each.host, each.permission) == same})
    if not operations:
        own = [each for each in others if each.principal == entry.principal and each.permission == entry.permission]
        return f"no such ACL entry{_patterns(own)}"
    return f"no such ACL entry; entries exist with --operation {', '.join(operations)}"


def _finish(done: dict[Any, str], errors: list[ItemError], output_format: str | None, failed: str) -> int:
    rows = [{**binding._asdict(), "result": done[binding]} for binding in sorted(done)]
    return running.show_rows("changed-acls", rows, output_format, None, errors, failed)


def _list(
    admin: AdminClient, resources: list[ResourcePattern], principals: tuple[str, ...], output_format: str | None
) -> int:
    from kafka_tools.admin.calls.acls import AclFilter
    from kafka_tools.output.kafka import acl_text

    filters = [AclFilter(*resource) for resource in resources] or [AclFilter()]
    found = sorted({binding for each in filters for binding in admin.describe_acls(each)})
    wanted = list(principals)
    kept = [binding for binding in found if not wanted or binding.principal in wanted]
    if output_format is not None:
        return running.show_rows("acls", [binding._asdict() for binding in kept], output_format)
    if not wanted:
        running.emit(acl_text.current(running.shown(kept)))
    for name in dict.fromkeys(wanted):
        running.emit(acl_text.of_principal(running.shown(name)))
        running.emit(acl_text.current(running.shown([binding for binding in kept if binding.principal == name])))
    return 0


def _tell_of_others(admin: AdminClient, resources: list[ResourcePattern], output_format: str | None) -> None:
    """Say which entries apply to the listed resources by a prefix or ``*``, because their patterns are not listed."""
    from kafka_tools.admin.calls.acls import AclFilter
    from kafka_tools.shown_text import counted

    for resource in resources:
        if resource.pattern_type != "LITERAL" or resource.resource_type == "CLUSTER":
            continue
        matching = admin.describe_acls(AclFilter(*resource[:2], "MATCH"))
        others = [each for each in matching if each[1:3] != (resource.name, "LITERAL")]
        if others:
            named = sorted({f"{each.pattern_type.lower()} {each.resource_name}" for each in others})
            running.tell(
                f"{counted(len(others), 'entry applies', 'entries apply')} to {resource.resource_type.lower()} "
                f"{resource.name} by other patterns ({', '.join(named)}): list them with --resource-pattern-type match",
                output_format,
            )


def _confirmed(resource: ResourcePattern, entries: list[Any]) -> bool:
    """Ask on stderr, and read the answer from standard input, so that a script can pipe it. No answer means no."""
    if entries:
        listed = [f" \t{entry}" for entry in entries]
        running.note("Are you sure you want to remove ACLs:", *listed, f" from resource filter `{resource}`? (y/n)")
    else:
        running.note(f"Are you sure you want to delete all ACLs for resource filter `{resource}`? (y/n)")
    from kafka_tools.given_files import read_answer

    try:
        return read_answer().strip().lower() == "y"
    except OSError as error:
        raise InputError(f"cannot read the answer from standard input: {error.strerror or error}") from error


def _shown(binding: AclBinding) -> str:
    from kafka_tools.output.kafka.acl_text import entry_text, resource_text

    return f"{entry_text(*binding[3:])} of {resource_text(*binding[:3])}"
