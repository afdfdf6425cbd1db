"""All files of one partition's directory, compared with each other in one walk over its segments.

Knows which file is compared with which; the comparisons themselves are observers of ``segment_check.SegmentCheck``.
Sources: ``LogLoader``, ``ProducerStateManager``, ``LeaderEpochFileCache``, ``Snapshots`` of Kafka.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterator, Mapping

from kafka_tools.storage import names
from kafka_tools.storage.checkpoints import read_quorum_state
from kafka_tools.storage.findings import ERROR, Finding
from kafka_tools.storage.index_follow import OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck
from kafka_tools.storage.kraft_snapshots import KraftSnapshotCheck
from kafka_tools.storage.layout import PartitionFiles, SegmentFiles, partition_files
from kafka_tools.storage.log_state_check import LeaderEpochCheck, ProducerSnapshotCheck
from kafka_tools.storage.producer_state import OpenTransactions
from kafka_tools.storage.segment_check import Observer, SegmentCheck, read_file, read_safely
from kafka_tools.storage.snapshots import LeaderEpoch, read_leader_epochs, read_partition_metadata

_LEFT_STATES = {"delete": "is being deleted", "stray": "has no topic any more"}


class PartitionCheck:
    """One walk over a partition. ``log_end_offset`` is known when ``findings`` is through, None without a segment."""

    def __init__(self, directory: str, *, records: bool, checkpoints: Mapping[str, int]) -> None:
        """``checkpoints``: this partition's offsets in the log directory's checkpoint files, by file name."""
        self.directory = directory
        self.log_end_offset: int | None = None
        self._records = records
        self._checkpoints = checkpoints
        self._whole = True

    def findings(self) -> Iterator[Finding]:
        """What is wrong: the directory's own files first, then segment by segment, then what spans all of them."""
        try:
            files = partition_files(self.directory)
        except OSError as error:
            yield Finding(self.directory, "unreadable", f"cannot be listed: {error.strerror}")
            return
        if files.state in _LEFT_STATES:
            text = f"partition {files.partition} of {files.topic} {_LEFT_STATES[files.state]}"
            yield Finding(self.directory, "leftover-directory", text)
        epochs: list[LeaderEpoch] = []
        for path in files.others:
            yield from self._other(path, epochs)
        for path in files.leftovers:
            yield Finding(
                path, "leftover-file", f"is {os.path.splitext(path)[1][1:]}: it was being removed or replaced"
            )
        for path in files.checkpoints:
            yield from read_safely(path, KraftSnapshotCheck(path, records=self._records).findings)
        yield from self._segments(files, epochs)

    def _other(self, path: str, epochs: list[LeaderEpoch]) -> Iterator[Finding]:
        name = os.path.basename(path)
        if name == names.LEADER_EPOCHS:
            yield from read_file(path, "leader-epochs", lambda: epochs.extend(read_leader_epochs(path)))
            yield from _out_of_order(path, epochs)
        elif name == names.PARTITION_METADATA:
            yield from read_file(path, "partition-metadata", lambda: read_partition_metadata(path))
        elif name == names.QUORUM_STATE:
            yield from read_file(path, "quorum-state", lambda: read_quorum_state(path))
        elif name == names.BOOTSTRAP_CHECKPOINT:
            yield from read_safely(path, KraftSnapshotCheck(path, records=self._records).findings)
        elif name.endswith(".tmp"):
            yield Finding(path, "leftover-file", "is the unfinished new version of a file")
        else:
            yield Finding(path, "unknown-file", "is no file of Kafka's")

    def _segments(self, files: PartitionFiles, epochs: list[LeaderEpoch]) -> Iterator[Finding]:
        segments = [segment for segment in files.segments if segment.log is not None]
        for orphan in files.segments:
            if orphan.log is None:
                for orphan_path in (orphan.offset_index, orphan.time_index, orphan.txn_index):
                    if orphan_path is not None:
                        yield Finding(orphan_path, "orphan-file", "belongs to a segment whose log is not there")
        first_offset = segments[0].base_offset if segments else 0
        snapshots = [(_offset_of(path), path) for path in files.snapshots]
        producers = ProducerSnapshotCheck(sorted(snapshots), first_offset)
        across: list[Observer] = [producers]
        if epochs:
            across.append(LeaderEpochCheck(os.path.join(self.directory, names.LEADER_EPOCHS), epochs))
        transactions = OpenTransactions()
        for number, segment in enumerate(segments):
            following = segments[number + 1].base_offset if number + 1 < len(segments) else None
            yield from self._segment(segment, following, transactions, across)
        whole = self._whole and self.log_end_offset is not None
        yield from producers.finish(self.log_end_offset or 0, whole=whole)
        if self.log_end_offset is not None:
            yield from self._against_checkpoints(first_offset, self.log_end_offset)

    def _segment(
        self, segment: SegmentFiles, following: int | None, transactions: OpenTransactions, across: list[Observer]
    ) -> Iterator[Finding]:
        path, base_offset = segment.log, segment.base_offset
        assert path is not None
        if self.log_end_offset is not None and self._whole and self.log_end_offset < base_offset:
            text = f"offset {base_offset} follows {self.log_end_offset - 1}, the last one of the segment before"
            yield Finding(path, "offset-gap", text, 0, base_offset)
        check = SegmentCheck(path, base_offset=base_offset, records=self._records, open_end=following is None)

        def walk() -> Iterator[Finding]:
            observers = yield from index_observers(path, base_offset, transactions)
            yield from check.findings([*observers, *across])

        yield from read_safely(path, walk)
        self._whole = check.whole
        self.log_end_offset = max(check.next_offset, self.log_end_offset or 0)
        if following is not None and check.next_offset > following:
            text = f"reaches offset {check.next_offset - 1}; the next segment begins with {following}"
            yield Finding(path, "segment-overlap", text, None, following)

    def _against_checkpoints(self, first_offset: int, end_offset: int) -> Iterator[Finding]:
        for name, offset in self._checkpoints.items():
            if offset > end_offset:
                path = os.path.join(os.path.dirname(os.path.abspath(self.directory)), name)
                partition = os.path.basename(os.path.abspath(self.directory))
                text = f"says offset {offset} of {partition}, whose log ends at {end_offset}"
                # What was below the recovery point had reached the disk: here it is gone.
                severity = ERROR if name == names.OFFSET_CHECKPOINTS[0] and self._whole else None
                yield Finding(path, "offset-checkpoint-mismatch", text, None, offset, severity)


