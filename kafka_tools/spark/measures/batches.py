"""Measures of batch headers beyond plain counts: sizes, times, gaps, delete horizons, digests to compare replicas.

A ``BatchMeasures`` covers any number of ranges of one partition directory. Its size grows by a small row per range, and
by nothing with the number of batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.protocol.enums import CONTROL_BIT, DELETE_HORIZON_BIT
from kafka_tools.spark.measures.sketches import Histogram
from kafka_tools.spark.measures.times import DAY_MS, DAYS_KEPT, HOUR_MS, HOURS_KEPT, OddTimes, Spans, odd_times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.headers import Headers
    from kafka_tools.spark.scan import HeaderRun, Row

    Numbers = NDArray[np.int64]


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
        """Add other ranges of the same partition directory."""
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
        headers = run.headers
        records, offsets, lasts = headers.column("record_count"), headers.column("base_offset"), headers.last_offsets
        self.records_per_batch.add_all(records[(headers.fields["attributes"] & CONTROL_BIT) == 0])
        newest = self._see(
            file, headers.positions, offsets, headers.sizes, records, headers.column("max_timestamp"), now_ms
        )
        self.emptied += int(np.count_nonzero(records == 0))
        self.thinned += int(np.count_nonzero(records <= lasts - offsets))
        self._see_horizons(headers, file)
        if digests:
            self.digests.add_all(headers)
        jumps = offsets[1:] - lasts[:-1] - 1
        first_jump = np.flatnonzero(jumps > 0)[:1]
        gap_offset = int(lasts[first_jump[0]]) + 1 if len(first_jump) else None
        return newest, int(jumps[jumps > 0].sum()), gap_offset

    def add_row(self, row: Row, now_ms: int) -> int | None:
        """Count a sound batch of magic 0 or 1; its newest timestamp, None if it has none."""
        offset = row["last_offset"] if row.get("base_offset") is None else row["base_offset"]
        time_ms = -1 if row.get("max_timestamp_ms") is None else row["max_timestamp_ms"]
        values = row["position"], offset, row["size_bytes"], row.get("record_count") or 0, time_ms
        position, first, size, records, newest = (np.array([value], np.int64) for value in values)
        self.records_per_batch.add_all(records)
        return self._see(row["file"], position, first, size, records, newest, now_ms)

    def _see(
        self, file: str, positions: Numbers, offsets: Numbers, sizes: Numbers, records: Numbers, times: Numbers,
        now_ms: int,
    ) -> int | None:  # fmt: skip
        """Count sound batches of any magic; their newest timestamp, None if they have none."""
        self.sizes.add_all(sizes)
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
        return int(times[dated].max()) if dated.any() else None

    def _see_odd(self, odd: OddTimes) -> None:
        key = odd.way, odd.file
        self.odd_times[key] = self.odd_times[key].plus(odd) if key in self.odd_times else odd

    def _see_largest(self, more: list[Largest]) -> None:
        ordered = sorted(self.largest + more, key=lambda each: (-each.size_bytes, each.offset))
        self.largest = ordered[: self.LARGEST_KEPT]

    def _see_horizons(self, headers: Headers, file: str) -> None:
        headers = headers.take((headers.fields["attributes"] & DELETE_HORIZON_BIT) != 0)
        if len(headers.positions):
            times = headers.column("base_timestamp")
            self.horizons += len(times)
            at = int(times.argmin())
            place = file, int(headers.positions[at]), int(headers.fields["base_offset"][at])
            self._see_horizon((int(times[at]), *place))

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

    def add_all(self, headers: Headers) -> None:
        """Add batches: the CRC covers the bytes that a replica must not change."""
        firsts, lasts = headers.column("base_offset"), headers.last_offsets
        value = headers.fields["crc"].astype(np.uint64) | (firsts.astype(np.uint64) << np.uint64(32))
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
        """Add the batches of other ranges."""
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
