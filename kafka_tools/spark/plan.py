"""Which bytes one task reads: segments, cut at batch boundaries into bounded ranges (``cutting``), small ones together.

Sizes are those of the moment of planning: what is written later belongs to the next run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kafka_tools.spark.cutting import cut, position_of
from kafka_tools.spark.segments import Range, partitions, segments_of

if TYPE_CHECKING:
    from kafka_tools.spark.options import ReadOptions

OPEN_COST_BYTES = 1024 * 1024
"""The cost of opening a file, in bytes of reading: a task gets fewer files than their sizes alone would allow."""


def plan(options: ReadOptions) -> Iterator[Range]:
    """All ranges of the log directories; InputError for a directory that cannot be read."""
    selection = options.selection
    for log_dir in options.paths:
        for found in partitions(log_dir, selection.topics):
            if not selection.has_partition(found.topic, found.partition):
                continue
            for segment, next_base_offset in with_next(segments_of(log_dir, found)):
                if selection.has_segment(segment.base_offset, next_base_offset):
                    if selection.min_offset is not None and selection.min_offset > segment.base_offset:
                        segment = segment._replace(start=position_of(segment, selection.min_offset))
                    yield from cut(segment, options.range_bytes)


def with_next(found: Iterable[Range]) -> Iterator[tuple[Range, int | None]]:
    """Each segment of a partition with the base offset of the one after it."""
    listed = list(found)
    for number, segment in enumerate(listed, 1):
        yield segment, listed[number].base_offset if number < len(listed) else None


def pack(ranges: Iterable[Range], range_bytes: int) -> list[list[Range]]:
    """Ranges grouped into tasks of about ``range_bytes``, the largest tasks first."""
    tasks: list[tuple[int, list[Range]]] = []
    open_task: list[Range] = []
    open_bytes = 0
    for each in ranges:
        cost = each.end - each.start + OPEN_COST_BYTES
        if open_task and open_bytes + cost > range_bytes + OPEN_COST_BYTES:
            tasks.append((open_bytes, open_task))
            open_task, open_bytes = [], 0
        open_task.append(each)
        open_bytes += cost
    if open_task:
        tasks.append((open_bytes, open_task))
    tasks.sort(key=lambda task: -task[0])
    return [task for _, task in tasks]
