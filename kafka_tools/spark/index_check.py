"""Whether the index files of a segment agree with its batches, for all entries of a range at once.

The rules are those of ``storage.check`` and of Kafka's ``OffsetIndex`` and ``TimeIndex``; here they run over numpy
columns of what ``scan`` saw, because following each entry into the log costs more than reading the whole log. Kinds are
the same words. A broker builds a missing or unreadable index anew when it starts; a wrong one that looks right sends
consumers to the wrong place.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_tools.spark.damage import ERROR, INFO, WARNING
from kafka_tools.spark.files import exists, read_whole, size_of
from kafka_tools.storage.names import INDEX, LOG, TIME_INDEX

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.plan import Range

LARGEST_INDEX_BYTES = 256 * 1024 * 1024
"""Kafka's default is 10 MiB; what is larger than this is not read."""

_OFFSET_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
_TIME_ENTRY = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])


class Batches(NamedTuple):
    """Batches of a range in the order of the file: position, first and last offset, largest timestamp in ms."""

    position: NDArray[np.int64]
    first_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    max_timestamp: NDArray[np.int64]


class Mismatch(NamedTuple):
    """Something wrong in an index file; ``position`` is where in the index, None for the file as a whole."""

    severity: str
    kind: str
    file: str
    position: int | None
    offset: int | None
    detail: str


def check_indexes(range_: Range, batches: Batches, sound_to: int) -> Iterator[Mismatch]:
    """What is wrong with the entries about the batches of a range, and, with its first range, with the files.

    ``sound_to``: from this position in the log on there is damage, so that entries beyond say nothing.
    """
    if range_.size == 0:
        return
    ascending = bool(np.all(np.diff(batches.last_offset) > 0))
    offset_path = range_.file.removesuffix(LOG) + INDEX
    offsets = yield from _load(offset_path, _OFFSET_ENTRY, range_)
    if offsets is not None:
        yield from _check_offsets(offset_path, offsets, range_, batches, sound_to)
    time_path = range_.file.removesuffix(LOG) + TIME_INDEX
    times = yield from _load(time_path, _TIME_ENTRY, range_)
    if times is not None and ascending:
        yield from _check_times(time_path, times, range_, batches, sound_to)


