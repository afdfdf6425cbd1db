"""PartitionLog: one partition's log, which a broker writes, serves and recovers.

A directory of segments in Kafka's own format (``LogSegment``), with their leader epochs and producer state. The rules
are those of Kafka's ``UnifiedLog`` and ``LocalLog``. The kernel has all acknowledged records, so ``kill -9`` loses
nothing; with ``flush_messages`` 1 they are on the disk. A caller that acknowledges only records on the disk passes an
``Unsynced``, which collects all writes that are not on the disk yet.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from kafka_tools.clock import Clock
from kafka_tools.errors import LogError
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import set_times
from kafka_tools.storage.layout import MAX_RELATIVE_OFFSET
from kafka_tools.storage.leader_epochs import LeaderEpochs
from kafka_tools.storage.log import recovery as log_recovery
from kafka_tools.storage.log.producer_snapshots import ProducerSnapshots
from kafka_tools.storage.log.reading import ReadableLog
from kafka_tools.storage.log.sealed import SealedSegments
from kafka_tools.storage.log.segment import LogSegment
from kafka_tools.storage.log.syncing import NO_DESCRIPTOR, Unsynced, force
from kafka_tools.storage.producer_files import aborted_entry, note_batch, write_snapshot
from kafka_tools.storage.producer_state import ProducerStates

log = logging.getLogger(__name__)

FOR_WANT_OF_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Temporary errors, which do not affect the data on the disk."""
_RETRY_S = 0.001
"""The minimum time between attempts of a log that waits for space: a burst of requests is one attempt."""
_NEVER = 2**63 - 1


class LogOffline(LogError):
    """A failed write has left the end of the log unknown, so the log is unavailable until a start checks it. Or the log
    was closed, and its directory may belong to another log."""


class LogConfig(NamedTuple):
    """The configs of a topic that its logs need, with Kafka's names and units."""

    segment_bytes: int = 1073741824
    segment_ms: int = 604800000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10485760
    index_interval_bytes: int = 4096
    flush_messages: int = _NEVER
    flush_ms: int = _NEVER
    retention_ms: int = 604800000
    retention_bytes: int = -1
    delete: bool = True
    """Whether ``cleanup.policy`` contains ``delete``, so that retention applies."""
    compact: bool = False
    """Whether ``cleanup.policy`` contains ``compact``."""
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _NEVER
    delete_retention_ms: int = 86400000
    file_delete_delay_ms: int = 60000
    preallocate: bool = False
    """Whether a new segment's file gets its full size immediately."""


class Appended(NamedTuple):
    """The result of an append.

    ``append_time_ms`` is -1 unless the log sets LogAppendTime. For a duplicate it is the largest timestamp of the
    existing batch, as in Kafka's response.
    """

    base_offset: int
    last_offset: int
    append_time_ms: int
    duplicate: bool = False


