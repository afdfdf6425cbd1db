"""``kafka-consumer-groups``: list, describe and delete groups, reset and delete their offsets (ConsumerGroupCommand).

Kafka's tool prints its errors on stdout and exits 0. This command reports them on stderr and exits 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools.commands import running
from kafka_tools.commands.groups.lag import options as lag_options
from kafka_tools.commands.groups.options import (
    ANY,
    KAFKAS_MODES,
    group_option,
    modes_given,
    new_offsets,
    topic_option,
    views,
)
from kafka_tools.commands.options.command import Command, action_option, is_given, one_of, only_with, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.rows import ItemError

ACTIONS = ("list", "describe", "delete", "reset_offsets", "delete_offsets", "remove_members", "skip", "validate_regex")
MODES = (*KAFKAS_MODES, "from_group")
_RESET = ("reset_offsets",)
_ALLOWED: dict[str, Sequence[str]] = {
    "group": ("describe", "delete", "reset_offsets", "delete_offsets", "remove_members", "skip"),
    **dict.fromkeys(("member", "instance", "all_members"), ("remove_members",)),
    "all_groups": ("describe", "delete", "reset_offsets"),
    "topic": ("describe", "reset_offsets", "delete_offsets"),
    "all_topics": _RESET,
    "offsets": ("describe",),
    "members": ("describe",),
    "verbose": ("describe",),
    "state": ("describe", "list"),
    **dict.fromkeys(lag_options.NAMES, ("describe",)),
    "type": ("list",),
    "dry_run": (*_RESET, "skip"),
    "save": ("skip",),
    "execute": _RESET,
    "export": _RESET,
    **dict.fromkeys(MODES, _RESET),
}
_NOTHING_IS_DONE = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will "
    "require either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if "
    "you are scripting this command and want to keep the current default behavior without prompting."
)


@click.command(name="kafka-consumer-groups", cls=Command)
@action_option("--list", "list", is_flag=True, help="List the groups.")
@action_option("--describe", is_flag=True, help="Show offsets and lag, members, or the state of groups.")
@action_option("--delete", is_flag=True, help="Delete groups that have no members.")
@action_option("--reset-offsets", is_flag=True, help="Reset the committed offsets of inactive groups.")
@action_option("--delete-offsets", is_flag=True, help="Delete the committed offsets of topics.")
@action_option("--remove-members", is_flag=True, help="Remove members from their group.")
@action_option(
    "--skip",
    metavar="NAME:N@OFFSET",
    help="Skip one record, such as orders:5@3310: commit the offset after it, but only if it is the next record that "
    "the group reads.",
)
@action_option(
    "--validate-regex",
    metavar="REGEX",
    allow_empty=True,
    help="Check whether consumers can subscribe with this regular expression (RE2 syntax). No broker is contacted.",
)
@group_option()
@option("--all-groups", is_flag=True, help="Select every group.")
@topic_option(
    "--topic",
    "Topic, or some of its partitions: orders:0,2. With --describe, show only this "
    "topic: for --group, or for all groups that read it.",
)
@option("--all-topics", is_flag=True, help="Select every topic for which the group has committed offsets.")
@option("--member", metavar="ID", multiple=True, help="Member to remove (with --remove-members).")
@option(
    "--instance",
    metavar="ID",
    multiple=True,
    help="Static member to remove, by its group.instance.id.",
)
@option("--all-members", is_flag=True, help="Remove all members of the group.")
@views(types=True)
@lag_options.lag_options()
@new_offsets(*MODES)
@option(
    "--dry-run",
    is_flag=True,
    help="Show the new offsets without committing them. This is the default of --reset-offsets.",
)
@option("--execute", is_flag=True, help="Commit the new offsets.")
@option(
    "--save",
    metavar="FILE",
    help="Append the record to this file before it is skipped, as a line of JSON (with --skip).",
)
@option("--export", is_flag=True, help="Print the new offsets as CSV.")
@connection_options()
@output_options(
    {
        "list": "groups",
        "describe": "group-offsets",
        "describe members": "group-members",
        "describe state": "group-states",
        "describe lag_by": "group-lag",
        "delete": "changed-groups",
        "reset_offsets": "reset-offsets",
        "delete_offsets": "deleted-offsets",
        "remove_members": "removed-members",
        "skip": "skipped-records",
    },
    metrics=True,
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """List, describe and delete consumer groups, and reset their offsets."""
    action = one_of(context, *ACTIONS)
    only_with(context, action, _ALLOWED)
    _check(context, action, given | {"output_format": output_format})
    if action == "validate_regex":
        return _validate_regex(given["validate_regex"])
    connection.check()
    if action == "describe" and lag_options.is_about_lag(given, output_format):
        given["lag_by"] = context.params["lag_by"] = given["lag_by"] or "partition"
        from kafka_tools.commands.groups.lag.command import run as run_lag

        is_lasting = any(is_given(given[name]) for name in ("rates", "watch", "until_zero"))
        with connection.admin(is_lasting=is_lasting) as admin:
            return run_lag(admin, given, output_format, lambda: _groups(admin, given))
    run = {
        "list": _list,
        "describe": _describe,
        "delete": _delete,
        "reset_offsets": _reset,
        "delete_offsets": _delete_offsets,
        "remove_members": _remove_members,
        "skip": _skip,
    }[action]
    with connection.admin() as admin:
        return run(admin, given, output_format)


def _validate_regex(text: str) -> int:
    from kafka_tools.errors import InputError
    from kafka_tools.texts.regular_expressions import InvalidPattern, compile_pattern

    try:
        compile_pattern(text)
    except InvalidPattern as error:
        raise InputError(f"The regular expression `{text}` is invalid: {error}.") from None
    running.emit(f"The regular expression `{running.shown(text)}` is valid.\n")
    return 0


def _check(context: click.Context, action: str, given: dict[str, Any]) -> None:
    def fail(text: str) -> NoReturn:
        raise click.UsageError(text, ctx=context)

    if action == "validate_regex" and given["output_format"] is not None:
        fail("-o cannot be used with --validate-regex, which prints one line.")
    if given["export"] and given["output_format"] is not None:
        fail("-o cannot be used with --export, which prints CSV.")
    if given["group"] and given["all_groups"]:
        fail("--group and --all-groups cannot be combined.")
    all_of_topic = action == "describe" and given["topic"]
    named = given["group"] or given["all_groups"] or all_of_topic
    if action in ("describe", "delete", "reset_offsets") and not named:
        fail(f"--{action.replace('_', '-')} needs --group or --all-groups.")
    if given["output_format"] == "prometheus" and action != "describe":
        fail("-o prometheus can only be used with --describe.")
    if action == "describe":
        if lag_options.is_about_lag(given, given["output_format"]):
            lag_options.check(given, given["output_format"], fail)
        if sum(bool(given[view]) for view in ("members", "offsets", "state")) > 1:
            fail("--describe accepts at most one of --members, --offsets and --state.")
        if given["state"] not in (None, ANY):
            fail("--describe does not take a value for --state.")
    if action == "remove_members":
        if len(given["group"]) != 1:
            fail("--remove-members needs one --group.")
        if bool(given["member"] or given["instance"]) == given["all_members"]:
            fail("--remove-members needs --member or --instance, or --all-members.")
    if action == "skip" and len(given["group"]) != 1:
        fail("--skip needs one --group.")
    if action == "delete_offsets" and not (len(given["group"]) == 1 and given["topic"]):
        fail("--delete-offsets needs one --group and --topic.")
    if action == "reset_offsets":
        one_of(context, *MODES)
        if given["dry_run"] and given["execute"]:
            fail("--dry-run and --execute cannot be combined.")
        if given["topic"] and given["all_topics"]:
            fail("--topic and --all-topics cannot be combined.")
        if given["from_group"] and given["all_groups"]:
            fail("--from-group needs --group: the groups to reset.")
        if given["from_group"] in given["group"]:
            fail("--from-group must not be one of the groups to reset.")
        if not (given["topic"] or given["all_topics"] or given["from_file"] or given["from_group"]):
            fail("One of the reset scopes should be defined: --all-topics, --topic.")


def _list(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows as group_rows
    from kafka_tools.output.kafka import group_text

    states = group_rows.parse_states(given["state"] or ANY)
    types = group_rows.parse_types(given["type"] or ANY)
    result = group_rows.list_groups(admin, states, types)
    if output_format is None:
        text = group_text.listing(running.shown(result.rows), given["type"] is not None, given["state"] is not None)
        running.emit(text)
    return group_rows.finish_listing(admin, result, output_format)


def _describe(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows as group_rows
    from kafka_tools.output.kafka import group_text
    from kafka_tools.output.rows import Rows

    verbose = given["verbose"]
    make: Callable[..., dict[str, group_rows.Made]]
    if given["members"]:
        kind, make, text = "group-members", group_rows.members, group_text.members
    elif given["state"]:
        kind, make, text = "group-states", group_rows.states, group_text.states
    else:
        kind, make, text = "group-offsets", group_rows.offsets, group_text.offsets
    if given["topic"]:
        from kafka_tools.commands.groups.topic_readers import readers

        groups, made, errors = readers(admin, given["group"], given["topic"], make)
    else:
        names, unlisted = _groups(admin, given)
        groups, errors = group_rows.describe(admin, names)
        errors = unlisted + errors
        made = make(admin, groups)
    errors += [error for _, failed in made.values() for error in failed]
    for group in groups:
        group_rows.warn_of_state(group)
        if output_format is None:
            running.emit(text(running.shown(made[group.group_id][0]), verbose))
    rows = [row for found, _ in made.values() for row in found]
    form = "wide" if verbose and output_format == "table" else output_format
    return running.finish(Rows(kind, rows, errors), form)


def _delete(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows as group_rows
    from kafka_tools.output.kafka import group_text
    from kafka_tools.output.rows import Rows

    names, unlisted = _groups(admin, given)
    outcomes = admin.delete_groups(names)
    errors = unlisted + group_rows.refused_for_members(admin, outcomes.failures())
    deleted = list(outcomes.succeeded())
    if output_format is None:
        running.emit(group_text.deleted_groups(running.shown(deleted), bool(errors)))
    rows = [{"group": group, "result": "deleted"} for group in deleted]
    return running.finish(Rows("changed-groups", rows, errors), output_format, "cannot delete")


def _delete_offsets(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import deleted_offsets
    from kafka_tools.commands.groups.reset_plans import parse_topics
    from kafka_tools.commands.groups.resettable import partitions_of

    (group,) = given["group"]
    partitions, missing = partitions_of(admin, parse_topics(given["topic"]))
    return deleted_offsets.delete(admin, group, partitions, missing, admin.describe_groups, output_format)


def _reset(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import resets
    from kafka_tools.commands.groups.resettable import ConsumerGroupResets
    from kafka_tools.output.kafka import group_text

    (mode,) = modes_given(given, MODES)
    kind = ConsumerGroupResets(admin)
    warning = None if given["dry_run"] or given["execute"] else _NOTHING_IS_DONE
    names, unlisted = _groups(admin, given)
    text = group_text.reset_plan
    return resets.run(kind, names, mode, given, output_format, text, warning=warning, unlisted=unlisted)


def _skip(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import skipping

    (group,) = given["group"]
    return skipping.skip(admin, group, given["skip"], given["save"], output_format, dry_run=given["dry_run"])


def _remove_members(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.admin.calls.members import MemberIdentity
    from kafka_tools.output.rows import ItemError, Rows

    (group,) = given["group"]
    wanted = [MemberIdentity(member) for member in dict.fromkeys(given["member"])]
    wanted += [MemberIdentity(instance_id=instance) for instance in dict.fromkeys(given["instance"])]
    with running.about(group):
        outcomes = admin.remove_members(group, None if given["all_members"] else wanted)
    removed = [str(member) for member in outcomes.succeeded()]
    if output_format is None:
        names = ", ".join(f"'{name}'" for name in running.shown(removed))
        text = f"Members removed from group '{running.shown(group)}': {names}\n"
        running.emit(text if removed else f"No member was removed from group '{running.shown(group)}'.\n")
    rows = [
        {"group": group, "member": str(member), "is_static": member.instance_id is not None, "result": "removed"}
        for member in outcomes.succeeded()
    ]
    errors = [ItemError.of(f"member '{member}'", error) for member, error in outcomes.failures().items()]
    return running.finish(Rows("removed-members", rows, errors), output_format, "cannot remove")


def _groups(admin: AdminClient, given: dict[str, Any]) -> tuple[list[str], list[ItemError]]:
    """The groups of the command line, and the brokers that could not list theirs."""
    if not given["all_groups"]:
        return list(dict.fromkeys(given["group"])), []
    from kafka_tools.commands.groups import rows as group_rows

    found = group_rows.list_groups(admin, [], [])
    return [row["group"] for row in found.rows], [each._replace(item=f"groups of {each.item}") for each in found.errors]
