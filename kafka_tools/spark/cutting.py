"""Positions at which a segment may be cut, because a batch is known to start there.

Such a position is an entry of the offset index whose batch is complete and has a valid CRC and the right offsets.
Without one, the batch headers are followed. After damage and in stores it is a batch with a valid CRC that other
batches follow. So a damaged index costs time, but never a wrong result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

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
from kafka_tools.spark.files import File, is_remote, open_file, open_log, read_whole
from kafka_tools.spark.scan import FileSegment
from kafka_tools.spark.segments import Range
from kafka_tools.storage.names import (
    INDEX,
    LOG,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


_LARGEST_PROBE_BYTES = 16 * 1024 * 1024
_HOP_BYTES = 4096
_NO_END = 1 << 62
"""For batches of which only the headers are read."""
_PROBES = 4
"""Maximum number of wrong entries of an index, after which the batch headers are followed instead."""
_FOLLOWED_BYTES = 2 * 1024 * 1024
"""The bytes over which batches have to follow each other: more than one record takes by Kafka's defaults."""
_INDEX_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
LARGEST_INDEX_BYTES = 256 * 1024 * 1024
"""Kafka's default is 10 MiB; larger indexes than this are not read."""


def cut(segment: Range, range_bytes: int) -> list[Range]:
    """The ranges of a segment from its ``start`` on: each starts at a batch and contains about ``range_bytes``."""
    size = segment.size
    if size - segment.start <= range_bytes + range_bytes // 2:
        return [segment]
    # Following batches through a store would read all of it; searching for one reads a window.
    follow = _starts_by_search if is_remote(segment.file) else _starts_by_headers
    try:
        with open_log(segment.file) as file:
            starts = [segment.start]
            for position in _indexed_starts(file, segment, range_bytes):
                starts += follow(file, segment.base_offset, starts[-1], position, range_bytes)
                starts.append(position)
            starts += follow(file, segment.base_offset, starts[-1], size, range_bytes)
    except OSError:
        return [segment]  # the task that reads it reports the error
    return [segment._replace(start=start, end=end) for start, end in zip(starts, [*starts[1:], size], strict=True)]


def _index_of(segment: Range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(offsets, positions) that the offset index of a segment names, without the first batch. OSError as from reading.

    Entries that are zero were not written: a broker creates an index with its full size when it starts a segment.
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
        pass  # the index or the segment is missing: the task that reads it reports this
    return segment.start


def _indexed_starts(file: File, segment: Range, range_bytes: int) -> Iterator[int]:
    """Entries of the offset index, about ``range_bytes`` apart, at which a whole batch was seen to start."""
    try:
        offsets, positions = _index_of(segment)
    except OSError:
        return  # no index: use the batch headers, which takes longer
    previous = segment.start
    while True:
        far_enough = (positions >= previous + range_bytes) & (positions <= segment.size - range_bytes // 2)
        for at in np.flatnonzero(far_enough)[:_PROBES].tolist():
            if _is_batch(file, int(positions[at]), segment.size, segment.base_offset, int(offsets[at])):
                previous = int(positions[at])
                yield previous
                break
        else:
            return  # no further entry, or no correct one


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
    # The entry's offset is the last one of an append, which may contain several batches.
    return view is not None and base_offset <= view.last_offset <= indexed_offset and view.crc_ok()


def _starts_by_headers(file: File, base_offset: int, start: int, end: int, range_bytes: int) -> list[int]:
    """Starts of ranges after ``start``, found by following batch lengths; after damage, by searching."""
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
