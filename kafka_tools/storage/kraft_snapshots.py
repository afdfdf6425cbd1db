"""Reads, writes and checks snapshots of a KRaft log (``<end offset>-<epoch>.checkpoint``, ``bootstrap.checkpoint``),
and counts the records, in snapshots and in the log, that only later releases know.

A snapshot is a log of its own whose offsets begin with 0. It contains a control batch with the header (and with the
KRaft version and the voters, KIP-853), batches of records, and a control batch with the footer. Sources:
``Snapshots``, ``RecordsSnapshotWriter``, ``ControlRecordUtils`` of Kafka (KIP-630).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.codec import encode
from kafka_tools.protocol.enums import CLUSTER_METADATA, ControlRecordType
from kafka_tools.protocol.feature_levels import NEWER
from kafka_tools.protocol.stored.cluster_metadata import RECORDS
from kafka_tools.protocol.stored.control_records import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kafka_tools.records.batches import BatchView
from kafka_tools.records.build import Row, build_batch
from kafka_tools.records.control import build_control_batch, control_type, control_value
from kafka_tools.records.framing import newer_record
from kafka_tools.records.record import Record
from kafka_tools.storage import names
from kafka_tools.storage.checkpoints import replace_file
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.layout import PartitionFiles
from kafka_tools.storage.segment import Segment
from kafka_tools.storage.segment_check import Observer, SegmentCheck


class KraftSnapshot(NamedTuple):
    """An existing snapshot. ``end_offset`` is the first offset that it does not contain."""

    end_offset: int
    epoch: int
    path: str


def kraft_snapshots(files: PartitionFiles) -> list[KraftSnapshot]:
    """The files with a snapshot's name, sound or not, by ascending end offset."""
    found = ((names.parse_file_name(os.path.basename(path)), path) for path in files.checkpoints)
    return sorted(
        KraftSnapshot(name.base_offset, name.epoch, path)
        for name, path in found
        if name is not None and name.epoch is not None
    )


def read_kraft_snapshot(path: str) -> Iterator[Record]:
    """The records of a snapshot, one by one, without control records.

    Raises OSError, and CorruptBatch for a snapshot that is damaged or has no header or footer.
    """
    for view in _batches(path):
        if not view.is_control:
            yield from view.records()


def _batches(path: str) -> Iterator[BatchView]:
    """The batches of a snapshot. Raises as ``read_kraft_snapshot``."""
    last: int | None = None
    with Segment(path) as segment:
        for view in segment.batches(strict=True):
            assert isinstance(view, BatchView)
            if not view.crc_ok():
                raise CorruptBatch(
                    "the CRC of the batch does not match its contents", path=path, position=view.file_position
                )
            first, last = _types(view)
            if not view.file_position and first != ControlRecordType.SNAPSHOT_HEADER:
                raise CorruptBatch(f"{path} does not begin with a snapshot's header", path=path, position=0)
            yield view
    if last != ControlRecordType.SNAPSHOT_FOOTER:
        raise CorruptBatch(f"{path} does not end with a snapshot's footer", path=path)


_TOLD = (ControlRecordType.SNAPSHOT_HEADER, ControlRecordType.KRAFT_VERSION, ControlRecordType.KRAFT_VOTERS)


class SnapshotControl(NamedTuple):
    """The control records of a snapshot."""

    last_contained_ms: int
    """The time at which the last record in the snapshot was appended (epoch, ms)."""
    kraft_version: int
    voters: VotersRecord | None
    """None if the log does not contain the voters (KIP-853)."""


NO_CONTROL = SnapshotControl(-1, 0, None)


def last_contained_ms(path: str) -> int:
    """``SnapshotControl.last_contained_ms``, from the first batch alone. Raises as ``read_control``."""
    view = next(_batches(path), None)
    value, _ = control_value(ControlRecordType.SNAPSHOT_HEADER, None if view is None else next(view.records()).value)
    assert isinstance(value, SnapshotHeaderRecord)
    return value.last_contained_log_timestamp


def read_control(path: str) -> SnapshotControl:
    """The control records of a snapshot. Checks all its batches. Raises OSError, and CorruptBatch for damage."""
    last_contained_ms, kraft_version, voters = -1, 0, None
    for view in _batches(path):
        for record in view.records() if view.is_control else ():
            number = control_type(record.key)
            if number not in _TOLD:
                continue
            value, _ = control_value(number, record.value)
            if isinstance(value, SnapshotHeaderRecord):
                last_contained_ms = value.last_contained_log_timestamp
            elif isinstance(value, KRaftVersionRecord):
                kraft_version = value.kraft_version
            elif isinstance(value, VotersRecord):
                voters = value
    return SnapshotControl(last_contained_ms, kraft_version, voters)


def write_kraft_snapshot(
    path: str,
    batches: Iterable[Iterable[bytes]],
    *,
    epoch: int,
    last_contained_ms: int,
    written_ms: int,
    kraft_version: int = 0,
    voters: VotersRecord | None = None,
) -> None:
    """Write a snapshot made by ``kraft_snapshot``, or replace it. Raises OSError."""
    control = SnapshotControl(last_contained_ms, kraft_version, voters)
    replace_file(path, b"".join(kraft_snapshot(batches, epoch=epoch, control=control, written_ms=written_ms)))


