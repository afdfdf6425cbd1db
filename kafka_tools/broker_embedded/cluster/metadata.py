"""Nodes and topics as the cluster's metadata records tell them.

State only: it changes by ``apply`` of Kafka's metadata records and never by itself, so that a replay
of the store gives the same cluster. Which records are written is decided by ``partitions.topic_changes`` and the
handlers.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.protocol.enums import INTERNAL_TOPICS
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal


class PartitionInfo(NamedTuple):
    """Where one partition lives: replicas, in-sync replicas, leader (-1 for none) and its epochs.

    Never changed, but replaced: who holds one has what was so at one moment.
    """

    partition: int
    replicas: Sequence[int]
    isr: Sequence[int]
    leader: int
    leader_epoch: int
    partition_epoch: int


class Topic:
    """A topic with its id and its partitions by number."""

    __slots__ = ("id", "name", "partitions")

    def __init__(self, name: str, topic_id: uuid.UUID) -> None:
        self.name = name
        self.id = topic_id
        self.partitions: dict[int, PartitionInfo] = {}

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class RegisteredBroker:
    """A broker of the cluster. ``endpoints``: listener name -> the host and port at which clients reach it."""

    def __init__(self, id: int, rack: str | None = None) -> None:
        self.id = id
        self.rack = rack
        self.endpoints: dict[str, tuple[str, int]] = {}


class Cluster:
    """``topics`` by name, ``topics_by_id``, ``brokers`` by id, ``controller_id``, ``cluster_id``."""

    def __init__(self, journal: Journal, cluster_id: str, broker: RegisteredBroker) -> None:
        self.cluster_id = cluster_id
        self.brokers = {broker.id: broker}
        self.controller_id = broker.id
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[uuid.UUID, Topic] = {}
        self.removed_ids: dict[uuid.UUID, str] = {}
        """The topics that are gone and may still have directories, with their names."""
        journal.on_record(TopicRecord, self._apply_topic)
        journal.on_record(PartitionRecord, self._apply_partition)
        journal.on_record(PartitionChangeRecord, self._apply_change)
        journal.on_record(RemoveTopicRecord, self._apply_remove)
        journal.on_image(self._image)

    def nodes_on(self, listener: str, local_host: str = "") -> list[Node]:
        """The nodes as a client of this listener reaches them, by id.

        A listener bound to every address tells a client the one it came to (``local_host``).
        """
        nodes = []
        for _, broker in sorted(self.brokers.items()):
            host, port = broker.endpoints.get(listener, (local_host, -1))
            nodes.append(Node(broker.id, local_host if host in ("", "0.0.0.0", "::") else host, port, broker.rack))
        return nodes

    def topic(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def partition(self, name: str, partition: int) -> PartitionInfo | None:
        topic = self.topics.get(name)
        return topic.partitions.get(partition) if topic else None

    def _apply_topic(self, record: TopicRecord) -> None:
        topic = Topic(record.name, record.topic_id)
        self.topics[record.name] = topic
        self.topics_by_id[record.topic_id] = topic

    def _apply_partition(self, record: PartitionRecord) -> None:
        topic = self.topics_by_id[record.topic_id]
        topic.partitions[record.partition_id] = PartitionInfo(
            record.partition_id,
            tuple(record.replicas),
            tuple(record.isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
        )

    def _apply_change(self, record: PartitionChangeRecord) -> None:
        """As Kafka's PartitionRegistration.merge: naming a leader starts a new leader epoch."""
        partitions = self.topics_by_id[record.topic_id].partitions
        info = partitions[record.partition_id]
        is_led_anew = record.leader != -2  # no change
        partitions[record.partition_id] = PartitionInfo(
            info.partition,
            info.replicas if record.replicas is None else tuple(record.replicas),
            info.isr if record.isr is None else tuple(record.isr),
            record.leader if is_led_anew else info.leader,
            info.leader_epoch + is_led_anew,
            info.partition_epoch + 1,
        )

    def _apply_remove(self, record: RemoveTopicRecord) -> None:
        topic = self.topics_by_id.pop(record.topic_id)
        del self.topics[topic.name]
        self.removed_ids[record.topic_id] = topic.name

    def forget_removed(self, topic_ids: Iterable[uuid.UUID]) -> None:
        """Nothing is left of these topics."""
        for topic_id in topic_ids:
            self.removed_ids.pop(topic_id, None)

    def _image(self) -> Iterator[Stored]:
        topics = [(topic.id, topic.name, list(topic.partitions.values())) for topic in self.topics.values()]
        return _records(list(self.removed_ids.items()), topics)


def _records(
    removed: Iterable[tuple[uuid.UUID, str]], topics: Iterable[tuple[uuid.UUID, str, Iterable[PartitionInfo]]]
) -> Iterator[Stored]:
    """Topics with their partitions. What is gone comes and goes: a start must know whose a directory was."""
    for topic_id, name in removed:
        yield TopicRecord(name=name, topic_id=topic_id)
        yield RemoveTopicRecord(topic_id=topic_id)
    for topic_id, name, partitions in topics:
        yield TopicRecord(name=name, topic_id=topic_id)
        for info in partitions:
            yield PartitionRecord(
                partition_id=info.partition,
                topic_id=topic_id,
                replicas=list(info.replicas),
                isr=list(info.isr),
                leader=info.leader,
                leader_epoch=info.leader_epoch,
                partition_epoch=info.partition_epoch,
            )
