"""Streams groups as rows, their internal topics, and their resets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.commands import running
from kafka_tools.commands.groups import rows as group_rows
from kafka_tools.commands.groups.internal_topics import is_internal
from kafka_tools.commands.groups.resettable import (
    GroupResets,
    Offsets,
    OutsideGroup,
    Standing,
    Topics,
    not_inactive,
    standings_of,
)
from kafka_tools.errors import KafkaToolsError
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol.enums import CoordinatorGroupType, GroupState, GroupType, TopologyDescriptionStatus
from kafka_tools.values import Many, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.calls.streams_groups import StreamsAssignment, StreamsMember
    from kafka_tools.admin.client import AdminClient, StreamsGroupDescription

TYPE = CoordinatorGroupType.STREAMS
STATES = (
    GroupState.ASSIGNING,
    GroupState.DEAD,
    GroupState.EMPTY,
    GroupState.NOT_READY,
    GroupState.RECONCILING,
    GroupState.STABLE,
)


def describe(
    admin: AdminClient, groups: Sequence[str], with_topology: bool = False
) -> tuple[list[StreamsGroupDescription], list[ItemError]]:
    """The descriptions of groups, in their order, and the groups that could not be described."""
    outcomes = admin.describe_streams_groups(groups, include_topology_description=with_topology)
    running.refuse_old_brokers(outcomes)
    errors = [ItemError.of(f"group '{group}'", error) for group, error in outcomes.failures().items()]
    return list(outcomes.succeeded().values()), errors


def source_topics(group: StreamsGroupDescription) -> set[str]:
    """The source topics of the application: topics that it reads but does not write itself."""
    return {topic for part in group.subtopologies for topic in part.source_topics}


def offsets(
    admin: AdminClient, groups: Sequence[StreamsGroupDescription]
) -> tuple[dict[str, list[Row]], list[ItemError]]:
    """Group -> a row per partition that an active task reads, sorted; and an error for each failure.

    The lag of a partition without an offset is its whole log, as in Kafka's tool.
    """
    from kafka_tools.admin.calls.offsets import EARLIEST, LATEST

    readers = {group.group_id: _readers(group) for group in groups}
    keys = {key for reading in readers.values() for key in reading}
    committed = admin.list_groups_offsets({group.group_id: None for group in groups}) if groups else Outcomes(())
    starts, start_errors = group_rows.log_offsets(admin, keys, EARLIEST)
    ends, end_errors = group_rows.log_offsets(admin, keys, LATEST)
    errors = list((start_errors | end_errors).values())
    made: dict[str, list[Row]] = {}
    for name, outcome in committed.items():
        if outcome.error is not None:
            errors.append(ItemError.of(f"the offsets of group '{name}'", outcome.error))
            continue
        positions, untold = outcome.get().succeeded(), outcome.get().failures()
        errors += [ItemError.of(f"the offset of {key} of group '{name}'", error) for key, error in untold.items()]
        made[name] = []
        for key, member in sorted(readers[name].items(), key=lambda item: item[0]):
            if key not in starts or key not in ends:
                continue
            found = positions.get(key)
            row = group_rows.offset_row(name, key, found, ends[key], member)
            if found is None and key not in untold:
                row["lag"] = ends[key] - starts[key]
            made[name].append(row)
    return made, errors


def _readers(group: StreamsGroupDescription) -> dict[TopicPartition, StreamsMember]:
    read = {
        part.subtopology_id: [*part.source_topics, *(topic.name for topic in part.repartition_source_topics)]
        for part in group.subtopologies
    }
    return {
        TopicPartition(topic, number): member
        for member in group.members
        for subtopology, numbers in member.assignment.active.items()
        for topic in read.get(subtopology, ())
        for number in numbers
    }


def members(group: StreamsGroupDescription) -> list[Row]:
    """A row per member."""
    return [
        {
            "group": group.group_id,
            "member_id": member.member_id,
            "process_id": member.process_id,
            "host": member.host,
            "client_id": member.client_id,
            "protocol": "classic" if member.is_classic else "streams",
            "member_epoch": member.epoch,
            "topology_epoch": group.topology_epoch,
            "target_assignment_epoch": group.assignment_epoch,
            "tasks": _tasks(member.assignment),
            "target_tasks": _tasks(member.target_assignment),
        }
        for member in group.members
    ]


def _tasks(assignment: StreamsAssignment) -> dict[str, dict[str, list[int]]]:
    return {
        kind: {subtopology: list(numbers) for subtopology, numbers in tasks.items()}
        for kind, tasks in assignment._asdict().items()
        if tasks
    }


def state(group: StreamsGroupDescription) -> Row:
    """One row for a group."""
    return group_rows.state_row(group, type=GroupType.STREAMS, assignor=group.assignor)


def topology(group: StreamsGroupDescription) -> list[Row]:
    """A row per node of the group's topology. Raises KafkaToolsError, in the words of Kafka's tool, if it has none."""
    name, status = group.group_id, group.description_status
    if status == TopologyDescriptionStatus.NOT_STORED:
        raise KafkaToolsError(f"No topology description is stored for streams group '{name}'.")
    if status == TopologyDescriptionStatus.ERROR:
        text = f"The broker failed to fetch the topology description for streams group '{name}'."
        raise KafkaToolsError(f"{text} See the broker logs for details.")
    if status != TopologyDescriptionStatus.AVAILABLE:
        told = TopologyDescriptionStatus.word(status)
        raise KafkaToolsError(f"No topology description is available for streams group '{name}' (status: {told}).")
    return [
        {
            "group": name,
            "subtopology": part.subtopology_id,
            "global_store": part.is_global_store,
            "node": node.name,
            "type": node.kind.lower(),
            "topics": list(node.topics),
            "stores": list(node.stores),
            "successors": list(node.successors),
            "predecessors": list(node.predecessors),
        }
        for part in group.described_topology
        for node in part.nodes
    ]


def internal_topics(group: StreamsGroupDescription) -> list[str]:
    """The internal topics of the application. A topic with another form of name is left out, with a warning."""
    found = []
    sources = source_topics(group)
    for part in group.subtopologies:
        for topic in (*part.repartition_source_topics, *part.state_changelog_topics):
            if topic.name in sources or topic.name in found:
                continue
            if is_internal(topic.name, group.group_id):
                found.append(topic.name)
            else:
                running.note(
                    f"The internal topic '{topic.name}' is not inferred as internal and thus will not be deleted with "
                    f"the group '{group.group_id}'."
                )
    return found


def delete_topics(admin: AdminClient, group: str, topics: Many[str]) -> list[ItemError]:
    """Delete internal topics of a group. Returns an error for each topic that could not be deleted."""
    failures = admin.delete_topics(topics).failures()
    return [ItemError.of(f"internal topic {topic} of group '{group}'", error) for topic, error in failures.items()]


class StreamsGroupResets(GroupResets):
    """Resets of streams groups."""

    def __init__(self, admin: AdminClient) -> None:
        super().__init__(admin)
        self.described: dict[str, StreamsGroupDescription] = {}

    def standings(self, groups: Sequence[str]) -> dict[str, Standing]:
        outcomes = self.admin.describe_streams_groups(groups)
        running.refuse_old_brokers(outcomes)
        self.described = outcomes.succeeded()
        return standings_of(outcomes, not_inactive)

    def all_partitions(self, group: str, committed: Offsets) -> list[TopicPartition]:
        if group not in self.described:
            from kafka_tools.admin.calls.groups import not_found

            raise not_found(group)
        sources = source_topics(self.described[group])
        return sorted(key for key in committed if key.topic in sources)

    def named_partitions(self, groups: Sequence[str], topics: Topics) -> Outcomes[str, list[TopicPartition]]:
        named = super().named_partitions(groups, topics)
        found: list[tuple[str, Outcome[list[TopicPartition]]]] = []
        for name, outcome in self.committed(groups).items():
            error = outcome.error
            if outcome.value is not None and not outcome.value.keys() >= set(named[name].get()):
                error = OutsideGroup(f"One or more topics are not part of the group '{name}'.")
            found.append((name, named[name] if error is None else Outcome(None, error)))
        return Outcomes(found)
