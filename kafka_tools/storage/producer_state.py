"""The producer state of a log: the last batches of each producer, and open transactions.

Rules of Kafka's ``ProducerStateManager``, ``ProducerAppendInfo`` and ``ProducerStateEntry`` (KIP-98). If a batch
repeats one of its producer's last five, the response contains the offset of the earlier batch. Any other batch must
follow without a gap. ``storage.log.partition_log`` stores and rebuilds the state.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.errors import LogError
from kafka_tools.records.batches import BatchView

BATCHES_TO_RETAIN = 5
"""The number of batches of a producer in which a repeated batch is recognised (Kafka's constant)."""

MOST_OPEN = 100_000
_MOST_ENDED = 64
_MOST_UNVERIFIED = _EXPIRED_AT_ONCE = 1000
_SEQUENCE_MAX = 2**31 - 1
_EPOCH_MAX = 2**15 - 1


class OutOfOrderSequence(LogError):
    """A batch does not follow the last batch of its producer."""


class StaleProducerEpoch(LogError):
    """A batch has an older epoch than its producer used before."""


class NotTransactional(LogError):
    """A producer with an open transaction in the partition wrote a batch that is not transactional."""


class FencedCoordinator(LogError):
    """A marker comes from a transaction coordinator that has been replaced."""


class KnownBatch(NamedTuple):
    """One appended batch of a producer: sequences and offsets inclusive, timestamp in milliseconds."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """One producer id: epoch, last batches (oldest first), and its open transaction, -1 without one.

    ``ProducerStates``, which tracks the open transactions, sets ``transaction_start``.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "keeping",
        "last_marker",
        "last_timestamp",
        "transaction_start",
    )

    def __init__(self, epoch: int, keeping: int = 0) -> None:
        self.keeping = keeping
        """The number of calls of ``ProducerStates.keep`` before this entry was created."""
        self.epoch = epoch
        self.batches: deque[KnownBatch] = deque(maxlen=BATCHES_TO_RETAIN)
        self.coordinator_epoch = -1
        self.last_marker = -1
        """Offset of the last marker since the log was opened."""
        self.last_timestamp = -1
        self.transaction_start = -1

    def copy(self, keeping: int) -> ProducerEntry:
        """A copy of the entry that may be changed."""
        made = ProducerEntry(self.epoch, keeping)
        made.batches.extend(self.batches)
        made.coordinator_epoch = self.coordinator_epoch
        made.last_marker = self.last_marker
        made.last_timestamp = self.last_timestamp
        made.transaction_start = self.transaction_start
        return made

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class FinishedTransaction(NamedTuple):
    """A transaction that a marker ended. Offsets are inclusive; ``last_offset`` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    committed: bool
    last_stable_offset: int


class Unverified(NamedTuple):
    """A producer whose batch waits until its partition is known to be in the transaction."""

    epoch: int
    lowest_sequence: int
    since_ms: int


class OpenTransactions:
    """First offset of each producer's open transaction, during a walk over a log.

    If more than MOST_OPEN are open at the same time, the oldest are forgotten and not checked.
    """

    def __init__(self) -> None:
        self.starts: dict[int, int] = {}
        """Producer id -> first offset."""

    def begin(self, producer_id: int, offset: int) -> None:
        """Add a transactional batch; only the first one of a transaction counts."""
        if producer_id in self.starts:
            return
        if len(self.starts) >= MOST_OPEN:
            del self.starts[next(iter(self.starts))]
        self.starts[producer_id] = offset

    def end(self, producer_id: int) -> int | None:
        """Add a marker. Returns the first offset of the transaction, None if the walk has not seen it."""
        return self.starts.pop(producer_id, None)

    def forget(self) -> None:
        """Forget all transactions: bytes were skipped, and any transaction may have ended there."""
        self.starts.clear()


class ProducerStates:
    """The producers of one log by id."""

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self._keeping = 0
        """The number of calls of ``keep``. Entries from before the last call are replaced, not changed."""
        self._unverified: dict[int, Unverified] = {}
        self._open: dict[int, int] = {}
        """Producer id -> first offset of its open transaction."""
        self._starts: list[tuple[int, int]] = []
        """A heap of (first offset, producer id). Only entries that are also in ``_open`` count. Fetches and markers
        need the oldest, and there are many producers."""

    def verifying(self, producer_id: int, epoch: int, sequence: int, now_ms: int) -> None:
        """A batch waits to be the first of a transaction here. Until it is written, later batches are refused.

        Otherwise a batch that the broker refuses temporarily would arrive again after its successors, and be out of
        order forever (``VerificationStateEntry``).
        """
        known = self._unverified.get(producer_id)
        if known is None:
            if len(self._unverified) >= _MOST_UNVERIFIED:
                del self._unverified[next(iter(self._unverified))]
            self._unverified[producer_id] = Unverified(epoch, sequence, now_ms)
        elif epoch > known.epoch or (epoch == known.epoch and sequence < known.lowest_sequence):
            self._unverified[producer_id] = known._replace(epoch=epoch, lowest_sequence=sequence)

    def keep(self) -> dict[int, ProducerEntry]:
        """The current producers, as entries that never change: another thread may read them."""
        self._keeping += 1
        return dict(self.entries)

    def add(self, producer_id: int, entry: ProducerEntry) -> None:
        """Add an entry that was stored, or replace the producer's entry by it."""
        self.entries[producer_id] = entry
        self._open.pop(producer_id, None)
        if entry.transaction_start >= 0:
            self._begin(producer_id, entry.transaction_start)

    def _begin(self, producer_id: int, offset: int) -> None:
        self._open[producer_id] = offset
        heapq.heappush(self._starts, (offset, producer_id))
        if len(self._starts) > 2 * len(self._open) + _MOST_ENDED:  # ended ones after an open one
            self._starts = [(start, open_id) for open_id, start in self._open.items()]
            heapq.heapify(self._starts)

    def duplicate_of(self, batch: BatchView) -> KnownBatch | None:
        """The batch that this one repeats, if it is among its producer's last five."""
        entry = self.entries.get(batch.producer_id)
        if entry is None or entry.epoch != batch.producer_epoch:
            return None
        first, last = batch.base_sequence, batch.last_sequence
        for known in entry.batches:
            if known.first_sequence == first and known.last_sequence == last:
                return known
        return None

    def check(self, batch: BatchView, where: object) -> None:
        """Raise an error unless a client may append this batch now.

        Raises StaleProducerEpoch, OutOfOrderSequence or NotTransactional; ``where`` names the partition in the message.
        """
        entry = self.entries.get(batch.producer_id)
        if entry is not None and batch.producer_epoch < entry.epoch:
            raise StaleProducerEpoch(
                f"epoch {batch.producer_epoch} of producer {batch.producer_id} at {where} "
                f"is older than the last one, {entry.epoch}"
            )
        if batch.is_control:
            return
        unverified = self._unverified.get(batch.producer_id)
        if unverified is not None and batch.base_sequence > unverified.lowest_sequence:
            raise OutOfOrderSequence(
                f"sequence {batch.base_sequence} of producer {batch.producer_id} at {where}: "
                f"the producer sent {unverified.lowest_sequence} first, and it is not written yet"
            )
        if entry is None:
            return  # the producer is new or its state has expired: like Kafka, accept any sequence
        if batch.producer_epoch != entry.epoch:
            if batch.base_sequence != 0:
                raise OutOfOrderSequence(
                    f"producer {batch.producer_id} began epoch {batch.producer_epoch} at {where} "
                    f"with sequence {batch.base_sequence}, not 0"
                )
        elif not _follows(entry.last_sequence, batch.base_sequence):
            raise OutOfOrderSequence(
                f"sequence {batch.base_sequence} of producer {batch.producer_id} at {where} "
                f"does not follow {entry.last_sequence}"
            )
        if entry.transaction_start >= 0 and not batch.is_transactional:
            raise NotTransactional(
                f"Expected transactional write from producer {batch.producer_id} in partition {where}"
            )

    def check_epoch(self, producer_id: int, epoch: int, where: object) -> None:
        """Raise StaleProducerEpoch if the epoch is older than the producer's newest one; ``where`` as in ``check``."""
        entry = self.entries.get(producer_id)
        if entry is not None and epoch < entry.epoch:
            raise StaleProducerEpoch(
                f"Epoch of producer {producer_id} is {epoch}, which is smaller than the last seen epoch {entry.epoch}"
            )

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int, version: int, where: object) -> None:
        """Raise an error unless a marker may end the producer's transaction, by the rules of a transaction version.

        From version 2 on, the marker has a newer epoch than the batches of the transaction. After the end of the
        transaction its marker may arrive again (KIP-1228). Raises StaleProducerEpoch or FencedCoordinator.
        """
        entry = self.entries.get(producer_id)
        if entry is None:
            return
        stale = epoch <= entry.epoch if version >= 2 else epoch < entry.epoch
        again = version >= 2 and epoch == entry.epoch and (entry.transaction_start < 0 or epoch == _EPOCH_MAX)
        if stale and not again:
            raise StaleProducerEpoch(
                f"Epoch of producer {producer_id} in {where} is {epoch}, which is {'<=' if version >= 2 else '<'} the "
                f"last seen epoch {entry.epoch} (TV{version})"
            )
        if coordinator_epoch < entry.coordinator_epoch:
            raise FencedCoordinator(
                f"Invalid coordinator epoch for producerId {producer_id} in {where}: {coordinator_epoch} (zombie), "
                f"{entry.coordinator_epoch} (current)"
            )

    def has_open(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer's transaction of this epoch has written something, and no marker has ended it."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.transaction_start >= 0 and entry.epoch == epoch

    def last_marker(self, producer_id: int) -> int:
        """Offset of the marker that ended the producer's last transaction, -1 for none since the log was opened."""
        entry = self.entries.get(producer_id)
        return -1 if entry is None else entry.last_marker

    def update(self, batch: BatchView, first_offset: int, last_offset: int, timestamp: int) -> None:
        """Add an appended data batch with the offsets that the log gave it."""
        entry = self._entry(batch.producer_id, batch.producer_epoch)
        entry.batches.append(KnownBatch(batch.base_sequence, batch.last_sequence, first_offset, last_offset, timestamp))
        entry.last_timestamp = timestamp
        if batch.is_transactional:
            self._unverified.pop(batch.producer_id, None)
        if batch.is_transactional and entry.transaction_start < 0:
            entry.transaction_start = first_offset
            self._begin(batch.producer_id, first_offset)

    def end_transaction(
        self, producer_id: int, epoch: int, coordinator_epoch: int, offset: int, timestamp: int, *, committed: bool
    ) -> FinishedTransaction | None:
        """End the producer's transaction by a marker at ``offset``. None if the transaction had written nothing."""
        entry = self._entry(producer_id, epoch)
        self._unverified.pop(producer_id, None)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_marker = offset
        entry.last_timestamp = timestamp
        start, entry.transaction_start = entry.transaction_start, -1
        if start < 0:
            return None
        del self._open[producer_id]
        stable = self.first_open_offset
        return FinishedTransaction(producer_id, start, offset, committed, offset + 1 if stable is None else stable)

    @property
    def first_open_offset(self) -> int | None:
        """The first offset of the oldest open transaction, None if there is none."""
        starts = self._starts
        while starts and self._open.get(starts[0][1]) != starts[0][0]:
            heapq.heappop(starts)
        return starts[0][0] if starts else None

    def expire(self, older_than_ms: int) -> Iterator[None]:
        """Remove producers that wrote nothing since ``older_than_ms`` (milliseconds since the epoch).

        An iterator that yields after each part of the producers, so that other work can run in between.
        """
        for number, (producer_id, entry) in enumerate(list(self.entries.items()), 1):
            is_over = entry.transaction_start < 0 and entry.last_timestamp < older_than_ms
            if is_over and self.entries.get(producer_id) is entry:
                del self.entries[producer_id]
            if not number % _EXPIRED_AT_ONCE:
                yield
        for producer_id, unverified in list(self._unverified.items()):
            if unverified.since_ms < older_than_ms:
                del self._unverified[producer_id]

    def _entry(self, producer_id: int, epoch: int) -> ProducerEntry:
        """The entry of a producer, which may be changed."""
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry(epoch, self._keeping)
        elif entry.keeping != self._keeping:
            entry = self.entries[producer_id] = entry.copy(self._keeping)
        if entry.epoch != epoch:
            entry.epoch = epoch
            entry.batches.clear()
        return entry


def _follows(last_sequence: int, next_sequence: int) -> bool:
    """Whether a sequence follows another one: 0 follows 2**31 - 1."""
    return next_sequence == (0 if last_sequence == _SEQUENCE_MAX else last_sequence + 1)
