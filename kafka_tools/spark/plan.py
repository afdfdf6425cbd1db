"""Which bytes one task reads: segments found, cut at batch boundaries into bounded ranges, small ones together.

A cut is made only where a batch is known to start: at an entry of the offset index whose batch is whole, with the right
CRC and offsets, else by following the batch headers, or, behind damage and in stores, at a batch with the right CRC
that others follow. So a damaged index costs time, never a wrong reading. Sizes are those of the moment of planning:
what is written later belongs to the next run.
"""

from __future__ import annotations

import os
import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.errors import InputError
from kafka_tools.records.batches import batches
from kafka_tools.records.chain import (
    HEADER_BYTES,
    LEAST_LENGTH,
    MAGIC_POSITION,
    OF_KNOWN_MAGIC,
    OF_MAGIC_2,
    PREFIX_BYTES,
    follow,
    size_at,
)
from kafka_tools.records.chain_columns import gather
from kafka_tools.spark.files import File, is_remote, list_store, normalised, open_file, read_whole, size_and_identity
from kafka_tools.spark.scan import FileSegment
from kafka_tools.storage.layout import PartitionFiles, SegmentFiles, partition_files
from kafka_tools.storage.live import Identity
from kafka_tools.storage.names import (
    CHECKPOINT,
    INDEX,
    LOG,
    LOG_DIR_FILES,
    PARTITION_FILES,
    SNAPSHOT,
    TIME_INDEX,
    TXN_INDEX,
    PartitionDirectory,
    parse_file_name,
    parse_partition_dir,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.options import ReadOptions

OPEN_COST_BYTES = 1024 * 1024
"""What opening a file is worth: a task gets fewer files than their sizes alone would allow."""

_LARGEST_PROBE_BYTES = 16 * 1024 * 1024
_HOP_BYTES = 4096
_NO_END = 1 << 62
"""For batches of which the headers alone are read."""
_PROBES = 4
"""How many entries of an index may be wrong before the batch headers are followed instead."""
_FOLLOWED_BYTES = 2 * 1024 * 1024
"""So far batches have to follow each other: further than one record reaches by Kafka's defaults."""
_INDEX_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
_OF_PARTITIONS_ONLY = frozenset(PARTITION_FILES) - frozenset(LOG_DIR_FILES)
_SEGMENT_FILES = {LOG: "log", INDEX: "offset_index", TIME_INDEX: "time_index", TXN_INDEX: "txn_index"}
LARGEST_INDEX_BYTES = 256 * 1024 * 1024
"""Kafka's default is 10 MiB; what is larger than this is not read."""


class Range(NamedTuple):
    """The batches of a segment that start in ``[start, end)``; ``size`` is the file's when it was planned, in bytes.

    ``last_segment``: no segment of the partition follows, so that a broker may be writing at its end. ``identity``:
    which file it was planned for, None in a store: compaction may put another one in its place.
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
    identity: Identity | None = None


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
    sizes = found.sizes if isinstance(found, ListedFiles) else {}
    for base_offset, path in logs:
        try:
            size, which = (sizes[path], None) if path in sizes else size_and_identity(path)
        except FileNotFoundError:
            continue  # removed by the broker's retention since the directory was listed
        is_last = base_offset == logs[-1][0]
        yield Range(found.topic, found.partition, log_dir, path, base_offset, 0, size, size, is_last, which)


def partitions(log_dir: str, topics: tuple[str, ...]) -> Iterator[PartitionFiles]:
    """The partition directories of a log directory in use, or the one that ``log_dir`` itself is."""
    try:
        yield from (_in_store if is_remote(log_dir) else _on_disk)(log_dir, topics)
    except OSError as error:
        raise InputError(f"log directory {error.filename or log_dir}: {error.strerror or error}") from error


class ListedFiles(PartitionFiles):
    """A partition's files in a store, with the sizes that the listing told: asking for each would be a request each."""

    sizes: dict[str, int]


def is_partition(directory: str, names: Iterable[str]) -> bool:
    """Whether a directory with files of these names is a partition's.

    Its own name alone does not tell: a log directory may well be called ``broker-1``.
    """
    if parse_partition_dir(posixpath.basename(directory)) is None:
        return False
    return any(parse_file_name(name) or name in _OF_PARTITIONS_ONLY for name in names)


def is_partition_on_disk(directory: str) -> bool:
    """The same of a directory of this machine. OSError as from reading."""
    path = os.path.abspath(directory)
    with os.scandir(path) as entries:
        return is_partition(path, (entry.name for entry in entries))


def _on_disk(log_dir: str, topics: tuple[str, ...]) -> Iterator[PartitionFiles]:
    if is_partition_on_disk(log_dir):
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


def _in_store(log_dir: str, topics: tuple[str, ...]) -> Iterator[PartitionFiles]:
    """One listing of everything below: far fewer requests than one for each directory."""
    log_dir = normalised(log_dir)
    directories: dict[str, dict[str, int]] = {}
    for entry in list_store(log_dir):
        directories.setdefault(posixpath.dirname(entry.path), {})[entry.path] = entry.size_bytes
    for directory, sizes in sorted(directories.items()):
        parsed = parse_partition_dir(posixpath.basename(directory))
        below = posixpath.dirname(directory) == log_dir
        itself = directory == log_dir and is_partition(directory, map(posixpath.basename, sizes))
        if (
            (below or itself)
            and parsed is not None
            and not parsed.state
            and wanted(parsed.topic_partition.topic, topics)
        ):
            yield _arranged(directory, parsed, sizes)


def _arranged(directory: str, parsed: PartitionDirectory, sizes: dict[str, int]) -> ListedFiles:
    """The files of one directory as ``storage.layout`` arranges those of a disk."""
    segments: dict[int, dict[str, str]] = {}
    others: dict[str, list[str]] = {SNAPSHOT: [], CHECKPOINT: [], "": []}
    for path in sizes:
        name = parse_file_name(posixpath.basename(path))
        if name is None:
            continue
        if name.state:
            others[""].append(path)
        elif name.suffix in _SEGMENT_FILES:
            segments.setdefault(name.base_offset, {})[_SEGMENT_FILES[name.suffix]] = path
        else:
            others[name.suffix].append(path)
    listed = ListedFiles(
        directory=directory,
        topic=parsed.topic_partition.topic,
        partition=parsed.topic_partition.partition,
        state=parsed.state,
        segments=tuple(SegmentFiles(offset, **segments[offset]) for offset in sorted(segments)),
        snapshots=tuple(others[SNAPSHOT]),
        checkpoints=tuple(others[CHECKPOINT]),
        leftovers=tuple(others[""]),
        size_bytes=sum(sizes[files["log"]] for files in segments.values() if "log" in files),
    )
    listed.sizes = sizes
    return listed


def cut(segment: Range, range_bytes: int) -> list[Range]:
    """The ranges of a segment from its ``start`` on: each starts at a batch and holds about ``range_bytes``."""
    size = segment.size
    if size - segment.start <= range_bytes + range_bytes // 2:
        return [segment]
    # Following batches through a store would read all of it; searching for one reads a window.
    follow = _starts_by_search if is_remote(segment.file) else _starts_by_headers
    try:
        with open_file(segment.file) as file:
            starts = [segment.start]
            for position in _indexed_starts(file, segment, range_bytes):
                starts += follow(file, segment.base_offset, starts[-1], position, range_bytes)
                starts.append(position)
            starts += follow(file, segment.base_offset, starts[-1], size, range_bytes)
    except OSError:
        return [segment]  # the task that reads it says what is wrong
    return [segment._replace(start=start, end=end) for start, end in zip(starts, [*starts[1:], size], strict=True)]


def _index_of(segment: Range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(offsets, positions) that the offset index of a segment names, without the first batch. OSError as from reading.

    Entries that are zero were not written: a broker makes an index of its full size when it starts a segment.
    """
    data = read_whole(segment.file.removesuffix(LOG) + INDEX, LARGEST_INDEX_BYTES)
    entries = np.frombuffer(data, _INDEX_ENTRY, count=len(data) // _INDEX_ENTRY.itemsize)
    written = entries[entries["position"] > 0]
    return segment.base_offset + written["offset"].astype(np.int64), written["position"].astype(np.int64)


def position_of(segment: Range, offset: int) -> int:
    """A place in a segment at which a batch starts that is not beyond ``offset``: by its index, else the beginning."""
    try:
        offsets, positions = _index_of(segment)
        with open_file(segment.file) as file:
            for at in np.flatnonzero(offsets <= offset)[: -1 - _PROBES : -1].tolist():
                if _is_batch(file, int(positions[at]), segment.size, segment.base_offset, int(offsets[at])):
                    return int(positions[at])
    except OSError:
        pass  # no index, or no segment any more: the task that reads it says so
    return segment.start


def _indexed_starts(file: File, segment: Range, range_bytes: int) -> Iterator[int]:
    """Entries of the offset index, about ``range_bytes`` apart, at which a whole batch was seen to start."""
    try:
        offsets, positions = _index_of(segment)
    except OSError:
        return  # no index: the batch headers tell as well, only slower
    previous = segment.start
    while True:
        far_enough = (positions >= previous + range_bytes) & (positions <= segment.size - range_bytes // 2)
        for at in np.flatnonzero(far_enough)[:_PROBES].tolist():
            if _is_batch(file, int(positions[at]), segment.size, segment.base_offset, int(offsets[at])):
                previous = int(positions[at])
                yield previous
                break
        else:
            return  # no entry more, or none that is true


def _is_batch(file: File, position: int, size: int, base_offset: int, indexed_offset: int) -> bool:
    """Whether a batch with the right CRC, and with offsets that the index entry allows, starts at ``position``."""
    head = file.read(position, PREFIX_BYTES)
    if len(head) < PREFIX_BYTES:
        return False
    size_bytes = size_at(head)
    if not PREFIX_BYTES + LEAST_LENGTH <= size_bytes <= min(size - position, _LARGEST_PROBE_BYTES):
        return False
    data = file.read(position, size_bytes)
    view = next(batches(data, strict=False), None)
    # The entry's offset is the last one of an append, which may have held several batches.
    return view is not None and base_offset <= view.last_offset <= indexed_offset and view.crc_ok()


def _starts_by_headers(file: File, base_offset: int, start: int, end: int, range_bytes: int) -> list[int]:
    """Starts of ranges after ``start``, found by following batch lengths; behind damage, by searching."""
    starts: list[int] = []
    position = previous = start
    while end - previous > range_bytes + range_bytes // 2:
        block = file.read(position, _HOP_BYTES)
        places, behind = follow(block, 0, _NO_END, OF_KNOWN_MAGIC)
        places.append(behind)
        far_enough = bisect_left(places, previous + range_bytes - position)
        if far_enough == len(places) and behind + MAGIC_POSITION < len(block):
            damage = position + behind
            return starts + _starts_by_search(file, base_offset, previous, end, range_bytes, behind=damage)
        at = places[min(far_enough, len(places) - 1)]
        if at == 0 or position + at >= end:
            return starts
        position += at
        if position - previous >= range_bytes:
            starts.append(position)
            previous = position
    return starts


def _starts_by_search(
    file: File, base_offset: int, start: int, end: int, range_bytes: int, *, behind: int = -1
) -> list[int]:
    """Starts of ranges after ``start`` (and ``behind``): the next sound batches that more batches follow."""
    starts: list[int] = []
    segment = FileSegment(file, base_offset)
    target, probes = max(start + range_bytes, behind + 1), 0
    while target <= end - range_bytes // 2:
        found = segment.next_plausible(target, end, before=min(end, target + range_bytes))
        if found is not None and _is_followed(file, found, end):
            starts.append(found)
            target, probes = found + range_bytes, 0
        elif found is not None and probes < _PROBES:
            target, probes = found + 1, probes + 1
        else:
            target, probes = target + range_bytes, 0
    return starts


def _is_followed(file: File, start: int, end: int) -> bool:
    """Whether batch follows batch from ``start`` on, as they do not within a record that holds batches itself."""
    block = file.read(start, min(_FOLLOWED_BYTES, end - start))
    starts, behind = follow(block, 0, _NO_END, OF_MAGIC_2)
    if behind + HEADER_BYTES <= len(block):
        return False
    headers = gather(block, [at for at in starts if at + HEADER_BYTES <= len(block)])
    first = headers["base_offset"].astype(np.int64)
    last = first + headers["last_offset_delta"]
    if (first < 0).any() or (first[1:] <= last[:-1]).any():
        return False
    return behind >= len(block) or len(block) == _FOLLOWED_BYTES
