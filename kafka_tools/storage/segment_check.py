"""Checks one segment's log, batch by batch, and tracks the state that the check of the next segment needs.

Observers follow the walk and compare other files with the log (``index_follow``, ``state_check``). They get sound
batches, and holes, which are bytes with unknown contents. Memory is bounded by the largest batch. Sources:
``LogSegment.recover``, ``LogValidator``, ``DefaultRecordBatch.ensureValid`` of Kafka.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator

from kafka_tools import KAFKA_MINOR
from kafka_tools.errors import CorruptBatch, CorruptIndex, NewerFile, UnsupportedCodec
from kafka_tools.protocol.enums import CODECS
from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.storage.findings import INFO, WARNING, Finding, kind_of_unread
from kafka_tools.storage.layout import MAX_RELATIVE_OFFSET
from kafka_tools.storage.live import is_served, still_wrong
from kafka_tools.storage.segment import Segment

_NO_LENGTH = ("crc-mismatch", "unknown-magic")
"""The kinds of findings about a header whose length may be wrong as well."""

_TAILS = ("torn-tail", "zero-tail")


class Observer:
    """Compares a file with a log during a walk over the log."""

    def batch(self, view: BatchView) -> Iterable[Finding]:
        """A sound batch: its CRC is valid and its offsets are in order."""
        return ()

    def hole(self, start: int, end: int) -> Iterable[Finding]:
        """The contents of the bytes from ``start`` to ``end`` are unknown."""
        return ()

    def end(self, size_bytes: int) -> Iterable[Finding]:
        """The end of the walk; the log has ``size_bytes``."""
        return ()


class SegmentCheck:
    """One walk over one segment. ``next_offset`` is the offset after the last sound batch so far."""

    def __init__(self, path: str, *, base_offset: int, records: bool, open_end: bool) -> None:
        """``records``: also parse every record. ``open_end``: no segment follows, so that a crash may leave a tail."""
        self.path = path
        self.base_offset = self.next_offset = base_offset
        self.whole = True
        """Whether the walk found no damage."""
        self.ended = False
        """Whether the walk reached the end that the log had when it was opened."""
        self._records = records
        self._open_end = open_end
        self._observers: list[Observer] = []
        self._follows = False

    def findings(self, observers: Iterable[Observer] = (), segment: Segment | None = None) -> Iterator[Finding]:
        """The findings in the order of the file, including those of the observers. Raises OSError.

        ``segment``: the log, if it is open already; it stays open.
        """
        self._observers = list(observers)
        with contextlib.nullcontext(segment) if segment is not None else Segment(self.path) as segment:
            position = 0
            held: BatchView | None = None
            items = segment.batches()
            while (item := next(items, None)) is not None:
                if isinstance(item, Finding):
                    yield from self._sound(held)
                    held = None
                    yield from self._damage(segment, item)
                    continue
                if item.file_position > position:
                    yield from self._hole(position, item.file_position)
                position = item.file_position + item.size_bytes
                problem = self._problem(item)
                if problem is None and held is not None:
                    problem = self._order(held, item)
                    if problem is not None and problem.position == held.file_position:
                        yield from self._broken(held, problem)
                        held, problem = item, None
                        continue
                yield from self._sound(held)
                held = None
                if problem is None and item.base_offset < self.next_offset:
                    problem = self._low(item)
                if problem is None:
                    held = item
                    continue
                hidden = segment.hidden_in(item) if problem.kind in _NO_LENGTH else None
                if hidden is None:
                    yield from self._broken(item, problem)
                    continue
                text = f"the length in the header is wrong: a complete batch begins within it at {hidden}"
                yield from self._broken(item, Finding(self.path, "bad-length", text, item.file_position))
                items, position = segment.batches(hidden), hidden
            yield from self._sound(held)
            if position < segment.size_bytes:
                yield from self._hole(position, segment.size_bytes)
            self.ended = True
            for observer in self._observers:
                yield from observer.end(segment.size_bytes)

    def _sound(self, view: BatchView | None) -> Iterator[Finding]:
        """Process a sound batch, whose offsets also follow those of its neighbours."""
        if view is None:
            return
        if self._follows and view.base_offset > self.next_offset:
            text = f"offset {view.base_offset} follows {self.next_offset - 1}"
            yield Finding(self.path, "offset-gap", text, view.file_position, view.base_offset)
        self._follows = True
        self.next_offset = view.last_offset + 1
        if self._records:
            yield from self._in_records(view)
        for observer in self._observers:
            yield from observer.batch(view)

    def _in_records(self, view: BatchView) -> Iterator[Finding]:
        """The findings about the records of a batch with a correct header."""
        try:
            newest = max((record.timestamp for record in view.records()), default=None)
        except (CorruptBatch, UnsupportedCodec) as error:
            if not view.is_control:  # the check of transactions reports markers
                yield Finding(self.path, kind_of_unread(error), str(error), view.file_position, view.last_offset)
            return
        if newest is not None and newest != view.max_timestamp and view.magic == 2:
            text = timestamp_text(view.max_timestamp, newest)
            yield Finding(self.path, "bad-timestamp", text, view.file_position, view.base_offset)

    def _broken(self, view: BatchView, problem: Finding) -> Iterator[Finding]:
        self.whole = False
        yield problem
        yield from self._hole(view.file_position, view.file_position + view.size_bytes)

    def _order(self, held: BatchView, view: BatchView) -> Finding | None:
        """The finding for two neighbours whose offsets do not ascend: about the first one, if that alone is wrong."""
        if view.base_offset > held.last_offset:
            return None
        too_far = held.base_offset > self.next_offset and view.base_offset >= self.next_offset
        too_long = held.base_offset < view.base_offset and held.base_offset + held.record_count <= view.base_offset
        if too_far or too_long:
            text = f"the offsets {held.base_offset} to {held.last_offset} are followed by {view.base_offset}"
            return Finding(self.path, "offset-order", text, held.file_position, held.base_offset)
        return Finding(
            self.path,
            "offset-order",
            f"offset {view.base_offset} follows {held.last_offset}",
            view.file_position,
            view.base_offset,
        )

    def _low(self, view: BatchView) -> Finding:
        text = f"offset {view.base_offset} follows {self.next_offset - 1}"
        return Finding(self.path, "offset-order", text, view.file_position, view.base_offset)

    def _hole(self, start: int, end: int) -> Iterator[Finding]:
        self._follows = False
        for observer in self._observers:
            yield from observer.hole(start, end)

    def _damage(self, segment: Segment, finding: Finding) -> Iterator[Finding]:
        if finding.kind in _TAILS:
            size_before = segment.size_bytes

            def is_as_before() -> bool:
                return segment.refresh() == size_before

            # While a broker writes a log, its end may be within a batch.
            if not (still_wrong(self.path, is_as_before) if self._open_end else is_as_before()):
                kind = "growing" if segment.size_bytes > size_before else "shrunk"
                segment.size_bytes = min(size_before, segment.size_bytes)
                yield Finding(self.path, kind, "the broker was writing here", finding.position, severity=INFO)
                return
            if self._open_end:
                finding = finding.with_severity(tail_severity(self.path, finding.kind))
        self.whole = self.whole and not finding.is_damage
        yield finding

    def _problem(self, view: BatchView) -> Finding | None:
        """The first problem of a batch, whose offsets must then not be trusted."""

        def finding(kind: str, text: str, offset: int | None = None) -> Finding:
            return Finding(self.path, kind, text, view.file_position, offset)

        if not 0 <= view.magic <= 2:
            return finding("unknown-magic", f"no Kafka up to {KAFKA_MINOR} writes batches of magic {view.magic}")
        if not view.crc_ok():
            text = "the CRC of the batch does not match its contents"
            return finding("crc-mismatch", text, view.last_offset)
        if view.codec >= len(CODECS):
            text = f"the batch has the compression codec {view.codec}, which is unknown to Kafka up to {KAFKA_MINOR}"
            return finding("unknown-codec", text, view.last_offset)
        try:
            first, last, count = view.base_offset, view.last_offset, view.record_count
        except CorruptBatch as error:
            return finding(kind_of_unread(error), str(error), view.last_offset)
        if first > last or not 0 <= count <= last - first + 1:
            return finding("bad-count", f"the batch claims {count} records for the offsets {first} to {last}", first)
        if view.magic == 2 and not count and view.size_bytes > HEADER_BYTES:
            text = f"the batch claims no records but has {view.size_bytes - HEADER_BYTES} bytes of records"
            return finding("bad-count", text, first)
        if first < self.base_offset:
            return finding("offset-below-segment", f"offset {first} is below the segment's {self.base_offset}", first)
        if last - self.base_offset > MAX_RELATIVE_OFFSET:
            return finding("offset-beyond-segment", f"offset {last} is too far from {self.base_offset}", first)
        return None


def timestamp_text(claimed_ms: int, newest_ms: int) -> str:
    """The text of a ``bad-timestamp``, with the newest timestamp in the batch's header and in its records."""
    return f"the batch claims that its newest timestamp is {claimed_ms}, but in its records it is {newest_ms}"


