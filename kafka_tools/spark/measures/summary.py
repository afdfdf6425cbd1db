"""Counting what lies in ranges of segments, and adding counts up: the arithmetic of the audit, without Spark.

A ``Summary`` covers any number of ranges of one partition. Its size depends on the number of ranges and of different
codecs, not on the number of batches; findings beyond a bound are counted but not kept. Adding two summaries gives the
same result in any order.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_tools.protocol.enums import CODEC_BITS, CODECS, CONTROL_BIT, DELETE_HORIZON_BIT, LOG_APPEND_TIME_BIT
from kafka_tools.records.chain import PREFIX_BYTES
from kafka_tools.spark.damage import HEADER_FAULTS, SOUND
from kafka_tools.spark.measures.indexes import Indexes, check_indexes
from kafka_tools.spark.scan import HeaderRun, Row
from kafka_tools.storage.findings import ERROR, INFO, Finding
from kafka_tools.storage.index_columns import SoundBatches

if TYPE_CHECKING:
    from kafka_tools.spark.segments import Range

FINDINGS_KEPT = 200
"""Findings of one kind that a summary lists; all are counted."""


class Edge(NamedTuple):
    """First and last offset of the sound batches of one range, to compare it with the range before."""

    file: str
    start: int
    first_offset: int
    last_offset: int


class CodecTotals:
    """Batches, records and bytes of one codec."""

    __slots__ = ("batches", "records", "size_bytes")

    def __init__(self, batches: int = 0, records: int = 0, size_bytes: int = 0) -> None:
        self.batches = batches
        self.records = records
        self.size_bytes = size_bytes

    def add(self, batches: int, records: int, size_bytes: int) -> None:
        self.batches += batches
        self.records += records
        self.size_bytes += size_bytes


class Summary:
    """Counts of ranges of one partition directory.

    ``batches`` counts all batches of which the length was right, ``corrupt`` damaged batches and stretches that are no
    batch; records, control records, codecs, offsets and times are those of sound batches. ``first_timestamp_ms`` is the
    smallest first timestamp of a batch, ``last_timestamp_ms`` the largest one; None where nothing has a timestamp.
    """

    def __init__(self, log_dir: str, topic: str, partition: int) -> None:
        self.log_dir = log_dir
        self.topic = topic
        self.partition = partition
        self.batches = 0
        self.records = 0
        self.control_records = 0
        self.batch_bytes = 0
        self.corrupt = 0
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.first_timestamp_ms: int | None = None
        self.last_timestamp_ms: int | None = None
        self.codecs: dict[str, CodecTotals] = {}
        self.finding_counts: Counter[tuple[str, str]] = Counter()
        self.findings: list[Finding] = []
        self.edges: list[Edge] = []

    def add(self, other: Summary) -> Summary:
        """Take in another summary of the same partition directory; returns self."""
        self.batches += other.batches
        self.records += other.records
        self.control_records += other.control_records
        self.batch_bytes += other.batch_bytes
        self.corrupt += other.corrupt
        self._see_offsets(other.first_offset, other.last_offset)
        self._see_times(other.first_timestamp_ms, other.last_timestamp_ms)
        for name, codec in other.codecs.items():
            self.codecs.setdefault(name, CodecTotals()).add(codec.batches, codec.records, codec.size_bytes)
        self.finding_counts += other.finding_counts
        self.findings = _bounded(self.findings + other.findings)
        self.edges += other.edges
        return self

    def find(self, finding: Finding) -> None:
        """Count a finding about the partition, and keep it unless there are too many of its kind."""
        self.finding_counts[finding.severity, finding.kind] += 1
        if self.finding_counts[finding.severity, finding.kind] <= FINDINGS_KEPT:
            self.findings.append(finding._replace(topic=self.topic, partition=self.partition))

    def add_run(self, run: HeaderRun, file: str) -> None:
        """Count a run of magic 2 batches."""
        headers, codes = run
        count = len(codes)
        sound = codes == SOUND
        self.batches += count
        self.batch_bytes += int(headers.fields["length"].sum(dtype=np.int64)) + PREFIX_BYTES * count
        if not sound.all():
            self._find_in_run(run, file)
        fields = headers.fields if sound.all() else headers.fields[sound]
        if len(fields) == 0:
            return
        records = fields["record_count"].astype(np.int64)
        attributes = fields["attributes"]
        self.records += int(records.sum())
        self.control_records += int(records[(attributes & CONTROL_BIT) != 0].sum())
        base = fields["base_offset"].astype(np.int64)
        self._see_offsets(int(base.min()), int((base + fields["last_offset_delta"]).max()))
        self._see_codecs(attributes & CODEC_BITS, records, fields["length"].astype(np.int64) + PREFIX_BYTES)
        ends = fields["max_timestamp"].astype(np.int64)
        # With LogAppendTime the broker's time is that of all records, whatever the producer wrote.
        by_broker = (attributes & LOG_APPEND_TIME_BIT) != 0
        starts = np.where(by_broker, ends, fields["base_timestamp"].astype(np.int64))
        starts = starts[(starts != -1) & (by_broker | ((attributes & DELETE_HORIZON_BIT) == 0))]
        ends = ends[ends != -1]
        self._see_times(int(starts.min()) if len(starts) else None, int(ends.max()) if len(ends) else None)

    def add_row(self, row: Row) -> None:
        """Count a batch of magic 0 or 1, or note damage and events."""
        if row.get("magic") is not None:
            self.batches += 1
            self.batch_bytes += row["size_bytes"]
        if row.get("damage") is not None:
            place = row["file"], row["position"], row["size_bytes"], row.get("last_offset")
            self.damage(row["severity"], row["damage"], *place, row["detail"])
            return
        records = row.get("record_count") or 0
        self.records += records
        first = row.get("base_offset")
        self._see_offsets(row["last_offset"] if first is None else first, row["last_offset"])
        self.codecs.setdefault(row["codec"], CodecTotals()).add(1, records, row["size_bytes"])
        time_ms = row.get("max_timestamp_ms")
        if time_ms is not None and time_ms != -1:
            self._see_times(time_ms, time_ms)

    def _find_in_run(self, run: HeaderRun, file: str) -> None:
        for at in np.flatnonzero(run.codes != SOUND):
            kind, text = HEADER_FAULTS[run.codes[at]]
            fields = run.headers.fields[at]
            size_bytes = int(fields["length"]) + PREFIX_BYTES
            self.damage(ERROR, kind, file, int(run.headers.positions[at]), size_bytes, int(fields["base_offset"]), text)

    def unreadable(self, file: str, text: str) -> None:
        """Note a file that the operating system does not give."""
        self.find(Finding(file, "unreadable", text))

    def damage(
        self, severity: str, kind: str, file: str, position: int | None, size: int | None, offset: int | None, text: str
    ) -> None:
        """Count and keep a finding about ``size`` bytes at ``position``; any but an info is corruption."""
        if severity != INFO:
            self.corrupt += 1
        self.find(Finding(file, kind, text, position, offset, severity, size_bytes=size))

    def _see_codecs(self, ids: Any, records: Any, sizes: Any) -> None:
        for number in np.unique(ids):
            chosen = ids == number
            totals = int(chosen.sum()), int(records[chosen].sum()), int(sizes[chosen].sum())
            self.codecs.setdefault(CODECS[number], CodecTotals()).add(*totals)

    def _see_offsets(self, first: int | None, last: int | None) -> None:
        self.first_offset = _least(self.first_offset, first)
        self.last_offset = _most(self.last_offset, last)

    def _see_times(self, first: int | None, last: int | None) -> None:
        self.first_timestamp_ms = _least(self.first_timestamp_ms, first)
        self.last_timestamp_ms = _most(self.last_timestamp_ms, last)


def check_range(range_: Range, indexes: Indexes, seen: Seen, summary: Summary) -> None:
    """The end of a range: its index entries are compared with it, its edges are noted."""
    if not seen.lost:
        # A log that is removed meanwhile contradicts nothing.
        with suppress(FileNotFoundError):
            for wrong in check_indexes(range_, indexes, seen.batches()):
                summary.find(wrong)
    if summary.first_offset is not None and summary.last_offset is not None:
        summary.edges.append(Edge(range_.file, range_.start, summary.first_offset, summary.last_offset))


LOST = ("vanished", "unseen", "shrunk", "unreadable")
"""The kinds of a row that ends a range which could not be read to its end."""


class Seen:
    """The positions of the valid batches of a range, for the check of the indexes."""

    def __init__(self) -> None:
        self._parts: list[SoundBatches] = []
        self.lost = False
        """Whether a broker took the file away, or a part of it, before all was read."""

    def add_run(self, run: HeaderRun) -> None:
        sound = run.codes == SOUND
        positions, fields = run.headers.positions[sound], run.headers.fields[sound]
        sizes = fields["length"].astype(np.int64) + PREFIX_BYTES
        first = fields["base_offset"].astype(np.int64)
        last = first + fields["last_offset_delta"]
        self._parts.append(SoundBatches(positions, sizes, first, last, fields["max_timestamp"].astype(np.int64)))

    def add_row(self, row: Row) -> None:
        if row.get("magic") is None:
            self.lost = self.lost or row["damage"] in LOST
        elif row.get("damage") is None:
            first, last = row.get("base_offset"), row["last_offset"]
            time_ms = row.get("max_timestamp_ms")
            times = -1 if time_ms is None else time_ms
            values = row["position"], row["size_bytes"], last if first is None else first, last, times
            self._parts.append(SoundBatches(*(np.array([value], np.int64) for value in values)))

    def batches(self) -> SoundBatches:
        if not self._parts:
            return SoundBatches(*(np.empty(0, np.int64) for _ in SoundBatches._fields))
        return SoundBatches(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))


def compare_edges(summary: Summary) -> None:
    """Find ranges that begin before the range ahead of them has ended: batches out of order across segments."""
    previous: Edge | None = None
    for edge in sorted(summary.edges):
        if previous is not None and edge.first_offset <= previous.last_offset:
            text = f"the offsets decrease: offset {previous.last_offset} is before this position"
            kind = "offset-order" if edge.file == previous.file else "segment-overlap"
            summary.damage(ERROR, kind, edge.file, edge.start, None, edge.first_offset, text)
        previous = edge if previous is None or edge.last_offset > previous.last_offset else previous


def _bounded(findings: list[Finding]) -> list[Finding]:
    kept: list[Finding] = []
    seen: Counter[tuple[str, str]] = Counter()
    for finding in sorted(findings, key=lambda finding: finding.place):
        seen[finding.severity, finding.kind] += 1
        if seen[finding.severity, finding.kind] <= FINDINGS_KEPT:
            kept.append(finding)
    return kept


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _most(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)
