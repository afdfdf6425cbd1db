"""Loads an image from files: a snapshot, a segment of the metadata log, or a directory with both.

A directory is read as a controller reads it at start: the newest whole snapshot, then the log after it. Records of a
metadata transaction (KIP-868) count when it has ended, so an open one at the end of the log does not count.
"""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest

from kafka_tools.cluster_image.image import Provenance, Replay
from kafka_tools.errors import CorruptBatch, LogError
from kafka_tools.protocol.enums import ControlRecordType
from kafka_tools.protocol.stored.cluster_metadata import RECORDS
from kafka_tools.records.batches import BatchView
from kafka_tools.records.control import control_type
from kafka_tools.records.framing import framed, newer_record
from kafka_tools.storage import names
from kafka_tools.storage.kraft_snapshots import NewerRecords, kraft_snapshots, newer_text
from kafka_tools.storage.layout import PartitionFiles, partition_files
from kafka_tools.storage.segment import Segment


def load(path: str) -> Loaded:
    """The image at ``path``: a file, ``__cluster_metadata-0``, or a log directory that contains it.

    Raises OSError, and LogError (CorruptBatch) for files that are damaged or contain no metadata.
    """
    loaded = Loaded(path)
    with _without_collector():
        if os.path.isdir(path):
            loaded.read_directory()
        else:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise LogError(f"{path} is not a file", path=path)
            loaded.read_file(path, grows=path.endswith(names.LOG))
    loaded.end()
    return loaded


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector: an image has many objects that stay, and no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Loaded:
    """An image, and lines for the operator about contents of the files that are not in it. ``remarks``: lines that are
    normal while a broker writes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._replay = Replay(self._refuse)
        self.image = self._replay.image
        self.remarks: list[str] = []
        self._refused = 0
        self._first_refusal = ""
        self._records = 0
        self._newer = NewerRecords("")

    @property
    def refused(self) -> str | None:
        """A line about the records that contradict the image; None if there are none."""
        if not self._refused:
            return None
        more = f" (and {self._refused - 1} more)" if self._refused > 1 else ""
        return f"cannot apply {self._path}: {self._first_refusal}{more}"

    def end(self) -> None:
        """Add the last remarks. Raises LogError if there was no record."""
        if not self._records:
            raise LogError(
                f"{self._path} contains no metadata records",
                path=self._path,
                hint="the first snapshot of a new cluster contains none; other files belong to topics",
            )
        if self._replay.open is not None:
            self.remarks.append(f"ignored a transaction in progress, of {len(self._replay.open)} records")
        if self._newer.counts:
            self.remarks.append(f"ignored: {newer_text(self._newer.counts)}")

    def read_directory(self) -> None:
        """Read the newest snapshot and the log after it. Raises LogError and OSError."""
        files = _metadata_files(self._path)
        snapshots = kraft_snapshots(files)
        start = 0
        if snapshots:
            newest = snapshots[-1]
            self.read_file(newest.path, grows=False)
            start = newest.end_offset
            # A snapshot has its own offsets; its name says what it contains.
            self.image.provenance = self.image.provenance._replace(offset=start - 1)
        logs = [(segment.base_offset, segment.log) for segment in files.segments if segment.log is not None]
        if logs and logs[0][0] > start:
            where = f"the snapshot ends at offset {start}" if snapshots else "no snapshot exists"
            raise LogError(f"{files.directory}: the log starts at offset {logs[0][0]}, and {where}", path=self._path)
        for (_, log), following in zip_longest(logs, logs[1:]):
            if following is None or following[0] > start:
                self.read_file(log, grows=following is None, start=start)

    def read_file(self, path: str, *, grows: bool, start: int = 0) -> None:
        """Read the records of one file from offset ``start`` on. ``grows``: a broker may be writing its end."""
        for view in _sound_batches(path, grows, self.remarks):
            if view.is_control or view.last_offset < start:
                continue
            for record in view.records():
                if record.offset < start:
                    continue
                self._records += 1
                value = record.value or b""
                if self._replay.open is None and self.image.replay_plain(value):
                    continue
                try:
                    message, _ = framed(value, RECORDS)
                except LogError as error:
                    if newer_record(value, RECORDS) is not None:
                        self._newer.count(value)
                    else:
                        self._refuse(record.offset, error)
                    continue
                self._replay.take(record.offset, message)
            if self._replay.open is None:
                self.image.provenance = Provenance(view.last_offset, view.partition_leader_epoch, view.max_timestamp)

    def _refuse(self, offset: int, error: Exception) -> None:
        """Skip a record that contradicts the image. Kafka's shell logs it and continues."""
        self._first_refusal = self._first_refusal or f"the record at offset {offset}: {error}"
        self._refused += 1


def _metadata_files(path: str) -> PartitionFiles:
    inner = os.path.join(path, names.METADATA_DIRECTORY)
    files = partition_files(inner if os.path.isdir(inner) else path)
    if not files.checkpoints and not any(segment.log for segment in files.segments):
        raise LogError(
            f"{path} contains no metadata log",
            path=path,
            hint=f"give {names.METADATA_DIRECTORY}, the log directory that contains it, or one of its files",
        )
    return files


def _sound_batches(path: str, grows: bool, remarks: list[str]) -> Iterator[BatchView]:
    """The batches of a file. Raises CorruptBatch for damage. An incomplete end of a growing log is a remark."""
    view: BatchView | None = None
    with Segment(path) as segment:
        try:
            for each in segment.batches(strict=not grows):
                if isinstance(each, BatchView):
                    view = each
                    yield _sound(view, path)
                elif each.kind == "torn-tail" and view is not None:
                    remarks.append(f"ignored {path}: {each.text}; a broker may be writing it")
                elif each.kind != "zero-tail":
                    raise CorruptBatch(each.text, position=each.position)
        except CorruptBatch as error:
            if error.path is not None and str(path) in str(error):
                raise
            at = "" if error.position is None else f" at position {error.position}"
            raise CorruptBatch(f"{path}{at}: {error}", path=path, position=error.position) from error
    if path.endswith(names.CHECKPOINT) and not _ends_snapshot(view):
        raise CorruptBatch(f"{path} does not end with the footer of a snapshot", path=path)


def _sound(view: BatchView, path: str) -> BatchView:
    if view.magic != 2:
        raise CorruptBatch(f"{path}: a batch of magic {view.magic} is not metadata", path=path)
    if not view.crc_ok():
        raise CorruptBatch("the CRC of the batch does not match its contents", position=view.file_position)
    return view


def _ends_snapshot(view: BatchView | None) -> bool:
    types = [control_type(record.key) for record in view.records()] if view is not None and view.is_control else []
    return types[-1:] == [ControlRecordType.SNAPSHOT_FOOTER]
