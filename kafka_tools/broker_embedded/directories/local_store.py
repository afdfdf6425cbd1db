"""The store of the cluster's state on disk: Kafka's metadata records in ``__cluster_metadata-0``.

The log has Kafka's format (``metadata/src/main/resources/common/metadata``, frame version 1 before each record), so
Kafka's own dump tool prints it with ``--cluster-metadata-decoder``. Snapshots of the state (``snapshots``) are next to
it, and the log before them is deleted.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.cluster.store import LEADER_EPOCH
from kafka_tools.broker_embedded.directories.snapshots import StateSnapshots
from kafka_tools.broker_embedded.directories.state_checks import MEND
from kafka_tools.clock import Clock
from kafka_tools.errors import LogError, WireError
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.primitives import read_unsigned_varint
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import RECORDS
from kafka_tools.records.build import build_batch
from kafka_tools.records.framing import FRAME_VERSION, frame
from kafka_tools.storage.kraft_snapshots import read_kraft_snapshot
from kafka_tools.storage.log.partition_log import FOR_WANT_OF_ROOM, LogConfig, PartitionLog
from kafka_tools.storage.log.syncing import Unsynced, force, sync_directory, sync_file
from kafka_tools.storage.names import METADATA_DIRECTORY

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.slices import Slices, Work
    from kafka_tools.storage.log.file_range import OpenFile

log = logging.getLogger(__name__)

_MOST_AT_ONCE = 1000
"""Maximum number of records in one batch."""
_VERSIONS = {"RegisterBrokerRecord": 3, "PartitionRecord": 1, "PartitionChangeRecord": 1}
"""Record versions to write instead of the newest ones, so that older tools can read the log."""


class LocalStore:
    """A ClusterStore in ``data_dir``. One change is one batch, which is atomic because of its CRC."""

    def __init__(
        self,
        data_dir: str,
        clock: Clock,
        *,
        clean: bool,
        directory: str = METADATA_DIRECTORY,
        unsynced: Unsynced | None = None,
        kept_to: int = 0,
    ) -> None:
        """``directory``: the name of the log's directory in ``data_dir``. ``kept_to``: recovery truncates nothing below
        this offset. Raises LogError or OSError."""
        self._clock = clock
        self._unsynced = unsynced
        directory = os.path.join(data_dir, directory)
        _make_private(directory)
        self._snapshots = StateSnapshots(directory)
        try:
            self._log = PartitionLog.open(
                directory,
                LogConfig(delete=False),
                clock,
                clean=clean,
                recovery_point=self._snapshots.reached,
                unsynced=unsynced,
                kept_to=kept_to,
            )
        except LogError as error:
            error.hint = error.hint or MEND
            raise
        self._last_ms = -1
        """When the last record was appended (epoch, ms)."""
        self._retired: list[str] = []
        self.bytes_since_snapshot = 0
        """The size of the batches after the newest snapshot, or after the one that is being written."""

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def log(self) -> PartitionLog:
        """The metadata log."""
        return self._log

    @property
    def last_ms(self) -> int:
        """When the last record was appended (ms since 1970); -1 if there is none."""
        return self._last_ms

    def forcing(self) -> Callable[[], None]:
        """A function, for any thread, that flushes everything appended so far to the disk. It raises OSError."""
        directory, paths = self._log.directory, [segment.path for segment in self._log.segments]

        def force() -> None:
            for path in paths:
                with contextlib.suppress(FileNotFoundError):  # the segment was deleted meanwhile
                    sync_file(path)
            sync_directory(directory)

        return force

    def append(self, records: Sequence[Stored]) -> None:
        now_ms = self._clock.now_ms()
        rows = [(now_ms, None, encode_record(record), ()) for record in records]
        batch = build_batch(rows, leader_epoch=LEADER_EPOCH)
        self._log.append(bytearray(batch), leader_epoch=LEADER_EPOCH, from_client=False)
        self.bytes_since_snapshot += len(batch)
        self._last_ms = now_ms

    def append_all(self, records: Iterable[Stored]) -> None:
        """Append any number of records, in several batches: not atomic."""
        rest = iter(records)
        while batch := list(islice(rest, _MOST_AT_ONCE)):
            self.append(batch)

    def sync(self) -> None:
        try:
            self._log.sync()
        except OSError as error:
            self._log.take_offline(error)
            raise

    def replay(self) -> Iterator[Stored]:
        """The records of the newest snapshot, then those of the log after it.

        Raises OSError; LogError if records are missing or damaged.
        """
        try:
            yield from self._replay()
        except LogError as error:
            error.hint = error.hint or MEND
            raise

    def _replay(self) -> Iterator[Stored]:
        directory, log_start, log_end = self._log.directory, self._log.log_start_offset, self._log.log_end_offset
        reached = self._snapshots.reached
        if log_end < reached:
            text = (
                f"the cluster metadata in {directory} ends at offset {log_end}, but its newest snapshot ends at "
                f"{reached}"
            )
            raise LogError(f"{text}: its last files and the changes after them are missing", path=directory)
        newest = self._snapshots.newest_sound()
        next_offset = newest.end_offset if newest is not None else 0
        if log_start > next_offset:
            text = f"the cluster metadata in {directory} begins at offset {log_start}"
            raise LogError(f"{text}, and no valid snapshot contains the changes before it", path=directory)
        if newest is not None:
            self._last_ms = self._snapshots.newest_ms
        if newest is not None and newest.end_offset:  # ``formatted`` reads the snapshot of offset 0
            yield from snapshot_records(newest.path)
        for view in self._log.walk(next_offset):
            if view.last_offset < next_offset:
                continue
            if view.base_offset > next_offset:
                text = (
                    f"offsets {next_offset} to {view.base_offset - 1} of the cluster metadata in {directory} are "
                    "missing"
                )
                raise LogError(text, path=directory)
            next_offset, self._last_ms = view.last_offset + 1, view.max_timestamp
            self.bytes_since_snapshot += view.size_bytes
            if view.is_control:
                continue
            for record in view.records():
                if record.value is not None:
                    yield decode_record(record.value, f"{directory} at offset {record.offset}")
        self._snapshots.forget_before(log_start)

    def why_lost(self) -> str | None:
        if self._log.offline and not self._log.waits_for_room:
            return self._log.offline
        return next((why for each in self._log.segments if (why := each.why_gone()) is not None), None)

    def lose(self, why: str) -> None:
        self._log.lose(why)

    @property
    def is_lost(self) -> bool:
        """Whether the files are lost. Then nothing at their paths is used any more."""
        return self._log.lost

    # Snapshots and retention

    def set_segments(self, *, segment_bytes: int, segment_ms: int) -> None:
        """Set the maximum size and age of new segments."""
        self._log.config = LogConfig(delete=False, segment_bytes=segment_bytes, segment_ms=segment_ms)

    @property
    def size_bytes(self) -> int:
        """The size of the log and its snapshots. Raises OSError."""
        return self._log.size_bytes + self._snapshots.size_bytes

    def write_snapshot(self, image: Iterator[Stored], slices: Slices, *, begin_segment: bool) -> Work[None]:
        """Write a snapshot of the present state, whose records are ``image``. Requests are served meanwhile.

        ``begin_segment``: also start a new segment, so that everything before the snapshot can be deleted. An OSError
        leaves no files of the snapshot.
        """
        end_offset, active = self.end_offset, self._log.active.file
        since, self.bytes_since_snapshot = self.bytes_since_snapshot, 0
        try:
            if begin_segment:
                self._begin_segment()
            yield from self._snapshots.write(
                map(encode_record, image),
                end_offset=end_offset,
                epoch=LEADER_EPOCH,
                last_contained_ms=self._last_ms,
                written_ms=self._clock.now_ms(),
                slices=slices,
                logged=self._force(active, slices),
            )
        except OSError:
            self.bytes_since_snapshot += since
            raise

    def _begin_segment(self) -> None:
        try:
            self._log.roll()
        except OSError as error:
            if error.errno not in FOR_WANT_OF_ROOM:
                raise
            log.warning("%s: cannot start a new segment until the disk has space: %s", self._log.directory, error)

    def _force(self, active: OpenFile, slices: Slices) -> Work[None]:
        """Flush the log, whose last file is ``active``, to the disk. Raises OSError."""
        if self._unsynced is not None:
            yield from slices.durable()
        else:
            yield from slices.on_disk(self._log.sync_sealed)
            try:
                yield from slices.on_disk(lambda: force(active.fd))
            except OSError as error:
                self._log.take_offline(error)
                raise
        if self.is_lost:
            raise FileNotFoundError(errno.ENOENT, "it was lost during the flush", self._log.directory)

    def shorten(self, *, retention_bytes: int, retention_ms: int) -> None:
        """Delete old snapshots, and the log before the next one, while a limit is exceeded (-1: no limit).

        As in Kafka, the newest snapshot stays, and the limits apply to all snapshots and the log together. Raises
        OSError.
        """
        snapshots = self._snapshots
        oldest_ms = self._clock.now_ms() - retention_ms
        while len(snapshots.kept) > 1 and (
            0 <= retention_bytes < self.size_bytes or (retention_ms >= 0 and snapshots.first_ms() < oldest_ms)
        ):
            next_offset = snapshots.kept[1].end_offset
            if self._log.log_start_offset < next_offset:
                self._log.delete_before(next_offset)
            self._retired.append(snapshots.retire_first())
            log.info("the cluster metadata in %s now begins at offset %d", self._log.directory, next_offset)
        self._log.enforce_retention()  # also deletes segments that had to wait for the next segment

    def take_retired(self) -> list[str]:
        """The files that ``shorten`` has renamed since the last call. The caller deletes them later."""
        retired, self._retired = self._retired, []
        return [*retired, *self._log.take_retired()]

    def close(self, *, clean: bool = True) -> bool:
        return self._log.close(clean=clean)


def _make_private(directory: str) -> None:
    """Only the broker's user may read the state, which contains credentials. New files are private as well."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    os.chmod(directory, 0o700)
    for entry in os.scandir(directory):
        if entry.is_file(follow_symlinks=False):
            os.chmod(entry.path, 0o600)


def encode_record(record: Stored) -> bytes:
    """The value of a record in the log."""
    return frame(record, _VERSIONS.get(type(record).__name__, record.MAX_VERSION))


def snapshot_records(path: str) -> Iterator[Stored]:
    """The records of a snapshot. Raises OSError, and LogError for damage and unknown records."""
    return (decode_record(record.value or b"", path) for record in read_kraft_snapshot(path))


def decode_record(value: bytes | memoryview, where: str) -> Stored:
    """The record in a value. Raises LogError, naming ``where``, for bytes that are not a record."""
    try:
        frame_version, position = read_unsigned_varint(value, 0)
        kind, position = read_unsigned_varint(value, position)
        version, position = read_unsigned_varint(value, position)
        if frame_version != FRAME_VERSION or kind not in RECORDS:
            raise LogError(f"{where}: unknown metadata record of type {kind}, frame version {frame_version}")
        return decode_prefix(RECORDS[kind], version, value, position)[0]
    except (WireError, IndexError, ValueError) as error:
        raise LogError(f"{where}: not a metadata record: {error}") from error