def index_observers(
    log_path: str, base_offset: int, transactions: OpenTransactions
) -> Generator[Finding, None, list[Observer]]:
    """The observers for the indexes beside a log; a missing offset or time index is a finding. Raises OSError."""
    stem = log_path.removesuffix(names.LOG)
    observers: list[Observer] = []
    try:
        observers.append(OffsetIndexCheck(stem + names.INDEX, base_offset, log_path))
    except FileNotFoundError:
        if os.path.exists(log_path):
            yield Finding(stem + names.INDEX, "index-missing", "the segment has no offset index")
    try:
        observers.append(TimeIndexCheck(stem + names.TIME_INDEX, base_offset))
    except FileNotFoundError:
        if os.path.exists(log_path):
            yield Finding(stem + names.TIME_INDEX, "timeindex-missing", "the segment has no time index")
    observers.append(TransactionIndexCheck(stem + names.TXN_INDEX, log_path, transactions))
    return observers


def _offset_of(path: str) -> int:
    name = names.parse_file_name(os.path.basename(path))
    assert name is not None
    return name.base_offset


def _out_of_order(path: str, epochs: list[LeaderEpoch]) -> Iterator[Finding]:
    for before, after in itertools.pairwise(epochs):
        if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
            text = (
                f"epoch {after.epoch} from {after.start_offset} on follows {before.epoch} from {before.start_offset} on"
            )
            yield Finding(path, "leader-epochs", text, None, after.start_offset)
            epochs.clear()  # nothing can be compared with these
            return
