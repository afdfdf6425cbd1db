"""Compares offset, time and transaction indexes with a log during a walk over it, in bounded memory.

The checks use these classes as observers of ``segment_check.SegmentCheck``. The audit uses them if its columns
(``index_columns``) do not find every entry right. The entries of a sound index are in the order of the log, so both are
read once, in parallel. Create an observer before the log is opened: a broker may then append to an index only entries
that the log contains (``storage.live``). Sources: ``OffsetIndex``, ``TimeIndex``, ``TransactionIndex``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

from kafka_tools.storage.findings import Finding
from kafka_tools.storage.indexes import OFFSET_ENTRY, TIME_ENTRY, Index, IndexFile
from kafka_tools.storage.segment_check import Observer

_MOST_PENDING = 1000
_NO_TIME = -1
_ENDLESS = 1 << 62

E = TypeVar("E")


class PlacedBatch(Protocol):
    """The fields of a batch that an index is compared with."""

    @property
    def file_position(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...


class Part(NamedTuple):
    """The part of a log to compare: the whole log, unless an audit splits it into ranges of bytes.

    An entry of an offset index belongs to the range that contains its position. An entry of a time index belongs to the
    range that contains its offset. Findings about the index file as a whole belong to the first range.
    """

    start: int = 0
    end: int = _ENDLESS
    first_offset: int = -_ENDLESS
    last_offset: int = _ENDLESS
    is_last: bool = True
    """Whether no later part can contain entries of the index."""

    @property
    def is_first(self) -> bool:
        return self.start == 0


class _Position(NamedTuple):
    """An entry of an offset index; ``at`` is its position in the index file."""

    at: int
    offset: int
    position: int


class _Time(NamedTuple):
    at: int
    offset: int
    timestamp: int


class IndexFollower(Observer, Generic[E]):
    """The entries of an index file one by one, and the findings about the file itself."""

    def __init__(self, path: str, file: Index | None, items: Iterator[E | Finding]) -> None:
        self.path = path
        self._file = file
        self._items = items
        self._next: E | None = None
        self._started = False

    def close(self) -> None:
        """Close the index file."""
        if self._file is not None:
            self._file.close()

    def _advance(self) -> Iterator[Finding]:
        """Set ``_next`` to the next entry, None at the end."""
        self._started = True
        for item in self._items:
            if not isinstance(item, Finding):
                self._next = item
                return
            yield item
        self._next = None

    def _start(self) -> Iterator[Finding]:
        if not self._started:
            yield from self._advance()

    def _finding(self, kind: str, text: str, at: int | None, offset: int | None = None) -> Finding:
        return Finding(self.path, kind, text, at, offset)


class OffsetIndexCheck(IndexFollower[_Position]):
    """Checks an .index: entries ascend, point to batches, and contain the last offset of the batch."""

    def __init__(self, path: str, base_offset: int, file: Index | None = None, part: Part | None = None) -> None:
        """``file``: the index, if it is open already. Otherwise raises OSError if it does not exist."""
        file = IndexFile(path, OFFSET_ENTRY) if file is None else file
        super().__init__(path, file, self._in_order(file, base_offset))
        self._part = part or Part()
        self._log_bytes = 0
        self._last_offset_at: Callable[[int], int | None] = lambda position: None
        self._pending: deque[_Position] = deque()
        self._walked = 0

    def begin(self, log_bytes: int, last_offset_at: Callable[[int], int | None]) -> None:
        """Set the log of the walk: its size, and the last offset of the batch that starts at a position."""
        self._log_bytes, self._last_offset_at = log_bytes, last_offset_at

    def _in_order(self, file: Index, base_offset: int) -> Iterator[_Position | Finding]:
        """The entries that ascend, and findings for the others."""
        part, tell = self._part, self._part.is_first
        last_offset = last_position = -1
        at = -OFFSET_ENTRY.size
        for at, (relative, position) in file.entries():
            offset = base_offset + relative
            kind, text = "index-order", f"offset {offset} at {position} follows {last_offset} at {last_position}"
            if relative < 0 or position < 0:
                text = f"the entry is negative: {relative}, {position}"
            elif position >= self._log_bytes:
                kind, text = "index-nowhere", f"points to {position}, beyond the {self._log_bytes} bytes of the log"
            else:
                ascends = offset > last_offset and position > last_position
                last_offset, last_position = offset, position
                if ascends:
                    if part.start <= position < part.end:
                        yield _Position(at, offset, position)
                    continue
            if tell:
                yield self._finding(kind, text, at, offset)
        if tell:
            yield from _end_of_index(file, "index", OFFSET_ENTRY.size, at + OFFSET_ENTRY.size)

    def batch(self, view: PlacedBatch) -> Iterator[Finding]:
        yield from self._start()
        while self._pending and self._pending[0].offset <= view.last_offset:
            entry = self._pending.popleft()
            if entry.offset == view.last_offset:
                text = f"offset {entry.offset} is the last of several batches from {entry.position} on"
                yield self._finding("index-batch-range", text, entry.at, entry.offset)
            else:
                yield self._mismatch(entry, "but no batch from there on ends with it")
        while self._next is not None and self._next.position <= view.file_position:
            entry = self._next
            if entry.position < view.file_position:
                yield from self._late(entry)
            elif view.base_offset <= entry.offset <= view.last_offset:
                if entry.offset != view.last_offset:
                    text = f"offset {entry.offset} is in the middle of the batch that ends at {view.last_offset}"
                    yield self._finding("index-batch-range", text, entry.at, entry.offset)
            elif entry.offset > view.last_offset and len(self._pending) < _MOST_PENDING:
                self._pending.append(entry)
            else:
                yield self._mismatch(entry, f"the batch there ends with {view.last_offset}")
            yield from self._advance()
        self._walked = view.file_position + view.size_bytes

    def hole(self, start: int, end: int) -> Iterator[Finding]:
        yield from self._start()
        self._pending.clear()
        while self._next is not None and self._next.position < end:
            if self._next.position < start:
                yield from self._late(self._next)
            yield from self._advance()
        self._walked = end

    def end(self, size_bytes: int) -> Iterator[Finding]:
        yield from self._start()
        for entry in self._pending if self._part.is_last else ():
            yield self._mismatch(entry, "which is beyond the end of the log")
        while self._next is not None:
            if self._next.position < self._walked:
                yield from self._late(self._next)
            yield from self._advance()

    def _mismatch(self, entry: _Position, text: str) -> Finding:
        return self._finding("index-mismatch", f"names offset {entry.offset}, {text}", entry.at, entry.offset)

    def _late(self, entry: _Position) -> Iterator[Finding]:
        """Check an entry whose position the walk has passed, because it follows a wrong entry: read the batch there."""
        if self._last_offset_at(entry.position) != entry.offset:
            text = f"points to {entry.position}, where no batch starts"
            yield self._finding("index-nowhere", text, entry.at, entry.offset)


class TimeIndexCheck(IndexFollower[_Time]):
    """Checks a .timeindex: entries ascend, and contain offsets of the log with the newest timestamp up to there."""

    def __init__(self, path: str, base_offset: int, file: Index | None = None, part: Part | None = None) -> None:
        """``file``: the index, if it is open already. Otherwise raises OSError if it does not exist."""
        file = IndexFile(path, TIME_ENTRY) if file is None else file
        super().__init__(path, file, self._in_order(file, base_offset))
        self._part = part or Part()
        self._newest = _NO_TIME
        self._walked_to = -1
        """The last offset that the walk has passed."""
        self._sure = self._part.is_first
        """Whether the walk saw the whole log before this batch, so that the newest timestamp is known."""
        self._hole = False

    def _in_order(self, file: Index, base_offset: int) -> Iterator[_Time | Finding]:
        part, tell = self._part, self._part.is_first
        last: _Time | None = None
        at = -TIME_ENTRY.size
        for at, (timestamp, relative) in file.entries():
            entry = _Time(at, base_offset + relative, timestamp)
            if relative < 0:
                text = f"the entry is negative: {relative}"
            elif last is not None and (timestamp <= last.timestamp or entry.offset < last.offset):
                text = f"{timestamp} at offset {entry.offset} follows {last.timestamp} at {last.offset}"
                last = entry
            else:
                last = entry
                if part.first_offset <= entry.offset <= part.last_offset:
                    yield entry
                continue
            if tell:
                yield self._finding("timeindex-order", text, at, entry.offset)
        if tell:
            yield from _end_of_index(file, "timeindex", TIME_ENTRY.size, at + TIME_ENTRY.size)

    def batch(self, view: PlacedBatch) -> Iterator[Finding]:
        yield from self._start()
        self._newest = max(self._newest, view.max_timestamp)
        while self._next is not None and self._next.offset <= view.last_offset:
            entry = self._next
            if entry.offset < view.base_offset:
                yield from self._nowhere(entry)
            elif entry.timestamp != view.max_timestamp or (self._sure and entry.timestamp != self._newest):
                newest = self._newest if self._sure else view.max_timestamp
                text = f"names timestamp {entry.timestamp} where the newest one is {newest}"
                yield self._finding("timeindex-mismatch", text, entry.at, entry.offset)
            yield from self._advance()
        self._walked_to = view.last_offset
        self._hole = False

    def hole(self, start: int, end: int) -> Iterator[Finding]:
        self._sure = False
        self._hole = True
        return iter(())

    def end(self, size_bytes: int) -> Iterator[Finding]:
        yield from self._start()
        while self._next is not None:
            yield from self._nowhere(self._next)
            yield from self._advance()

    def _nowhere(self, entry: _Time) -> Iterator[Finding]:
        # An offset that the walk has passed follows an entry that is too far ahead. Only that entry is wrong.
        if not self._hole and entry.offset > self._walked_to:
            text = f"names offset {entry.offset}, which is in no batch"
            yield self._finding("timeindex-offset", text, entry.at, entry.offset)


def cut_entry(path: str, kind: str, entry_bytes: int) -> Finding | None:
    """The finding for an index (``kind``: index or timeindex) that does not end with a whole entry."""
    size = os.path.getsize(path)
    return cut_finding(path, kind, entry_bytes, size) if size % entry_bytes else None


def cut_finding(path: str, kind: str, entry_bytes: int, size_bytes: int) -> Finding:
    """The finding for an index of ``size_bytes`` bytes, which does not end with a whole entry."""
    left = size_bytes % entry_bytes
    text = f"the last {left} bytes are not a complete entry of {entry_bytes} bytes"
    return Finding(path, f"{kind}-size", text, size_bytes - left)


def _end_of_index(file: Index, kind: str, entry_bytes: int, position: int) -> Iterator[Finding]:
    """Findings about the bytes after the last entry of an offset or time index, which must be zeros."""
    left = file.size_bytes % entry_bytes
    stray = file.nonzero_from(position)
    if stray is not None and stray < file.size_bytes - left:
        yield Finding(file.path, f"{kind}-order", "entries follow the zeros at the end", stray - stray % entry_bytes)
    if left:
        yield cut_finding(file.path, kind, entry_bytes, file.size_bytes)
