"""The bytes that each task reads: segments, cut at batch boundaries into bounded ranges (``cutting``), small ones
together.

Sizes are taken at planning time. Records that are written later belong to the next run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from kafka_tools.spark.cutting import cut, position_of
from kafka_tools.spark.segments import Range, partitions, segments_of

if TYPE_CHECKING:
    from kafka_tools.spark.options import ReadOptions
    from kafka_tools.storage.layout import PartitionFiles

_NO_END = 2**63 - 1
OPEN_COST_BYTES = 1024 * 1024
"""The cost of opening a file, in bytes of reading: a task gets fewer files than their sizes alone would allow."""


def plan(options: ReadOptions) -> Iterator[Range]:
    """All ranges of the log directories; InputError for a directory that cannot be read."""
    selection = options.selection
    first, end = selection.min_offset or 0, _NO_END if selection.max_offset is None else selection.max_offset + 1
    for log_dir in options.paths:
        for found in partitions(log_dir, selection):
            for segment in segments_between(log_dir, found, first, end):
                yield from cut(segment, options.range_bytes)


def segments_between(log_dir: str, found: PartitionFiles, first: int, end: int = _NO_END) -> Iterator[Range]:
    """The segments of a partition that may have offsets in ``[first, end)``, from near the first one on."""
    segments = list(segments_of(log_dir, found))
    for segment, following in zip_longest(segments, segments[1:]):
        if segment.base_offset < end and (following is None or following.base_offset > first):
            yield segment._replace(start=position_of(segment, first)) if segment.base_offset < first else segment


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
