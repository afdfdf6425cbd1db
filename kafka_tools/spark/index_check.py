"""Whether the index files of a segment agree with its batches, for all entries of a range at once.

The rules are those of ``storage.check`` and of Kafka's ``OffsetIndex`` and ``TimeIndex``; here they run over numpy
columns of what ``scan`` saw, because following each entry into the log costs more than reading the whole log. Kinds are
the same words. A broker builds a missing or unreadable index anew when it starts; a wrong one that looks right sends
consumers to the wrong place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_tools.spark.files import exists, read_whole, size_and_identity, size_of
from kafka_tools.storage.findings import Finding
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


class Indexes(NamedTuple):
    """The entries of a segment's indexes, None where there is none that can be used, and what is wrong with the files.

    Read before the log is opened: what a broker appends later to both is not compared.
    """

    offsets: NDArray[Any] | None
    times: NDArray[Any] | None
    problems: list[Finding]


def read_indexes(range_: Range) -> Indexes:
    """The indexes beside the log of a range. OSError as from reading."""
    if range_.size == 0:
        return Indexes(None, None, [])
    problems: list[Finding] = []
    offsets = _load(range_.file.removesuffix(LOG) + INDEX, _OFFSET_ENTRY, range_, problems)
    times = _load(range_.file.removesuffix(LOG) + TIME_INDEX, _TIME_ENTRY, range_, problems)
    return Indexes(offsets, times, problems)


def check_indexes(range_: Range, indexes: Indexes, batches: Batches, sound_to: int) -> Iterator[Finding]:
    """What is wrong with the entries about the batches of a range, and, with its first range, with the files.

    ``sound_to``: from this position in the log on there is damage, so that entries beyond say nothing.
    """
    if range_.start == 0:
        yield from indexes.problems
    ascending = bool(np.all(np.diff(batches.last_offset) > 0))
    if indexes.offsets is not None:
        path = range_.file.removesuffix(LOG) + INDEX
        yield from _check_offsets(path, indexes.offsets, range_, batches, sound_to)
    if indexes.times is not None and ascending:
        path = range_.file.removesuffix(LOG) + TIME_INDEX
        yield from _check_times(path, indexes.times, range_, batches, sound_to)


def _load(path: str, entry: np.dtype[Any], range_: Range, problems: list[Finding]) -> NDArray[Any] | None:
    """The written entries of an index file, None if they cannot be used."""
    try:
        size = size_of(path)
        if size > LARGEST_INDEX_BYTES:
            text = f"{size} bytes are too many for an index: it was not checked"
            problems.append(Finding(path, _kind(path, "size"), text))
            return None
        data = read_whole(path, LARGEST_INDEX_BYTES)
    except FileNotFoundError:
        # Gone together with its log: retention. Gone alone: the broker builds it anew when it starts.
        if exists(range_.file):
            problems.append(Finding(path, _kind(path, "missing"), "the segment has no such index file"))
        return None
    if size % entry.itemsize:
        text = f"its size of {size} bytes is not a multiple of {entry.itemsize}"
        problems.append(Finding(path, _kind(path, "size"), text, size - size % entry.itemsize))
    # What is cut off is kept small: an index that is being written has its full size, nearly all of it zeros.
    return _written(np.frombuffer(data, entry, count=len(data) // entry.itemsize)).copy()


def _written(entries: NDArray[Any]) -> NDArray[Any]:
    """The entries without the zeros that preallocation leaves at the end of a file."""
    ends = np.flatnonzero(entries["offset"][1:] == 0)
    if len(ends):
        entries = entries[: ends[0] + 1]
        # Before zeros, a last entry that is half there is being written.
        if "position" in (entries.dtype.names or ()) and entries[-1]["position"] == 0:
            entries = entries[:-1]
    # An index in which nothing was written yet is all zeros, its first entry too.
    return entries[1:] if len(entries) and not entries[0].tobytes().strip(b"\x00") else entries


def _is_beyond(range_: Range, position: int) -> bool:
    """Whether the log that the range was planned for has no such position now either; it may have grown since."""
    size, which = size_and_identity(range_.file)
    return (range_.identity is None or which == range_.identity) and position >= size


def _reaches_the_end(range_: Range, sound_to: int) -> bool:
    """Whether there is nothing behind the range that entries could be about: no batch, no damage, nothing new."""
    if range_.end < range_.size or sound_to < range_.size:
        return False
    size, which = size_and_identity(range_.file)
    return size == range_.size and (range_.identity is None or which == range_.identity)


def _check_offsets(
    path: str, entries: NDArray[Any], range_: Range, batches: Batches, sound_to: int
) -> Iterator[Finding]:
    relative = entries["offset"].astype(np.int64)
    positions = entries["position"].astype(np.int64)
    if range_.start == 0:
        yield from _out_of_order(path, (relative, positions), _OFFSET_ENTRY.itemsize)
        beyond = np.flatnonzero((positions < 0) | (positions >= range_.size))
        # A live segment and its index grow after planning: only what lies beyond the file of now is wrong.
        if len(beyond) and _is_beyond(range_, int(positions[beyond[0]])):
            entry = int(beyond[0])
            text = f"points to {positions[entry]}, beyond the {range_.size} bytes of the log"
            offset = range_.base_offset + int(relative[entry])
            yield Finding(path, "index-nowhere", text, entry * _OFFSET_ENTRY.itemsize, offset)
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
        yield Finding(path, kind, text, position, int(offsets[wrong]))


def _check_times(path: str, entries: NDArray[Any], range_: Range, batches: Batches, sound_to: int) -> Iterator[Finding]:
    times = entries["timestamp"].astype(np.int64)
    offsets = entries["offset"].astype(np.int64) + range_.base_offset
    if range_.start == 0:
        yield from _out_of_order(path, (times, offsets), _TIME_ENTRY.itemsize)
    if not len(batches.position):
        return
    nowhere = np.zeros(len(offsets), bool)
    if range_.start == 0 and sound_to > 0:
        nowhere |= offsets < batches.first_offset[0]
    if _reaches_the_end(range_, sound_to):
        nowhere |= offsets > batches.last_offset[-1]
    for entry in np.flatnonzero(nowhere).tolist():
        text = f"says offset {offsets[entry]}, which no batch holds"
        yield Finding(path, "timeindex-offset", text, entry * _TIME_ENTRY.itemsize, int(offsets[entry]))
    chosen = np.flatnonzero((offsets >= batches.first_offset[0]) & (offsets <= batches.last_offset[-1]))
    at = np.searchsorted(batches.last_offset, offsets[chosen])
    inside = batches.first_offset[at] <= offsets[chosen]
    newest = batches.max_timestamp[at]
    for wrong in np.flatnonzero(~inside | (newest != times[chosen])):
        entry = int(chosen[wrong])
        kind, text = "timeindex-offset", f"says offset {offsets[entry]}, which no batch holds"
        if inside[wrong]:
            kind, text = "timeindex-mismatch", f"says timestamp {times[entry]} where the batch has {newest[wrong]}"
        yield Finding(path, kind, text, entry * _TIME_ENTRY.itemsize, int(offsets[entry]))


def _out_of_order(path: str, columns: Sequence[NDArray[np.int64]], entry_bytes: int) -> Iterator[Finding]:
    """The first entry in which a column does not ascend."""
    for column in columns:
        back = np.flatnonzero(np.diff(column) <= 0)
        if len(back):
            at = int(back[0]) + 1
            text = f"the entries do not ascend: {column[at]} follows {column[at - 1]}"
            yield Finding(path, _kind(path, "order"), text, at * entry_bytes)
            return
        if len(column) and int(column[0]) < 0:
            text = f"the first entry is negative: {column[0]}"
            yield Finding(path, _kind(path, "order"), text, 0)
            return


def _kind(path: str, problem: str) -> str:
    return f"{'timeindex' if path.endswith(TIME_INDEX) else 'index'}-{problem}"
