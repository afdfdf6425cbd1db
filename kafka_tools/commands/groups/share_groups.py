"""``kafka-share-groups``: list, describe and delete share groups, reset and delete their offsets (KIP-932, KIP-1043).

Kafka's ShareGroupCommand prints its errors on stdout. This command reports them on stderr and exits 1.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    views,
)
from kafka_tools.commands.options.command import Command, action_option, one_of, only_with, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError

ACTIONS = ("list", "describe", "delete", "reset_offsets", "delete_offsets")
MODES = ("to_offset", "to_datetime", "to_earliest", "to_latest", "to_current", "from_file")
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
    **dict.fromkeys(("dry_run", "execute", "export", *MODES), _RESET),
}


@click.command(name="kafka-share-groups", cls=Command)
@action_option("--list", "list", is_flag=True, help="List the share groups.")
@action_option("--describe", is_flag=True, help="Show offsets and lag, members, or the state of groups.")
@action_option("--delete", is_flag=True, help="Delete share groups that have no members.")
@action_option(
    "--reset-offsets",
    is_flag=True,
    help="Reset the start offsets of inactive groups.",
)
@action_option("--delete-offsets", is_flag=True, help="Delete the share offsets of topics.")
@group_option()
@option("--all-groups", is_flag=True, help="Select every share group.")
@topic_option("--topic", "Topic, or with --reset-offsets some of its partitions: orders:0,2.")
@option("--all-topics", is_flag=True, help="Select every topic that the group shares.")
@views()
@new_offsets(*(mode for mode in KAFKAS_MODES if mode in MODES))
@option("--dry-run", is_flag=True, help="Show the new offsets without applying them.")
@option("--execute", is_flag=True, help="Apply the new offsets.")
@option("--export", is_flag=True, help="Print the new offsets as CSV.")
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

    if action == "describe":
        typed_groups.check_described(fail, given)
    if action == "delete" and not (given["group"] or given["all_groups"]):
        fail("Option [delete] takes the options [group] or [all-groups].")
    if action == "delete" and given["group"] and given["all_groups"]:
        fail("Option [delete] takes either [group] or [all-groups], not both.")
    typed_groups.check_apart(fail, given, "group", "all_groups")
    if action == "delete_offsets" and not (len(given["group"]) == 1 and given["topic"]):
        fail("Option [delete-offsets] takes the following options: [group], [topic] (one group)")
    if action == "reset_offsets":
        _check_reset(fail, given)


def _check_reset(fail: typed_groups.Fail, given: dict[str, Any]) -> None:
    typed_groups.check_committing(fail, given)
    if not given["group"]:
        fail("Option [reset-offsets] takes the option: [group]")
    scopes = ("all_topics", "from_file", "topic")
    if not any(given[scope] for scope in scopes):
        fail(f"Option [reset-offsets] takes one of these options: {typed_groups.bracketed(scopes)}")
    for first, second in (("topic", "all_topics"), ("topic", "from_file"), ("all_topics", "from_file")):
        typed_groups.check_apart(fail, given, first, second)
    if not typed_groups.check_one_mode(fail, given, MODES):
        fail(f"Option [reset-offsets] takes one of these options: {typed_groups.bracketed(MODES)}")


def _list(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import share_rows

    return typed_groups.list_them(admin, given, output_format, share_rows.TYPE, share_rows.STATES)


def _describe(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import rows as group_rows
    from kafka_tools.commands.groups import share_rows
    from kafka_tools.output.kafka import share_group_text
    from kafka_tools.output.rows import Rows
    from kafka_tools.protocol.enums import GroupState

    groups, errors = share_rows.describe(admin, typed_groups.named(admin, given, share_rows.TYPE))
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
    return running.finish(Rows(kind, rows, errors), form, "cannot describe")


def _delete(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import share_rows
    from kafka_tools.output.kafka import group_text
    from kafka_tools.output.rows import ItemError, Rows

    describe = admin.describe_share_groups
    missing, busy = "is not a share group.", "Share group"
    wanted, failed = typed_groups.to_delete(admin, given, share_rows.TYPE, describe, missing=missing, busy=busy)
    outcomes = admin.delete_groups([name for name in wanted if name not in failed])
    failed |= {name: ItemError.of(f"group '{name}'", error) for name, error in outcomes.failures().items()}
    deleted = list(outcomes.succeeded())
    if output_format is None:
        running.emit(group_text.deleted_groups(running.shown(deleted), bool(failed), "share"))
    rows = [{"group": group, "result": "deleted"} for group in deleted]
    errors = [failed[name] for name in wanted if name in failed]
    return running.finish(Rows("changed-groups", rows, errors), output_format, "cannot delete")


def _reset(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups import resets
    from kafka_tools.commands.groups.share_rows import ShareGroupResets
    from kafka_tools.output.kafka import group_text

    (mode,) = modes_given(given, MODES)
    groups = list(dict.fromkeys(given["group"]))
    return resets.run(ShareGroupResets(admin), groups, mode, given, output_format, group_text.reset_plan)


def _delete_offsets(admin: AdminClient, given: dict[str, Any], output_format: str | None) -> int:
    from kafka_tools.commands.groups.holders import naming_holders
    from kafka_tools.output.kafka import share_group_text
    from kafka_tools.output.rows import ItemError, Rows

    (group,) = given["group"]
    with running.about(group), running.doing(f"group '{group}'"), naming_holders(admin.describe_share_groups, group):
        outcomes = admin.delete_share_group_offsets(group, sorted(set(given["topic"])))
    if output_format is None:
        shown = {topic: None if each.error is None else str(each.error) for topic, each in outcomes.items()}
        running.emit(share_group_text.deleted_offsets(running.shown(shown)))
    rows = [{"group": group, "topic": topic, "result": "deleted"} for topic in outcomes.succeeded()]
    errors: list[ItemError] = [ItemError.of(f"topic {topic}", error) for topic, error in outcomes.failures().items()]
    return running.finish(Rows("deleted-share-offsets", rows, errors), output_format, "cannot delete the offsets of")
