"""Topics for consumer groups: ids, sizes, and a hash with which a group detects changes of its topics.

The hash equals Kafka's (``Utils.computeTopicHash``, ``computeGroupHash``), so that Kafka and this broker can use each
other's directories without rebalances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import pack
from typing import TYPE_CHECKING
from uuid import UUID

from kafka_tools.broker_embedded.coordinators.runtime import T, undisturbed
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.stored.cluster_metadata import PartitionRecord, RemoveTopicRecord, TopicRecord

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.group_store import GroupStore
    from kafka_tools.cluster_image.topics import Topic

_MOST_DELETED = 1000
"""The maximum number of deleted topics that are remembered. After that, groups assume that their topics changed."""


class GroupTopics:
    """``serial`` counts changes of topics; ``version`` is the offset of the last record of metadata."""

    def __init__(self, store: GroupStore) -> None:
        self._store = store
        self._journal = journal = store.runtime.journal
        self.cluster = cluster = store.runtime.cluster
        self.serial = 0
        self.newest_version = -1
        """The version of the metadata in which the last topic was created."""
        self._changed_at: dict[str, int] = {}
        """The serial of the last change of each topic, including deleted topics that are not forgotten."""
        self._forgotten_at = 0
        """The serial at the time when deleted topics were last forgotten."""
        self._hashes: dict[str, int] = {}
        journal.on_record(TopicRecord, self._apply_topic)
        journal.on_record(PartitionRecord, lambda record: self._changed(cluster.topics_by_id[record.topic_id].name))
        journal.on_record(RemoveTopicRecord, self._apply_remove_topic)

    def undisturbed(self, group_id: str, make: Callable[[], Work[T]]) -> Work[T]:
        """The result of work in slices during which neither the group nor a topic has changed."""
        return undisturbed(lambda: (self._store.seen(group_id), self.serial), make)

    @property
    def version(self) -> int:
        return self._journal.end_offset - 1

    def name(self, topic_id: UUID) -> str | None:
        """The name of a topic that exists."""
        topic = self.cluster.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def ids(self, names: Iterable[str]) -> Work[frozenset[UUID]]:
        """The ids of the topics that exist."""
        topics = self.cluster.topics
        found = []
        for name in names:
            yield
            if name in topics:
                found.append(topics[name].id)
        return frozenset(found)

    def has_changed(self, names: Iterable[str], since: int) -> bool:
        """Whether one of these topics was created, grown or deleted since ``serial`` was ``since``."""
        if since < self._forgotten_at or since < 0:
            return True
        return self.serial > since and any(self._changed_at.get(name, 0) > since for name in names)

    def prepare(self, name: str) -> None:
        """Hash a topic in advance, so that ``hash_of`` is fast."""
        if name in self.cluster.topics:
            self._hash(name)

    def hash_of(self, names: Iterable[str]) -> int:
        """The hash of the topics that exist; 0 without topics. Java sorts their ASCII names like Python."""
        present = sorted(self.cluster.topics.keys() & names)
        hashes = list(map(self._hashes.get, present))  # one fast call, since there may be ten thousand
        if None in hashes:
            hashes = [self._hash(name) for name in present]
        return _signed_hash(pack(f"<{len(hashes)}q", *hashes)) if hashes else 0

    def _hash(self, name: str) -> int:
        found = self._hashes.get(name)
        if found is None:
            found = self._hashes[name] = _signed_hash(self._bytes(self.cluster.topics[name]))
        return found

    def _bytes(self, topic: Topic) -> bytes:
        """A topic in the layout in which Kafka hashes it."""
        parts = [b"\0", pack("<QQ", topic.id.int >> 64, topic.id.int & (2**64 - 1)), _text(topic.name)]
        parts.append(pack("<i", len(topic.partitions)))
        for number in range(len(topic.partitions)):
            parts.append(pack("<i", number))
            brokers = [self.cluster.brokers.get(replica) for replica in topic.partitions[number].replicas]
            for rack in sorted(broker.rack for broker in brokers if broker is not None and broker.rack is not None):
                parts.append(pack("<i", len(rack)) + _text(rack))
        return b"".join(parts)

    def _apply_topic(self, record: TopicRecord) -> None:
        self.newest_version = self.version
        self._changed(record.name)

    def _apply_remove_topic(self, record: RemoveTopicRecord) -> None:
        self._changed(self.cluster.removed_ids[record.topic_id])
        names = self.cluster.topics
        if len(self._changed_at) > len(names) + _MOST_DELETED:
            self._changed_at = {name: serial for name, serial in self._changed_at.items() if name in names}
            self._forgotten_at = self.serial

    def _changed(self, name: str) -> None:
        self.serial += 1
        self._changed_at[name] = self.serial
        self._hashes.pop(name, None)


def _signed_hash(data: bytes) -> int:
    """XXH3 with 64 bits and seed 0 (hash4j's ``xxh3_64``), as Java has it."""
    from xxhash import xxh3_64_intdigest

    value = int(xxh3_64_intdigest(data))
    return value - 2**64 if value >> 63 else value


def _text(text: str) -> bytes:
    """A String in hash4j's encoding: its UTF-16 units, then their number."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    return encoded + pack("<i", len(encoded) // 2)
