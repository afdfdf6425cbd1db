"""Snapshots of the cluster metadata next to its log, as in Kafka (KIP-630): ``<end offset>-<epoch>.checkpoint``.

A snapshot contains the state after all records before its end offset. A start reads it and the log from there on, so
the records before it can be deleted. Its name ends with ``.part`` until it is completely on disk. Sources:
``KafkaRaftLog``, ``FileRawSnapshotWriter``, ``Snapshots`` of Kafka.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from kafka_tools.errors import CorruptBatch
from kafka_tools.storage import names
from kafka_tools.storage.checkpoints import file_mode
from kafka_tools.storage.kraft_snapshots import (
    NO_CONTROL,
    KraftSnapshot,
    kraft_snapshot,
    kraft_snapshots,
    last_contained_ms,
    read_control,
)
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.log.syncing import sync_directory

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.slices import Slices, Work

log = logging.getLogger(__name__)

_PART, _DELETED = ".part", ".deleted"
_RECORDS_OF_BATCH = 100
"""Encoding so many records takes a millisecond."""
_AT_ONCE_BYTES = 1 << 20


def snapshots_in(directory: str) -> list[KraftSnapshot]:
    """The snapshots in a directory, valid or not, in ascending order. Raises OSError."""
    return kraft_snapshots(partition_files(directory))


class StateSnapshots:
    """Reads, writes and deletes the snapshots in a directory."""

    def __init__(self, directory: str) -> None:
        """Deletes incomplete and renamed snapshots of the previous run. Raises OSError."""
        self._directory = directory
        self._control = NO_CONTROL
        """The control records of the newest snapshot."""
        for name in os.listdir(directory):
            parsed = names.parse_file_name(name)
            if parsed is not None and parsed.suffix == names.CHECKPOINT and parsed.state:
                os.remove(os.path.join(directory, name))
        self.kept = snapshots_in(directory)
        """The snapshots, in ascending order."""

    @property
    def reached(self) -> int:
        """The end offset of the newest snapshot, valid or not. The log before it was on disk before it was renamed."""
        return self.kept[-1].end_offset if self.kept else 0

    @property
    def size_bytes(self) -> int:
        """The total size. Snapshots that somebody has deleted are forgotten. Raises OSError."""
        found = 0
        for each in list(self.kept):
            try:
                found += os.stat(each.path).st_size
            except FileNotFoundError:
                log.error("the snapshot %s is missing", each.path)
                self.kept.remove(each)
        return found

    @property
    def newest_ms(self) -> int:
        """The time of the last record (epoch, ms) in the newest snapshot; -1 without a snapshot."""
        return self._control.last_contained_ms

    def newest_sound(self) -> KraftSnapshot | None:
        """The newest valid snapshot. Logs and forgets newer, damaged ones. Raises OSError."""
        while self.kept:
            try:
                self._control = read_control(self.kept[-1].path)
            except CorruptBatch as error:
                log.error("the snapshot %s is damaged, looking for an older one: %s", self.kept[-1].path, error)
                self.kept.pop()
            else:
                return self.kept[-1]
        return None

    def forget_before(self, log_start_offset: int) -> None:
        """Delete the snapshots that end before this log start offset. Raises OSError."""
        for each in [each for each in self.kept if each.end_offset < log_start_offset]:
            os.remove(each.path)
            self.kept.remove(each)

    def write(
        self,
        values: Iterator[bytes],
        *,
        end_offset: int,
        epoch: int,
        last_contained_ms: int,
        written_ms: int,
        slices: Slices,
        logged: Work[None],
    ) -> Work[None]:
        """Write a new snapshot of the records with these values and the voters of the newest one.

        ``logged``: flushes the log; the snapshot is renamed after it. After an OSError there is no incomplete snapshot.
        """
        path = os.path.join(self._directory, names.checkpoint_name(end_offset, epoch))
        control = self._control._replace(last_contained_ms=last_contained_ms)
        batches = iter(lambda: list(islice(values, _RECORDS_OF_BATCH)), [])
        try:
            file = yield from slices.on_disk(partial(_open, path + _PART))
            with file:
                waiting: list[bytes] = []
                for batch in kraft_snapshot(batches, epoch=epoch, control=control, written_ms=written_ms):
                    waiting.append(batch)
                    if sum(map(len, waiting)) >= _AT_ONCE_BYTES:
                        yield from slices.on_disk(partial(file.writelines, waiting))
                        waiting = []
                    yield
                yield from slices.on_disk(partial(_complete, file, waiting))
            yield from logged
            yield from slices.on_disk(partial(_name, path))
        except OSError:
            with contextlib.suppress(OSError):  # a start removes it
                os.remove(path + _PART)
            raise
        self._control = control
        self.kept = sorted({*self.kept, KraftSnapshot(end_offset, epoch, path)})

    def retire_first(self) -> str:
        """Rename the oldest snapshot for deletion; returns the new path. Raises OSError."""
        path = self.kept[0].path
        os.replace(path, path + _DELETED)
        del self.kept[0]
        return path + _DELETED

    def first_ms(self) -> int:
        """The time of the last record (epoch, ms) in the oldest snapshot; -1 if it is damaged. Raises OSError."""
        try:
            return last_contained_ms(self.kept[0].path)
        except CorruptBatch:
            return -1


def _open(path: str) -> BinaryIO:
    mode = file_mode(os.path.dirname(path))
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode))


def _complete(file: BinaryIO, batches: list[bytes]) -> None:
    file.writelines(batches)
    file.flush()
    os.fsync(file.fileno())


def _name(path: str) -> None:
    os.replace(path + _PART, path)
    sync_directory(os.path.dirname(path))
