"""What groups have committed, as the log says it: records and markers in, offsets out.

Offsets that transactions committed hold once their marker is there (``pending_offsets``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit
from kafka_tools.broker_embedded.coordinators.pending_offsets import PendingOffsets
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.values import TopicPartition


class CommittedOffsets:
    """Offsets by group and partition; ``open`` are those of transactions that have not ended."""

    def __init__(self) -> None:
        self.by_group: dict[str, dict[TopicPartition, OffsetCommit]] = {}
        self.open = PendingOffsets()

    def groups(self) -> Iterable[str]:
        """Groups that have committed something, be it in a transaction that is open."""
        return {**self.by_group, **dict.fromkeys(self.open.groups())}

    def commit(self, group_id: str, committed: Sequence[tuple[TopicPartition, OffsetCommit]]) -> None:
        """Records of commits. They may be very many, and most have no open transaction to look at."""
        if self.open.is_open(group_id):
            for at, _ in committed:
                self.open.supersede(group_id, at)
        if committed:
            self.by_group.setdefault(group_id, {}).update(committed)

    def forget(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Tombstones of commits."""
        known, is_open = self.by_group.get(group_id, {}), self.open.is_open(group_id)
        for at in partitions:
            known.pop(at, None)
            if is_open:
                self.open.forget(group_id, at)
        if not known:
            self.by_group.pop(group_id, None)

    def transaction_ended(self, partition: int, producer_id: int, committed: bool) -> Work[None]:
        """A marker was written, or read, in a partition of the log: what was pending there holds now, or never will.

        That is so when this returns; what is returned is left to do, in slices. Nothing is known of a partition that is
        loading: its marker is read with the rest.
        """
        ended, rest = self.open.end(partition, producer_id)
        for group_id, offsets in ended.items() if committed else ():
            if offsets:
                self.by_group.setdefault(group_id, {}).update(offsets)
        return rest

    def adopt(self, group_id: str, offsets: dict[TopicPartition, OffsetCommit], *, newer: bool) -> None:
        """Take over what was read apart of a group. ``newer``: it holds where both know a partition."""
        ours = self.by_group.get(group_id)
        if ours is None:
            self.by_group[group_id] = offsets
        else:
            self.by_group[group_id] = {**ours, **offsets} if newer else {**offsets, **ours}

    def drop(self, group_id: str) -> None:
        """The group is gone, and its tombstones are written."""
        self.by_group.pop(group_id, None)
        self.open.forget_group(group_id)

    def drop_all(self) -> None:
        """The log is gone."""
        self.by_group.clear()
        self.open.clear()
