"""Offsets that transactions have committed and that do not hold yet: a marker decides (KIP-98, KIP-447).

By partition of ``__consumer_offsets`` and producer, as the markers are. Follows ``OffsetMetadataManager`` (Kafka
4.3.1), where a later plain commit of the same partition wins over an earlier one in a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.broker_embedded.coordinators.group_records import OffsetCommit
from kafka_tools.values import TopicPartition

_Owner = tuple[int, int]
"""Partition of ``__consumer_offsets`` and producer id."""
_Place = tuple[str, TopicPartition]
"""Group, and the partition whose offset it is."""


class PendingOffsets:
    """The pending offsets, by transaction and by group."""

    def __init__(self) -> None:
        self._by_owner: dict[_Owner, dict[_Place, OffsetCommit | None]] = {}
        """None: a newer commit has replaced the offset, but the transaction is still open."""
        self._by_group: dict[str, dict[TopicPartition, set[_Owner]]] = {}

    def add(self, partition: int, producer_id: int, group_id: str, at: TopicPartition, offset: OffsetCommit) -> None:
        """A transaction committed an offset."""
        owner = partition, producer_id
        self._by_owner.setdefault(owner, {})[group_id, at] = offset
        self._by_group.setdefault(group_id, {}).setdefault(at, set()).add(owner)

    def supersede(self, group_id: str, at: TopicPartition) -> None:
        """A plain commit came after what is pending for the partition."""
        for owner in self._by_group.get(group_id, {}).get(at, ()):
            self._by_owner[owner][group_id, at] = None

    def forget(self, group_id: str, at: TopicPartition) -> None:
        """The offset was deleted, in transactions too."""
        known = self._by_group.get(group_id)
        for owner in list(known.get(at, ())) if known else ():
            self._close(owner, group_id, at)

    def forget_group(self, group_id: str) -> None:
        """The group is gone."""
        for at in list(self.of(group_id)):
            self.forget(group_id, at)

    def end(self, partition: int, producer_id: int) -> list[tuple[str, TopicPartition, OffsetCommit]]:
        """The transaction is over; returns what would hold if it was committed."""
        owner = partition, producer_id
        places = dict(self._by_owner.get(owner, {}))
        for group_id, at in places:
            self._close(owner, group_id, at)
        return [(group_id, at, offset) for (group_id, at), offset in places.items() if offset is not None]

    def of(self, group_id: str) -> Iterator[TopicPartition]:
        """The partitions for which a transaction of the group's members is open."""
        return iter(self._by_group.get(group_id, ()))

    def is_open(self, group_id: str, at: TopicPartition | None = None) -> bool:
        """Whether a transaction is open for the partition, or for any of the group."""
        found = self._by_group.get(group_id, {})
        return bool(found) if at is None else at in found

    def groups(self) -> list[str]:
        """The groups for which a transaction is open."""
        return list(self._by_group)

    def clear(self) -> None:
        """The log is gone."""
        self._by_owner.clear()
        self._by_group.clear()

    def _close(self, owner: _Owner, group_id: str, at: TopicPartition) -> None:
        places = self._by_owner[owner]
        del places[group_id, at]
        if not places:
            del self._by_owner[owner]
        owners = self._by_group[group_id][at]
        owners.discard(owner)
        if not owners:
            del self._by_group[group_id][at]
            if not self._by_group[group_id]:
                del self._by_group[group_id]
