"""``kafka-streams-groups``: list, describe and delete streams groups, reset and delete their offsets (KIP-1071).

Kafka's StreamsGroupCommand prints its errors on stdout. This command reports them on stderr and exits 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools.commands import running
from kafka_tools.commands.groups import typed_groups
from kafka_tools.commands.groups.options import (
    KAFKAS_MODES,
    group_option,
    modes_given,
    new_offsets,
    topic_option,
    view_option,
    views,
)
from kafka_tools.commands.options.command import Command, action_option, one_of, only_with, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import KafkaToolsError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError

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
    "topology": ("describe",),
    "verbose": ("describe",),
    "state": ("describe", "list"),
    **dict.fromkeys(("dry_run", "execute", "export", *MODES), _RESET),
}


@click.command(name="kafka-streams-groups", cls=Command)
@action_option("--list", "list", is_flag=True, help="List the streams groups.")
@action_option("--describe", is_flag=True, help="Show offsets and lag, members, or the state of groups.")
@action_option("--delete", is_flag=True, help="Delete streams groups that have no members.")
@action_option("--reset-offsets", is_flag=True, help="Reset the committed offsets of inactive groups.")
@action_option("--delete-offsets", is_flag=True, help="Delete the committed offsets of topics.")
@group_option()
@option("--all-groups", is_flag=True, help="Select every streams group.")
@topic_option(
    "--input-topic",
    "Topic that the application reads, or some of its partitions: orders:0,2.",
)
@option(
    "--all-input-topics", is_flag=True, help="Select every input topic of the application, but not its internal topics."
)
@option(
    "--delete-internal-topic",
    metavar="NAME",
    multiple=True,
    help="Delete this internal topic as well (with --reset-offsets --execute).",
)
@option(
    "--delete-all-internal-topics",
    is_flag=True,
    help="Delete the group's internal topics as well (with --delete, or --reset-offsets --execute).",
)
@views("Describe the members and their tasks.")
@view_option(
    "--topology",
    is_flag=True,
    help="Describe the nodes of the topology, if brokers store it (Kafka 4.4 and later).",
)
@new_offsets(*KAFKAS_MODES)
@option("--dry-run", is_flag=True, help="Show the new offsets without committing them.")
@option("--execute", is_flag=True, help="Commit the new offsets.")
@option("--export", is_flag=True, help="Print the new offsets as CSV.")
@connection_options()
@output_options(
    {
        "list": "groups",
        "describe": "group-offsets",
        "describe members": "streams-group-members",
        "describe state": "group-states",
        "describe topology": "streams-topologies",
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
    _check(context, action, given | {"output_format": output_format})
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
    def fail(text: str) -> NoReturn:
        raise click.UsageError(text, ctx=context)

    spelled = action.replace("_", "-")
    has_group = bool(given["group"] or given["all_groups"])
    has_topics = bool(given["input_topic"] or given["all_input_topics"])
    if action == "describe":
        typed_groups.check_described(fail, given, ("members", "offsets", "state", "topology"))
    if action == "delete_offsets":
        if not (has_topics and given["group"]):
            fail(
                "Option [delete-offsets] takes the [group] and one of these options: [all-input-topics], [input-topic]"
            )
        if len(given["group"]) > 1:
            listed = ", ".join(given["group"])
            fail(f"Option [delete-offsets] supports only one [group] at a time, but found: [{listed}]")
    if action == "reset_offsets":
        _check_reset(fail, given, has_topics)
    if action in ("delete", "reset_offsets") and not has_group:
        fail(f"Option [{spelled}] takes one of these options: [all-groups], [group]")
    typed_groups.check_apart(fail, given, "group", "all_groups")
    typed_groups.check_apart(fail, given, "input_topic", "all_input_topics")


def _check_reset(fail: Any, given: dict[str, Any], has_topics: bool) -> None:
    typed_groups.check_committing(fail, given)
    if not typed_groups.check_one_mode(fail, given, MODES):
        fail(f"Option '[reset-offsets]' requires one of the following scenarios: {typed_groups.bracketed(MODES)}")
    if not (has_topics or given["from_file"]):
        fail("One of the reset scopes should be defined: --all-input-topics, --input-topic.")
    if not given["execute"] and given["delete_all_internal_topics"]:
        fail("Option [delete-all-internal-topics] takes [execute] when [reset-offsets] is used.")
    if not given["execute"] and given["delete_internal_topic"]:
        fail("Option [delete-internal-topic] takes [reset-offsets] when [execute] is used.")


def _list(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows_of_streams

    return typed_groups.list_them(admin, given, output_format, rows_of_streams.TYPE, rows_of_streams.STATES)


def _describe(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows_of_streams
    from kafka_tools.output.kafka import streams_group_text
    from kafka_tools.output.rows import ItemError, Rows
    from kafka_tools.protocol.enums import GroupState

    names = typed_groups.named(admin, given, rows_of_streams.TYPE)
    groups, errors = rows_of_streams.describe(admin, names, with_topology=given["topology"])
    verbose = given["verbose"]
    is_text = output_format is None
    rows: list[Row] = []
    for group in groups:
        if group.state == GroupState.EMPTY and not given["topology"]:
            running.note(f"\nStreams group '{group.group_id}' has no active members.")
    if given["members"]:
        kind = "streams-group-members"
        for group in groups:
            made = rows_of_streams.members(group)
            rows += made
            if is_text:
                running.emit(streams_group_text.members(running.shown(made), verbose))
    elif given["topology"]:
        kind = "streams-topologies"
        for group in groups:
            try:
                made = rows_of_streams.topology(group)
            except KafkaToolsError as error:
                errors.append(ItemError.of(f"group '{group.group_id}'", error))
                continue
            rows += made
            if is_text:
                running.emit(streams_group_text.topology(running.shown(made)))
    elif given["state"]:
        kind = "group-states"
        rows = [rows_of_streams.state(group) for group in groups]
        for row in rows if is_text else ():
            running.emit(streams_group_text.state(running.shown(row), verbose))
    else:
        kind = "group-offsets"
        offsets, failed = rows_of_streams.offsets(admin, groups)
        errors += failed
        active = {group.group_id for group in groups if group.members}
        for name, made in offsets.items():
            rows += made
            if is_text and name in active:
                running.emit(streams_group_text.offsets(running.shown(name), running.shown(made), verbose))
    form = "wide" if verbose and output_format == "table" else output_format
    return running.finish(Rows(kind, rows, errors), form, "cannot describe")


def _delete(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows_of_streams
    from kafka_tools.output.kafka import streams_group_text
    from kafka_tools.output.rows import ItemError, Rows

    describe = admin.describe_streams_groups
    missing, busy = "does not exist or is not a streams group.", "Streams group"
    wanted, failed = typed_groups.to_delete(admin, given, rows_of_streams.TYPE, describe, missing=missing, busy=busy)
    ready = [name for name in wanted if name not in failed]
    topics: dict[str, list[str]] = {}
    if given["delete_all_internal_topics"] and ready:
        # Only the group's description names them: a group that cannot be described is not deleted either.
        described, refused = rows_of_streams.describe(admin, ready)
        topics = {group.group_id: rows_of_streams.internal_topics(group) for group in described}
        failed |= {name: error for name in ready for error in refused if error.item == f"group '{name}'"}
        ready = [name for name in ready if name not in failed]
    outcomes = admin.delete_groups(ready)
    failed |= {name: ItemError.of(f"group '{name}'", error) for name, error in outcomes.failures().items()}
    deleted = list(outcomes.succeeded())
    cleaned = []
    errors = [failed[name] for name in wanted if name in failed]
    for name in deleted:
        if topics.get(name):
            left = rows_of_streams.delete_topics(admin, name, topics[name])
            errors += left
            if not left:
                cleaned.append(name)
    if output_format is None:
        text = streams_group_text.deleted_groups(running.shown(deleted), bool(failed), running.shown(cleaned))
        running.emit(text)
    rows = [{"group": group, "result": "deleted"} for group in deleted]
    return running.finish(Rows("changed-groups", rows, errors), output_format, "cannot delete")


def _reset(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import resets, rows_of_streams
    from kafka_tools.output.kafka import streams_group_text

    kind = rows_of_streams.StreamsGroupResets(admin)
    groups = typed_groups.named(admin, given, rows_of_streams.TYPE)
    named = _internal_topics(given["delete_internal_topic"], groups)

    def delete_topics(groups: Iterable[str]) -> list[ItemError]:
        errors = []
        for name in groups:
            if name in kind.described:
                topics = named.get(name, [])
                if given["delete_all_internal_topics"]:
                    topics = rows_of_streams.internal_topics(kind.described[name])
                errors += rows_of_streams.delete_topics(admin, name, topics)
        return errors

    (mode,) = modes_given(given, MODES)
    scope = given | {"topic": given["input_topic"], "all_topics": given["all_input_topics"]}
    then = delete_topics if given["delete_all_internal_topics"] or given["delete_internal_topic"] else None
    return resets.run(kind, groups, mode, scope, output_format, streams_group_text.reset_plan, then=then)


def _internal_topics(topics: Sequence[str], groups: Sequence[str]) -> dict[str, list[str]]:
    """Group -> the named topics that are its internal topics, by their names.

    Raises InputError for a topic of no group, which may belong to anybody.
    """
    from kafka_tools.commands.groups.internal_topics import is_internal
    from kafka_tools.errors import InputError

    found: dict[str, list[str]] = {}
    for topic in dict.fromkeys(topics):
        # If the id of one group starts with that of another, the longer one applies.
        owners = sorted((name for name in groups if is_internal(topic, name)), key=len)
        if not owners:
            raise InputError(
                f"--delete-internal-topic: '{topic}' is not an internal topic of "
                f"{('these groups' if len(groups) > 1 else 'this group')}; nothing was reset"
            )
        found.setdefault(owners[-1], []).append(topic)
    return found


def _delete_offsets(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import deleted_offsets, rows_of_streams
    from kafka_tools.commands.groups.reset_plans import parse_topics
    from kafka_tools.commands.groups.resettable import partitions_of

    (group,) = given["group"]
    missing: list[tuple[str, KafkaToolsError]] = []

    if given["all_input_topics"]:
        with running.about(group):
            described = admin.describe_streams_groups([group])[group].get()
            sources = rows_of_streams.source_topics(described)
            committed = admin.list_group_offsets(group)
        partitions = sorted(key for key in committed if key.topic in sources)
    else:
        partitions, missing = partitions_of(admin, parse_topics(given["input_topic"]))
    return deleted_offsets.delete(admin, group, partitions, missing, admin.describe_streams_groups, output_format)
