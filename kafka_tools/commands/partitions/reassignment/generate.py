"""``--generate``: a candidate assignment of topics to brokers, by Kafka's placer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment import current
from kafka_tools.commands.partitions.reassignment.documents import (
    ANY_LOG_DIR,
    read_broker_list,
    read_topics_to_move,
    reassignment_text,
)
from kafka_tools.commands.partitions.reassignment.placer import JavaRandom, StripedPlacer, UsableBroker
from kafka_tools.errors import InputError
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.rows import Rows


def generate(
    admin: AdminClient, text: str, place: str, broker_list: str, *, rack_aware: bool, seed: int, say: bool
) -> Rows:
    """Propose where the partitions of the topics in a topics-to-move file (``text``) go; changes nothing."""
    from kafka_tools.admin.calls.log_dirs import ReplicaPlace
    from kafka_tools.output.kafka import reassignment_text as kafka_text
    from kafka_tools.output.rows import Rows

    broker_ids = read_broker_list(broker_list)
    topics = read_topics_to_move(text, place)
    now = current.replicas_of_topics(admin, topics)
    log_dirs = current.log_dirs_of(admin, now)
    proposed = striped(now, usable_brokers(admin, broker_ids, rack_aware), seed)
    if say:
        running.emit(kafka_text.proposal(reassignment_text(now, log_dirs), reassignment_text(proposed)))
    rows = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "current_replicas": list(now[partition]),
            "current_log_dirs": [log_dirs.get(ReplicaPlace(*partition, id), ANY_LOG_DIR) for id in now[partition]],
            "replicas": list(proposed[partition]),
        }
        for partition in sorted(now)
    ]
    return Rows("proposed-reassignments", rows)


def usable_brokers(admin: AdminClient, broker_ids: Collection[int], rack_aware: bool) -> list[UsableBroker]:
    """The brokers of ``broker_ids`` that are alive; InputError if racks matter and some brokers have none."""
    nodes = [node for node in admin.nodes() if node.id in broker_ids]
    usable = [UsableBroker(node.id, node.rack if rack_aware else None) for node in nodes]
    without = [broker.id for broker in usable if broker.rack is None]
    if rack_aware and without and len(without) < len(usable):
        raise InputError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information.",
            hint=f"without a rack: broker {', '.join(map(str, without))}",
        )
    return usable


def striped(now: current.Assignment, brokers: Sequence[UsableBroker], seed: int) -> current.Assignment:
    """The partitions of each topic, by name, placed by StripedReplicaPlacer with one source of chance.

    Every partition gets as many replicas as partition 0 has, as from Kafka's tool.
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