def _load(path: str, entry: np.dtype[Any], range_: Range) -> Generator[Mismatch, None, NDArray[Any] | None]:
    """The written entries of an index file, None if they cannot be used. With the first range also what is wrong."""
    first = range_.start == 0
    try:
        size = size_of(path)
        if size > LARGEST_INDEX_BYTES:
            if first:
                text = f"{size} bytes are too many for an index: it was not checked"
                yield Mismatch(WARNING, _kind(path, "size"), path, None, None, text)
            return None
        data = read_whole(path, LARGEST_INDEX_BYTES)
        entries = np.frombuffer(data, entry, count=len(data) // entry.itemsize)
    except FileNotFoundError:
        # Gone together with its log: retention. Gone alone: the broker builds it anew when it starts.
        if first and exists(range_.file):
            yield Mismatch(INFO, _kind(path, "missing"), path, None, None, "the segment has no such index file")
        return None
    if first and size % entry.itemsize:
        text = f"its size of {size} bytes is no multiple of {entry.itemsize}"
        yield Mismatch(WARNING, _kind(path, "size"), path, size - size % entry.itemsize, None, text)
    return _written(entries)


def _written(entries: NDArray[Any]) -> NDArray[Any]:
    """The entries without the zeros that preallocation leaves at the end of a file."""
    ends = np.flatnonzero(entries["offset"][1:] == 0)
    if len(ends):
        entries = entries[: ends[0] + 1]
    # An index in which nothing was written yet is all zeros, its first entry too.
    return entries[1:] if len(entries) and not entries[0].tobytes().strip(b"\x00") else entries


def _reaches_the_end(range_: Range, sound_to: int) -> bool:
    """Whether there is nothing behind the range that entries could be about: no batch, no damage, nothing new."""
    return range_.end >= range_.size and sound_to >= range_.size and size_of(range_.file) == range_.size


def _check_offsets(
    path: str, entries: NDArray[Any], range_: Range, batches: Batches, sound_to: int
) -> Iterator[Mismatch]:
    relative = entries["offset"].astype(np.int64)
    positions = entries["position"].astype(np.int64)
    if range_.start == 0:
        yield from _out_of_order(path, (relative, positions), _OFFSET_ENTRY.itemsize, ERROR)
        beyond = np.flatnonzero((positions < 0) | (positions >= range_.size))
        # A live segment and its index grow after planning: only what lies beyond the file of now is wrong.
        if len(beyond) and int(positions[beyond[0]]) >= size_of(range_.file):
            entry = int(beyond[0])
            text = f"points to {positions[entry]}, beyond the {range_.size} bytes of the log"
            offset = range_.base_offset + int(relative[entry])
            yield Mismatch(ERROR, "index-nowhere", path, entry * _OFFSET_ENTRY.itemsize, offset, text)
    chosen = np.flatnonzero((positions >= range_.start) & (positions < min(range_.end, sound_to)))
    if not len(chosen) or not len(batches.position):
        return
    offsets, positions = relative[chosen] + range_.base_offset, positions[chosen]
    at = np.minimum(np.searchsorted(batches.position, positions), len(batches.position) - 1)
    starts = batches.position[at] == positions
    first, last = batches.first_offset[at], batches.last_offset[at]
    # Kafka 4 writes the batch's last offset; 1.1 wrote the first one, 2.x and 3.x the last of everything that a request
    # appended, which may be several batches. A search for any offset ends at the right place with each of them.
    unseen = (offsets > batches.last_offset[-1]) & (not _reaches_the_end(range_, sound_to))
    later = (offsets > last) & (np.isin(offsets, batches.last_offset) | unseen)
    for wrong in np.flatnonzero(~(starts & (((first <= offsets) & (offsets <= last)) | later))):
        text = (
            f"says offset {offsets[wrong]} where the batch has {first[wrong]} to {last[wrong]}"
            if starts[wrong]
            else f"points to {positions[wrong]}, where no batch starts"
        )
        position = int(chosen[wrong]) * _OFFSET_ENTRY.itemsize
        kind = "index-mismatch" if starts[wrong] else "index-nowhere"
        yield Mismatch(ERROR, kind, path, position, int(offsets[wrong]), text)


def _check_times(
    path: str, entries: NDArray[Any], range_: Range, batches: Batches, sound_to: int
) -> Iterator[Mismatch]:
    times = entries["timestamp"].astype(np.int64)
    offsets = entries["offset"].astype(np.int64) + range_.base_offset
    if range_.start == 0:
        yield from _out_of_order(path, (times, offsets), _TIME_ENTRY.itemsize, WARNING)
    if not len(batches.position):
        return
    nowhere = np.zeros(len(offsets), bool)
    if range_.start == 0 and sound_to > 0:
        nowhere |= offsets < batches.first_offset[0]
    if _reaches_the_end(range_, sound_to):
        nowhere |= offsets > batches.last_offset[-1]
    for entry in np.flatnonzero(nowhere).tolist():
        text = f"says offset {offsets[entry]}, which no batch holds"
        yield Mismatch(WARNING, "timeindex-offset", path, entry * _TIME_ENTRY.itemsize, int(offsets[entry]), text)
    chosen = np.flatnonzero((offsets >= batches.first_offset[0]) & (offsets <= batches.last_offset[-1]))
    at = np.searchsorted(batches.last_offset, offsets[chosen])
    inside = batches.first_offset[at] <= offsets[chosen]
    newest = batches.max_timestamp[at]
    for wrong in np.flatnonzero(~inside | (newest != times[chosen])):
        entry = int(chosen[wrong])
        kind, text = "timeindex-offset", f"says offset {offsets[entry]}, which no batch holds"
        if inside[wrong]:
            kind, text = "timeindex-mismatch", f"says timestamp {times[entry]} where the batch has {newest[wrong]}"
        yield Mismatch(WARNING, kind, path, entry * _TIME_ENTRY.itemsize, int(offsets[entry]), text)


def _out_of_order(
    path: str, columns: Sequence[NDArray[np.int64]], entry_bytes: int, severity: str
) -> Iterator[Mismatch]:
    """The first entry in which a column does not ascend."""
    for column in columns:
        back = np.flatnonzero(np.diff(column) <= 0)
        if len(back):
            at = int(back[0]) + 1
            text = f"the entries do not ascend: {column[at]} follows {column[at - 1]}"
            yield Mismatch(severity, _kind(path, "order"), path, at * entry_bytes, None, text)
            return
        if len(column) and int(column[0]) < 0:
            text = f"the first entry is negative: {column[0]}"
            yield Mismatch(severity, _kind(path, "order"), path, 0, None, text)
            return


def _kind(path: str, problem: str) -> str:
    return f"{'timeindex' if path.endswith(TIME_INDEX) else 'index'}-{problem}"
