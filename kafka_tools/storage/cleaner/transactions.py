"""Tracks transactions during a walk over a log, and finds markers that are no longer needed.

The rules of Kafka's ``CleanedTransactionMetadata``: records of an aborted transaction are removed. Its marker stays as
long as the walk finds one of its batches before it. Without a batch, it may be removed after its delete horizon.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from kafka_tools.protocol.enums import ControlRecordType
from kafka_tools.records.batches import BatchView
from kafka_tools.records.control import control_type
from kafka_tools.storage.indexes import AbortedTransaction


class _Aborted:
    __slots__ = ("entry", "seen")

    def __init__(self, entry: AbortedTransaction) -> None:
        self.entry = entry
        self.seen = False


class CleanedTransactions:
    """The state of one walk, batch after batch. ``kept``: the index entries of aborted transactions that stay."""

    def __init__(self) -> None:
        self._coming: list[tuple[int, AbortedTransaction]] = []
        self._aborted: dict[int, _Aborted] = {}
        self._committed: set[int] = set()
        self.kept: list[AbortedTransaction] = []

    def add_aborted(self, entries: Iterable[AbortedTransaction]) -> None:
        """Add the aborted transactions of the next segment. Later segments may repeat a transaction."""
        for entry in entries:
            heapq.heappush(self._coming, (entry.first_offset, entry))

    def may_discard(self, view: BatchView) -> bool:
        """Whether the batch belongs to an aborted transaction, or is a marker that is no longer needed.

        Raises CorruptBatch for an unreadable control batch.
        """
        self._begin_up_to(view.last_offset)
        if view.is_control:
            return self._ended_by(view)
        if not view.is_transactional:
            return False
        aborted = self._aborted.get(view.producer_id)
        if aborted is None:
            self._committed.add(view.producer_id)
            return False
        aborted.seen = True
        return True

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            entry = heapq.heappop(self._coming)[1]
            self._aborted.setdefault(entry.producer_id, _Aborted(entry))

    def _ended_by(self, view: BatchView) -> bool:
        for record in view.records():
            number = control_type(record.key)
            if number == ControlRecordType.ABORT:
                aborted = self._aborted.pop(view.producer_id, None)
                if aborted is None or not aborted.seen:
                    return True
                self.kept.append(aborted.entry)
                return False
            if number == ControlRecordType.COMMIT:
                seen = view.producer_id in self._committed
                self._committed.discard(view.producer_id)
                return not seen
            return False
        return True
