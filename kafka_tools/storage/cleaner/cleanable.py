"""The dirty part of a log, and the part that compaction may clean (``LogCleanerManager``, ``LogToClean``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.storage.layout import MAX_RELATIVE_OFFSET

if TYPE_CHECKING:
    from kafka_tools.storage.log.partition_log import PartitionLog
    from kafka_tools.storage.log.segment import LogSegment


class Cleanable(NamedTuple):
    """The clean part of a log ends at ``first_dirty_offset``. No round may clean from ``end_offset`` on yet."""

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    cleanable_bytes: int
    overdue: bool
    """Whether a dirty record has waited for longer than ``max.compaction.lag.ms``."""

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def ratio(self) -> float:
        """The share of bytes that a round would clean; 0 for an empty log."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    def worth_it(self, min_ratio: float) -> bool:
        """Whether a round is due, by the ratio (``min.cleanable.dirty.ratio``) or the age of dirty records."""
        return self.total_bytes > 0 and ((self.overdue and self.cleanable_bytes > 0) or self.ratio > min_ratio)


def cleanable(opened: PartitionLog, cleaned_to: int | None, now_ms: int) -> Cleanable:
    """The part of a log that a round would clean; the last round ended at ``cleaned_to`` (None: there was none)."""
    first_dirty = _first_dirty(opened, cleaned_to)
    bounds = [opened.last_stable_offset, opened.active.base_offset]
    closed = opened.segments[:-1]
    dirty = [segment for segment, end in zip(closed, opened.ends(), strict=False) if end > first_dirty]
    lag_ms = opened.config.min_compaction_lag_ms
    if lag_ms > 0:
        young = (segment.base_offset for segment in dirty if segment.largest_timestamp > now_ms - lag_ms)
        bounds.append(next(young, bounds[-1]))
    bound = max(first_dirty, min(bounds))
    # The round does not clean the segment that contains the bound, or any later one.
    end_offset = next(
        (segment.base_offset for segment, end in zip(closed, opened.ends(), strict=False) if end > bound),
        opened.active.base_offset,
    )
    begin = min(first_dirty, end_offset)
    clean_bytes = cleanable_bytes = 0
    for segment, end in zip(opened.segments, opened.ends(), strict=True):
        if segment.base_offset < first_dirty:
            clean_bytes += segment.size
        if end > begin and segment.base_offset < end_offset:
            cleanable_bytes += segment.size
    oldest = min((first for segment in dirty if (first := segment.first_batch_timestamp()) > 0), default=None)
    overdue = oldest is not None and oldest < now_ms - opened.config.max_compaction_lag_ms
    return Cleanable(first_dirty, end_offset, clean_bytes, cleanable_bytes, overdue)


def _first_dirty(opened: PartitionLog, cleaned_to: int | None) -> int:
    start = opened.log_start_offset
    return start if cleaned_to is None or cleaned_to > opened.log_end_offset else max(cleaned_to, start)


def groups(opened: PartitionLog, end: int, end_offset: int) -> list[list[LogSegment]]:
    """Groups of segments up to ``end``, each for one new segment: as many as fit into a segment and its indexes.

    ``end_offset`` is the end of the part that may be cleaned.
    """
    config = opened.config
    found: list[list[LogSegment]] = []
    size = index_size = time_index_size = 0
    segments = [segment for segment in opened.segments if segment.base_offset < end]
    for segment, following in zip(segments, [*(each.base_offset for each in segments[1:]), end_offset], strict=False):
        fits = (
            bool(found)
            and size + segment.size <= config.segment_bytes
            and index_size + segment.index_bytes <= config.segment_index_bytes
            and time_index_size + segment.time_index_bytes <= config.segment_index_bytes
            and (not segment.size or following - 1 - found[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
        )
        if not fits:
            found.append([])
            size = index_size = time_index_size = 0
        found[-1].append(segment)
        size += segment.size
        index_size += segment.index_bytes
        time_index_size += segment.time_index_bytes
    return found
