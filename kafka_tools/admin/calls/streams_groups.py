"""Kafka Streams groups (KIP-1071): describe. Calls for offsets are those of other groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.groups import DescribeGroups
from kafka_tools.admin.calls.permissions import operations_of
from kafka_tools.clock import Deadline
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.enums import TopologyDescriptionStatus, TopologyNodeType
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.protocol.messages import streams_group_describe
    from kafka_tools.protocol.messages.streams_group_describe import StreamsGroupDescribeResponse

Tasks = dict[str, tuple[int, ...]]
"""Subtopology -> the numbers of its tasks, which are those of partitions."""


class StreamsAssignment(NamedTuple):
    """The tasks of a member, by subtopology."""

    active: Tasks
    standby: Tasks
    warmup: Tasks


class StreamsMember(NamedTuple):
    """One member. ``process_id`` is shared by the members of one application instance; ``user_endpoint`` is (host,
    port) where it answers interactive queries. Task offsets and ends: (subtopology, partition) -> offset."""

    member_id: str
    instance_id: str | None
    rack: str | None
    client_id: str
    host: str
    epoch: int
    topology_epoch: int
    process_id: str
    user_endpoint: tuple[str, int] | None
    client_tags: dict[str, str]
    task_offsets: dict[tuple[str, int], int]
    task_end_offsets: dict[tuple[str, int], int]
    assignment: StreamsAssignment
    target_assignment: StreamsAssignment
    is_classic: bool


class StreamsTopic(NamedTuple):
    """An internal topic that a subtopology wants; 0 partitions where that follows from its sources."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]


class Subtopology(NamedTuple):
    """A part of the application's topology that runs as one task per partition."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[StreamsTopic, ...]
    repartition_source_topics: tuple[StreamsTopic, ...]


class TopologyNode(NamedTuple):
    """A node of a topology: a source, a processor or a sink, with the names of the nodes before and after it.

    ``topics``: what a source reads (none where a pattern subscribes) or a sink writes to (none where each record
    decides). ``stores``: the state stores of a processor.
    """

    name: str
    kind: str
    topics: tuple[str, ...]
    stores: tuple[str, ...]
    successors: tuple[str, ...]
    predecessors: tuple[str, ...]


class DescribedSubtopology(NamedTuple):
    """The nodes of a subtopology, or the source and processor of a global store, which every instance has whole."""

    subtopology_id: str
    nodes: tuple[TopologyNode, ...]
    is_global_store: bool = False


class StreamsGroupDescription(NamedTuple):
    """One group. ``topology_epoch`` is None and ``subtopologies`` empty until a member has told the topology."""

    group_id: str
    state: str
    coordinator: Node
    group_epoch: int
    assignment_epoch: int
    topology_epoch: int | None
    subtopologies: tuple[Subtopology, ...]
    members: tuple[StreamsMember, ...]
    authorized_operations: tuple[str, ...] | None
    assignor: str | None = None
    """The assignor of the next assignment (KIP-1357); None before Kafka 4.4, empty where the broker names none."""
    description_status: int = TopologyDescriptionStatus.NOT_REQUESTED
    described_topology: tuple[DescribedSubtopology, ...] = ()
    """The nodes of the topology (KIP-1331), where the status is AVAILABLE."""


class DescribeStreamsGroups(DescribeGroups[StreamsGroupDescription]):
    """By StreamsGroupDescribe (4.1); ``include_topology_description``: with the nodes of its topology (4.4)."""

    name = "describe streams groups"

    include_topology_description: bool = False

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest

        versions.require(StreamsGroupDescribeRequest, 0, "describing streams groups")
        if self.include_topology_description:
            versions.require(StreamsGroupDescribeRequest, 1, "describing the topology of streams groups")
        return StreamsGroupDescribeRequest(
            group_ids=keys,
            include_authorized_operations=self.operations,
            include_topology_description=self.include_topology_description,
        )

    def description(
        self, item: StreamsGroupDescribeResponse.DescribedGroup, version: int, node: Node
    ) -> StreamsGroupDescription:
        topology = item.topology
        return StreamsGroupDescription(
            item.group_id,
            item.group_state,
            node,
            item.group_epoch,
            item.assignment_epoch,
            None if topology is None else topology.epoch,
            () if topology is None else tuple(_subtopology(part) for part in topology.subtopologies or ()),
            tuple(_member(member) for member in item.members),
            operations_of(item.authorized_operations),
            item.assignor_name or "" if version >= 1 else None,
            item.topology_description_status,
            () if item.topology_description is None else tuple(_described(item.topology_description)),
        )


def _described(item: streams_group_describe.TopologyDescription) -> Iterator[DescribedSubtopology]:
    for part in item.subtopologies:
        yield DescribedSubtopology(part.subtopology_id, _nodes(part.nodes))
    # Kafka numbers the global stores on from the subtopologies.
    for number, store in enumerate(item.global_stores, len(item.subtopologies)):
        yield DescribedSubtopology(str(number), _nodes((store.source, store.processor)), is_global_store=True)


def _nodes(items: Sequence[streams_group_describe.TopologyNode]) -> tuple[TopologyNode, ...]:
    before: dict[str, set[str]] = {}
    for item in items:
        for name in item.successors:
            before.setdefault(name, set()).add(item.name)
    return tuple(
        TopologyNode(
            item.name,
            TopologyNodeType.word(item.node_type),
            _topics(item),
            tuple(sorted(set(item.stores))),
            tuple(sorted(set(item.successors))),
            tuple(sorted(before.get(item.name, ()))),
        )
        for item in items
    )


def _topics(item: streams_group_describe.TopologyNode) -> tuple[str, ...]:
    if item.node_type == TopologyNodeType.SINK:
        return () if item.sink_topic is None else (item.sink_topic,)
    return tuple(sorted(set(item.source_topics)))


def _subtopology(item: StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology) -> Subtopology:
    return Subtopology(
        item.subtopology_id,
        tuple(item.source_topics),
        tuple(item.repartition_sink_topics),
        tuple(_topic(topic) for topic in item.state_changelog_topics),
        tuple(_topic(topic) for topic in item.repartition_source_topics),
    )


def _topic(item: streams_group_describe.TopicInfo) -> StreamsTopic:
    configs = {config.key: config.value for config in item.topic_configs}
    return StreamsTopic(item.name, item.partitions, item.replication_factor, configs)


def _member(item: StreamsGroupDescribeResponse.DescribedGroup.Member) -> StreamsMember:
    endpoint = item.user_endpoint
    return StreamsMember(
        item.member_id,
        item.instance_id,
        item.rack_id,
        item.client_id,
        item.client_host,
        item.member_epoch,
        item.topology_epoch,
        item.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        {tag.key: tag.value for tag in item.client_tags},
        _offsets(item.task_offsets),
        _offsets(item.task_end_offsets),
        _assignment(item.assignment),
        _assignment(item.target_assignment),
        item.is_classic,
    )


def _offsets(items: Sequence[streams_group_describe.TaskOffset]) -> dict[tuple[str, int], int]:
    return {(item.subtopology_id, item.partition): item.offset for item in items}


def _assignment(item: streams_group_describe.Assignment) -> StreamsAssignment:
    return StreamsAssignment(_tasks(item.active_tasks), _tasks(item.standby_tasks), _tasks(item.warmup_tasks))


def _tasks(items: Sequence[streams_group_describe.TaskIds]) -> Tasks:
    return {item.subtopology_id: tuple(sorted(item.partitions)) for item in items}
