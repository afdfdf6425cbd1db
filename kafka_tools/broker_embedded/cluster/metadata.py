"""Nodes and topics of the cluster.

Topics change only by metadata records, so that a replay of the store gives the same topics. The handlers and
``partitions.topic_changes`` decide which records are written.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kafka_tools.cluster_image.topics import Topic, Topics
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
        self._topics = Topics()
        self.topics = self._topics.by_name
        self.topics_by_id = self._topics.by_id
        self.removed_ids: dict[uuid.UUID, str] = {}
        """The ids and names of deleted topics that may still have directories."""
        journal.on_record(TopicRecord, self._topics.add)
        journal.on_record(PartitionRecord, self._topics.set_partition)
        journal.on_record(PartitionChangeRecord, self._topics.change_partition)
        journal.on_record(RemoveTopicRecord, self._apply_remove)
        journal.on_image(self._image)

    def nodes_on(self, listener: str, local_host: str = "") -> list[Node]:
        """The nodes with the addresses of this listener, sorted by id.

        A listener bound to every address returns the address that the client connected to (``local_host``).
        """
        nodes = []
        for _, broker in sorted(self.brokers.items()):
            host, port = broker.endpoints.get(listener, (local_host, -1))
            nodes.append(Node(broker.id, local_host if host in ("", "0.0.0.0", "::") else host, port, broker.rack))
        return nodes

    def topic(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def partition(self, name: str, partition: int) -> PartitionRecord | None:
        topic = self.topics.get(name)
        return topic.partitions.get(partition) if topic else None

    def _apply_remove(self, record: RemoveTopicRecord) -> None:
        self.removed_ids[record.topic_id] = self._topics.remove(record).name

    def forget_removed(self, topic_ids: Iterable[uuid.UUID]) -> None:
        """Forget deleted topics that have no directories any more."""
        for topic_id in topic_ids:
            self.removed_ids.pop(topic_id, None)

    def _image(self) -> Iterator[Stored]:
        topics = [(topic.id, topic.name, list(topic.partitions.values())) for topic in self.topics.values()]
        return _records(list(self.removed_ids.items()), topics)


def _records(
    removed: Iterable[tuple[uuid.UUID, str]], topics: Iterable[tuple[uuid.UUID, str, Iterable[PartitionRecord]]]
) -> Iterator[Stored]:
    """Deleted topics, then topics with their partitions. A start must know the directories of deleted topics."""
    for topic_id, name in removed:
        yield TopicRecord(name=name, topic_id=topic_id)
        yield RemoveTopicRecord(topic_id=topic_id)
    for topic_id, name, partitions in topics:
        yield TopicRecord(name=name, topic_id=topic_id)
        yield from partitions
