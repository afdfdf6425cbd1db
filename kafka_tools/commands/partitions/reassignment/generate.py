"""``--generate``: a candidate assignment of partitions to brokers, by Kafka's placer or by a strategy of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import current
from kafka_tools.commands.partitions.reassignment.documents import (
    Replicas,
    log_dirs_in_order,
    read_broker_list,
    read_topics_to_move,
    reassignment_text,
)
from kafka_tools.commands.partitions.reassignment.placer import JavaRandom, StripedPlacer, UsableBroker, check_racks
from kafka_tools.commands.partitions.reassignment.plan_options import PlanningOptions, ProposalOrder
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.partitions.planning.summary import PlanSummary
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import Rows


def topics_of(planning: PlanningOptions, file: str | None) -> list[str] | None:
    """The topics of ``--topic`` or of the file; None for all. Raises InputError for an invalid file."""
    from kafka_tools.commands.options.values import read_text

    if file is not None:
        return read_topics_to_move(read_text(file, "topics file"), file)
    return list(dict.fromkeys(planning.topics)) or None


def generate(admin: AdminClient, asked: ProposalOrder) -> Rows:
    """Propose new replicas of partitions. Changes nothing.

    With named topics the proposal contains all their partitions, as in Kafka. Otherwise it contains only changed ones.
    """
    if asked.planning.is_kafkas:
        broker_ids = None if asked.broker_list is None else read_broker_list(asked.broker_list)
        assert asked.topics is not None and broker_ids is not None
        now = current.replicas_of_topics(admin, asked.topics)
        log_dirs = current.log_dirs_of(admin, now)
        proposed = striped(now, usable_brokers(admin, broker_ids, asked.rack_aware), asked.seed)
        return _shown(_Proposal(now, log_dirs, proposed), asked.say)
    proposal, summary = _planned(admin, asked)
    return _shown(proposal, asked.say)._replace(summary=summary.row())


def reassignment_file(admin: AdminClient, asked: ProposalOrder) -> str | None:
    """The reassignment file of a plan, to execute it immediately. None if nothing has to move."""
    proposal, _ = _planned(admin, asked)
    moved = {key: replicas for key, replicas in proposal.proposed.items() if replicas != proposal.now[key]}
    return reassignment_text(moved, proposal.new_dirs) if moved else None


def _planned(admin: AdminClient, asked: ProposalOrder) -> tuple[_Proposal, PlanSummary]:
    """The plan of a strategy of ours. Its summary is printed on stderr."""
    from kafka_tools.commands.partitions.reassignment.strategies import propose

    broker_ids = None if asked.broker_list is None else read_broker_list(asked.broker_list)
    survey, plan, summary = propose(admin, asked, broker_ids)
    facts = survey.facts.partitions
    now = {
        partition: each.replicas
        for partition, each in facts.items()
        if asked.topics is not None or plan.replicas[partition] != each.replicas
    }
    proposal = _Proposal(
        now,
        survey.log_dirs,
        {partition: plan.replicas[partition] for partition in now},
        {ReplicaPlace(*partition, id): path for (partition, id), path in plan.log_dirs.items()},
        {partition: facts[partition].size_bytes for partition in now},
    )
    return proposal, summary


class _Proposal(NamedTuple):
    """Partitions before and after, with the log directories of their replicas as far as known or chosen, and sizes."""

    now: Mapping[TopicPartition, Replicas]
    log_dirs: Mapping[ReplicaPlace, str]
    proposed: Mapping[TopicPartition, Replicas]
    new_dirs: Mapping[ReplicaPlace, str] | None = None
    sizes_bytes: Mapping[TopicPartition, int] | None = None


def _shown(proposal: _Proposal, say: bool) -> Rows:
    """The rows. With ``say``, both documents are printed like in Kafka's tool, and there are no rows."""
    from kafka_tools.output.rows import Rows

    kind = "proposed-reassignments"
    if not say:
        return Rows(kind, [_row(partition, proposal) for partition in sorted(proposal.now)])
    from kafka_tools.output.kafka import reassignment_text as kafka_text

    now = reassignment_text(proposal.now, proposal.log_dirs)
    running.emit(kafka_text.proposal(now, reassignment_text(proposal.proposed, proposal.new_dirs)))
    return Rows(kind, [])


def _row(partition: TopicPartition, proposal: _Proposal) -> Row:
    """The row of a partition before and after. A directory that is unknown, or not chosen, is ``any``."""
    was, replicas = proposal.now[partition], proposal.proposed[partition]
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "current_replicas": list(was),
        "current_log_dirs": log_dirs_in_order(partition, was, proposal.log_dirs),
        "replicas": list(replicas),
        "log_dirs": log_dirs_in_order(partition, replicas, proposal.new_dirs),
        "adding_replicas": [id for id in replicas if id not in was],
        "removing_replicas": [id for id in was if id not in replicas],
        "size_bytes": None if proposal.sizes_bytes is None else proposal.sizes_bytes[partition],
    }


def usable_brokers(admin: AdminClient, broker_ids: Collection[int], rack_aware: bool) -> list[UsableBroker]:
    """The live brokers of ``broker_ids``. Raises InputError if racks are used and some brokers have none."""
    racks = {node.id: node.rack for node in admin.nodes() if node.id in broker_ids}
    if rack_aware:
        check_racks(racks)
    return [UsableBroker(id, rack if rack_aware else None) for id, rack in racks.items()]


def striped(now: current.Assignment, brokers: Sequence[UsableBroker], seed: int) -> current.Assignment:
    """The partitions of each topic, by name, placed by StripedReplicaPlacer with one random generator.

    Every partition gets as many replicas as partition 0 has, as in Kafka's tool.
    """
    placer = StripedPlacer(JavaRandom(seed))
    numbers: dict[str, list[int]] = {}
    for partition in sorted(now):
        numbers.setdefault(partition.topic, []).append(partition.partition)
    proposed = {}
    for topic, found in numbers.items():
        replication_factor = len(now[TopicPartition(topic, found[0])])
        for number, replicas in zip(found, placer.place(brokers, len(found), replication_factor), strict=True):
            proposed[TopicPartition(topic, number)] = tuple(replicas)
    return proposed