def tail_severity(path: str, kind: str) -> str:
    """The severity of a torn or zero tail of a partition's last segment. A crash leaves it, and a broker removes it.

    With log.preallocate=true a running broker has zeros after the written batches, which is not damage.
    """
    served = kind == "zero-tail" and is_served(os.path.dirname(os.path.dirname(os.path.abspath(path))))
    return INFO if served else WARNING


def not_regular(path: str, *, listed: bool = False) -> Finding | None:
    """The finding about a missing file, or one that is not regular and could block a reader. None for a regular file.

    ``listed``: it was in a listing of its directory, so a missing file was removed since.
    """
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            return None
    except OSError as error:
        if listed:
            return refused(path, error)
        return Finding(path, "unreadable", f"cannot be opened: {error.strerror}")
    return Finding(path, "unreadable", "is not a regular file")


def refused(path: str, error: OSError) -> Finding:
    """The finding about a file that was removed, or that the operating system refuses to read."""
    # The name may exist again, because a broker replaces segments. A broken symbolic link is not a removed file.
    if isinstance(error, FileNotFoundError) and not os.path.islink(path):
        return Finding(path, "vanished", "was removed during the check")
    return Finding(path, "unreadable", f"is unreadable: {error.strerror}")


def read_safely(path: str, walk: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of ``walk``. An OSError becomes a finding too."""
    try:
        yield from walk()
    except OSError as error:
        yield refused(error.filename or path, error)


def read_file(path: str, kind: str, read: Callable[[], object]) -> Iterator[Finding]:
    """The finding of ``kind`` if ``read`` raises CorruptIndex, or a finding for its OSError.

    If a broker is still writing the file, it is read again shortly after.
    """
    failed: CorruptIndex | None = None

    def is_corrupt() -> bool:
        nonlocal failed
        try:
            read()
        except CorruptIndex as error:
            failed = error
            return True
        return False

    try:
        if still_wrong(path, is_corrupt) and failed is not None:
            kind = "newer-file" if isinstance(failed, NewerFile) else kind
            yield Finding(path, kind, str(failed).removeprefix(f"{path}: "), failed.position)
    except OSError as error:
        yield refused(path, error)