def kraft_snapshot(
    batches: Iterable[Iterable[bytes]], *, epoch: int, control: SnapshotControl, written_ms: int
) -> Iterator[bytes]:
    """A snapshot's bytes, batch by batch. ``batches`` contains the values of the records of each batch.

    ``epoch`` is the leader epoch of the contents, and ``written_ms`` the current time (epoch, ms). From kraft.version
    1 on, the snapshot also contains that version and the voters.
    """
    header = SnapshotHeaderRecord(last_contained_log_timestamp=control.last_contained_ms)
    head = [(ControlRecordType.SNAPSHOT_HEADER, encode(header, 0))]
    if control.kraft_version:
        version = KRaftVersionRecord(kraft_version=control.kraft_version)
        head.append((ControlRecordType.KRAFT_VERSION, encode(version, 0)))
        if control.voters is not None:
            head.append((ControlRecordType.KRAFT_VOTERS, encode(control.voters, 0)))
    yield build_control_batch(head, timestamp=written_ms, leader_epoch=epoch)
    offset = len(head)
    for values in batches:
        rows: list[Row] = [(written_ms, None, value, ()) for value in values]
        if rows:
            yield build_batch(rows, base_offset=offset, leader_epoch=epoch)
            offset += len(rows)
    footer = [(ControlRecordType.SNAPSHOT_FOOTER, encode(SnapshotFooterRecord(), 0))]
    yield build_control_batch(footer, timestamp=written_ms, base_offset=offset, leader_epoch=epoch)


class KraftSnapshotCheck(Observer):
    """Checks that a snapshot is complete: sound batches from offset 0 on, a header first and a footer last."""

    def __init__(self, path: str, *, records: bool) -> None:
        self._path = path
        self._check = SegmentCheck(path, base_offset=0, records=records, open_end=False)
        self._first: int | None = None
        self._last: int | None = None
        self._seen = False

    def findings(self) -> Iterator[Finding]:
        """Raises OSError."""
        for finding in self._check.findings([self, NewerRecords(self._path)]):
            # All damage has one kind: the repairs of a log do not repair a snapshot, which a node loads as a whole.
            kind = "kraft-snapshot" if finding.is_damage else finding.kind
            yield Finding(self._path, kind, finding.text, finding.position, finding.offset)
        if self._check.whole and self._first != ControlRecordType.SNAPSHOT_HEADER:
            yield Finding(self._path, "kraft-snapshot", "it does not begin with a snapshot's header", 0)
        elif self._check.whole and self._last != ControlRecordType.SNAPSHOT_FOOTER:
            yield Finding(self._path, "kraft-snapshot", "it does not end with a snapshot's footer")

    def batch(self, view: BatchView) -> Iterator[Finding]:
        try:
            first, self._last = _types(view)
        except CorruptBatch as error:
            yield Finding(self._path, "kraft-snapshot", str(error), view.file_position, view.base_offset)
            return
        if not self._seen:
            self._first, self._seen = first, True


def _types(view: BatchView) -> tuple[int | None, int | None]:
    """The types of the first and the last record of a control batch, None for other batches. Raises CorruptBatch."""
    if not view.is_control:
        return None, None
    types = []
    for record in view.records():
        types.append(control_type(record.key))
    return (types[0], types[-1]) if types else (None, None)


_MOST_NAMED = 20
"""The maximum number of types and versions to count by name. The others are counted together."""


class NewerRecords(Observer):
    """One finding at the end of a walk, about all newer records."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.counts: Counter[str] = Counter()

    def batch(self, view: BatchView) -> Iterable[Finding]:
        if not view.is_control:
            try:
                for record in view.records():
                    self.count(record.value or b"")
            except CorruptBatch:
                pass  # the check of the records reports it
        return ()

    def count(self, value: bytes) -> None:
        """Count a record, by its value, if it is newer."""
        newer = newer_record(value, RECORDS)
        if newer is not None:
            name = str(newer)
            self.counts[name if name in self.counts or len(self.counts) < _MOST_NAMED else "others"] += 1

    def end(self, size_bytes: int) -> Iterator[Finding]:
        if self.counts:
            yield Finding(self._path, "newer-records", newer_text(self.counts))


def newer_text(counts: Mapping[str, int]) -> str:
    """``3 records are newer than this tool knows (4.4): 2 of type 99 in version 0, ...``."""
    total = sum(counts.values())
    listed = ", ".join(f"{number} of {what}" for what, number in counts.items())
    return f"{total} {'record is' if total == 1 else 'records are'} {NEWER}: {listed}"


def is_metadata_log(path: str) -> bool:
    """Whether a file is in the directory of the cluster's metadata log."""
    partition = names.parse_partition_dir(os.path.basename(os.path.dirname(os.path.abspath(path))))
    return partition is not None and partition.topic_partition.topic == CLUSTER_METADATA
