"""Measures of batch headers beyond plain counts: sizes, times, gaps, delete horizons, digests to compare replicas.

A ``BatchMeasures`` covers any number of ranges of one partition directory. Its size grows by a small row per range, and
by nothing with the number of batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.protocol.enums import CONTROL_BIT, DELETE_HORIZON_BIT
from kafka_tools.records.chain import PREFIX_BYTES
from kafka_tools.spark.measures.sketches import Histogram
from kafka_tools.spark.measures.times import DAY_MS, DAYS_KEPT, HOUR_MS, HOURS_KEPT, OddTimes, Spans, odd_times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.scan import HeaderRun, Row
    from kafka_tools.spark.segments import Range


class Piece(NamedTuple):
    """One range: where it lies, the newest timestamp in it (None without any), and its offsets.

    ``next_offset`` is the one after its last sound batch; ``gaps`` counts offsets that no batch of it has, and
    ``gap_offset`` is the first of those. None where there is no sound batch.
    """

    base_offset: int
    start: int
    end: int
    size: int
    file: str
    last_segment: bool
    newest_ms: int | None
    first_offset: int | None
    next_offset: int | None
    gaps: int
    gap_offset: int | None
    written_ms: int | None
    """When the file was last written, None if it is gone."""
    lost: bool = False
    """Whether a broker took the file away, or a part of it, before all was read; or the segment after it was not
    listed, since compaction was replacing it."""


class Largest(NamedTuple):
    """A large batch and its place."""

    size_bytes: int
    file: str
    position: int
    offset: int
    records: int


class BatchMeasures:
    """Measures of batches; records are counted as the headers say."""

    LARGEST_KEPT = 5

    def __init__(self) -> None:
        self.sizes = Histogram()
        self.records_per_batch = Histogram()
        self.hours = Spans(HOUR_MS, HOURS_KEPT)
        self.days = Spans(DAY_MS, DAYS_KEPT)
        self.odd_times: dict[tuple[str, str], OddTimes] = {}
        self.largest: list[Largest] = []
        self.pieces: list[Piece] = []
        self.emptied = 0
        """Batches of which compaction removed every record."""
        self.thinned = 0
        """Batches of which compaction removed records."""
        self.horizons = 0
        self.oldest_horizon: tuple[int, str, int, int] | None = None
        """(delete horizon in ms, file, position, offset) of the batch that has the earliest one."""
        self.digests = Digests()
        self.seen_ms = -1
        """The newest timestamp that is not ahead of the time of the audit, -1 without any."""

    def add(self, other: BatchMeasures) -> None:
        """Take in other ranges of the same partition directory."""
        self.sizes.add(other.sizes)
        self.records_per_batch.add(other.records_per_batch)
        self.hours.add(other.hours)
        self.days.add(other.days)
        for odd in other.odd_times.values():
            self._see_odd(odd)
        self._see_largest(other.largest)
        self.pieces += other.pieces
        self.emptied += other.emptied
        self.thinned += other.thinned
        self.horizons += other.horizons
        self._see_horizon(other.oldest_horizon)
        self.digests.add(other.digests)
        self.seen_ms = max(self.seen_ms, other.seen_ms)

    def add_run(self, run: HeaderRun, file: str, now_ms: int, digests: bool) -> tuple[int | None, int, int | None]:
        """Count a run of sound batches; (newest timestamp or None, missing offsets, the first of them)."""
        fields, positions = run.headers.fields, run.headers.positions
        sizes = fields["length"].astype(np.int64) + PREFIX_BYTES
        records = fields["record_count"].astype(np.int64)
        offsets = fields["base_offset"].astype(np.int64)
        attributes = fields["attributes"]
        self.sizes.add_all(sizes)
        data = (attributes & CONTROL_BIT) == 0
        self.records_per_batch.add_all(records[data])
        times = fields["max_timestamp"].astype(np.int64)
        dated = times != -1
        self.seen_ms = max(self.seen_ms, int(times.max(initial=-1, where=times <= now_ms)))
        self.hours.add_all(times[dated], records[dated], sizes[dated])
        self.days.add_all(times[dated], records[dated], sizes[dated])
        for odd in odd_times(file, positions, offsets, sizes, times, now_ms):
            self._see_odd(odd)
        large = np.argsort(-sizes, kind="stable")[: self.LARGEST_KEPT]
        self._see_largest(
            [Largest(int(sizes[at]), file, int(positions[at]), int(offsets[at]), int(records[at])) for at in large]
        )
        self.emptied += int(np.count_nonzero(records == 0))
        lasts = offsets + fields["last_offset_delta"]
        self.thinned += int(np.count_nonzero(records <= lasts - offsets))
        self._see_horizons(fields, attributes, positions, file)
        if digests:
            self.digests.add_all(fields, offsets, lasts)
        jumps = offsets[1:] - lasts[:-1] - 1
        first_jump = np.flatnonzero(jumps > 0)[:1]
        gap_offset = int(lasts[first_jump[0]]) + 1 if len(first_jump) else None
        newest = int(times[dated].max()) if dated.any() else None
        return newest, int(jumps[jumps > 0].sum()), gap_offset

    def add_row(self, row: Row, now_ms: int) -> int | None:
        """Count a sound batch of magic 0 or 1; its newest timestamp, None if it has none."""
        size = np.array([row["size_bytes"]], np.int64)
        records = np.array([row.get("record_count") or 0], np.int64)
        self.sizes.add_all(size)
        self.records_per_batch.add_all(records)
        offset = row["last_offset"] if row.get("base_offset") is None else row["base_offset"]
        self._see_largest([Largest(int(size[0]), row["file"], row["position"], offset, int(records[0]))])
        time_ms = row.get("max_timestamp_ms")
        if time_ms is None or time_ms == -1:
            return None
        if time_ms <= now_ms:
            self.seen_ms = max(self.seen_ms, time_ms)
        times = np.array([time_ms], np.int64)
        self.hours.add_all(times, records, size)
        self.days.add_all(times, records, size)
        place = np.array([row["position"]], np.int64), np.array([offset], np.int64)
        for odd in odd_times(row["file"], *place, size, times, now_ms):
            self._see_odd(odd)
        return int(time_ms)

    def close(
        self,
        range_: Range,
        newest_ms: int | None,
        first_offset: int | None,
        last_offset: int | None,
        gaps: tuple[int, int | None],
        written_ms: int | None,
        *,
        lost: bool = False,
    ) -> None:
        """Note the range that was just counted; ``gaps`` are the missing offsets and the first of them."""
        place = range_.base_offset, range_.start, range_.end, range_.size, range_.file, range_.last_segment
        next_offset = None if last_offset is None else last_offset + 1
        self.pieces.append(Piece(*place, newest_ms, first_offset, next_offset, *gaps, written_ms, lost))

    def _see_odd(self, odd: OddTimes) -> None:
        key = odd.way, odd.file
        self.odd_times[key] = self.odd_times[key].plus(odd) if key in self.odd_times else odd

    def _see_largest(self, more: list[Largest]) -> None:
        ordered = sorted(self.largest + more, key=lambda each: (-each.size_bytes, each.offset))
        self.largest = ordered[: self.LARGEST_KEPT]

    def _see_horizons(
        self, fields: NDArray[np.void], attributes: NDArray[np.int16], positions: NDArray[np.int64], file: str
    ) -> None:
        at = np.flatnonzero(attributes & DELETE_HORIZON_BIT)
        if len(at):
            self.horizons += len(at)
            times = fields["base_timestamp"][at].astype(np.int64)
            first = at[int(times.argmin())]
            place = file, int(positions[first]), int(fields["base_offset"][first])
            self._see_horizon((int(times.min()), *place))

    def _see_horizon(self, other: tuple[int, str, int, int] | None) -> None:
        if other is not None:
            self.oldest_horizon = other if self.oldest_horizon is None else min(self.oldest_horizon, other)


class Digests:
    """A digest per stretch of offsets, so that copies of a partition can be compared without their bytes.

    Stretches are one offset wide at first and widen together, by powers of two, when there are more than ``CAPACITY``.
    Two copies with the same batches have the same digests; a difference goes unseen with a chance of 2^-64 per stretch.
    """

    CAPACITY = 4096

    def __init__(self) -> None:
        self.shift = 0
        self.stretches: dict[int, int] = {}
        """Offset >> shift -> digest."""

    def add_all(self, fields: NDArray[np.void], firsts: NDArray[np.int64], lasts: NDArray[np.int64]) -> None:
        """Take in batches: the CRC covers what a replica must not change."""
        value = fields["crc"].astype(np.uint64) | (firsts.astype(np.uint64) << np.uint64(32))
        value ^= lasts.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
        numbers = firsts >> self.shift
        begins = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        for number, digest in zip(
            numbers[begins].tolist(), np.bitwise_xor.reduceat(value, begins).tolist(), strict=True
        ):
            self.stretches[number] = self.stretches.get(number, 0) ^ digest
        self._widen(0)

    def add(self, other: Digests) -> None:
        """Take in the batches of other ranges."""
        self._widen(other.shift)
        difference = self.shift - other.shift
        for number, digest in other.stretches.items():
            wide = number >> difference
            self.stretches[wide] = self.stretches.get(wide, 0) ^ digest
        self._widen(0)

    def _widen(self, shift: int) -> None:
        while len(self.stretches) > self.CAPACITY or self.shift < shift:
            self.shift += 1
            wide: dict[int, int] = {}
            for number, digest in self.stretches.items():
                wide[number >> 1] = wide.get(number >> 1, 0) ^ digest
            self.stretches = wide

    def first_difference(self, other: Digests, start: int, end: int) -> tuple[int, int] | None:
        """The first stretch (its offsets, end excluded) in which two copies differ within ``[start, end)``.

        Only stretches that lie in the interval as a whole are compared.
        """
        shift = max(self.shift, other.shift)
        mine, theirs = self._at(shift), other._at(shift)
        for number in sorted(mine.keys() | theirs.keys()):
            low, high = number << shift, (number + 1) << shift
            if low >= start and high <= end and mine.get(number, 0) != theirs.get(number, 0):
                return low, high
        return None

    def _at(self, shift: int) -> dict[int, int]:
        copy = Digests()
        copy.shift, copy.stretches = self.shift, dict(self.stretches)
        copy._widen(shift)
        return copy.stretches
