"""The offsets that groups have committed, from the records and markers of the log.

Offsets that a transaction commits become visible with its marker (``pending_offsets``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit
from kafka_tools.broker_embedded.coordinators.pending_offsets import PendingOffsets
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.values import TopicPartition


class CommittedOffsets:
    """Offsets by group and partition; ``open`` contains the offsets of open transactions."""

    def __init__(self) -> None:
        self.by_group: dict[str, dict[TopicPartition, OffsetCommit]] = {}
        self.open = PendingOffsets()

    def groups(self) -> Iterable[str]:
        """Groups that have committed offsets, including offsets of open transactions."""
        return {**self.by_group, **dict.fromkeys(self.open.groups())}

    def commit(self, group_id: str, committed: Sequence[tuple[TopicPartition, OffsetCommit]]) -> None:
        """Apply commits. There may be very many; most groups have no open transaction."""
        if self.open.is_open(group_id):
            for at, _ in committed:
                self.open.supersede(group_id, at)
        if committed:
            self.by_group.setdefault(group_id, {}).update(committed)

    def forget(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Apply tombstones of commits."""
        known, is_open = self.by_group.get(group_id, {}), self.open.is_open(group_id)
        for at in partitions:
            known.pop(at, None)
            if is_open:
                self.open.forget(group_id, at)
        if not known:
            self.by_group.pop(group_id, None)

    def transaction_ended(self, partition: int, producer_id: int, committed: bool) -> Work[None]:
        """Apply a marker of a partition of the log: commit or drop the transaction's pending offsets.

        The offsets are final when this returns; the returned work cleans up, in slices. A partition that is loading has
        no pending offsets here: loading reads its marker later.
        """
        ended, rest = self.open.end(partition, producer_id)
        for group_id, offsets in ended.items() if committed else ():
            if offsets:
                self.by_group.setdefault(group_id, {}).update(offsets)
        return rest

    def adopt(self, group_id: str, offsets: dict[TopicPartition, OffsetCommit], *, newer: bool) -> None:
        """Add offsets of a group that were read separately. With ``newer``, they override known offsets."""
        ours = self.by_group.get(group_id)
        if ours is None:
            self.by_group[group_id] = offsets
        else:
            self.by_group[group_id] = {**ours, **offsets} if newer else {**offsets, **ours}

    def drop(self, group_id: str) -> None:
        """Forget a group whose tombstones are written."""
        self.by_group.pop(group_id, None)
        self.open.forget_group(group_id)

    def drop_all(self) -> None:
        """Forget everything: the log is deleted."""
        self.by_group.clear()
        self.open.clear()
