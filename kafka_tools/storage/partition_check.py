"""Compares all files of one partition's directory with each other, in one walk over its segments.

This module decides which files to compare. Observers of ``segment_check.SegmentCheck`` compare them. Sources:
``LogLoader``, ``ProducerStateManager``, ``LeaderEpochFileCache``, ``Snapshots`` of Kafka.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from kafka_tools.errors import CorruptBatch, CorruptIndex
from kafka_tools.storage import names
from kafka_tools.storage.checkpoints import read_offset_checkpoint, read_quorum_state
from kafka_tools.storage.findings import ERROR, Finding
from kafka_tools.storage.index_follow import OffsetIndexCheck, TimeIndexCheck
from kafka_tools.storage.kraft_snapshots import KraftSnapshotCheck, NewerRecords, is_metadata_log
from kafka_tools.storage.layout import ListedAgain, PartitionFiles, SegmentFiles, partition_files
from kafka_tools.storage.live import Identity, identity, still_wrong
from kafka_tools.storage.producer_state import OpenTransactions
from kafka_tools.storage.segment import Segment
from kafka_tools.storage.segment_check import Observer, SegmentCheck, not_regular, read_file, read_safely
from kafka_tools.storage.snapshots import LeaderEpoch, read_leader_epochs, read_partition_metadata
from kafka_tools.storage.state_check import LeaderEpochCheck, ProducerSnapshotCheck
from kafka_tools.storage.transaction_index_follow import TransactionIndexCheck
from kafka_tools.values import TopicPartition

_ATTEMPTS = 3
_LEFT_STATES = {"delete": "is being deleted", "stray": "has no topic any more"}


class PartitionCheck:
    """One walk over a partition. ``log_end_offset`` is set when ``findings`` has ended; None without a segment."""

    def __init__(self, directory: str, *, records: bool, checkpoints: Mapping[str, int]) -> None:
        """``checkpoints``: this partition's offsets in the log directory's checkpoint files, by file name."""
        self.directory = directory
        self.log_end_offset: int | None = None
        self._records = records
        self._checkpoints = checkpoints
        self._whole = True
        self._ended = False
        self._epochs_as_of: Identity | None = None
        self._base_offset = 0
        """The base offset of the segment that was walked last."""
        self._listed_again = ListedAgain(directory)

    def findings(self) -> Iterator[Finding]:
        """The findings about the directory's own files, then about each segment, then about all segments together."""
        try:
            files = partition_files(self.directory)
        except FileNotFoundError:
            yield Finding(self.directory, "vanished", "was removed: the broker deleted or moved the partition")
            return
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
        try:
            # A broker writes the log before snapshots and epochs, so the segments are listed after them.
            files = partition_files(self.directory)._replace(snapshots=files.snapshots)
        except FileNotFoundError:
            yield Finding(self.directory, "vanished", "was removed: the broker deleted or moved the partition")
            return
        yield from self._segments(files, epochs)

    def _other(self, path: str, epochs: list[LeaderEpoch]) -> Iterator[Finding]:
        name = os.path.basename(path)
        if name == names.LEADER_EPOCHS:
            with contextlib.suppress(OSError):  # the read below reports it
                self._epochs_as_of = identity(path)
            yield from read_file(path, "leader-epochs", lambda: epochs.extend(read_leader_epochs(path)))
            yield from _out_of_order(path, epochs)
        elif name == names.PARTITION_METADATA:
            yield from read_file(path, "partition-metadata", lambda: read_partition_metadata(path))
        elif name == names.QUORUM_STATE:
            yield from read_file(path, "quorum-state", lambda: read_quorum_state(path))
        elif name == names.BOOTSTRAP_CHECKPOINT:
            yield from read_safely(path, KraftSnapshotCheck(path, records=self._records).findings)
        elif name.endswith(".tmp"):
            yield Finding(path, "leftover-file", "is an incomplete new version of a file")
        elif names.parse_file_name(name) is not None and is_read_with_log(path):
            return
        elif names.parse_file_name(name) is not None and (problem := not_regular(path, listed=True)) is not None:
            yield problem  # it has the name of a segment's file, but not the contents
        else:
            yield Finding(path, "unknown-file", "is unknown to Kafka")

    def _segments(self, files: PartitionFiles, epochs: list[LeaderEpoch]) -> Iterator[Finding]:
        segments = [segment for segment in files.segments if segment.log is not None]
        yield from orphans(files)
        first_offset = segments[0].base_offset if segments else 0
        snapshots = [(names.base_offset_of(path) or 0, path) for path in files.snapshots]
        producers = ProducerSnapshotCheck(sorted(snapshots), first_offset)
        across: list[Observer] = [producers]
        if epochs:
            path = os.path.join(self.directory, names.LEADER_EPOCHS)
            across.append(LeaderEpochCheck(path, epochs, self._epochs_as_of))
        transactions = OpenTransactions()
        for number, segment in enumerate(segments):
            following = segments[number + 1] if number + 1 < len(segments) else None
            yield from self._segment(segment, following, transactions, across)
        whole = self._whole and self.log_end_offset is not None
        yield from producers.finish(self.log_end_offset or 0, whole=whole)
        if self.log_end_offset is not None and self._ended:
            yield from self._against_checkpoints(self.log_end_offset)

    def _segment(
        self,
        segment: SegmentFiles,
        following: SegmentFiles | None,
        transactions: OpenTransactions,
        across: list[Observer],
    ) -> Iterator[Finding]:
        path, base_offset = segment.log, segment.base_offset
        assert path is not None
        follows = self.log_end_offset is None or self.log_end_offset >= base_offset
        if not follows and self._listed_again.has_between(self._base_offset, base_offset):
            yield from _hole(transactions, across)
        elif not follows and self._whole:
            assert self.log_end_offset is not None
            text = f"offset {base_offset} follows {self.log_end_offset - 1}, the last offset of the previous segment"
            yield Finding(path, "offset-gap", text, 0, base_offset)
        check = SegmentCheck(path, base_offset=base_offset, records=self._records, open_end=following is None)
        yield from read_safely(path, lambda: walk_segment(check, transactions, across))
        if not check.ended:  # it was removed
            yield from _hole(transactions, across)
        self._ended = check.ended
        self._whole = check.whole and check.ended
        self.log_end_offset = max(check.next_offset, self.log_end_offset or 0)
        self._base_offset = base_offset
        # Compaction merges segments: it removes the old ones before it renames the new one to take their place.
        if following is not None and check.next_offset > following.base_offset and os.path.exists(following.log or ""):
            text = f"reaches offset {check.next_offset - 1}, but the next segment begins with {following.base_offset}"
            yield Finding(path, "segment-overlap", text, None, following.base_offset)

    def _against_checkpoints(self, end_offset: int) -> Iterator[Finding]:
        for name, offset in self._checkpoints.items():
            directory = os.path.abspath(self.directory)
            path, partition = os.path.join(os.path.dirname(directory), name), os.path.basename(directory)
            if offset > end_offset and still_says(path, directory, names.partition_of_dir(partition), offset):
                text = f"contains offset {offset} of {partition}, but its log ends at {end_offset}"
                # Records below the recovery point had reached the disk, but are missing here.
                severity = ERROR if name == names.OFFSET_CHECKPOINTS[0] and self._whole else None
                yield Finding(path, "offset-checkpoint-mismatch", text, None, offset, severity)


