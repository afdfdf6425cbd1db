"""Offset, time and transaction indexes, compared with the log that is being walked: each entry once, none kept.

Observers of ``segment_check.SegmentCheck``. The entries of a sound index come in the order of the log, so that both are
read once, side by side, and nothing is held in memory. Sources: ``OffsetIndex``, ``TimeIndex``, ``TransactionIndex``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch
from kafka_tools.records.batches import BatchView
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    TXN_ENTRY,
    TXN_VERSION,
    AbortedTransaction,
    OffsetEntry,
    TimeEntry,
    nonzero_from,
    whole_entries,
    written_entries,
)
from kafka_tools.storage.producer_state import OpenTransactions, read_marker
from kafka_tools.storage.segment import Segment

_MOST_PENDING = 1000
_NO_TIME = -1


class _Numbered(NamedTuple):
    """An entry of an offset index and where it lies in its file."""

    offset: int
    position: int
    at: int


class OffsetIndexCheck:
    """An .index: entries ascend, point at batches, and name the last offset of what they point at."""

    def __init__(self, path: str, base_offset: int, log_path: str) -> None:
        self._path = path
        self._base_offset = base_offset
        self._log_path = log_path
        self._found: list[Finding] = []
        self._pending: deque[_Numbered] = deque()
        self._walked = 0
        self._log_bytes = os.stat(log_path).st_size
        self._entries = self._in_order()
        self._next = next(self._entries, None)

    def _in_order(self) -> Iterator[_Numbered]:
        """The entries that ascend; what is wrong with the others is noted."""
        previous: OffsetEntry | None = None
        at = -OFFSET_ENTRY.size
        for at, (relative, position) in written_entries(self._path, OFFSET_ENTRY):
            offset = self._base_offset + relative
            if relative < 0 or position < 0:
                self._note("index-order", f"the entry is negative: {relative}, {position}", at, offset)
                continue
            if position >= self._log_bytes and position >= os.stat(self._log_path).st_size:
                text = f"points to {position}, beyond the {self._log_bytes} bytes of the log"
                self._note("index-nowhere", text, at, offset)
                continue
            if previous is not None and (offset <= previous.offset or position <= previous.position):
                text = f"offset {offset} at {position} follows {previous.offset} at {previous.position}"
                self._note("index-order", text, at, offset)
                previous = OffsetEntry(offset, position)
                continue
            previous = OffsetEntry(offset, position)
            yield _Numbered(offset, position, at)
        self._found += _end_of_index(self._path, "index", OFFSET_ENTRY.size, at + OFFSET_ENTRY.size)

    def _note(self, kind: str, text: str, at: int, offset: int | None = None) -> None:
        self._found.append(Finding(self._path, kind, text, at, offset))

    def _take(self) -> list[Finding]:
        found, self._found = self._found, []
        return found

    def batch(self, view: BatchView) -> Iterator[Finding]:
        while self._pending and self._pending[0].offset <= view.last_offset:
            entry = self._pending.popleft()
            if entry.offset == view.last_offset:
                text = f"offset {entry.offset} is the last of several batches from {entry.position} on"
                self._note("index-batch-range", text, entry.at, entry.offset)
            else:
                self._mismatch(entry, f"names offset {entry.offset}, which is no batch's last from there on")
        while self._next is not None and self._next.position <= view.file_position:
            entry = self._next
            if entry.position < view.file_position:
                self._late(entry)
            elif view.base_offset <= entry.offset <= view.last_offset:
                if entry.offset != view.last_offset:
                    text = f"offset {entry.offset} lies within the batch up to {view.last_offset}"
                    self._note("index-batch-range", text, entry.at, entry.offset)
            elif entry.offset > view.last_offset and len(self._pending) < _MOST_PENDING:
                self._pending.append(entry)
            else:
                self._mismatch(entry, f"names offset {entry.offset}; the batch ends at {view.last_offset}")
            self._next = next(self._entries, None)
        self._walked = view.file_position + view.size_bytes
        yield from self._take()

    def hole(self, start: int, end: int) -> None:
        self._pending.clear()
        while self._next is not None and self._next.position < end:
            if self._next.position < start:
                self._late(self._next)
            self._next = next(self._entries, None)
        self._walked = end

    def end(self, size_bytes: int) -> Iterator[Finding]:
        for entry in self._pending:
            self._mismatch(entry, f"names offset {entry.offset}, which the log does not reach")
        yield from self._take()
        while self._next is not None:
            if self._next.position < self._walked:
                self._late(self._next)
            self._next = next(self._entries, None)
            yield from self._take()
        yield from self._take()

    def _mismatch(self, entry: _Numbered, text: str) -> None:
        self._note("index-mismatch", text, entry.at, entry.offset)

    def _late(self, entry: _Numbered) -> None:
        """An entry that the walk has passed: after one that was wrong, the batch there is looked at by itself."""
        try:
            with Segment(self._log_path) as segment:
                view = next(segment.walk(entry.position, window_bytes=64), None)
                right = view is not None and view.last_offset == entry.offset
        except (CorruptBatch, IndexError):
            right = False
        if not right:
            self._note("index-nowhere", f"points to {entry.position}, where no batch starts", entry.at, entry.offset)


class TimeIndexCheck:
    """A .timeindex: entries ascend, name offsets of the log, and the newest timestamp up to there."""

    def __init__(self, path: str, base_offset: int) -> None:
        self._path = path
        self._base_offset = base_offset
        self._found: list[Finding] = []
        self._newest = _NO_TIME
        self._sure = True
        self._hole = False
        self._entries = self._in_order()
        self._next = next(self._entries, None)

    def _in_order(self) -> Iterator[tuple[int, TimeEntry]]:
        previous: TimeEntry | None = None
        at = -TIME_ENTRY.size
        for at, (timestamp, relative) in written_entries(self._path, TIME_ENTRY):
            entry = TimeEntry(timestamp, self._base_offset + relative)
            if relative < 0:
                self._note("timeindex-order", f"the entry is negative: {relative}", at, entry.offset)
            elif previous is not None and (timestamp <= previous.timestamp or entry.offset < previous.offset):
                text = f"{timestamp} at offset {entry.offset} follows {previous.timestamp} at {previous.offset}"
                self._note("timeindex-order", text, at, entry.offset)
                previous = entry
            else:
                previous = entry
                yield at, entry
        self._found += _end_of_index(self._path, "timeindex", TIME_ENTRY.size, at + TIME_ENTRY.size)

    def _note(self, kind: str, text: str, at: int, offset: int | None = None) -> None:
        self._found.append(Finding(self._path, kind, text, at, offset))

    def batch(self, view: BatchView) -> Iterator[Finding]:
        self._newest = max(self._newest, view.max_timestamp)
        while self._next is not None and self._next[1].offset <= view.last_offset:
            at, entry = self._next
            if entry.offset < view.base_offset:
                if not self._hole:
                    self._note(
                        "timeindex-offset", f"names offset {entry.offset}, which no batch holds", at, entry.offset
                    )
            elif entry.timestamp != self._newest and (self._sure or entry.timestamp < view.max_timestamp):
                text = f"names timestamp {entry.timestamp} where the newest one is {self._newest}"
                self._note("timeindex-mismatch", text, at, entry.offset)
            self._next = next(self._entries, None)
        self._hole = False
        found, self._found = self._found, []
        yield from found

    def hole(self, start: int, end: int) -> None:
        self._sure = False
        self._hole = True

    def end(self, size_bytes: int) -> Iterator[Finding]:
        while True:
            found, self._found = self._found, []
            yield from found
            if self._next is None:
                return
            at, entry = self._next
            self._nowhere(at, entry)
            self._next = next(self._entries, None)

    def _nowhere(self, at: int, entry: TimeEntry) -> None:
        if not self._hole:
            text = f"names offset {entry.offset}, which no batch holds"
            self._note("timeindex-offset", text, at, entry.offset)


class TransactionIndexCheck:
    """A .txnindex, or its absence: each abort in the log has its entry, and each entry its abort.

    ``open_transactions`` goes from segment to segment: a transaction may begin in an earlier one.
    """

    def __init__(self, path: str, log_path: str, open_transactions: OpenTransactions) -> None:
        self._path = path
        self._log_path = log_path
        self._open = open_transactions
        self._found: list[Finding] = []
        self._hole = False
        self._entries = self._in_order()
        self._next = next(self._entries, None)

    def _in_order(self) -> Iterator[tuple[int, AbortedTransaction]]:
        last_offset = -1
        size = 0
        try:
            for number, values in enumerate(whole_entries(self._path, TXN_ENTRY)):
                entry = AbortedTransaction._make(values)
                at = number * TXN_ENTRY.size
                if entry.version != TXN_VERSION:
                    self._note("txnindex-version", f"the entry has the unknown version {entry.version}", at)
                elif not 0 <= entry.first_offset <= entry.last_offset or entry.last_offset <= last_offset:
                    text = f"a transaction from {entry.first_offset} to {entry.last_offset} follows {last_offset}"
                    self._note("txnindex-order", text, at, entry.first_offset)
                    last_offset = max(last_offset, entry.last_offset)
                else:
                    last_offset = entry.last_offset
                    yield at, entry
            size = os.stat(self._path).st_size
        except FileNotFoundError:
            return
        left = size % TXN_ENTRY.size
        if left:
            self._note(
                "txnindex-size", f"the last {left} bytes are no whole entry of {TXN_ENTRY.size} bytes", size - left
            )

    def _note(self, kind: str, text: str, at: int | None, offset: int | None = None) -> None:
        self._found.append(Finding(self._path, kind, text, at, offset))

    def batch(self, view: BatchView) -> Iterator[Finding]:
        if view.producer_id >= 0 and view.is_control:
            self._marker(view)
        elif view.is_transactional and view.record_count:
            self._open.begin(view.producer_id, view.base_offset)
        self._skip(view.last_offset)
        self._hole = False
        found, self._found = self._found, []
        yield from found

    def _marker(self, view: BatchView) -> None:
        try:
            marker = read_marker(view)
        except CorruptBatch as error:
            self._found.append(Finding(self._log_path, "bad-marker", str(error), view.file_position, view.base_offset))
            return
        if marker is None:
            return
        start = self._open.end(view.producer_id)
        if marker.committed:
            return
        self._skip(view.last_offset - 1)
        if self._next is not None and self._next[1].last_offset == view.last_offset:
            at, entry = self._next
            if entry.producer_id != view.producer_id or (start is not None and entry.first_offset > start):
                text = (
                    f"says that producer {entry.producer_id} aborted from {entry.first_offset} to {entry.last_offset}; "
                    f"the log says producer {view.producer_id}" + ("" if start is None else f" from {start}")
                )
                self._note("txnindex-mismatch", text, at, entry.first_offset)
            self._next = next(self._entries, None)
        elif start is not None:
            text = f"producer {view.producer_id} aborted from {start} to {view.last_offset}, which is not listed"
            self._note("txnindex-missing", text, None, start)

    def _skip(self, last_offset: int) -> None:
        """Entries that end up to ``last_offset`` have met no marker of theirs."""
        while self._next is not None and self._next[1].last_offset <= last_offset:
            self._unmatched()

    def _unmatched(self) -> None:
        assert self._next is not None
        at, entry = self._next
        if not self._hole:
            text = f"lists an abort of producer {entry.producer_id} at {entry.last_offset}, where the log has none"
            self._note("txnindex-mismatch", text, at, entry.first_offset)
        self._next = next(self._entries, None)

    def hole(self, start: int, end: int) -> None:
        self._hole = True
        self._open.forget()

    def end(self, size_bytes: int) -> Iterator[Finding]:
        while self._next is not None:
            self._unmatched()
            found, self._found = self._found, []
            yield from found
        yield from self._found


def _end_of_index(path: str, kind: str, entry_bytes: int, position: int) -> list[Finding]:
    """What is wrong behind the last entry of an offset or time index: nothing but zeros belongs there."""
    size = os.stat(path).st_size
    left = size % entry_bytes
    found = []
    stray = nonzero_from(path, position)
    if stray is not None and stray < size - left:
        found.append(Finding(path, f"{kind}-order", "entries follow the zeros at the end", stray - stray % entry_bytes))
    if left:
        text = f"the last {left} bytes are no whole entry of {entry_bytes} bytes"
        found.append(Finding(path, f"{kind}-size", text, size - left))
    return found
