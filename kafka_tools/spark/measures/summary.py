"""Counts of ranges of segments, and their sums: the arithmetic of the audit, without Spark.

A ``Summary`` covers any number of ranges of one partition. Its size depends on the number of ranges and of different
codecs, not on the number of batches; findings beyond a bound are counted but not kept. Adding two summaries gives the
same result in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kafka_tools.protocol.enums import CODEC_BITS, CODECS, CONTROL_BIT, DELETE_HORIZON_BIT, LOG_APPEND_TIME_BIT
from kafka_tools.records.chain import PREFIX_BYTES
from kafka_tools.spark.damage import HEADER_FAULTS, SOUND
from kafka_tools.spark.scan import HeaderRun, Row
from kafka_tools.storage.findings import ERROR, INFO, Finding
from kafka_tools.storage.index_columns import SoundBatches

if TYPE_CHECKING:
    from kafka_tools.spark.headers import Headers
    from kafka_tools.spark.measures.batches import Piece

FINDINGS_KEPT = 200
"""Findings of one kind that a summary lists; all are counted."""


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

    def add(self, other: Summary) -> Summary:
        """Add another summary of the same partition directory; returns self."""
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
        return self

    def find(self, finding: Finding) -> None:
        """Count a finding about the partition, and keep it unless there are too many of its kind."""
        self.finding_counts[finding.severity, finding.kind] += 1
        if self.finding_counts[finding.severity, finding.kind] <= FINDINGS_KEPT:
            self.findings.append(finding._replace(topic=self.topic, partition=self.partition))

    def add_run(self, run: HeaderRun, file: str) -> None:
        """Count a run of magic 2 batches."""
        self.batches += len(run.codes)
        self.batch_bytes += int(run.headers.sizes.sum())
        self._find_in_run(run, file)
        headers = run.sound().headers
        if not len(headers.positions):
            return
        records, attributes = headers.column("record_count"), headers.fields["attributes"]
        self.records += int(records.sum())
        self.control_records += int(records[(attributes & CONTROL_BIT) != 0].sum())
        self._see_offsets(int(headers.column("base_offset").min()), int(headers.last_offsets.max()))
        self._see_codecs(attributes & CODEC_BITS, records, headers.sizes)
        ends = headers.column("max_timestamp")
        # With LogAppendTime the broker's time is that of all records, whatever the producer wrote.
        by_broker = (attributes & LOG_APPEND_TIME_BIT) != 0
        starts = np.where(by_broker, ends, headers.column("base_timestamp"))
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
            header = run.headers.fields[at]
            size_bytes = int(header["length"]) + PREFIX_BYTES
            self.damage(ERROR, kind, file, int(run.headers.positions[at]), size_bytes, int(header["base_offset"]), text)

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
        self.first_offset = least(self.first_offset, first)
        self.last_offset = most(self.last_offset, last)

    def _see_times(self, first: int | None, last: int | None) -> None:
        self.first_timestamp_ms = least(self.first_timestamp_ms, first)
        self.last_timestamp_ms = most(self.last_timestamp_ms, last)


LOST = ("vanished", "unseen", "shrunk", "unreadable")
"""The kinds of a row that ends a range which could not be read to its end."""


class Seen:
    """The positions of the valid batches of a range, for the check of the indexes."""

    def __init__(self) -> None:
        self._parts: list[SoundBatches] = []
        self.lost = False
        """Whether a broker took the file away, or a part of it, before all was read."""

    def add_headers(self, headers: Headers) -> None:
        first, newest = headers.column("base_offset"), headers.column("max_timestamp")
        self._parts.append(SoundBatches(headers.positions, headers.sizes, first, headers.last_offsets, newest))

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


def compare_edges(summary: Summary, pieces: Iterable[Piece]) -> None:
    """Find ranges that begin before the range ahead of them has ended: batches out of order across segments."""
    before, end = "", -1
    for file, start, first_offset, next_offset in sorted(
        (piece.file, piece.start, piece.first_offset, piece.next_offset)
        for piece in pieces
        if piece.first_offset is not None and piece.next_offset is not None
    ):
        if first_offset < end:
            text = f"the offsets decrease: offset {end - 1} is before this position"
            kind = "offset-order" if file == before else "segment-overlap"
            summary.damage(ERROR, kind, file, start, None, first_offset, text)
        if next_offset > end:
            before, end = file, next_offset


def _bounded(findings: list[Finding]) -> list[Finding]:
    kept: list[Finding] = []
    seen: Counter[tuple[str, str]] = Counter()
    for finding in sorted(findings, key=lambda finding: finding.place):
        seen[finding.severity, finding.kind] += 1
        if seen[finding.severity, finding.kind] <= FINDINGS_KEPT:
            kept.append(finding)
    return kept


def least(one: int | None, other: int | None) -> int | None:
    """The smaller of two numbers, of which any may be unknown."""
    return other if one is None else one if other is None else min(one, other)


def most(one: int | None, other: int | None) -> int | None:
    """The larger of two numbers, of which any may be unknown."""
    return other if one is None else one if other is None else max(one, other)
