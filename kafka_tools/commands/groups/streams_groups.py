"""``kafka-streams-groups``: list, describe and delete streams groups, move and drop their offsets (KIP-1071).

Follows Kafka's StreamsGroupCommand, which prints its errors on stdout; this one reports them on stderr and exits 1.
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
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.output.cells import Row

ACTIONS = ("list", "describe", "delete", "reset_offsets", "delete_offsets")
MODES = (
    "to_offset",
    "to_datetime",
    "by_duration",
    "to_earliest",
    "to_latest",
    "to_current",
    "shift_by",
    "from_file",
)
_RESET = ("reset_offsets",)
_ALLOWED: dict[str, Sequence[str]] = {
    "group": ("describe", "delete", "reset_offsets", "delete_offsets"),
    "all_groups": ("describe", "delete", "reset_offsets"),
    "input_topic": ("reset_offsets", "delete_offsets"),
    "all_input_topics": ("reset_offsets", "delete_offsets"),
    "delete_internal_topic": _RESET,
    "delete_all_internal_topics": ("reset_offsets", "delete"),
    "offsets": ("describe",),
    "members": ("describe",),
    "verbose": ("describe",),
    "state": ("describe", "list"),
    **dict.fromkeys(("dry_run", "execute", "export", *MODES), _RESET),
}
_ANY = "*"
"""Value of --state when it is given without one."""


@click.command(name="kafka-streams-groups", cls=Command)
@option("--list", "list", is_flag=True, section="Actions", help="List the streams groups.")
@option("--describe", is_flag=True, section="Actions", help="Show offsets and lag, members, or the state of groups.")
@option("--delete", is_flag=True, section="Actions", help="Delete streams groups that have no members.")
@option("--reset-offsets", is_flag=True, section="Actions", help="Move the committed offsets of inactive groups.")
@option("--delete-offsets", is_flag=True, section="Actions", help="Drop the committed offsets of topics.")
@option(
    "--group", metavar="ID", multiple=True, shell_complete=group_names, help="The group to act on. May be repeated."
)
@option("--all-groups", is_flag=True, help="Act on every streams group.")
@option(
    "--input-topic",
    metavar="NAME[:N,...]",
    multiple=True,
    shell_complete=topic_names,
    help="A topic that the application reads, or some of its partitions: orders:0,2. May be repeated.",
)
@option("--all-input-topics", is_flag=True, help="Every topic that the application reads and did not write itself.")
@option(
    "--delete-internal-topic",
    metavar="NAME",
    multiple=True,
    help="With --reset-offsets --execute: delete this internal topic as well. May be repeated.",
)
@option(
    "--delete-all-internal-topics",
    is_flag=True,
    help="With --delete, or --reset-offsets --execute: delete the group's internal topics as well.",
)
@option("--offsets", is_flag=True, section="Views", help="Describe offsets and lag; this is the default.")
@option("--members", is_flag=True, section="Views", help="Describe the members and their tasks.")
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
@option("--to-current", is_flag=True, section="New offsets", help="The committed offset, or the log end offset.")
@option("--to-offset", metavar="N", type=click.IntRange(0, 2**63 - 1), section="New offsets", help="This offset.")
@option(
    "--shift-by",
    metavar="N",
    type=click.IntRange(-(2**63), 2**63 - 1),
    section="New offsets",
    help="N on from the committed offset; -N back.",
)
@option(
    "--to-datetime",
    metavar="TIME",
    section="New offsets",
    help="The first offset at or after YYYY-MM-DDThh:mm:ss.sss (UTC unless a zone follows), a date, or '2 hours ago'.",
)
@option(
    "--by-duration",
    metavar="SPAN",
    section="New offsets",
    help="The first offset of the last PnDTnHnMnS, for example PT6H; 6h also.",
)
@option("--from-file", metavar="FILE", section="New offsets", help="The offsets of a file that --export printed.")
@option("--dry-run", is_flag=True, help="Show the new offsets and change nothing.")
@option("--execute", is_flag=True, help="Commit the new offsets.")
@option("--export", is_flag=True, help="Print the new offsets as CSV.")
@connection_options()
@output_options(
    {
        "list": "groups",
        "describe": "group-offsets",
        "describe members": "streams-group-members",
        "describe state": "group-states",
        "delete": "changed-groups",
        "reset_offsets": "reset-offsets",
        "delete_offsets": "deleted-offsets",
    }
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """List, describe and delete streams groups, and reset their offsets."""
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

    spelled = action.replace("_", "-")
    has_group = bool(given["group"] or given["all_groups"])
    has_topics = bool(given["input_topic"] or given["all_input_topics"])
    if action == "describe":
        if not has_group:
            refuse("Option [describe] takes one of these options: [all-groups], [group]")
        if sum(bool(given[view]) for view in ("members", "offsets", "state")) > 1:
            refuse("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if given["state"] not in (None, _ANY):
            refuse("Option [describe] does not take a value for [state]")
    if action == "delete_offsets":
        if not (has_topics and given["group"]):
            refuse(
                "Option [delete-offsets] takes the [group] and one of these options: [all-input-topics], [input-topic]"
            )
        if len(given["group"]) > 1:
            listed = ", ".join(given["group"])
            refuse(f"Option [delete-offsets] supports only one [group] at a time, but found: [{listed}]")
    if action == "reset_offsets":
        _check_reset(refuse, given, has_topics)
    if action in ("delete", "reset_offsets") and not has_group:
        refuse(f"Option [{spelled}] takes one of these options: [all-groups], [group]")
    if given["group"] and given["all_groups"]:
        refuse('Option "[group]" can\'t be used with option "[all-groups]"')
    if given["input_topic"] and given["all_input_topics"]:
        refuse('Option "[input-topic]" can\'t be used with option "[all-input-topics]"')


def _check_reset(refuse: Any, given: dict[str, Any], has_topics: bool) -> None:
    if given["dry_run"] and given["execute"]:
        refuse("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not (given["dry_run"] or given["execute"]):
        refuse("Option [reset-offsets] takes the option: [execute] or [dry-run]")
    modes = [name for name in MODES if given[name] not in (None, False)]
    if len(modes) > 1:
        first, second = (name.replace("_", "-") for name in modes[:2])
        refuse(f'Option "[{first}]" can\'t be used with option "[{second}]"')
    if not modes:
        listed = ", ".join(f"[{name.replace('_', '-')}]" for name in sorted(MODES))
        refuse(f"Option '[reset-offsets]' requires one of the following scenarios: {listed}")
    if not (has_topics or given["from_file"]):
        refuse("One of the reset scopes should be defined: --all-input-topics, --input-topic.")
    if not given["execute"] and given["delete_all_internal_topics"]:
        refuse("Option [delete-all-internal-topics] takes [execute] when [reset-offsets] is used.")
    if not given["execute"] and given["delete_internal_topic"]:
        refuse("Option [delete-internal-topic] takes [reset-offsets] when [execute] is used.")


def _list(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows as group_rows
    from kafka_tools.commands.groups import streams_rows
    from kafka_tools.output.kafka import group_text

    states = group_rows.parse_states(given["state"] or _ANY, streams_rows.STATES)
    result = group_rows.list_of_type(admin, states, streams_rows.TYPE)
    if output_format is None:
        running.emit(group_text.plain_listing(running.shown(result.rows), with_state=given["state"] is not None))
    if not result.rows and not result.errors:
        from kafka_tools.commands import rights

        rights.note_if_limited(admin, "groups", "Describe on a group, or on the cluster for all of them")
    return running.finish(result, output_format, "could not list the groups of")


def _describe(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import streams_rows
    from kafka_tools.output.kafka import streams_group_text
    from kafka_tools.output.rows import Rows
    from kafka_tools.protocol.enums import GroupState

    groups, errors = streams_rows.describe(admin, _groups(admin, given))
    verbose = given["verbose"]
    is_text = output_format is None
    rows: list[Row] = []
    for group in groups:
        if group.state == GroupState.EMPTY:
            running.note(f"\nStreams group '{group.group_id}' has no active members.")
    if given["members"]:
        kind = "streams-group-members"
        for group in groups:
            made = streams_rows.members(group)
            rows += made
            if is_text:
                running.emit(streams_group_text.members(running.shown(made), verbose))
    elif given["state"]:
        kind = "group-states"
        rows = [streams_rows.state(group) for group in groups]
        for row in rows if is_text else ():
            running.emit(streams_group_text.state(running.shown(row), verbose))
    else:
        kind = "group-offsets"
        offsets, failed = streams_rows.offsets(admin, groups)
        errors += failed
        active = {group.group_id for group in groups if group.members}
        for name, made in offsets.items():
            rows += made
            if is_text and name in active:
                running.emit(streams_group_text.offsets(running.shown(name), running.shown(made), verbose))
    form = "wide" if verbose and output_format == "table" else output_format
    return running.finish(Rows(kind, rows, errors), form, "could not describe")


def _delete(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import streams_rows
    from kafka_tools.output.kafka import streams_group_text
    from kafka_tools.output.rows import ItemError, Rows

    listed = admin.list_groups(types=[streams_rows.TYPE]).complete()
    wanted = [group.group_id for group in listed] if given["all_groups"] else list(dict.fromkeys(given["group"]))
    failed = streams_rows.refusals(admin, listed, wanted)
    ready = [name for name in wanted if name not in failed]
    topics: dict[str, list[str]] = {}
    if given["delete_all_internal_topics"] and ready:
        # Only the group knows them: who cannot be described is not deleted either.
        described, refused = streams_rows.describe(admin, ready)
        topics = {group.group_id: streams_rows.internal_topics(group) for group in described}
        failed |= {name: error for name in ready for error in refused if error.item == f"group '{name}'"}
        ready = [name for name in ready if name not in failed]
    outcomes = admin.delete_groups(ready)
    failed |= {name: ItemError.of(f"group '{name}'", error) for name, error in outcomes.failures().items()}
    deleted = list(outcomes.succeeded())
    cleaned = []
    errors = [failed[name] for name in wanted if name in failed]
    for name in deleted:
        if topics.get(name):
            left = streams_rows.delete_topics(admin, name, topics[name])
            errors += left
            if not left:
                cleaned.append(name)
    if output_format is None:
        text = streams_group_text.deleted_groups(running.shown(deleted), bool(failed), running.shown(cleaned))
        running.emit(text)
    rows = [{"group": group, "result": "deleted"} for group in deleted]
    return running.finish(Rows("changed-groups", rows, errors), output_format, "could not delete")


def _reset(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import resets, streams_rows
    from kafka_tools.commands.groups.reset_plans import plan_csv
    from kafka_tools.output.kafka import streams_group_text
    from kafka_tools.output.rows import Rows

    mode = next(name for name in MODES if given[name] not in (None, False))
    kind = streams_rows.StreamsGroupResets(admin)
    scope = given | {"topic": given["input_topic"], "all_topics": given["all_input_topics"]}
    plan, errors = resets.prepare(kind, _groups(admin, given), mode, scope)
    before = resets.positions(kind, plan) if output_format is not None else {}
    if given["execute"]:
        refused = {error.item for error in errors}
        plan, failures = resets.commit(kind, plan)
        errors += failures
        for name in plan:
            if f"group '{name}'" not in refused and name in kind.described:
                topics = given["delete_internal_topic"]
                if given["delete_all_internal_topics"]:
                    topics = streams_rows.internal_topics(kind.described[name])
                errors += streams_rows.delete_topics(admin, name, topics)
    if output_format is None:
        whole = plan_csv(plan, with_group=len(given["group"]) != 1) + "\n" if given["export"] else None
        running.emit(whole or streams_group_text.reset_plan(running.shown(plan)))
    rows = resets.plan_rows(plan, before, "reset" if given["execute"] else "planned")
    return running.finish(Rows("reset-offsets", rows, errors), output_format, "could not reset")


def _delete_offsets(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import deleted_offsets, streams_rows
    from kafka_tools.commands.groups.reset_plans import parse_topics
    from kafka_tools.commands.groups.resets import partitions_of

    (group,) = given["group"]
    missing: list[tuple[str, KafkaToolsError]] = []
    with running.about(group):
        if given["all_input_topics"]:
            described = admin.describe_streams_groups([group])[group].get()
            sources = streams_rows.source_topics(described)
            committed = admin.list_group_offsets(group)
            partitions = sorted(key for key in committed if key.topic in sources)
        else:
            partitions, missing = partitions_of(admin, parse_topics(given["input_topic"]))
        outcomes = admin.delete_group_offsets(group, partitions)
    return deleted_offsets.finish(group, outcomes, missing, output_format)


def _groups(admin: AdminClient, given: dict[str, Any]) -> list[str]:
    if not given["all_groups"]:
        return list(dict.fromkeys(given["group"]))
    from kafka_tools.commands.groups import streams_rows

    return [group.group_id for group in admin.list_groups(types=[streams_rows.TYPE]).complete()]
