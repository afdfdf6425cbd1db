"""Offsets that transactions have committed and that do not hold yet: a marker decides (KIP-98, KIP-447).

By partition of ``__consumer_offsets`` and producer, as the markers are. Follows ``OffsetMetadataManager`` (Kafka
4.3.1), where a later plain commit of the same partition wins over an earlier one in a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.broker_embedded.coordinators.group_records import OffsetCommit
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.values import TopicPartition

_Owner = tuple[int, int]
"""Partition of ``__consumer_offsets`` and producer id."""


class PendingOffsets:
    """The pending offsets, by transaction and by group."""

    def __init__(self) -> None:
        self._by_owner: dict[_Owner, dict[str, dict[TopicPartition, OffsetCommit | None]]] = {}
        """By group. None: a newer commit has replaced the offset, but the transaction is still open."""
        self._by_group: dict[str, dict[TopicPartition, set[_Owner]]] = {}

    def add(self, partition: int, producer_id: int, group_id: str, at: TopicPartition, offset: OffsetCommit) -> None:
        """A transaction committed an offset."""
        owner = partition, producer_id
        self._by_owner.setdefault(owner, {}).setdefault(group_id, {})[at] = offset
        self._by_group.setdefault(group_id, {}).setdefault(at, set()).add(owner)

    def supersede(self, group_id: str, at: TopicPartition) -> None:
        """A plain commit came after what is pending for the partition."""
        for owner in self._by_group.get(group_id, {}).get(at, ()):
            self._by_owner[owner][group_id][at] = None

    def forget(self, group_id: str, at: TopicPartition) -> None:
        """The offset was deleted, in transactions too."""
        known = self._by_group.get(group_id, {})
        for owner in known.pop(at, ()):
            of_owner = self._by_owner[owner]
            del of_owner[group_id][at]
            if not of_owner[group_id]:
                del of_owner[group_id]
            if not of_owner:
                del self._by_owner[owner]
        if not known:
            self._by_group.pop(group_id, None)

    def forget_group(self, group_id: str) -> None:
        """The group is gone."""
        for at in list(self.of(group_id)):
            self.forget(group_id, at)

    def end(self, partition: int, producer_id: int) -> dict[str, dict[TopicPartition, OffsetCommit | None]]:
        """The transaction is over; returns by group what would hold if it was committed, None for what would not."""
        owner = partition, producer_id
        ended = self._by_owner.pop(owner, {})
        for group_id, places in ended.items():
            known = self._by_group[group_id]
            for at in places:  # which may be a hundred thousand, at once
                owners = known[at]
                if len(owners) > 1:
                    owners.discard(owner)
                else:
                    del known[at]
            if not known:
                del self._by_group[group_id]
        return ended

    def of(self, group_id: str) -> Iterator[TopicPartition]:
        """The partitions for which a transaction of the group's members is open."""
        return iter(self._by_group.get(group_id, ()))

    def offsets(self, group_id: str, at: TopicPartition) -> list[OffsetCommit]:
        """What transactions have committed for a partition and no plain commit has replaced."""
        owners = self._by_group.get(group_id, {}).get(at, ())
        return [found for owner in owners if (found := self._by_owner[owner][group_id][at]) is not None]

    def is_open(self, group_id: str, at: TopicPartition | None = None) -> bool:
        """Whether a transaction is open for the partition, or for any of the group."""
        found = self._by_group.get(group_id, {})
        return bool(found) if at is None else at in found

    def groups(self) -> list[str]:
        """The groups for which a transaction is open."""
        return list(self._by_group)

    def adopt(self, other: PendingOffsets) -> Work[None]:
        """Take over, in slices, what was read apart of partitions of which nothing is known here."""
        for owner, places in other._by_owner.items():
            yield
            self._by_owner[owner] = places
        for group_id, theirs in other._by_group.items():
            yield
            ours = self._by_group.setdefault(group_id, theirs)
            if ours is not theirs:  # the topic has grown since: the group is in two partitions
                for at, owners in theirs.items():
                    yield
                    ours[at] = ours.get(at, set()) | owners

    def clear(self) -> None:
        """The log is gone."""
        self._by_owner.clear()
        self._by_group.clear()
