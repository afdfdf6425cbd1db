"""Reads the log of a partition: its segments in order, and the range of its offsets."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Generator, Iterator
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, LogError
from kafka_tools.records.batches import BatchView
from kafka_tools.storage.log.file_range import FileRange
from kafka_tools.storage.log.segment import LogSegment


class OffsetOutOfRange(LogError):
    """An offset below the log start offset or above the log end offset."""


class FoundRecord(NamedTuple):
    """The result of a search by time: offset, timestamp in milliseconds, leader epoch (-1 if unknown)."""

    offset: int
    timestamp: int
    leader_epoch: int


_BATCHES_AT_ONCE = 256
"""The number of batches to read between two yields, which takes a millisecond or two."""


class ReadableLog:
    """The segments in ``directory``. ``log_start_offset`` <= offsets < ``log_end_offset``."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.name = os.path.basename(directory)
        self.segments: list[LogSegment] = []
        self._bases: list[int] = []
        self.log_start_offset = 0
        self.log_end_offset = 0

    @property
    def active(self) -> LogSegment:
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        """Bytes of all .log files."""
        return sum(segment.size for segment in self.segments)

    def holds(self, segment: LogSegment) -> bool:
        """Whether the segment is part of the log."""
        at = bisect_right(self._bases, segment.base_offset) - 1
        return at >= 0 and self.segments[at] is segment

    def set_segments(self, segments: list[LogSegment]) -> None:
        self.segments = segments
        self._bases = [segment.base_offset for segment in segments]

    def check_in_range(self, offset: int) -> None:
        """Raise OffsetOutOfRange for an offset below the log start or above the log end."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"offset {offset} of {self.name} is not within {self.log_start_offset} to {self.log_end_offset}"
            )

    def read(self, offset: int, max_bytes: int, *, limit_offset: int | None = None, whole_first: bool = True) -> bytes:
        """The stored bytes of batches from the one with ``offset`` on, up to ``max_bytes``.

        Excludes batches that start at or after ``limit_offset`` (high watermark, last stable offset). With
        ``whole_first`` the result contains the whole first batch even if it is larger. Raises OffsetOutOfRange.
        """
        found = self._found(offset, limit_offset)
        if found is None:
            return b""
        segment, position, limit = found  # if the batch does not fit, do not continue with the next segment
        return segment.read(position, max_bytes, limit, whole_first=whole_first)[0]

    def range(self, offset: int, max_bytes: int, *, limit_offset: int | None = None) -> FileRange | None:
        """As ``read`` without ``whole_first``, but returns a range of a file, whose bytes are read when needed.

        None if there is no batch, or no batch that fits.
        """
        found = self._found(offset, limit_offset)
        return None if found is None else found[0].range(found[1], max_bytes, found[2])

    def _found(self, offset: int, limit_offset: int | None) -> tuple[LogSegment, int, int | None] | None:
        """(segment, position, limit offset) of the first batch to read for ``offset``, None if there is none.

        Raises OffsetOutOfRange.
        """
        self.check_in_range(offset)
        end = self.log_end_offset if limit_offset is None else min(limit_offset, self.log_end_offset)
        if offset >= end:
            return None
        limit = end if end < self.log_end_offset else None
        for segment in self._from(offset):
            if limit is not None and segment.base_offset >= limit:
                return None
            position = segment.position_of(offset)
            if position < segment.size:
                return segment, position, limit
        return None

    def _from(self, offset: int) -> list[LogSegment]:
        """The segments from the one with ``offset`` on."""
        return self.segments[max(bisect_right(self._bases, offset) - 1, 0) :]

    def ends(self) -> list[int]:
        """The end of each segment: the base offset of the next one, or the end of the log."""
        return [*(segment.base_offset for segment in self.segments[1:]), self.log_end_offset]

    def walk(self, offset: int | None = None) -> Iterator[BatchView]:
        """Every batch from ``offset`` (default: the log start) to the end, including its records.

        Raises CorruptBatch for a batch whose CRC does not match, and for bytes that are not a batch.
        """
        start = self.log_start_offset if offset is None else offset
        for segment in self._from(start):
            for position, view in segment.walk(segment.position_of(start)):
                if not view.crc_ok():
                    raise CorruptBatch(
                        f"{segment.path} at {position}: the CRC of the batch at offset {view.base_offset} does not "
                        "match", path=segment.path, position=position,
                    )  # fmt: skip
                yield view

    def offset_for_timestamp(
        self, timestamp: int, *, limit_offset: int | None = None
    ) -> Generator[None, None, FoundRecord | None]:
        """A generator for the first record at or after ``timestamp`` (milliseconds), None if there is none.

        Uses the time index. If the records of its entry were deleted, the search may read much of the log.
        """
        end = self.log_end_offset if limit_offset is None else limit_offset
        for segment in list(self.segments):
            if segment.max_timestamp < timestamp:
                continue
            position = segment.first_offset_by_time(timestamp)
            if segment.base_offset < self.log_start_offset:  # do not read below it: that may be a gigabyte
                position = max(position, segment.position_of(self.log_start_offset))
            for number, (_, view) in enumerate(segment.walk(position), 1):
                if not number % _BATCHES_AT_ONCE:
                    yield
                    if not self.holds(segment):  # it was deleted or replaced meanwhile
                        return (yield from self.offset_for_timestamp(timestamp, limit_offset=limit_offset))
                if view.max_timestamp < timestamp:
                    continue
                if view.base_offset >= end:
                    return None
                for record in view.records():
                    if record.timestamp >= timestamp and self.log_start_offset <= record.offset < end:
                        return FoundRecord(record.offset, record.timestamp, view.partition_leader_epoch)
        return None

    def max_timestamp_record(self) -> Generator[None, None, FoundRecord | None]:
        """A generator for the record with the greatest timestamp, the first one if several have it.

        If that record was deleted or compacted, it reads the headers of the remaining batches, which can take a while.
        """
        best = max(self.segments, key=lambda segment: segment.max_timestamp, default=None)
        if best is None or best.max_timestamp < 0:
            return None
        found = yield from self.offset_for_timestamp(best.max_timestamp)
        return (yield from self._newest_left()) if found is None else found

    def _newest_left(self) -> Generator[None, None, FoundRecord | None]:
        newest: FoundRecord | None = None
        for segment in sorted(self.segments, key=lambda each: -each.max_timestamp):
            if newest is not None and newest.timestamp >= segment.max_timestamp:
                break
            start, at, latest = self.log_start_offset, -1, -1 if newest is None else newest.timestamp
            first = segment.position_of(start) if segment.base_offset < start else 0
            for number, (position, view) in enumerate(segment.walk_headers(first), 1):
                if not number % _BATCHES_AT_ONCE:
                    yield
                    if not self.holds(segment):  # it was deleted or replaced meanwhile
                        return (yield from self._newest_left())
                if view.base_offset < start:  # some of its records are deleted
                    newest = _newer(newest, _newest_in(segment, position, start))
                    latest = -1 if newest is None else newest.timestamp
                elif view.max_timestamp > latest and (view.magic < 2 or view.record_count):
                    at, latest = position, view.max_timestamp
            if at >= 0:
                newest = _newer(newest, _newest_in(segment, at, start))
        return newest

    def aborted_transactions(self, first_offset: int, end_offset: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions with records in the range."""
        found: list[tuple[int, int]] = []
        for segment in self._from(first_offset):
            entries, complete = segment.aborted_entries(first_offset, end_offset)
            found += ((entry.producer_id, entry.first_offset) for entry in entries)
            if complete:
                break
        return found

    def end_of_read(self, offset: int, size: int) -> int:
        """An offset after ``size`` bytes that ``read`` returned for ``offset``: the first one in the index."""
        at = max(bisect_right(self._bases, offset) - 1, 0)
        for segment, after in zip(self.segments[at:], self.ends()[at:], strict=True):
            position = segment.position_of(offset)
            if position < segment.size:
                behind = segment.offset_behind(position + size)
                return after if behind is None else behind
        return self.log_end_offset


def _newest_in(segment: LogSegment, position: int, start: int) -> FoundRecord | None:
    """The newest record at or after the offset ``start`` in the batch at ``position``, if one has a timestamp."""
    _, view = next(segment.walk(position))
    left = [record for record in view.records() if record.offset >= start and record.timestamp >= 0]
    found = max(left, key=lambda record: record.timestamp, default=None)
    return found and FoundRecord(found.offset, found.timestamp, view.partition_leader_epoch)


def _newer(first: FoundRecord | None, second: FoundRecord | None) -> FoundRecord | None:
    return second if first is None or (second is not None and second.timestamp > first.timestamp) else first