def _hole(transactions: OpenTransactions, across: Iterable[Observer]) -> Iterator[Finding]:
    """A segment was not read: the transactions that began or ended in it are unknown."""
    transactions.forget()
    for observer in across:
        yield from observer.hole(0, 0)


def walk_segment(
    check: SegmentCheck, transactions: OpenTransactions, across: Iterable[Observer] = ()
) -> Iterator[Finding]:
    """Check a segment's log and its indexes in one walk, with ``check`` and the observers of the whole partition.

    A missing offset or time index is a finding. The indexes are opened before the log. The log must still be the file
    that was there before that, because compaction replaces the log first. Raises OSError.
    """
    for _ in range(_ATTEMPTS):
        before = identity(check.path)
        with contextlib.ExitStack() as stack:
            beside, missing = _beside(check.path, check.base_offset, transactions)
            for observer in beside:
                stack.callback(observer.close)
            segment = stack.enter_context(Segment(check.path))
            if segment.identity != before:
                continue
            yield from missing
            for observer in beside:
                if isinstance(observer, OffsetIndexCheck):
                    observer.begin(segment.size_bytes, partial(_last_offset_at, segment))
            newer = [NewerRecords(check.path)] if is_metadata_log(check.path) else []
            yield from check.findings([*beside, *across, *newer], segment)
            return
    yield Finding(check.path, "vanished", "was replaced by compaction during each attempt to read it")


