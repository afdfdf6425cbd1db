"""Topics and their partitions, built from metadata records.

Sources: ``TopicsImage``, ``TopicsDelta`` and ``PartitionRegistration`` of Kafka.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import INTERNAL_TOPICS
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafka_tools.values import uuid_text

LEADER_RECOVERY_STATES = ("RECOVERED", "RECOVERING")
"""``LeaderRecoveryState``, by value."""
_NO_CHANGE = -1
_LEADER_STAYS = -2
_LISTS = (
    "replicas", "isr", "removing_replicas", "adding_replicas", "directories", "eligible_leader_replicas",
    "last_known_elr",
)  # fmt: skip
"""The lists of a partition that a PartitionChangeRecord may replace."""

Partitions = MutableMapping[int, PartitionRecord]
_Record = TypeVar("_Record", bound=Stored)


def replaced(record: _Record, **changes: Any) -> _Record:
    """A copy of a record with other values."""
    new = record.__class__.__new__(record.__class__)
    for name in ("unknown_tags", *record.__slots__):
        setattr(new, name, changes[name] if name in changes else getattr(record, name))
    return new


class Topic:
    """A topic with its id and its partitions by number, each as the record that results from all its records."""

    __slots__ = ("id", "name", "partitions")

    def __init__(self, name: str, id: uuid.UUID, partitions: Partitions) -> None:
        self.name = name
        self.id = id
        self.partitions = partitions

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class Topics:
    """The topics by name and by id. Most methods apply a record.

    They raise InputError, with nothing changed, for a record that contradicts the records before it.
    """

    def __init__(self, partitions: Callable[[], Partitions] = dict) -> None:
        """``partitions`` creates the mapping of a new topic's partitions."""
        self._partitions = partitions
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[uuid.UUID, Topic] = {}

    def topic(self, id: uuid.UUID) -> Topic:
        """Raises InputError for an unknown id."""
        found = self.by_id.get(id)
        if found is None:
            raise InputError(f"no topic has the id {uuid_text(id)}")
        return found

    def add(self, record: TopicRecord) -> None:
        topic = Topic(record.name, record.topic_id, self._partitions())
        self.by_id[topic.id] = self.by_name[topic.name] = topic

    def remove(self, record: RemoveTopicRecord) -> Topic:
        """Remove a topic and return it."""
        topic = self.topic(record.topic_id)
        del self.by_id[topic.id]
        if self.by_name.get(topic.name) is topic:
            del self.by_name[topic.name]
        return topic

    def set_partition(self, record: PartitionRecord) -> None:
        _check(record)
        self.topic(record.topic_id).partitions[record.partition_id] = record

    def change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self.topic(record.topic_id)
        found = topic.partitions.get(record.partition_id)
        if found is None:
            raise InputError(f"topic {topic.name} has no partition {record.partition_id}")
        lists = {name: value for name in _LISTS if (value := getattr(record, name)) is not None}
        new = replaced(found, partition_epoch=found.partition_epoch + 1, **lists)
        if record.leader_recovery_state != _NO_CHANGE:
            new.leader_recovery_state = record.leader_recovery_state
        if record.leader != _LEADER_STAYS:
            new.leader, new.leader_epoch = record.leader, found.leader_epoch + 1
        _check(new)
        topic.partitions[record.partition_id] = new


def _check(record: PartitionRecord) -> None:
    """Raise InputError for a partition that contradicts itself."""
    if not 0 <= record.leader_recovery_state < len(LEADER_RECOVERY_STATES):
        raise InputError(f"Value {record.leader_recovery_state} is not a valid leader recovery state")
    if len(record.directories) != len(record.replicas) and any(directory.int for directory in record.directories):
        raise InputError("The lengths for replicas and directories do not match.")
