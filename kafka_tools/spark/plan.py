"""Which bytes one task reads: segments found, cut at batch boundaries into bounded ranges, small ones together.

A cut is made only where a batch is known to start: at an entry of the offset index whose batch is whole, with the right
CRC and offsets, else by following the batch headers. So a damaged index costs time, never a wrong reading. Sizes are
those of the moment of planning: what is written later belongs to the next run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.records.batches import LEAST_LENGTH, MAGIC_POSITION, PREFIX_BYTES, batches
from kafka_tools.storage.indexes import read_offset_index
from kafka_tools.storage.layout import PartitionFiles, partition_files
from kafka_tools.storage.names import INDEX, LOG, parse_partition_dir

if TYPE_CHECKING:
    from kafka_tools.spark.options import ReadOptions

OPEN_COST_BYTES = 1024 * 1024
"""What opening a file is worth: a task gets fewer files than their sizes alone would allow."""

_LARGEST_PROBE_BYTES = 16 * 1024 * 1024
_HOP_BYTES = 4096


class Range(NamedTuple):
    """The batches of a segment that start in ``[start, end)``; ``size`` is the file's when it was planned, in bytes.

    ``last_segment``: no segment of the partition follows, so that a broker may be writing at its end.
    """

    topic: str
    partition: int
    log_dir: str
    file: str
    base_offset: int
    start: int
    end: int
    size: int
    last_segment: bool


def plan(options: ReadOptions) -> Iterator[Range]:
    """All ranges of the log directories; InputError for a directory that cannot be read."""
    for log_dir in options.paths:
        for segment in segments(log_dir, options.topics):
            yield from cut(segment, options.range_bytes)


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


def wanted(topic: str, patterns: tuple[str, ...]) -> bool:
    """Whether a topic matches one of the glob patterns; without patterns everything does."""
    return not patterns or any(fnmatchcase(topic, pattern) for pattern in patterns)


def segments(log_dir: str, topics: tuple[str, ...]) -> Iterator[Range]:
    """Every segment below ``log_dir``, which is a log directory or one partition's; each as one range.

    Directories that a broker is removing (``-delete``) or has not put in place (``-future``, ``-stray``) are left out.
    InputError if the directory cannot be read.
    """
    for found in partitions(log_dir, topics):
        yield from segments_of(log_dir, found)


def segments_of(log_dir: str, found: PartitionFiles) -> Iterator[Range]:
    """Every segment of one partition directory, each as one range."""
    logs = [(segment.base_offset, segment.log) for segment in found.segments if segment.log]
    for base_offset, path in logs:
        try:
            size = os.stat(path).st_size
        except FileNotFoundError:
            continue  # removed by the broker's retention since the directory was listed
        is_last = base_offset == logs[-1][0]
        yield Range(found.topic, found.partition, log_dir, path, base_offset, 0, size, size, is_last)


def indexes_without_log(found: PartitionFiles) -> Iterator[str]:
    """Index files of a partition directory whose segment has no log file, if they are still there."""
    for segment in found.segments:
        if segment.log is None:
            for path in (segment.offset_index, segment.time_index, segment.txn_index):
                if path is not None and os.path.exists(path):
                    yield path


def partitions(log_dir: str, topics: tuple[str, ...]) -> Iterator[PartitionFiles]:
    """The partition directories of a log directory in use, or the one that ``log_dir`` itself is."""
    try:
        if parse_partition_dir(os.path.basename(os.path.abspath(log_dir))) is not None:
            directories = [log_dir]
        else:
            with os.scandir(log_dir) as entries:
                directories = sorted(entry.path for entry in entries if entry.is_dir())
        for directory in directories:
            parsed = parse_partition_dir(os.path.basename(os.path.abspath(directory)))
            if parsed is None or parsed.state or not wanted(parsed.topic_partition.topic, topics):
                continue
            try:
                yield partition_files(directory)
            except FileNotFoundError:
                if directory == log_dir:
                    raise
                # The broker removed the topic since the directory was listed.
    except OSError as error:
        raise InputError(f"log directory {error.filename or log_dir}: {error.strerror or error}") from error


def cut(segment: Range, range_bytes: int) -> list[Range]:
    """The ranges of one whole segment: each starts at a batch and holds about ``range_bytes``."""
    size = segment.size
    if size <= range_bytes + range_bytes // 2:
        return [segment]
    try:
        descriptor = os.open(segment.file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return [segment]  # the task that reads it says what is wrong
    try:
        starts = [0]
        for position in _indexed_starts(descriptor, segment.file, segment.base_offset, size, range_bytes):
            starts += _starts_by_headers(descriptor, starts[-1], position, range_bytes)
            starts.append(position)
        starts += _starts_by_headers(descriptor, starts[-1], size, range_bytes)
    finally:
        os.close(descriptor)
    return [segment._replace(start=start, end=end) for start, end in zip(starts, [*starts[1:], size], strict=True)]


def _indexed_starts(descriptor: int, path: str, base_offset: int, size: int, range_bytes: int) -> Iterator[int]:
    """Entries of the offset index, about ``range_bytes`` apart, at which a whole batch was seen to start."""
    previous = 0
    try:
        for offset, position in read_offset_index(path.removesuffix(LOG) + INDEX, base_offset):
            far_enough = previous + range_bytes <= position <= size - range_bytes // 2
            if far_enough and _is_batch(descriptor, position, size, base_offset, offset):
                yield position
                previous = position
    except OSError:
        return  # no index: the batch headers tell as well, only slower


def _is_batch(descriptor: int, position: int, size: int, base_offset: int, indexed_offset: int) -> bool:
    """Whether a batch with the right CRC, and with offsets that the index entry allows, starts at ``position``."""
    head = os.pread(descriptor, PREFIX_BYTES, position)
    if len(head) < PREFIX_BYTES:
        return False
    size_bytes = PREFIX_BYTES + int.from_bytes(head[8:12], "big", signed=True)
    if not PREFIX_BYTES + LEAST_LENGTH <= size_bytes <= min(size - position, _LARGEST_PROBE_BYTES):
        return False
    data = os.pread(descriptor, size_bytes, position)
    view = next(batches(data, strict=False), None)
    # The entry's offset is the last one of an append, which may have held several batches.
    return view is not None and base_offset <= view.last_offset <= indexed_offset and view.crc_ok()


def _starts_by_headers(descriptor: int, start: int, end: int, range_bytes: int) -> list[int]:
    """Starts of ranges after ``start``, found by following batch lengths; none beyond something that is no batch."""
    starts: list[int] = []
    position = previous = start
    while end - previous > range_bytes + range_bytes // 2:
        block = os.pread(descriptor, _HOP_BYTES, position)
        at = 0
        while at + MAGIC_POSITION < len(block):
            length = int.from_bytes(block[at + 8 : at + 12], "big", signed=True)
            if length < LEAST_LENGTH or block[at + MAGIC_POSITION] > 2:
                return starts
            at += PREFIX_BYTES + length
            if position + at - previous >= range_bytes:
                break
        if at == 0 or position + at >= end:
            return starts
        position += at
        if position - previous >= range_bytes:
            starts.append(position)
            previous = position
    return starts
