"""Walks one log for a dump: passes each batch, and the damage, to an ending.

With a strict ending the walk stops where Kafka's tool stops, with a LogError. With any other ending the damage becomes
a finding, and the walk continues at the next batch with a valid CRC. A walk can continue when its file has grown.

A large log may be walked in pieces that begin and end at batches, by their headers. Damage, or a batch hidden in the
bytes that another one claims, can make a walk end elsewhere than its piece. The walk then reports this (``Reached``),
the pieces after it do not count, and the rest of the log is one piece. So the result is the same as that of one walk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple

from kafka_tools.dump.endings import Ending
from kafka_tools.dump.notes import FileNotes
from kafka_tools.dump.selection import BEYOND, IN, OUT, PART, DumpSelection
from kafka_tools.errors import CorruptBatch, DecompressesToMore, LogError
from kafka_tools.protocol.enums import CODECS
from kafka_tools.records.batches import BatchView
from kafka_tools.records.compression import LIMIT_BYTES
from kafka_tools.records.record import Record
from kafka_tools.storage.findings import Finding, kind_of_unread
from kafka_tools.storage.segment import Segment, not_the_tail, torn_tail

FAST_FROM_BYTES = 256 * 1024
"""The size from which on numpy saves more time than its import takes."""
WINDOW_BYTES = 2097152
UNKNOWN = -(1 << 62)
"""The offset before the first one of a walk that begins within a log."""
_BEYOND_FOR_SURE = 2
"""The walk ends after this many batches beyond the last selected offset, because a single one may be damaged."""
PIECE_BYTES = 8 * 1024 * 1024
"""The minimum size of a piece."""
LEAST_PIECES = 2
"""A log with fewer pieces is not cut."""


class LogPiece(NamedTuple):
    """A part of a log, from byte ``start`` up to ``end``. ``last``: including any damage up to there."""

    segment: Segment
    start: int
    end: int
    first: bool
    last: bool


class Reached(NamedTuple):
    """The end of the walk over a piece, for the walk over the next one."""

    whole: bool
    """Whether the walk ended at the end of its piece."""
    first_offset: int | None
    """The offset of the first record, if records may be missing between this piece and the one before."""
    last_offset: int
    """The offset of the last record. -1 if a gap after it would not be a finding, ``UNKNOWN`` without records."""


class LogWalk:
    """The walk over a log. ``position`` is the byte after the last batch seen, ``next_offset`` the offset after it."""

    def __init__(
        self,
        segment: Segment,
        name: str,
        ending: Ending,
        notes: FileNotes,
        selection: DumpSelection | None,
        start: int = 0,
        *,
        within: bool = False,
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        """``within``: another walk reads the log before ``start``.

        ``limit_bytes``: the largest size to which a batch may decompress.
        """
        self._limit_bytes = limit_bytes
        self.segment = segment
        self.position = start
        self.next_offset: int | None = None
        self.ended = False
        """Whether the walk is complete: nothing after this position is selected."""
        self._name = name
        self._ending = ending
        self._notes = notes
        self._selection = selection
        self.first_offset: int | None = None
        """The first record's offset, if the offset of the record before it is unknown."""
        self.last_offset = UNKNOWN if within else -1
        """The last record's offset. -1 without a record, or if a gap after it would not be a finding."""
        self._beyond = 0
        self._hidden: int | None = None
        """The position of a complete batch within the bytes that a damaged batch claims. The walk continues there."""

    def run(self, end: int, *, limited: bool = False) -> None:
        """Read up to ``end`` and finish. ``limited``: the file continues after ``end``, so no batch is torn."""
        self.read_all(end, limited=limited)
        self.finish()

    def read_all(self, end: int, *, limited: bool = False) -> None:
        """Read up to ``end``, over damage."""
        while True:
            damage = self.read(end)
            if self.ended or (damage is None and (self.position >= end or limited)):
                break
            torn = damage is None
            damage = damage or torn_tail(self.segment, self.position, end)
            following = None
            if not self._ending.strict and damage.kind != "zero-tail":
                following = self.segment.next_plausible(self.position + 1, end)
            if torn and following is None:
                self._ending.invalid_tail(self._name, end - self.position)
            if following is None:
                self._say(damage)
                break
            self.skip(damage, following)

    def skip(self, damage: Finding, following: int) -> None:
        """Skip the damage, up to the batch at byte ``following``."""
        self._say(not_the_tail(damage))
        words = f"{following - self.position} bytes were skipped before the next complete batch"
        self._say(Finding(self.segment.path, "skipped", words, self.position))
        self.position = following

    def finish(self) -> None:
        """Report the end of the walk."""
        gaps = self._notes.gap_findings(self.segment.path)
        self._ending.end(gaps, self.position, self.next_offset)

    def read(self, end: int) -> Finding | None:
        """Show the complete batches up to ``end``; the damage that stopped the walk, or None.

        Raises LogError for a strict ending.
        """
        fast = self._ending.deep and self._ending.at_once and end - self.position >= FAST_FROM_BYTES
        try:
            while True:
                for at, buffer, starts in self.segment.windows(self.position, end, window_bytes=WINDOW_BYTES):
                    self._views([BatchView(buffer, start, at + start) for start in starts], fast)
                    if self.ended or self._hidden is not None:
                        break
                if self._hidden is None:
                    return None
                self.position, self._hidden = self._hidden, None
        except CorruptBatch as error:
            if self._ending.strict:
                raise
            return self.segment.damage(error, self.position)

    def _views(self, views: list[BatchView], fast: bool) -> None:
        selection = self._selection
        verdicts = [IN] * len(views) if selection is None else [selection.of_batch(view) for view in views]
        shown = self._at_once(views) if fast and all(verdict == IN for verdict in verdicts) else 0
        for view, verdict in zip(views[shown:], verdicts[shown:], strict=True):
            self._beyond = self._beyond + 1 if verdict == BEYOND else 0
            if self._beyond == _BEYOND_FOR_SURE:
                self.ended = True
                return
            if verdict in (OUT, BEYOND):
                self.last_offset = -1  # offsets up to the next shown batch are not a gap
            else:
                self._batch(view, verdict)
            self._passed(view)
            if self._hidden is not None:
                return

    def _passed(self, view: BatchView) -> None:
        self.position = view.file_position + view.size_bytes
        self.next_offset = view.last_offset + 1

    def _at_once(self, views: Sequence[BatchView]) -> int:
        """Show many batches together, as long as they are plain. Returns the number of shown batches."""
        path = self.segment.path
        sound = list(takewhile(lambda view: not header_problem(path, view), views))
        crcs_ok = [view.crc_ok() for view in sound]
        findings = [header_findings(path, view, crc_ok) for view, crc_ok in zip(sound, crcs_ok, strict=True)]
        shown = 0
        while shown < len(sound):
            window = self._ending.window(sound[shown:], crcs_ok[shown:], findings[shown:])
            if window is None:
                break
            for part in window.parts:
                self._ending.line_bytes(part)
            for before, after in window.gaps(self.last_offset):
                self._notes.gap(path, before, after)
            if window.last_offset is not None:
                if self.last_offset == UNKNOWN:
                    self.first_offset = window.first_offset
                self.last_offset = window.last_offset
            shown += window.batch_count
            self._passed(sound[shown - 1])
        for finding in chain.from_iterable(findings[:shown]):
            self._notes.note(finding)
        return shown

    def _batch(self, view: BatchView, verdict: int) -> None:
        problem = header_problem(self.segment.path, view)
        if problem is not None:
            self._ending.line(self._ending.broken_batch(view))
            if self._ending.strict:
                raise problem
            self._say(Finding(self.segment.path, problem.kind, problem.words, view.file_position))
            return
        if verdict == PART and not any(True for _ in self._wanted(view)):
            self.last_offset = -1
            return
        crc_ok = view.crc_ok()
        self._ending.line(self._ending.batch(view, crc_ok))
        for finding in header_findings(self.segment.path, view, crc_ok):
            self._say(finding)
        self._hidden = None if crc_ok else self._hidden_in(view)
        if self._hidden is not None:
            length = self._hidden - view.file_position
            words = f"the batch claims {view.size_bytes} bytes, but another batch starts after {length}"
            self._say(Finding(self.segment.path, "bad-length", words, view.file_position))
        elif self._ending.deep:
            self._records(view, verdict)

    def _hidden_in(self, view: BatchView) -> int | None:
        """The position to continue from if CRC and length of a batch are wrong. A strict ending trusts the length."""
        return None if self._ending.strict else self.segment.hidden_in(view)

    def _wanted(self, view: BatchView) -> Iterator[Record]:
        """The selected records, as far as the batch can be read. ``_records`` reports damage."""
        assert self._selection is not None
        try:
            for record in readable_records(view, self._limit_bytes):
                if self._selection.of_record(record):
                    yield record
        except CorruptBatch:
            # The unreadable records might be selected ones.
            if view.last_offset >= (self._selection.from_offset or 0):
                yield Record(view.last_offset, -1, None, None)

    def _records(self, view: BatchView, verdict: int) -> None:
        """Show the records of a batch."""
        path, wanted = self.segment.path, None if verdict == IN else self._selection
        record = self._ending.record
        try:
            for each in readable_records(view, self._limit_bytes):
                offset = each.offset
                if offset != self.last_offset + 1:
                    if self.last_offset >= 0:
                        self._notes.gap(path, self.last_offset, offset)
                    elif self.last_offset == UNKNOWN:
                        self.first_offset = offset
                self.last_offset = offset
                if wanted is None or wanted.of_record(each):
                    record(view, each)
        except LogError as error:
            # Kafka's tool reads any size, so a batch beyond our limit must not end the dump.
            if self._ending.strict and not isinstance(error, DecompressesToMore):
                raise _located(error, path, view) from error
            words = f"batch with offsets up to {view.last_offset}: {error}"
            if isinstance(error, DecompressesToMore):
                words += "; raise the limit with --max-decompressed-bytes"
                self.last_offset = view.last_offset  # no missing offset is known
            kind = "bad-marker" if view.is_control else kind_of_unread(error)
            self._say(Finding(path, kind, words, view.file_position, view.last_offset))

    def _say(self, finding: Finding) -> None:
        self._notes.note(finding)
        self._ending.line(self._ending.finding_line(finding))


