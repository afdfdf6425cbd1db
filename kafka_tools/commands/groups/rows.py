"""Consumer groups as rows: listing, offsets with lag, members, state.

Consumer groups are groups of type consumer, and classic groups whose protocol type is ``consumer`` or empty (a simple
group, which only has offsets). Connect and other groups are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.calls.records import by_topic
from kafka_tools.admin.outcomes import Listing, Outcomes
from kafka_tools.commands import running
from kafka_tools.commands.groups.holders import is_blocked, named
from kafka_tools.errors import KafkaToolsError, NotFound, UsageError
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE, CoordinatorGroupType, GroupState, GroupType, unknown_word
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.calls.streams_groups import StreamsMember
    from kafka_tools.admin.client import (
        AdminClient,
        CommittedOffset,
        GroupDescription,
        GroupListing,
        MemberDescription,
        StreamsGroupDescription,
    )

STATES = (
    GroupState.EMPTY,
    GroupState.STABLE,
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.ASSIGNING,
    GroupState.RECONCILING,
    GroupState.DEAD,
)
_KNOWN_STATES = (*STATES, GroupState.NOT_READY)
TYPES = (GroupType.CLASSIC, GroupType.CONSUMER)
_REBALANCING = (
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.ASSIGNING,
    GroupState.RECONCILING,
)

Made = tuple[list[Row], list[ItemError]]


def parse_states(text: str, known: Sequence[str] = STATES) -> list[str]:
    """The states of ``--state``; empty for ``*``. Raises UsageError for a word that is not a state of these groups."""
    return _parse_words(text, known, "Invalid state list '{}'. Valid states are: ")


def parse_types(text: str) -> list[str]:
    """The group types of ``--type``; empty for ``*``."""
    return _parse_words(text, TYPES, "Invalid types list '{}'. Valid types are: ")


def list_groups(admin: AdminClient, states: list[str], types: list[str]) -> Rows:
    """The consumer groups of all brokers, sorted. A broker that could not list its groups is an error."""
    return _listed(admin.list_groups(states, types), _is_consumer_group)


def _is_consumer_group(group: GroupListing) -> bool:
    if group.type == CoordinatorGroupType.CONSUMER:
        return True
    return group.type in (None, CoordinatorGroupType.CLASSIC) and group.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")


def list_of_type(admin: AdminClient, states: list[str], group_type: str) -> Rows:
    """The groups of one type of all brokers, sorted."""
    return _listed(admin.list_groups(states, [group_type]), lambda each: each.type == group_type)


def _listed(listings: Listing[GroupListing], is_wanted: Callable[[GroupListing], bool]) -> Rows:
    rows: list[Row] = [
        {"group": each.group_id, "type": _capital(each.type), "state": state_word(each.state)}
        for each in filter(is_wanted, listings)
    ]
    return Rows("groups", rows, not_listed(listings))


def not_listed(listings: Listing[GroupListing]) -> list[ItemError]:
    """An error for each broker that could not list its groups."""
    return [ItemError.of(getattr(error, "node", None) or "a broker", error) for error in listings.errors]


def finish_listing(admin: AdminClient, result: Rows, output_format: str | None) -> int:
    """End ``--list``. An empty list may mean that the principal may not describe the groups."""
    if not result.rows and not result.errors:
        from kafka_tools.commands import rights

        rights.note_if_limited(admin, "groups", "Describe on a group, or on the cluster for all of them")
    return running.finish(result, output_format, "cannot list the groups of")


def describe(admin: AdminClient, groups: Sequence[str]) -> tuple[list[GroupDescription], list[ItemError]]:
    """The descriptions of groups, sorted by id, and the groups that could not be described."""
    outcomes = admin.describe_groups(groups)
    errors = [ItemError.of(f"group '{group}'", each.error) for group, each in outcomes.items() if each.error]
    found = [each.get() for each in outcomes.values() if each.error is None]
    return sorted(found, key=lambda group: group.group_id), errors


def refused_for_members(admin: AdminClient, failures: Mapping[str, KafkaToolsError]) -> list[ItemError]:
    """An error for each group that could not be deleted, with its members if it has some."""
    busy = [name for name, error in failures.items() if is_blocked(error)]
    described = admin.describe_groups(busy).succeeded() if busy else {}
    errors = []
    for name, error in failures.items():
        found = ItemError.of(f"group '{name}'", error)
        held = named(described[name].members) if name in described else ""
        errors.append(found._replace(message=f"{found.message}.{held}") if held else found)
    return errors


def warn_of_state(group: GroupDescription) -> None:
    """Print the line of Kafka's tool on stderr about a group that is not stable."""
    if group.state == GroupState.EMPTY:
        running.note(f"\nConsumer group '{group.group_id}' has no active members.")
    elif group.state in _REBALANCING:
        running.note(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.")


def offsets(
    admin: AdminClient, groups: Sequence[GroupDescription], wanted: Callable[[TopicPartition], bool] | None = None
) -> dict[str, Made]:
    """A row per assigned partition, the busiest member first, then one per partition that only has an offset.

    The requests are for all groups together: one per coordinator and one per partition leader. Only offsets of
    ``wanted`` partitions count.
    """
    fetched = admin.list_groups_offsets({group.group_id: None for group in groups}) if groups else {}
    committed = {
        name: Outcomes((key, each) for key, each in outcome.get().items() if wanted is None or wanted(key))
        for name, outcome in fetched.items()
        if outcome.error is None
    }
    assigned = {group.group_id: {key for member in group.members for key in member.assignment} for group in groups}
    from kafka_tools.admin.calls.offsets import LATEST

    ends, end_errors = log_offsets(
        admin, {key for each in (*committed.values(), *assigned.values()) for key in each}, LATEST
    )
    made: dict[str, Made] = {}
    for group in groups:
        name = group.group_id
        failure = fetched[name].error
        if failure is not None:
            made[name] = ([], [ItemError.of(f"offsets of group '{name}'", failure)])
            continue
        outcomes = committed[name]
        errors = [ItemError.of(key, error) for key, error in outcomes.failures().items()]
        errors += [end_errors[key] for key in sorted({*outcomes, *assigned[name]} & end_errors.keys())]
        positions = {key: value for key, value in outcomes.succeeded().items() if value is not None}
        made[name] = (_offset_rows(group, positions, ends), errors)
    return made


def _offset_rows(
    group: GroupDescription, positions: Mapping[TopicPartition, CommittedOffset], ends: Mapping[TopicPartition, int]
) -> list[Row]:
    members = sorted(group.members, key=lambda member: -len(member.assignment))
    owners: list[tuple[TopicPartition, MemberDescription | None]]
    owners = [(key, member) for member in members for key in sorted(member.assignment)]
    owners += [(key, None) for key in sorted(positions.keys() - {key for key, _ in owners})]
    return [offset_row(group.group_id, key, positions.get(key), ends.get(key), member) for key, member in owners]


def members(admin: AdminClient, groups: Sequence[GroupDescription]) -> dict[str, Made]:
    """A row per member."""
    return {group.group_id: ([_member_row(group, member) for member in group.members], []) for group in groups}


def _member_row(group: GroupDescription, member: MemberDescription) -> Row:
    return {
        "group": group.group_id,
        "consumer_id": member.member_id,
        "group_instance_id": member.instance_id,
        "host": member.host,
        "client_id": member.client_id,
        "assignment": by_topic(sorted(member.assignment)),
        "current_epoch": member.epoch,
        "target_epoch": group.assignment_epoch if member.target_assignment is not None else None,
        "target_assignment": by_topic(sorted(member.target_assignment or ())),
        "upgraded": member.upgraded,
    }


def states(admin: AdminClient, groups: Sequence[GroupDescription]) -> dict[str, Made]:
    """One row per group: state, coordinator, assignor, number of members."""
    return {
        group.group_id: ([state_row(group, type=_capital(group.type), assignor=group.protocol or None)], [])
        for group in groups
    }


def state_row(group: GroupDescription | StreamsGroupDescription, *, type: str, assignor: str | None) -> Row:
    """The row of a group's state."""
    return {
        "group": group.group_id,
        "type": type,
        "state": state_word(group.state),
        "assignor": assignor,
        "coordinator": {"id": group.coordinator.id, "host": group.coordinator.host, "port": group.coordinator.port},
        "group_epoch": group.group_epoch,
        "target_assignment_epoch": group.assignment_epoch,
        "members": len(group.members),
    }


def offset_row(
    group: str,
    key: TopicPartition,
    committed: CommittedOffset | None,
    end: int | None,
    member: MemberDescription | StreamsMember | None,
) -> Row:
    """The row of a partition with an offset of the group, or assigned to ``member``."""
    return {
        "group": group,
        "topic": key.topic,
        "partition": key.partition,
        "leader_epoch": None if committed is None else committed.leader_epoch,
        "current_offset": None if committed is None else committed.offset,
        "log_end_offset": end,
        "lag": None if committed is None or end is None else end - committed.offset,
        "consumer_id": None if member is None else member.member_id,
        "host": None if member is None else member.host,
        "client_id": None if member is None else member.client_id,
    }


def state_word(text: str | None) -> str:
    """A state in the form of Kafka's tools. Missing and unknown states are Unknown (GroupState.parse)."""
    known = next((state for state in _KNOWN_STATES if state.lower() == (text or "").lower()), None)
    return known or unknown_word(text)


def _capital(group_type: str | None) -> str:
    """A group type in the form of Kafka's tools: ``Classic``."""
    return group_type.capitalize() if group_type else "Unknown"


def log_offsets(
    admin: AdminClient, keys: set[TopicPartition], spec: int
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, ItemError]]:
    """Log end offsets, or the offsets for ``spec``. A partition of a deleted topic has none, and does not fail the
    others."""
    if not keys:
        return {}, {}
    outcomes = admin.list_offsets(dict.fromkeys(sorted(keys), spec))
    errors = {}
    for key, error in outcomes.failures().items():
        if isinstance(error, NotFound):
            running.note(f"{key} no longer exists: its end offset and lag are unknown")
        else:
            errors[key] = ItemError.of(key, error)
    return {key: value.offset for key, value in outcomes.succeeded().items()}, errors


def _parse_words(text: str, known: Sequence[str], complaint: str) -> list[str]:
    if text == "*":
        return []
    by_lower = {word.lower(): word for word in known}
    words = [word.strip().lower() for word in text.split(",")]
    if any(word not in by_lower for word in words):
        raise UsageError(complaint.format(text) + ", ".join(known))
    return [by_lower[word] for word in words]
