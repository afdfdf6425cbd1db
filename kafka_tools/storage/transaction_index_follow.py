"""Compares a transaction index with its log during a walk over the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch
from kafka_tools.records.batches import BatchView
from kafka_tools.records.control import read_marker
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.index_follow import IndexFollower
from kafka_tools.storage.indexes import TXN_ENTRY, TXN_VERSION, Index, IndexFile
from kafka_tools.storage.live import still_wrong
from kafka_tools.storage.producer_state import OpenTransactions


class _Abort(NamedTuple):
    at: int
    offset: int
    """The offset of the marker, the last one of the transaction."""
    first_offset: int
    producer_id: int


class TransactionIndexCheck(IndexFollower[_Abort]):
    """Checks a .txnindex, which may be missing: each abort in the log has an entry, and each entry an abort.

    All segments share ``open_transactions``, because a transaction may begin in an earlier segment.
    """

    def __init__(self, path: str, log_path: str, open_transactions: OpenTransactions) -> None:
        """Raises OSError if there is an index that cannot be opened."""
        super().__init__(path, _if_there(path), self._in_order())
        self._log_path = log_path
        self._open = open_transactions
        self._hole = False
        self._read_to = 0
        self._last_offset = -1
        self._late_from: int | None = None
        """The file position from which entries were read after the log. Their offsets may be beyond the walk's end."""

    def _in_order(self) -> Iterator[_Abort | Finding]:
        if self._file is None:
            return
        for at, (version, producer_id, first_offset, last_offset, _) in self._file.entries(self._read_to):
            self._read_to = at + TXN_ENTRY.size
            if version != TXN_VERSION:
                yield self._finding("txnindex-version", f"the entry has the unknown version {version}", at)
                continue
            if not 0 <= first_offset <= last_offset or last_offset <= self._last_offset:
                text = f"a transaction from {first_offset} to {last_offset} follows {self._last_offset}"
                yield self._finding("txnindex-order", text, at, first_offset)
            else:
                yield _Abort(at, last_offset, first_offset, producer_id)
            self._last_offset = max(self._last_offset, last_offset)

    def batch(self, view: BatchView) -> Iterator[Finding]:
        yield from self._start()
        if view.producer_id >= 0 and view.is_control:
            yield from self._marker(view)
        elif view.is_transactional and view.record_count:
            self._open.begin(view.producer_id, view.base_offset)
        yield from self._skip(view.last_offset)
        self._hole = False

    def _marker(self, view: BatchView) -> Iterator[Finding]:
        try:
            marker = read_marker(view)
        except CorruptBatch as error:
            yield Finding(self._log_path, "bad-marker", str(error), view.file_position, view.base_offset)
            return
        if marker is None:
            return
        start = self._open.end(view.producer_id)
        if marker.committed:
            return
        yield from self._skip(view.last_offset - 1)
        if self._next is not None and self._next.offset == view.last_offset:
            entry = self._next
            if entry.producer_id != view.producer_id or (start is not None and entry.first_offset > start):
                text = (
                    f"claims that producer {entry.producer_id} aborted from {entry.first_offset} to "
                    f"{entry.offset}, but in the log it is producer {view.producer_id}"
                    + ("" if start is None else f" from {start}")
                )
                yield self._finding("txnindex-mismatch", text, entry.at, entry.first_offset)
            yield from self._advance()
        elif start is not None and not self._is_listed_late(view):
            text = (
                f"does not contain the transaction from {start} to {view.last_offset} that producer "
                f"{view.producer_id} aborted"
            )
            yield self._finding("txnindex-missing", text, None, start)

    def _is_listed_late(self, view: BatchView) -> bool:
        """Whether the index contains a missing abort by now, because a broker appends to the log first."""
        if self._next is not None:
            return False  # entries are in the order of the log, so this abort has no entry

        def is_missing() -> bool:
            if self._file is None:
                self._file = _if_there(self.path)
            elif not self._file.grow():
                return True
            if self._late_from is None:
                self._late_from = self._read_to
            self._items = self._in_order()
            self._next = next((item for item in self._items if isinstance(item, _Abort)), None)
            return self._next is None or self._next.offset < view.last_offset

        if still_wrong(self._log_path, is_missing):
            return False
        found = self._next
        self._next = next((item for item in self._items if isinstance(item, _Abort)), None)
        return found is not None and found.offset == view.last_offset

    def _skip(self, last_offset: int) -> Iterator[Finding]:
        """Report the entries that end up to ``last_offset``: the log does not contain their markers."""
        while self._next is not None and self._next.offset <= last_offset:
            yield from self._unmatched(self._next)

    def _unmatched(self, entry: _Abort) -> Iterator[Finding]:
        if not self._hole and (self._late_from is None or entry.at < self._late_from):
            text = f"contains an abort of producer {entry.producer_id} at {entry.offset}, but the log does not"
            yield self._finding("txnindex-mismatch", text, entry.at, entry.first_offset)
        yield from self._advance()

    def hole(self, start: int, end: int) -> Iterator[Finding]:
        self._hole = True
        self._open.forget()
        return iter(())

    def end(self, size_bytes: int) -> Iterator[Finding]:
        yield from self._start()
        while self._next is not None:
            yield from self._unmatched(self._next)
        file = self._file
        if file is not None and file.size_bytes % TXN_ENTRY.size and still_wrong(self.path, lambda: not file.grow()):
            left = file.size_bytes % TXN_ENTRY.size
            text = f"the last {left} bytes are not a complete entry of {TXN_ENTRY.size} bytes"
            yield self._finding("txnindex-size", text, file.size_bytes - left)


def _if_there(path: str) -> Index | None:
    """The transaction index of a segment. None if there is no file, as for a segment without aborted transactions."""
    try:
        return IndexFile(path, TXN_ENTRY, padded=False)
    except FileNotFoundError:
        return None
