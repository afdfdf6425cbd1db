"""``kafka-consumer-groups --describe --topic``: the groups that consume a topic, among all groups or the named ones.

A group consumes a topic if its members are assigned partitions of the topic, or if it has offsets there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.commands.groups import rows
from kafka_tools.commands.groups.reset_plans import parse_topics
from kafka_tools.commands.groups.resettable import partitions_of
from kafka_tools.commands.groups.rows import Made
from kafka_tools.output.rows import ItemError
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, GroupDescription

Wanted = Callable[[TopicPartition], bool]


def of_topics(topics: Mapping[str, Sequence[int] | None]) -> Wanted:
    """A function that tests whether a partition is in ``topics``: topic -> partitions, None for all partitions."""

    def wanted(key: TopicPartition) -> bool:
        numbers = topics.get(key.topic, ())
        return numbers is None or key.partition in numbers

    return wanted


def narrowed(groups: Sequence[GroupDescription], wanted: Wanted) -> list[GroupDescription]:
    """The groups with only the wanted partitions, and the members that have some of them."""
    found = []
    for group in groups:
        members = [
            member._replace(
                assignment=tuple(filter(wanted, member.assignment)),
                target_assignment=None
                if member.target_assignment is None
                else tuple(filter(wanted, member.target_assignment)),
            )
            for member in group.members
        ]
        found.append(group._replace(members=tuple(each for each in members if each.assignment)))
    return found


def readers(
    admin: AdminClient, named: Sequence[str], topics: Sequence[str], make: Callable[..., dict[str, Made]]
) -> tuple[list[GroupDescription], dict[str, Made], list[ItemError]]:
    """The groups that consume ``topics`` (``orders:0,2``), their rows by ``make``, and the errors.

    It searches all groups unless ``named`` contains some. ``make`` is a function of ``rows``. Members and offsets are
    limited to the topics, but a state is that of the whole group.
    """
    wanted = of_topics(parse_topics(topics))
    listed, errors = list(dict.fromkeys(named)), []
    if not named:
        found = rows.list_groups(admin, [], [])
        listed, errors = [row["group"] for row in found.rows], list(found.errors)
    groups, failures = rows.describe(admin, listed)
    groups, more = _with_readers(admin, groups, wanted)
    errors += failures + more
    if make is not rows.states:
        groups = narrowed(groups, wanted)
    if make is rows.members:
        groups = [group for group in groups if group.members]
    if not groups and not errors:
        errors = _missing(admin, topics)
        if not errors:
            whose = "none of these groups" if named else "no group"
            running.note(f"{whose} has members or offsets of {', '.join(topics)}")
    made = rows.offsets(admin, groups, wanted) if make is rows.offsets else make(admin, groups)
    return groups, made, errors


def _missing(admin: AdminClient, topics: Sequence[str]) -> list[ItemError]:
    """An error for each topic that does not exist, because the name may be misspelt."""
    _, missing = partitions_of(admin, dict.fromkeys(parse_topics(topics)))
    return [ItemError.of(f"topic {topic}", error) for topic, error in missing]


def _with_readers(
    admin: AdminClient, groups: Sequence[GroupDescription], wanted: Wanted
) -> tuple[list[GroupDescription], list[ItemError]]:
    """The groups with members or offsets there, and an error for each group whose offsets are unknown."""
    busy = {group.group_id for group in narrowed(groups, wanted) if group.members}
    others = [group.group_id for group in groups if group.group_id not in busy]
    errors = []
    for name, outcome in (admin.list_groups_offsets(dict.fromkeys(others)) if others else {}).items():
        if outcome.error is not None:
            errors.append(ItemError.of(f"offsets of group '{name}'", outcome.error))
        elif any(wanted(key) and each.value is not None for key, each in outcome.get().items()):
            busy.add(name)
    return [group for group in groups if group.group_id in busy], errors
