"""Compares leader epochs and producer snapshots with the log during a walk over it.

Observers of ``segment_check.SegmentCheck`` that follow all segments of a partition. Both files summarize the log.
Compaction, expiry and deletion only remove data to compare, and never cause a contradiction. Sources:
``LeaderEpochFileCache``, ``ProducerStateManager`` of Kafka.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, CorruptIndex
from kafka_tools.records.batches import BatchView
from kafka_tools.records.control import read_marker
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.live import Identity, identity
from kafka_tools.storage.producer_state import MOST_OPEN, OpenTransactions
from kafka_tools.storage.segment_check import Observer, read_file
from kafka_tools.storage.snapshots import LeaderEpoch, ProducerStateEntry, read_leader_epochs, read_producers


class LeaderEpochCheck(Observer):
    """Compares a leader-epoch-checkpoint with the epochs in the batches. Reports each contradiction once."""

    def __init__(self, path: str, epochs: Sequence[LeaderEpoch], as_of: Identity | None = None) -> None:
        """``as_of``: the identity of the file that was read. A broker replaces it before it appends a new epoch."""
        self._path = path
        self._epochs = epochs
        self._as_of = as_of
        self._at = -1
        self._told: tuple[int, int] | None = None

    def batch(self, view: BatchView) -> Iterator[Finding]:
        found = view.partition_leader_epoch
        if found < 0 or not self._epochs:
            return
        known = self._known(view)
        if known is not None and known != found and self._read_again():
            known = self._known(view)
        if known is not None and known != found and (known, found) != self._told:
            self._told = known, found
            text = (
                f"has leader epoch {known} from offset {self._epochs[self._at].start_offset} on, but the log has "
                f"{found}"
            )
            yield Finding(self._path, "leader-epochs-mismatch", f"{text} at {view.base_offset}", None, view.base_offset)

    def _known(self, view: BatchView) -> int | None:
        """The epoch of a batch according to the file, None before the first epoch of the file."""
        found = view.partition_leader_epoch
        while self._at + 1 < len(self._epochs) and self._epochs[self._at + 1].start_offset <= view.last_offset:
            following = self._epochs[self._at + 1]
            if following.start_offset > view.base_offset and following.epoch != found:
                break
            self._at += 1
        return self._epochs[self._at].epoch if self._at >= 0 else None

    def _read_again(self) -> bool:
        """Read the file again if it was replaced. True if it then contains epochs."""
        try:
            now = identity(self._path)
            if now == self._as_of:
                return False
            self._as_of = now
            epochs = read_leader_epochs(self._path)
        except (OSError, CorruptIndex):
            return False  # removed with its partition; the first reading reports a damaged file
        self._epochs, self._at = epochs, -1
        return bool(epochs)


class _Last(NamedTuple):
    """The last data batch of a producer."""

    epoch: int
    last_sequence: int
    last_offset: int


class ProducerSnapshotCheck(Observer):
    """Compares each producer snapshot of a partition with the log before the snapshot's offset.

    If there are more than MOST_OPEN producers, the check forgets those that have not written for the longest time.
    """

    def __init__(self, snapshots: Sequence[tuple[int, str]], first_offset: int) -> None:
        """``snapshots``: (offset, path), ascending. ``first_offset``: the first offset of the log."""
        self._snapshots = [entry for entry in snapshots if entry[0] >= first_offset]
        self._number = 0
        self._last: dict[int, _Last] = {}
        self._open = OpenTransactions()
        self._ended: dict[int, int] = {}

    def batch(self, view: BatchView) -> Iterator[Finding]:
        yield from self._up_to(view.base_offset)
        producer = view.producer_id
        if producer < 0:
            return
        if not view.is_control:
            self._last.pop(producer, None)
            if len(self._last) >= MOST_OPEN:
                del self._last[next(iter(self._last))]
            self._last[producer] = _Last(view.producer_epoch, view.last_sequence, view.last_offset)
            if view.is_transactional and view.record_count:
                self._open.begin(producer, view.base_offset)
            return
        try:
            marker = read_marker(view)
        except CorruptBatch:
            marker = None  # the check of the transaction index reports it
        if marker is not None:
            last = self._last.get(producer)
            if last is not None and last.epoch != view.producer_epoch:
                del self._last[producer]  # after a marker with a new epoch (KIP-890), sequences start again
            self._open.end(producer)
            self._ended.pop(producer, None)
            if len(self._ended) >= MOST_OPEN:
                del self._ended[next(iter(self._ended))]
            self._ended[producer] = marker.offset

    def hole(self, start: int, end: int) -> Iterable[Finding]:
        self._open.forget()
        return ()

    def finish(self, log_end_offset: int, *, whole: bool) -> Iterator[Finding]:
        """Compare the remaining snapshots. ``whole``: there was no damage, so that the end of the log is known."""
        yield from self._up_to(log_end_offset)
        for offset, path in self._snapshots[self._number :]:
            yield from unreadable_snapshot(path)
            if whole:
                text = f"is for offset {offset}, beyond the end of the log at {log_end_offset}"
                yield Finding(path, "producer-snapshot-mismatch", text, None, offset)

    def _up_to(self, offset: int) -> Iterator[Finding]:
        while self._number < len(self._snapshots) and self._snapshots[self._number][0] <= offset:
            yield from self._compare(*self._snapshots[self._number])
            self._number += 1

    def _compare(self, offset: int, path: str) -> Iterator[Finding]:
        def finding(text: str, at: int | None) -> Finding:
            return Finding(path, "producer-snapshot-mismatch", text, None, at)

        unlisted = dict(self._open.starts)
        try:
            for state in read_producers(path):
                unlisted.pop(state.producer_id, None)
                text = self._contradiction(state)
                if text is not None:
                    yield finding(f"producer {state.producer_id}: {text}", state.last_offset)
        except CorruptIndex:
            yield from unreadable_snapshot(path)
            return
        except FileNotFoundError:
            yield Finding(path, "vanished", "was removed during the check")
            return
        except OSError as error:
            yield Finding(path, "unreadable", f"is unreadable: {error.strerror}")
            return
        for producer, start in unlisted.items():
            yield finding(
                f"does not contain producer {producer}, whose transaction from {start} on is open at {offset}", start
            )

    def _contradiction(self, state: ProducerStateEntry) -> str | None:
        last = self._last.get(state.producer_id)
        if last is not None:
            if last.last_offset > state.last_offset:
                return f"its last offset is {state.last_offset}, but {last.last_offset} in the log"
            if last.epoch > state.producer_epoch:
                return f"its epoch is {state.producer_epoch}, but {last.epoch} in the log"
            if last.last_offset == state.last_offset and last.last_sequence != state.last_sequence:
                return f"its last sequence is {state.last_sequence}, but {last.last_sequence} in the log"
        said, start = state.transaction_start, self._open.starts.get(state.producer_id)
        if start is not None and (said is None or said > start):
            told = "no open transaction" if said is None else f"a transaction open from {said} on"
            return f"it has {told}, but the log has one from {start}"
        ended = self._ended.get(state.producer_id)
        if said is not None and start is None and ended is not None and said <= ended:
            return f"its transaction from {said} on is open, but the log ends it at {ended}"
        return None


def unreadable_snapshot(path: str) -> Iterator[Finding]:
    """The finding for an unreadable producer snapshot; no finding for a readable one."""
    yield from read_file(path, "producer-snapshot", lambda: deque(read_producers(path), maxlen=0))
