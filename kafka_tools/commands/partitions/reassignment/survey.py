"""Reads the facts of a plan from the cluster: live brokers with their disks, partitions with their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.log_dirs import LogDirs, ReplicaInfo, ReplicaPlace
from kafka_tools.commands import running
from kafka_tools.commands.partitions.planning.facts import BrokerFacts, ClusterFacts, DiskFacts, PlacedPartition
from kafka_tools.commands.partitions.reassignment import current
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.errors import KafkaToolsError
    from kafka_tools.values import Node


class Survey(NamedTuple):
    """A cluster. ``log_dirs``: replica -> its directory. ``silent``: broker that did not report its disks -> the error.

    ``running``: the number of reassignments in progress. In ``facts`` their partitions have their final replicas.
    """

    facts: ClusterFacts
    log_dirs: Mapping[ReplicaPlace, str]
    silent: Mapping[int, KafkaToolsError]
    running: int


def survey(admin: AdminClient, topics: Iterable[str] | None) -> Survey:
    """The cluster, for a plan about some topics or all (None). Every live broker may get replicas.

    Raises InputError for a topic that does not exist. A broker that is down is left out. A broker that does not report
    its disks is named on stderr.
    """
    nodes = admin.nodes()
    listed = current.reassignments(admin)
    if listed is None:
        running.note(f"warning: reassignments in progress are unknown: {current.TOO_OLD}")
    under_way = listed or {}
    if topics is None:
        now = current.replicas_of_topics(admin, [each.name for each in admin.list_topics()], all_exist=False)
    else:
        now = current.replicas_of_topics(admin, topics)
    for partition, each in under_way.items():
        if partition in now:
            now[partition] = tuple(id for id in each.replicas if id not in each.removing)
    described: dict[int, LogDirs] = {}
    silent: dict[int, KafkaToolsError] = {}
    answers = admin.describe_log_dirs([node.id for node in nodes], timeout_s=current.share_s(admin))
    for id, outcome in answers.items():
        if outcome.error is not None:
            silent[id] = outcome.error
        else:
            current.note_offline(id, outcome.get())
            described[id] = outcome.get()
    for id, error in silent.items():
        running.note(f"warning: the contents of the disks of broker {id} are unknown: {error}")
    sizes = {}
    log_dirs = {}
    for id, directories in described.items():
        for place, path, replica in current.replicas_in(id, directories):
            if not replica.is_future:  # a replica that moves between directories is in its present one
                sizes[place] = _size_bytes(replica)
                log_dirs[place] = path
    partitions = {
        partition: PlacedPartition(
            replicas, max((sizes.get(ReplicaPlace(*partition, id), 0) for id in replicas), default=0)
        )
        for partition, replicas in now.items()
    }
    brokers = {node.id: _broker(node, described.get(node.id, {}), now) for node in nodes}
    return Survey(ClusterFacts(brokers, partitions), log_dirs, silent, len(under_way))


def _size_bytes(replica: ReplicaInfo) -> int:
    """The size of a replica; 0 if a broker reports a negative size, which no plan can use."""
    return max(0, replica.size_bytes)


def _broker(node: Node, directories: LogDirs, planned: Mapping[TopicPartition, tuple[int, ...]]) -> BrokerFacts:
    disks = tuple(
        DiskFacts(
            path,
            outcome.value.usable_bytes,
            sum(map(_size_bytes, outcome.value.replicas.values())),
            not outcome.value.is_cordoned,
        )
        for path, outcome in sorted(directories.items())
        if outcome.value is not None
    )
    others = sum(
        _size_bytes(replica)
        for place, _, replica in current.replicas_in(node.id, directories)
        if node.id not in planned.get(place.topic_partition, ())
    )
    takes = not disks or any(disk.takes_replicas for disk in disks)
    return BrokerFacts(node.id, node.rack, takes, disks, others)
