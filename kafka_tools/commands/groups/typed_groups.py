"""Common code of ``kafka-share-groups`` and ``kafka-streams-groups``: checks of options, lists, groups to delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from kafka_tools.commands import running
from kafka_tools.commands.groups.options import ANY, modes_given
from kafka_tools.commands.options.command import is_given

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.groups.holders import Describe
    from kafka_tools.output.rows import ItemError

Fail = Callable[[str], NoReturn]


def check_described(
    fail: Fail, given: Mapping[str, Any], views: Sequence[str] = ("members", "offsets", "state")
) -> None:
    """Refuse ``--describe`` without the options it needs, in the words of Kafka's tools."""
    if not (given["group"] or given["all_groups"]):
        fail("Option [describe] takes one of these options: [all-groups], [group]")
    if sum(bool(given[view]) for view in views) > 1:
        fail(f"Option [describe] takes at most one of these options: {bracketed(views)}")
    if given["state"] not in (None, ANY):
        fail("Option [describe] does not take a value for [state]")


def check_committing(fail: Fail, given: Mapping[str, Any]) -> None:
    """Refuse a reset without ``--execute`` or ``--dry-run``, one with both, and ``-o`` with ``--export``."""
    if given["dry_run"] and given["execute"]:
        fail("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not (given["dry_run"] or given["execute"]):
        fail("Option [reset-offsets] takes the option: [execute] or [dry-run]")
    if given["export"] and given["output_format"] is not None:
        fail("-o cannot be used with --export, which prints CSV.")


def bracketed(names: Iterable[str]) -> str:
    """Options in the form of Kafka's tools, sorted: ``[from-file], [topic]``."""
    return ", ".join(f"[{name.replace('_', '-')}]" for name in sorted(names))


def check_one_mode(fail: Fail, given: Mapping[str, Any], modes: Sequence[str]) -> list[str]:
    """The mode of a reset, if one is given. Several are refused."""
    found = modes_given(given, modes)
    if len(found) > 1:
        check_apart(fail, given, *found[:2])
    return found


def check_apart(fail: Fail, given: Mapping[str, Any], first: str, second: str) -> None:
    """Refuse two options that exclude each other."""
    if is_given(given[first]) and is_given(given[second]):
        first, second = (name.replace("_", "-") for name in (first, second))
        fail(f'Option "[{first}]" can\'t be used with option "[{second}]"')


def list_them(
    admin: AdminClient, given: Mapping[str, Any], output_format: str | None, group_type: str, states: Sequence[str]
) -> int:
    """``--list`` of groups of one type with these states. Returns the exit status."""
    from kafka_tools.commands.groups import rows as group_rows
    from kafka_tools.output.kafka import group_text

    wanted = group_rows.parse_states(given["state"] or ANY, states)
    result = group_rows.list_of_type(admin, wanted, group_type)
    if output_format is None:
        running.emit(group_text.plain_listing(running.shown(result.rows), with_state=given["state"] is not None))
    return group_rows.finish_listing(admin, result, output_format)


def named(admin: AdminClient, given: Mapping[str, Any], group_type: str) -> list[str]:
    """The groups of the command line, or all groups of the type."""
    if not given["all_groups"]:
        return list(dict.fromkeys(given["group"]))
    return [group.group_id for group in admin.list_groups(types=[group_type]).complete()]


def to_delete(
    admin: AdminClient, given: Mapping[str, Any], group_type: str, describe: Describe, *, missing: str, busy: str
) -> tuple[list[str], dict[str, ItemError]]:
    """The groups of ``--delete``, and those that must not be deleted: DeleteGroups accepts groups of any type.

    In the texts of Kafka's tools, ``missing`` follows a group's name, and ``busy`` precedes it.
    """
    from kafka_tools.commands.groups.holders import blocked
    from kafka_tools.output.rows import ItemError
    from kafka_tools.protocol.enums import GroupState

    states = {group.group_id: group.state for group in admin.list_groups(types=[group_type]).complete()}
    wanted = list(states) if given["all_groups"] else list(dict.fromkeys(given["group"]))
    refused = {
        name: ItemError(f"group '{name}'", None, f"Group '{name}' {missing}") for name in wanted if name not in states
    }
    occupied = [name for name in wanted if states.get(name) not in (None, GroupState.EMPTY)]
    for name, outcome in describe(occupied).items() if occupied else ():
        members = () if outcome.value is None else outcome.value.members
        refused[name] = blocked(name, f"{busy} '{name}' is not EMPTY.", members)
    return wanted, refused