class HeaderProblem(CorruptBatch):
    """A header that keeps Kafka's tool from printing the second half of a batch's line."""

    def __init__(self, path: str, view: BatchView, kind: str, words: str) -> None:
        super().__init__(f"{path} at {view.file_position}: {words}", path=path, position=view.file_position)
        self.kind = kind
        self.words = words


def header_problem(path: str, view: BatchView) -> HeaderProblem | None:
    """The fault of a header that is impossible, None for a possible one."""
    if view.magic < 0:
        return HeaderProblem(path, view, "unknown-magic", f"the batch has the magic {view.magic}")
    if view.codec >= len(CODECS):
        return HeaderProblem(path, view, "unknown-codec", f"the batch has the unknown compression codec {view.codec}")
    return None


def header_findings(path: str, view: BatchView, crc_ok: bool) -> list[Finding]:
    """The findings about a header that can be shown."""
    found = []
    if not crc_ok:
        words = "the CRC of the batch does not match its contents"
        found.append(Finding(path, "crc-mismatch", words, view.file_position, view.last_offset))
    if view.magic > 2:
        words = f"the batch has the unknown magic {view.magic}"
        found.append(Finding(path, "unknown-magic", words, view.file_position, view.last_offset))
    return found


def readable_records(view: BatchView, limit_bytes: int = LIMIT_BYTES) -> Iterator[Record]:
    """The records. Of a compressed batch all or none, as in Kafka's reader of files. Raises CorruptBatch.

    ``limit_bytes`` limits the decompressed size of a batch (DecompressesToMore).
    """
    return iter(list(view.records(limit_bytes=limit_bytes))) if view.is_compressed else view.records()


def _located(error: LogError, path: str, view: BatchView) -> LogError:
    message = f"{path} at {view.file_position}: batch with offsets up to {view.last_offset}: {error}"
    return type(error)(message, path=path, position=view.file_position)


def cut(segment: Segment, start: int, end: int) -> Iterator[LogPiece]:
    """The pieces of a log, lazily. The last piece contains everything from the first damage on."""
    begin = start
    try:
        for at, _buffer, starts in segment.windows(start, end):
            while (found := bisect_left(starts, begin + PIECE_BYTES - at)) < len(starts):
                yield LogPiece(segment, begin, at + starts[found], first=begin == start, last=False)
                begin = at + starts[found]
    except (CorruptBatch, OSError):
        pass  # the walk over the last piece reports it
    yield LogPiece(segment, begin, end, first=begin == start, last=True)
