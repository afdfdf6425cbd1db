"""``kafka-share-groups``: list, describe and delete share groups, move and drop their offsets (KIP-932, KIP-1043).

Follows Kafka's ShareGroupCommand, which prints its errors on stdout; this one reports them on stderr and exits 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import group_names, topic_names
from kafka_tools.commands.options.command import Command, one_of, only_with, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError

ACTIONS = ("list", "describe", "delete", "reset_offsets", "delete_offsets")
MODES = ("to_earliest", "to_latest", "to_datetime")
_RESET = ("reset_offsets",)
_ALLOWED: dict[str, Sequence[str]] = {
    "group": ("describe", "delete", "reset_offsets", "delete_offsets"),
    "all_groups": ("describe", "delete"),
    "topic": ("reset_offsets", "delete_offsets"),
    "all_topics": _RESET,
    "offsets": ("describe",),
    "members": ("describe",),
    "verbose": ("describe",),
    "state": ("describe", "list"),
    **dict.fromkeys(("dry_run", "execute", *MODES), _RESET),
}
_ANY = "*"
"""Value of --state when it is given without one."""


@click.command(name="kafka-share-groups", cls=Command)
@option("--list", "list", is_flag=True, section="Actions", help="List the share groups.")
@option("--describe", is_flag=True, section="Actions", help="Show offsets and lag, members, or the state of groups.")
@option("--delete", is_flag=True, section="Actions", help="Delete share groups that have no members.")
@option("--reset-offsets", is_flag=True, section="Actions", help="Move where an inactive group starts to share.")
@option("--delete-offsets", is_flag=True, section="Actions", help="Forget where a group shares topics.")
@option(
    "--group", metavar="ID", multiple=True, shell_complete=group_names, help="The group to act on. May be repeated."
)
@option("--all-groups", is_flag=True, help="Act on every share group.")
@option(
    "--topic",
    metavar="NAME[:N,...]",
    multiple=True,
    shell_complete=topic_names,
    help="The topic, or with --reset-offsets some of its partitions: orders:0,2. May be repeated.",
)
@option("--all-topics", is_flag=True, help="Every topic that the group shares.")
@option("--offsets", is_flag=True, section="Views", help="Describe offsets and lag; this is the default.")
@option("--members", is_flag=True, section="Views", help="Describe the members.")
@option(
    "--state",
    metavar="[STATE,...]",
    is_flag=False,
    flag_value=_ANY,
    section="Views",
    help="With --describe the state of the group; with --list a column, or only groups in these states.",
)
@option("--verbose", is_flag=True, section="Views", help="More columns.")
@option("--to-earliest", is_flag=True, section="New offsets", help="The log start offset.")
@option("--to-latest", is_flag=True, section="New offsets", help="The log end offset.")
@option(
    "--to-datetime",
    metavar="TIME",
    section="New offsets",
    help="The first offset at or after YYYY-MM-DDThh:mm:ss.sss (UTC unless a zone follows), a date, or '2 hours ago'.",
)
@option("--dry-run", is_flag=True, help="Show the new offsets and change nothing.")
@option("--execute", is_flag=True, help="Change the offsets.")
@connection_options()
@output_options(
    {
        "list": "groups",
        "describe": "share-group-offsets",
        "describe members": "group-members",
        "describe state": "group-states",
        "delete": "changed-groups",
        "reset_offsets": "reset-offsets",
        "delete_offsets": "deleted-share-offsets",
    }
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """List, describe and delete share groups, and reset their offsets."""
    action = one_of(context, *ACTIONS)
    only_with(context, action, _ALLOWED)
    _check(context, action, given)
    connection.check()
    run = {
        "list": _list,
        "describe": _describe,
        "delete": _delete,
        "reset_offsets": _reset,
        "delete_offsets": _delete_offsets,
    }[action]
    with connection.admin() as admin:
        return run(admin, given, output_format)


def _check(context: click.Context, action: str, given: dict[str, Any]) -> None:
    def refuse(text: str) -> NoReturn:
        raise click.UsageError(text, ctx=context)

    if action == "describe":
        if not (given["group"] or given["all_groups"]):
            refuse("Option [describe] takes one of these options: [all-groups], [group]")
        if sum(bool(given[view]) for view in ("members", "offsets", "state")) > 1:
            refuse("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if given["state"] not in (None, _ANY):
            refuse("Option [describe] does not take a value for [state]")
    if action == "delete" and not (given["group"] or given["all_groups"]):
        refuse("Option [delete] takes the options [group] or [all-groups]")
    if action == "delete" and given["group"] and given["all_groups"]:
        refuse("Option [delete] takes either [group] or [all-groups], not both.")
    if given["group"] and given["all_groups"]:
        refuse('Option "[group]" can\'t be used with option "[all-groups]"')
    if action == "delete_offsets" and not (len(given["group"]) == 1 and given["topic"]):
        refuse("Option [delete-offsets] takes the following options: [group], [topic] (one group)")
    if action == "reset_offsets":
        if given["dry_run"] and given["execute"]:
            refuse("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
        if not (given["dry_run"] or given["execute"]):
            refuse("Option [reset-offsets] takes the option: [execute] or [dry-run]")
        if not given["group"]:
            refuse("Option [reset-offsets] takes the option: [group]")
        if not (given["topic"] or given["all_topics"]):
            refuse("Option [reset-offsets] takes one of these options: [all-topics], [topic]")
        if given["topic"] and given["all_topics"]:
            refuse('Option "[topic]" can\'t be used with option "[all-topics]"')
        modes = [name for name in MODES if given[name] not in (None, False)]
        if not modes:
            refuse("Option [reset-offsets] takes one of these options: [to-datetime], [to-earliest], [to-latest]")
        if len(modes) > 1:
            first, second = (name.replace("_", "-") for name in modes[:2])
            refuse(f'Option "[{first}]" can\'t be used with option "[{second}]"')


def _list(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows as group_rows
    from kafka_tools.commands.groups import share_rows
    from kafka_tools.output.kafka import group_text

    states = group_rows.parse_states(given["state"] or _ANY, share_rows.STATES)
    result = group_rows.list_of_type(admin, states, share_rows.TYPE)
    if output_format is None:
        running.emit(group_text.plain_listing(running.shown(result.rows), with_state=given["state"] is not None))
    if not result.rows and not result.errors:
        from kafka_tools.commands import rights

        rights.note_if_limited(admin, "groups", "Describe on a group, or on the cluster for all of them")
    return running.finish(result, output_format, "could not list the groups of")


def _describe(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows as group_rows
    from kafka_tools.commands.groups import share_rows
    from kafka_tools.output.kafka import share_group_text
    from kafka_tools.output.rows import Rows
    from kafka_tools.protocol.enums import GroupState

    groups, errors = share_rows.describe(admin, _groups(admin, given))
    verbose = given["verbose"]
    rows: list[Row] = []
    if given["members"] or given["state"]:
        kind = "group-members" if given["members"] else "group-states"
        for group in groups:
            if group.state == GroupState.EMPTY:
                running.note(f"\nShare group '{group.group_id}' has no active members.")
            made, _ = (group_rows.members if given["members"] else group_rows.states)(admin, [group])[group.group_id]
            made.sort(key=lambda row: str(row.get("consumer_id")))
            text = share_group_text.members if given["members"] else share_group_text.state
            if output_format is None:
                running.emit(text(running.shown(made), verbose))
            rows += made
    else:
        kind = "share-group-offsets"
        offsets, failed = share_rows.offsets(admin, groups)
        errors += failed
        for name, made in offsets.items():
            if output_format is None:
                running.emit(share_group_text.offsets(running.shown(name), running.shown(made), verbose))
            rows += made
    form = "wide" if verbose and output_format == "table" else output_format
    return running.finish(Rows(kind, rows, errors), form, "could not describe")


def _delete(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import share_rows
    from kafka_tools.output.kafka import group_text
    from kafka_tools.output.rows import ItemError, Rows

    listed = admin.list_groups(types=[share_rows.TYPE]).complete()
    wanted = [group.group_id for group in listed] if given["all_groups"] else list(dict.fromkeys(given["group"]))
    refused = share_rows.refusals(admin, listed, wanted)
    outcomes = admin.delete_groups([name for name in wanted if name not in refused])
    failed = refused | {name: ItemError.of(f"group '{name}'", error) for name, error in outcomes.failures().items()}
    deleted = list(outcomes.succeeded())
    if output_format is None:
        running.emit(group_text.deleted_groups(running.shown(deleted), bool(failed), "share"))
    rows = [{"group": group, "result": "deleted"} for group in deleted]
    errors = [failed[name] for name in wanted if name in failed]
    return running.finish(Rows("changed-groups", rows, errors), output_format, "could not delete")


def _reset(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import resets
    from kafka_tools.commands.groups.share_rows import ShareGroupResets
    from kafka_tools.output.kafka import group_text
    from kafka_tools.output.rows import Rows

    mode = next(name for name in MODES if given[name] not in (None, False))
    kind = ShareGroupResets(admin)
    plan, errors = resets.prepare(kind, list(dict.fromkeys(given["group"])), mode, given)
    before = resets.positions(kind, plan) if output_format is not None else {}
    if given["execute"]:
        plan, failures = resets.commit(kind, plan)
        errors += failures
    if output_format is None:
        running.emit(group_text.reset_plan(running.shown(plan)))
    rows = resets.plan_rows(plan, before, "reset" if given["execute"] else "planned")
    return running.finish(Rows("reset-offsets", rows, errors), output_format, "could not reset")


def _delete_offsets(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.output.kafka import share_group_text
    from kafka_tools.output.rows import ItemError, Rows

    (group,) = given["group"]
    with running.about(group):
        outcomes = admin.delete_share_group_offsets(group, sorted(set(given["topic"])))
    if output_format is None:
        shown = {topic: None if each.error is None else str(each.error) for topic, each in outcomes.items()}
        running.emit(share_group_text.deleted_offsets(running.shown(shown)))
    rows = [{"group": group, "topic": topic, "result": "deleted"} for topic in outcomes.succeeded()]
    errors: list[ItemError] = [ItemError.of(f"topic {topic}", error) for topic, error in outcomes.failures().items()]
    return running.finish(Rows("deleted-share-offsets", rows, errors), output_format, "could not delete the offsets of")


def _groups(admin: AdminClient, given: dict[str, Any]) -> list[str]:
    if not given["all_groups"]:
        return list(dict.fromkeys(given["group"]))
    from kafka_tools.commands.groups import share_rows

    return [group.group_id for group in admin.list_groups(types=[share_rows.TYPE]).complete()]