def _last_offset_at(segment: Segment, position: int) -> int | None:
    """The last offset of the batch that starts at a position of a log, None if no batch starts there."""
    try:
        view = next(segment.walk(position, window_bytes=64), None)
    except CorruptBatch:
        return None
    return None if view is None else view.last_offset


def _beside(
    log_path: str, base_offset: int, transactions: OpenTransactions
) -> tuple[list[OffsetIndexCheck | TimeIndexCheck | TransactionIndexCheck], list[Finding]]:
    """The observers for the indexes of a log, and findings about missing and unreadable indexes."""
    observers: list[OffsetIndexCheck | TimeIndexCheck | TransactionIndexCheck] = []
    missing = []
    for suffix, check, what in (
        (names.INDEX, partial(OffsetIndexCheck, base_offset=base_offset), "offset index"),
        (names.TIME_INDEX, partial(TimeIndexCheck, base_offset=base_offset), "time index"),
        (names.TXN_INDEX, partial(TransactionIndexCheck, log_path=log_path, open_transactions=transactions), ""),
    ):
        path = log_path.removesuffix(names.LOG) + suffix
        try:
            observers.append(check(path))
        except FileNotFoundError:
            missing.append(Finding(path, f"{suffix[1:]}-missing", f"the segment has no {what}"))
        except OSError as error:
            missing.append(Finding(path, "unreadable", f"is unreadable: {error.strerror}"))
    return observers, missing


def is_read_with_log(path: str) -> bool:
    """Whether a path is an index whose log exists. The check of the log then reports an unreadable index."""
    stem, suffix = os.path.splitext(path)
    return suffix in (names.INDEX, names.TIME_INDEX, names.TXN_INDEX) and os.path.isfile(stem + names.LOG)


def orphans(files: PartitionFiles) -> Iterator[Finding]:
    """Indexes without a log. A running broker removes the files of a segment one by one, so the check waits."""
    left = {
        path: path[: path.rindex(".")] + names.LOG
        for segment in files.segments
        if segment.log is None
        for path in (segment.offset_index, segment.time_index, segment.txn_index)
        if path is not None
    }

    def some_are_left() -> bool:
        for path, log in list(left.items()):
            if os.path.exists(log) or not os.path.exists(path):
                del left[path]
        return bool(left)

    if still_wrong(files.directory, some_are_left):
        for path in left:
            yield Finding(path, "orphan-file", "belongs to a segment whose log is missing")


def still_says(checkpoint: str, directory: str, partition: TopicPartition, offset: int) -> bool:
    """Whether a checkpoint file still contains ``offset``, and for the partition that is now in ``directory``.

    A topic may be deleted and created again with the same name while both are read. True if this is unknown.
    """
    try:
        if os.stat(os.path.join(directory, names.PARTITION_METADATA)).st_mtime_ns >= os.stat(checkpoint).st_mtime_ns:
            return False
    except OSError:
        pass  # brokers before 2.8 do not store when a partition was created
    try:
        return read_offset_checkpoint(checkpoint).get(partition) == offset
    except (OSError, CorruptIndex):
        return True


def _out_of_order(path: str, epochs: list[LeaderEpoch]) -> Iterator[Finding]:
    for before, after in itertools.pairwise(epochs):
        if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
            text = (
                f"epoch {after.epoch} from offset {after.start_offset} follows epoch {before.epoch} from offset "
                f"{before.start_offset}"
            )
            yield Finding(path, "leader-epochs", text, None, after.start_offset)
            epochs.clear()  # nothing can be compared with these
            return