class PartitionLog(ReadableLog):
    """Writes, truncates and recovers the log in ``directory``; ``ReadableLog`` reads it.

    ``last_stable_offset`` is the log end, or the start of the oldest open transaction, but at least the log start:
    consumers do not wait for deleted records of a transaction. ``recovery_point`` is the offset below which everything
    is known to be on the disk.
    """

    def __init__(self, directory: str, config: LogConfig, clock: Clock, unsynced: Unsynced | None = None) -> None:
        super().__init__(directory)
        self.config = config
        self.clock = clock
        self.recovery_point = 0
        self.epochs = LeaderEpochs(directory)
        self.producers = ProducerStates()
        self.offline: str | None = None
        """The error because of which the log refuses appends, None if there is none."""
        self._retry_at_s: float | None = None
        """The time (s, monotonic clock) from which an append to a log that is offline tries again; None for never."""
        self._unflushed = 0
        self.synced_ms = clock.now_ms()
        self._retired: list[str] = []
        self._sealed = SealedSegments(directory, self.epochs.path)
        self._snapshots = ProducerSnapshots(directory)
        self._unsynced = unsynced
        self._named_to = _NEVER if unsynced is None else -1
        """The base offset of the newest segment whose name is known to be on the disk. Deletes wait for it."""
        self.closed = False
        self.lost = False
        """Whether the log is closed and offline because its files are not at their paths any more (``lose``)."""

    @classmethod
    def open(
        cls,
        directory: str,
        config: LogConfig,
        clock: Clock,
        *,
        clean: bool,
        recovery_point: int = 0,
        log_start_offset: int | None = None,
        cleaned_to: int = 0,
        kept_to: int = 0,
        unsynced: Unsynced | None = None,
    ) -> PartitionLog:
        """Open or create the log. ``clean`` is true only if the broker closed it. Otherwise the log is checked batch by
        batch from the recovery point on, and truncated at the first damage. A closed log is checked too if its last
        batch is damaged. Damage below ``kept_to`` raises CorruptBatch instead. If ``log_start_offset`` is None, it is
        taken from the leader epochs. Missing offsets are logged, except below ``cleaned_to``, up to which the log was
        compacted. With ``unsynced`` the caller flushes to the disk whatever is reported to it, and the contents of the
        log before it serves them.
        """
        try:
            os.makedirs(directory, exist_ok=True)
            opened = cls(directory, config, clock, unsynced)
            log_recovery.load(
                opened,
                clean=clean,
                recovery_point=recovery_point,
                log_start_offset=log_start_offset,
                cleaned_to=cleaned_to,
                kept_to=kept_to,
            )
        except OSError as error:
            error.filename = error.filename or directory
            raise
        if unsynced is not None:
            opened._named_to = opened.active.base_offset
        return opened

    @property
    def last_stable_offset(self) -> int:
        first_open = self.producers.first_open_offset
        return self.log_end_offset if first_open is None else max(first_open, self.log_start_offset)

    # Appending

    def append(
        self,
        buffer: bytearray | memoryview,
        *,
        leader_epoch: int,
        append_time_ms: int | None = None,
        from_client: bool = True,
        views: Sequence[BatchView] | None = None,
    ) -> Appended:
        """Give the batches in ``buffer`` (magic 2, already validated) the next offsets and write them.

        Changes ``buffer`` in place, and its ``views``, if given. With ``from_client`` a batch of an idempotent producer
        is checked: for a repeated batch, the result has its first offset and nothing is written. Raises
        OutOfOrderSequence, StaleProducerEpoch, LogOffline, or OSError from the disk. Nothing is appended then. If only
        space was missing (a full disk, a quota, descriptors), the next append may succeed.
        """
        if self.closed or self.offline:
            self._check_writable()
        if self._unsynced is not None and not self._unsynced.holds(self.segments[-1].file):
            self._check_there()
        if views is None:
            views = list(batches(buffer))
        for view in views:
            if from_client and view.producer_id >= 0:
                known = self.producers.duplicate_of(view)
                if known is not None:
                    return Appended(known.first_offset, known.last_offset, known.timestamp, True)
                self.producers.check(view, self.name)
        base_offset = next_offset = self.log_end_offset
        for view in views:
            next_offset = view.place(next_offset, leader_epoch)
        if append_time_ms is not None:
            for view in views:
                set_times(buffer, view.position, max_timestamp=append_time_ms, appended=True)
            views = [BatchView(buffer, view.position) for view in views]
        try:
            if self._must_roll(len(buffer), views[0].max_timestamp, next_offset):
                self.roll()
            if leader_epoch > self.epochs.latest or self.epochs.unsaved:
                self.epochs.begin(leader_epoch, base_offset)
                self.epochs.save()
            active = self.segments[-1]
            active.append(buffer, views, self.config.index_interval_bytes)
        except OSError as error:
            self._refused(error)
            raise
        self.log_end_offset = next_offset
        try:
            for view in views:
                self.note_producer(view, active)
            self._unflushed += next_offset - base_offset
            if self._unsynced is not None:
                self._unsynced.wrote(active.file)
            elif self._unflushed >= self.config.flush_messages:
                self.sync()
        except OSError as error:
            self.take_offline(error)
            raise
        if self.offline:
            log.info("writes to %s work again", self.name)
            self.offline = self._retry_at_s = None
        return Appended(base_offset, next_offset - 1, -1 if append_time_ms is None else append_time_ms)

    def _refused(self, error: OSError) -> None:
        """Handle a failed append. A log that waits for space logs this once, not for each refused append."""
        error.filename = error.filename or self.active.path
        if self.active.torn or error.errno not in FOR_WANT_OF_ROOM:
            self.take_offline(error)
            return
        if not self.waits_for_room:
            log.error(
                "cannot write to %s: %s. Its data is complete and is served; later writes try again",
                self.name, error,
            )  # fmt: skip
        self.offline = str(error)
        self._retry_at_s = self.clock.monotonic_s() + _RETRY_S

    @property
    def waits_for_room(self) -> bool:
        """Whether the log is offline only because the disk is full: it can be read, and tries later appends."""
        return self._retry_at_s is not None

    def _may_retry(self) -> bool:
        return self._retry_at_s is not None and self.clock.monotonic_s() >= self._retry_at_s

    def _check_writable(self) -> None:
        if self.offline and not self._may_retry():
            raise LogOffline(f"{self.name} is offline: {self.offline}", path=self.directory)
        self._check_open()

    def _check_there(self) -> None:
        """If a response promises that its records are on the disk, the log does not write to a file that has lost its
        name.

        It checks this before the first write of a round of fsyncs, and again after them (``Unsynced.take``).
        """
        why = self.segments[-1].why_gone()
        if why is not None:
            raise LogOffline(f"{self.name} is lost: {why}", path=self.directory)

    def _check_open(self) -> None:
        """Raise LogOffline for a closed log, because the files at its paths may belong to another log."""
        if self.closed:
            raise LogOffline(f"{self.name} is closed", path=self.directory)

    def take_offline(self, error: OSError) -> None:
        error.filename = error.filename or self.active.path
        self.offline, self._retry_at_s = str(error), None
        log.error(
            "%s is offline: %s. The end of its log may be damaged. Check the disk, then restart the broker, "
            "which checks the log",
            self.name, error,
        )  # fmt: skip

    def lose(self, why: str) -> None:
        """Close the log, because its files are no longer at their paths, and change no files there.

        The caller reports it.
        """
        self.lost = self.closed = True
        self.offline, self._retry_at_s = why, None
        self._snapshots.close()

    def note_producer(self, view: BatchView, segment: LogSegment | None) -> None:
        """Add a batch with final offsets to the producer state, and an aborted transaction to ``segment``'s index."""
        finished = note_batch(view, self.producers)
        if finished and not finished.committed and segment is not None:
            try:
                segment.note_aborted(aborted_entry(finished))
            except OSError as error:
                if segment is not self.active or error.errno not in FOR_WANT_OF_ROOM:
                    raise
                if len(segment.unwritten_aborted) == 1:
                    log.warning("cannot write aborted transactions of %s, keeping them in memory: %s", self.name, error)

    def epochs_seen(self, epoch: int, offset: int) -> None:
        """Add the epoch of a batch at ``offset`` that recovery has read."""
        self.epochs.assign(epoch, offset)

    def _must_roll(self, incoming_bytes: int, timestamp: int, next_offset: int) -> bool:
        active, config = self.segments[-1], self.config
        if not active.size:
            return False
        if active.size + incoming_bytes > config.segment_bytes:
            return True
        if next_offset - active.base_offset > MAX_RELATIVE_OFFSET or active.fills_index(config.segment_index_bytes):
            return True
        first = active.first_batch_timestamp()
        age_ms = timestamp - first if first >= 0 else self.clock.now_ms() - active.created_ms
        longest_ms = min(config.segment_ms, config.max_compaction_lag_ms) if config.compact else config.segment_ms
        if config.segment_jitter_ms:
            longest_ms -= int(active.roll_early * min(config.segment_jitter_ms, config.segment_ms))
        return age_ms > longest_ms

    def new_segment(self, base_offset: int) -> LogSegment:
        """An empty segment with its files."""
        preallocate_bytes = self.config.segment_bytes if self.config.preallocate else 0
        now_ms = self.clock.now_ms()
        made = LogSegment(self.directory, base_offset, created_ms=now_ms, preallocate_bytes=preallocate_bytes)
        if self._unsynced is not None:
            self._unsynced.named(self.directory)
            self._unsynced.then(partial(self._named, base_offset))
        return made

    def _named(self, base_offset: int) -> None:
        """Note that the name of a segment is on the disk."""
        self._named_to = max(self._named_to, base_offset)

    def roll(self) -> None:
        """Seal the active segment and begin a new one at the log end."""
        self._check_open()
        if self.active.base_offset == self.log_end_offset:
            return
        sealed = self.active
        sealed.seal()
        self._snapshots.write_soon(self.log_end_offset, self.producers, self._base_offsets())
        self.set_segments([*self.segments, self.new_segment(self.log_end_offset)])
        self._sealed.add(sealed, self.log_end_offset)
        if self._unsynced is not None:
            self._unsynced.then(self.sync_sealed)
        else:
            threading.Thread(target=self._sync_beside, name=f"sync {self.name}", daemon=True).start()

    def _base_offsets(self) -> set[int]:
        return {segment.base_offset for segment in self.segments}

    def _sync_beside(self) -> None:
        """Flush sealed segments on another thread, because a gigabyte takes a while and nobody waits for it."""
        try:
            self.sync_sealed()
        except OSError as error:
            if error.errno in NO_DESCRIPTOR:
                log.warning("%s: cannot flush a closed segment to the disk yet: %s", self.name, error)

    def sync_sealed(self) -> None:
        """Flush sealed segments to the disk, oldest first, and advance the recovery point.

        May be called on any thread. Raises OSError. The log is offline then, because data may be lost, unless only a
        descriptor was missing.
        """
        try:
            synced_to = self._sealed.sync(lambda segment: self.closed or segment not in self.segments)
        except OSError as error:
            if error.errno not in NO_DESCRIPTOR and not self.closed and (not self.offline or self.waits_for_room):
                self.take_offline(error)
            raise
        self.recovery_point = max(self.recovery_point, synced_to)

    # Deleting

    def delete_before(self, offset: int) -> None:
        """Move the log start offset forward to ``offset``, at most the log end. Delete whole segments before it."""
        self.check_in_range(offset)
        self.log_start_offset = offset
        self._retire_below_start()
        self.epochs.truncate_start(offset)

    def _retire_below_start(self) -> None:
        """Delete segments whose successor's name is on the disk. Otherwise a loss of power could leave neither."""
        self._check_open()
        end = min(self.log_start_offset, self._named_to)
        while len(self.segments) > 1 and self.segments[1].base_offset <= end:
            self._retire_first()

    def enforce_retention(self) -> int:
        """Delete segments that are too old or exceed the size limit. Returns their number.

        As in Kafka: by total size and then by the newest timestamp of a segment. The active segment is rolled before it
        is deleted.
        """
        self._retire_below_start()
        if not self.config.delete:
            return 0
        dropped = 0
        now_ms = self.clock.now_ms()
        spare = self.size_bytes - self.config.retention_bytes
        while self.config.retention_bytes >= 0 and self.segments[0].size <= spare and self._has_records():
            size = self.segments[0].size
            if not self._drop_first():
                return dropped
            spare -= size
            dropped += 1
        while self.config.retention_ms >= 0 and self._has_records():
            first = self.segments[0]
            age_ms = now_ms - first.largest_timestamp
            if age_ms < 0:
                first.tell_future(now_ms)
            if age_ms <= self.config.retention_ms:
                break
            if not self._drop_first():
                break
            dropped += 1
        return dropped

    def _has_records(self) -> bool:
        return len(self.segments) > 1 or self.active.size > 0

    def _drop_first(self) -> bool:
        """Delete the first segment. False if there is no space for the next one, or its name is not on the disk."""
        if len(self.segments) == 1:
            try:
                self.roll()
            except OSError as error:
                if error.errno not in FOR_WANT_OF_ROOM:
                    raise
                log.warning(
                    "%s: cannot delete its last segment until the disk has space for a new one: %s", self.name, error
                )
                return False
        if self.segments[1].base_offset > self._named_to:
            return False
        self.delete_before(max(self.segments[1].base_offset, self.log_start_offset))
        return True

    def _retire_first(self) -> None:
        """Rename the first segment to .deleted. Readers of the open file continue, and a start finishes the removal."""
        segment = self.segments[0]
        self.set_segments(self.segments[1:])
        segment.close()
        for path in segment.files():
            try:
                if os.path.exists(path):
                    os.replace(path, path + ".deleted")
                    self._retired.append(path + ".deleted")
            except OSError as error:
                log.warning("cannot rename %s for deletion: %s", path, error)
                self._retired.append(path)

    def retired(self, path: str) -> None:
        """Note a renamed file, which is deleted later."""
        self._retired.append(path)

    def take_retired(self) -> list[str]:
        """The files of segments that were retired since the last call. The caller deletes them later."""
        retired, self._retired = self._retired, []
        return retired

    # Closing

    def flush(self) -> None:
        """Write buffered index entries to the kernel."""
        self.active.flush_indexes()

    def sync(self) -> None:
        """Flush appended records to the disk. After an OSError nothing more may be acknowledged."""
        if self._unflushed:
            force(self.active.fd)
        self._unflushed = 0
        self.synced_ms = self.clock.now_ms()

    def sync_if_due(self) -> None:
        """``sync`` if ``flush_ms`` have passed since the last one; a failure takes the log offline."""
        if (not self.offline or self.waits_for_room) and self.clock.now_ms() - self.synced_ms >= self.config.flush_ms:
            try:
                self.sync()
            except OSError as error:
                self.take_offline(error)
                raise

    def close(self, *, clean: bool = True) -> bool:
        """Close the files. True if they are complete, so that the next start may trust them.

        ``clean`` completes indexes, writes the producer snapshot and flushes to the disk, as at a regular stop. Without
        it, or if that fails, the files stay as a killed process leaves them.
        """
        self.closed = True
        self._snapshots.close()
        clean = clean and not self.lost
        complete = clean and (not self.offline or self.waits_for_room)
        try:
            if clean:
                self.flush()
            if complete and self.recovery_point < self.log_end_offset:
                self.active.seal()
                write_snapshot(self.directory, self.log_end_offset, self.producers, self._base_offsets())
                self.sync_sealed()
                self.active.sync()
                self.recovery_point = self.log_end_offset
            if complete:
                self.active.give_back()
        except OSError as error:
            log.error("cannot close %s cleanly, so the next start checks it: %s", self.name, error)
            complete = False
        for segment in self.segments:
            segment.close()
        self._retired.clear()  # the next start removes them; the directory may belong to another log by then
        return complete
