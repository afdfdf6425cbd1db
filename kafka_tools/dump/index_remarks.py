"""The remarks of Kafka's dump tool about an index and its log, entry by entry, in its order and with its searches.

The checks that Kafka runs when it loads a log (``sanityCheck``) raise errors. The other remarks become findings, whose
kinds distinguish damage from harmless differences. ``storage/index_follow.py`` checks whether an index is sound.
Sources: ``OffsetIndex``, ``TimeIndex``, ``AbstractIndex``, ``DumpLogSegments``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from kafka_tools.errors import CorruptBatch, CorruptIndex, LogError
from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import HEADER_BYTES, LEAST_LENGTH, MAGIC_POSITION, PREFIX_BYTES, size_at
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.indexes import (
    MAX_INDEX_BYTES,
    OFFSET_ENTRY,
    TIME_ENTRY,
    TXN_ENTRY,
    TXN_VERSION,
    OffsetEntry,
    TimeEntry,
    read_txn_index,
)
from kafka_tools.storage.names import parse_file_name
from kafka_tools.storage.opening import open_file
from kafka_tools.storage.segment import Segment

E = TypeVar("E", OffsetEntry, TimeEntry)

_WARM_BYTES = 8192
"""Kafka searches the last entries first (KAFKA-6432). This matters only if an index does not ascend."""


def sibling(path: str, suffix: str) -> str:
    """The file of the same segment with another suffix, and with the same state (such as ``.deleted``)."""
    directory, name = os.path.split(os.path.abspath(path))
    parsed = parse_file_name(name)
    state = parsed.state if parsed is not None else ""
    return os.path.join(directory, name.split(".", 1)[0] + suffix + state)


def written_entries(entries: Iterable[E], base_offset: int) -> Iterator[E]:
    """The entries up to the zeros that a crash leaves at the end of a sparse file."""
    for number, entry in enumerate(entries):
        if number and entry.offset == base_offset:
            return
        yield entry


# The checks of Kafka when it loads a log


def offset_index_sanity(path: str, base_offset: int) -> None:
    """Raise CorruptIndex if Kafka would rebuild the index: its last offset is before the segment, or its size is not a
    multiple of the entry size."""
    size = os.path.getsize(path)
    count = size // OFFSET_ENTRY.size
    if not count:
        return  # Kafka's tool reports an empty index
    with open_file(path) as file:
        file.seek((count - 1) * OFFSET_ENTRY.size)
        last_offset = base_offset + OFFSET_ENTRY.unpack(file.read(OFFSET_ENTRY.size))[0]
    if last_offset < base_offset:
        raise CorruptIndex(
            f"Corrupt index found, index file {path} has non-zero size but the last offset is {last_offset} which is "
            f"less than the base offset {base_offset}",
            path=path,
        )
    _check_size("Index", path, size, OFFSET_ENTRY.size)


def time_index_sanity(path: str, base_offset: int) -> None:
    """Raise CorruptIndex if Kafka would rebuild the time index."""
    size = os.path.getsize(path)
    count = size // TIME_ENTRY.size
    if count:
        with open_file(path) as file:
            first = TIME_ENTRY.unpack(file.read(TIME_ENTRY.size))
            file.seek((count - 1) * TIME_ENTRY.size)
            last = TIME_ENTRY.unpack(file.read(TIME_ENTRY.size))
        if last[0] < first[0]:
            raise CorruptIndex(
                f"Corrupt time index found, time index file {path} has non-zero size but the last timestamp is "
                f"{last[0]} which is less than the first timestamp {first[0]}",
                path=path,
            )
        if last[1] < 0:
            raise CorruptIndex(
                f"Corrupt time index found, time index file {path} has non-zero size but the last offset is "
                f"{base_offset + last[1]} which is less than the first offset {base_offset}",
                path=path,
            )
    _check_size("Time index", path, size, TIME_ENTRY.size)


def _check_size(what: str, path: str, size: int, entry_bytes: int) -> None:
    if size % entry_bytes:
        raise CorruptIndex(
            f"{what} file {path} is corrupt, found {size} bytes which is neither positive nor a multiple of "
            f"{entry_bytes}",
            path=path,
        )


# Offset index against log


def last_offset_at(segment: Segment, index_path: str, position: int, max_message_bytes: int) -> int:
    """The last offset of the batch that an index entry points to. Raises CorruptIndex if there is no batch."""
    if not 0 <= position <= segment.size_bytes:
        raise CorruptIndex(
            f"{index_path} points to {position}, beyond the {segment.size_bytes} bytes of its log", path=index_path
        )
    end = min(position + max_message_bytes, segment.size_bytes)
    header = segment.read(position, min(HEADER_BYTES, end - position))
    length = size_at(header) - PREFIX_BYTES if len(header) > MAGIC_POSITION + 1 else None
    if length is None or (length >= LEAST_LENGTH and position + PREFIX_BYTES + length > end):
        raise CorruptIndex(f"{index_path} points to {position}, where no whole batch starts", path=index_path)
    if length < LEAST_LENGTH:
        raise CorruptIndex(
            f"{index_path} points to {position}, where the log has no batch (a length of {length})", path=index_path
        )
    if header[MAGIC_POSITION] >= 2 and header[MAGIC_POSITION] < 128 and len(header) < HEADER_BYTES:
        raise CorruptIndex(f"{index_path} points to {position}, where no whole batch starts", path=index_path)
    return BatchView(header, 0).last_offset


def index_mismatch(segment: Segment, index_path: str, entry: OffsetEntry, last_offset: int) -> Finding:
    """The finding for an entry whose offset is not the last one of its batch.

    Old brokers wrote the last offset of all batches that one request appended, or an offset inside the batch. Such an
    entry is correct for every search, so it is not damage.
    """
    text = f"Index offset: {entry.offset}, log offset: {last_offset}"
    kind = "index-mismatch"
    try:
        for view in segment.walk(entry.position, window_bytes=256 * 1024):
            if view.last_offset >= entry.offset:
                exact = view.last_offset == entry.offset
                inside = view.file_position == entry.position and view.base_offset <= entry.offset
                kind = "index-batch-range" if exact or inside else kind
                break
    except CorruptBatch:
        pass  # the walk of the log itself reports it
    return Finding(index_path, kind, text, entry.position, entry.offset)


class OffsetIndexSearch:
    """Searches an offset index as Kafka does."""

    def __init__(self, path: str, base_offset: int) -> None:
        """Raises OSError if the file does not exist, and CorruptIndex if it is too large."""
        self._base_offset = base_offset
        size = os.path.getsize(path)
        if size > MAX_INDEX_BYTES:
            raise CorruptIndex(f"{path} has {size} bytes, more than an index can have", path=path)
        with open_file(path) as file:
            self._data = file.read(size - size % OFFSET_ENTRY.size)

    def _entry(self, number: int) -> tuple[int, int]:
        relative, position = OFFSET_ENTRY.unpack_from(self._data, number * OFFSET_ENTRY.size)
        return relative, position

    def position(self, offset: int) -> int:
        """The position in the log from which to search for ``offset``."""
        count, target = len(self._data) // OFFSET_ENTRY.size, offset - self._base_offset
        if not count:
            return 0
        hot = max(0, count - 1 - _WARM_BYTES // OFFSET_ENTRY.size)
        if self._entry(hot)[0] < target:
            return self._search(hot, count - 1, target)
        if self._entry(0)[0] > target:
            return 0
        return self._search(0, hot, target)

    def _search(self, low: int, high: int, target: int) -> int:
        while low < high:
            middle = (low + high + 1) >> 1
            found, position = self._entry(middle)
            if found > target:
                high = middle - 1
            elif found < target:
                low = middle
            else:
                return position
        return self._entry(low)[1]


# Time index against log


class TimeEntries:
    """Compares the entries of a time index, one after the other, with the log."""

    def __init__(self, segment: Segment, path: str, lookup: OffsetIndexSearch) -> None:
        self._segment = segment
        self._path = path
        self._lookup = lookup
        self._previous = -1
        self._whole_from: int | None = None

    def look_at(self, entry: TimeEntry) -> list[Finding]:
        """The findings about the entry. Raises CorruptIndex or CorruptBatch if the log cannot be read."""
        position = self._lookup.position(entry.offset)
        if position > self._segment.size_bytes or position < 0:
            raise CorruptIndex(
                f"the offset index of {self._path} points to {position}, beyond the "
                f"{self._segment.size_bytes} bytes of the log",
                path=self._path,
            )
        findings: list[Finding] = []

        def finding(kind: str, text: str) -> None:
            findings.append(Finding(self._path, kind, text, None, entry.offset))

        found = self._batch_at(position, entry.offset)
        if found is None or found.last_offset != entry.offset:
            other = -1 if found is None else found.last_offset
            if not (found is not None and found.max_timestamp == entry.timestamp and found.base_offset <= entry.offset):
                finding("timeindex-offset", f"Indexed offset: {entry.offset}, found log offset: {other}")
        else:
            newest = max((record.timestamp for record in list(found.records())), default=-1)
            if newest != entry.timestamp:
                finding("timeindex-mismatch", f"Index timestamp: {entry.timestamp}, log timestamp: {newest}")
            if self._previous >= entry.timestamp:
                text = f"Index timestamp: {entry.timestamp}, Previously indexed timestamp: {self._previous}"
                finding("timeindex-order", text)
        self._previous = entry.timestamp
        return findings

    def _batch_at(self, position: int, offset: int) -> BatchView | None:
        """The first batch that ends at or after ``offset``. Damage after it raises too, as in Kafka's tool."""
        seen_whole = self._whole_from is not None and position >= self._whole_from
        found = None
        for view in self._segment.walk(position, window_bytes=256 * 1024):
            if found is None and view.last_offset >= offset:
                found = view
                if seen_whole:
                    return found
        if not seen_whole:
            self._whole_from = position
        return found


# Transaction index


def refuse_other_versions(path: str) -> None:
    """Raise LogError for an entry of another version, before any entry is shown, because its contents are unknown.

    As in Kafka 4.4's tool. Up to 4.3 it reads one of the version's two bytes, and shows version 1 as 0.
    """
    with suppress(CorruptIndex):
        for number, entry in enumerate(read_txn_index(path)):
            if entry.version != TXN_VERSION:
                place = f"{path} at {number * TXN_ENTRY.size}"
                raise LogError(f"{place}: the entry has the unknown version {entry.version}", path=path)
