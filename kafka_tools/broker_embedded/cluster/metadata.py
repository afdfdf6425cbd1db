"""Nodes and topics as the cluster's metadata records tell them.

State only: it changes by ``apply`` of Kafka's metadata records and never by itself, so that a replay
of the store gives the same cluster. Which records are written is decided by ``partitions.topic_changes`` and the
handlers.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from kafka_tools.protocol.enums import INTERNAL_TOPICS
from kafka_tools.protocol.stored.cluster_metadata import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal


class PartitionInfo:
    """Where one partition lives: replicas, in-sync replicas, leader (-1 for none) and its epochs."""

    __slots__ = ("isr", "leader", "leader_epoch", "partition", "partition_epoch", "replicas")

    def __init__(self, partition: int, replicas: list[int], isr: list[int], leader: int, leader_epoch: int) -> None:
        self.partition = partition
        self.replicas = replicas
        self.isr = isr
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.partition_epoch = 0


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
        self.removed_ids: set[uuid.UUID] = set()
        journal.on_record(TopicRecord, self._apply_topic)
        journal.on_record(PartitionRecord, self._apply_partition)
        journal.on_record(PartitionChangeRecord, self._apply_change)
        journal.on_record(RemoveTopicRecord, self._apply_remove)

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
        info = PartitionInfo(
            record.partition_id, list(record.replicas), list(record.isr), record.leader, record.leader_epoch
        )
        info.partition_epoch = record.partition_epoch
        topic.partitions[record.partition_id] = info

    def _apply_change(self, record: PartitionChangeRecord) -> None:
        """As Kafka's PartitionRegistration.merge: naming a leader starts a new leader epoch."""
        info = self.topics_by_id[record.topic_id].partitions[record.partition_id]
        if record.isr is not None:
            info.isr = list(record.isr)
        if record.replicas is not None:
            info.replicas = list(record.replicas)
        if record.leader != -2:  # -2: no change
            info.leader = record.leader
            info.leader_epoch += 1
        info.partition_epoch += 1

    def _apply_remove(self, record: RemoveTopicRecord) -> None:
        topic = self.topics_by_id.pop(record.topic_id)
        del self.topics[topic.name]
        self.removed_ids.add(record.topic_id)
