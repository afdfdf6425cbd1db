"""Dumps the files of a partition: the kind, the contents, the damage and the end of each.

With a strict ending (Kafka's text) everything is as in Kafka's tool: where that tool ends with an exception, the dump
ends with a LogError, after the same text. With any other ending the dump continues after damage. Remarks become
findings.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from kafka_tools.dump import index_remarks
from kafka_tools.dump.endings import DumpedFile, Ending
from kafka_tools.dump.inputs import _INTEGER, check_start, java_path, start_of
from kafka_tools.dump.notes import FileNotes
from kafka_tools.dump.selection import DumpSelection
from kafka_tools.dump.walk import LogPiece, LogWalk
from kafka_tools.errors import CorruptBatch, CorruptIndex, LogError
from kafka_tools.records.compression import LIMIT_BYTES
from kafka_tools.storage import indexes, names
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.index_follow import cut_entry
from kafka_tools.storage.segment import Segment
from kafka_tools.storage.snapshots import read_leader_epochs, read_partition_metadata, read_producer_snapshot

ALL_BYTES = 0x7FFFFFFF
"""The default of ``--max-bytes``."""
MAX_MESSAGE_BYTES = 5 * 1024 * 1024

_KINDS = {
    names.LOG: "log",
    names.CHECKPOINT: "kraft_snapshot",
    names.INDEX: "index",
    names.TIME_INDEX: "timeindex",
    names.TXN_INDEX: "txnindex",
    names.SNAPSHOT: "producer_snapshot",
}
_OTHERS = {names.LEADER_EPOCHS: "leader_epochs", names.PARTITION_METADATA: "partition_metadata"}


class DumpOptions(NamedTuple):
    """The parts of the files to read. ``selection`` None: everything."""

    verify_index_only: bool = False
    index_sanity_check: bool = False
    max_message_bytes: int = MAX_MESSAGE_BYTES
    max_bytes: int = ALL_BYTES
    selection: DumpSelection | None = None
    max_decompressed_bytes: int = LIMIT_BYTES

    @property
    def is_limited(self) -> bool:
        """Whether logs may continue after the bytes that are read."""
        return self.max_bytes != ALL_BYTES

    def end_of(self, segment: Segment) -> int:
        """The byte at which reading a log ends."""
        return min(segment.size_bytes, self.max_bytes) if self.is_limited else segment.size_bytes


class Dump:
    """One run over several files. ``walk`` is the log that is being read, or was read last."""

    def __init__(self, options: DumpOptions, ending: Ending, notes: FileNotes | None = None) -> None:
        self.options = options
        self.ending = ending
        self.notes = notes if notes is not None else FileNotes()
        self.walk: LogWalk | None = None
        self._problem: Finding | None = None
        """The finding about a file's name, which is shown after the file itself."""

    def file(self, argument: str, start: int = 0) -> bool:
        """Dump one file; False for a name that Kafka's tool ignores. Raises LogError, OSError.

        ``start``: the byte at which reading a log begins; a batch must start there.
        """
        path = java_path(argument)
        name = os.path.basename(path)
        suffix = name[name.rfind(".") :] if "." in name else ""
        kind = _KINDS.get(suffix)
        if kind is None and not self.ending.strict:
            parsed = names.parse_file_name(name)
            kind = _OTHERS.get(name) if parsed is None else _KINDS.get(parsed.suffix)  # 42.log.deleted
        self.ending.dumping(path)
        if kind is None:
            return False
        if os.path.exists(path) and not os.path.isfile(path):  # a missing file fails later, as in Kafka's tool
            raise OSError(errno.EINVAL, "not a file: write the output of the pipe to a file first", path)
        if kind in ("log", "kraft_snapshot"):
            self._log(path, name, kind, start)
        elif kind in _INDEXES:
            self._index(path, name, kind)
        elif kind == "txnindex":
            self._txn_index(path, name)
        elif kind == "producer_snapshot":
            self._producer_snapshot(path, name)
        else:
            self._other(path, kind)
        return True

    def note(self, finding: Finding) -> None:
        """Collect a finding, and show it if the output has a place for it."""
        self.notes.note(finding)
        self.ending.line(self.ending.finding_line(finding))

    def _file(self, file: DumpedFile) -> None:
        self.ending.file(file, lambda: os.path.getsize(file.path))
        if self._problem is not None:
            problem, self._problem = self._problem, None
            self.note(problem)

    def _base_offset(self, path: str, name: str) -> int | None:
        """The offset before the first dot of a name. Raises LogError for a strict ending."""
        digits = name.split(".", 1)[0]
        if _INTEGER.fullmatch(digits) and abs(int(digits)) < 1 << 63:
            return int(digits)
        self._misnamed(path, "is not named after the first offset of its segment")
        return None

    def _misnamed(self, path: str, words: str) -> None:
        if self.ending.strict:
            os.stat(path)  # if the file is missing, report that instead
            raise LogError(f"{path} {words}", path=path, hint="use --keep-going to read it under any name")
        self._problem = Finding(path, "unknown-file", f"the file {words}")

    # Logs

    def piece(self, argument: str, start: int, piece: LogPiece) -> bool:
        """Dump a piece of a log. True if its walk ended at the end of the piece.

        ``start``: the byte at which reading the log begins. Raises LogError, OSError.
        """
        path = java_path(argument)
        name = os.path.basename(path)
        if piece.first:
            self.ending.dumping(path)
            self._head(path, name, "log")
            walk = self.open_walk(piece.segment, name, start)
        else:
            walk = self._walk(piece.segment, name, piece.start, within=True)
        if piece.last:
            walk.read_all(piece.end, limited=self.options.is_limited)
            return True
        return walk.read(piece.end) is None and walk.position == piece.end and not walk.ended

    def _log(self, path: str, name: str, kind: str, start: int) -> None:
        self._head(path, name, kind)
        with Segment(path) as segment:
            walk = self.open_walk(segment, name, start)
            walk.run(self.options.end_of(segment), limited=self.options.is_limited)

    def _head(self, path: str, name: str, kind: str) -> None:
        """Show the fields in the name of a log."""
        if kind == "log":
            file = DumpedFile(path, kind, self._base_offset(path, name))
        elif name == names.BOOTSTRAP_CHECKPOINT:
            file = DumpedFile(path, "kraft_bootstrap_snapshot")
        else:
            parsed = names.parse_file_name(name)
            if parsed is None or parsed.epoch is None:
                self._misnamed(path, "is not named <end offset>-<epoch>.checkpoint")
                file = DumpedFile(path, kind)
            else:
                file = DumpedFile(path, kind, parsed.base_offset, parsed.epoch)
        self._file(file)

    def open_walk(self, segment: Segment, name: str, start: int) -> LogWalk:
        """A walk over a log from byte ``start`` on. Raises CorruptBatch if no batch starts there."""
        if start:
            check_start(segment, start)
        elif self.options.selection is not None and self.options.selection.from_offset is not None:
            start = start_of(segment, self.options.selection.from_offset)
        return self._walk(segment, name, start)

    def _walk(self, segment: Segment, name: str, start: int, *, within: bool = False) -> LogWalk:
        limit_bytes, selection = self.options.max_decompressed_bytes, self.options.selection
        self.walk = LogWalk(
            segment, name, self.ending, self.notes, selection, start, within=within, limit_bytes=limit_bytes
        )
        return self.walk

    # Indexes

    def _index(self, path: str, name: str, kind: str) -> None:
        named = self._base_offset(path, name)
        self._file(DumpedFile(path, kind, named))
        size_bytes, entries = _INDEXES[kind]
        cut = cut_entry(path, kind, size_bytes)
        entries(self, path, named or 0, is_sound=cut is None or self.ending.strict)
        if cut is not None:
            self.note(cut)

    def _offset_entries(self, path: str, base_offset: int, *, is_sound: bool) -> None:
        with self._log_of(path) as segment:
            if not os.path.getsize(path) // indexes.OFFSET_ENTRY.size:
                self.ending.empty_index(path)
                return
            if self.options.index_sanity_check:
                if is_sound:
                    self._sanity(path, base_offset, index_remarks.offset_index_sanity, "index-order")
                return
            for entry in index_remarks.written_entries(indexes.read_offset_index(path, base_offset), base_offset):
                if not self.ending.strict and segment and not segment.size_bytes and entry == (base_offset, 0):
                    # A live segment without records: only preallocated zeros. Kafka's tool fails here.
                    return
                if not self._wants(entry.offset):
                    continue
                finding = self._index_finding(segment, path, entry) if segment else None
                if not self.options.verify_index_only:
                    self.ending.entry(entry)
                if finding is not None:
                    self.note(finding)

    def _index_finding(self, segment: Segment, path: str, entry: indexes.OffsetEntry) -> Finding | None:
        try:
            last_offset = index_remarks.last_offset_at(segment, path, entry.position, self.options.max_message_bytes)
        except CorruptIndex as error:
            if self.ending.strict:
                raise
            return Finding(path, "index-nowhere", str(error), entry.position, entry.offset)
        if last_offset == entry.offset:
            return None
        return index_remarks.index_mismatch(segment, path, entry, last_offset)

    def _time_entries(self, path: str, base_offset: int, *, is_sound: bool) -> None:
        with self._log_of(path) as segment:
            offset_index = self._offset_lookup(path, base_offset)
            entries = index_remarks.written_entries(indexes.read_time_index(path, base_offset), base_offset)
            if self.options.index_sanity_check:
                if is_sound:
                    self._sanity(path, base_offset, index_remarks.time_index_sanity, "timeindex-order")
                return
            checker = index_remarks.TimeEntries(segment, path, offset_index) if segment and offset_index else None
            for entry in entries:
                if not self._wants(entry.offset, entry.timestamp):
                    continue
                try:
                    findings = checker.look_at(entry) if checker else []
                except (CorruptIndex, CorruptBatch) as error:
                    if self.ending.strict:
                        raise
                    findings = [Finding(path, "timeindex-offset", str(error), None, entry.offset)]
                if not self.options.verify_index_only:
                    self.ending.entry(entry)
                for finding in findings:
                    self.note(finding)

    def _sanity(self, path: str, base_offset: int, check: Callable[[str, int], None], kind: str) -> None:
        try:
            check(path, base_offset)
        except CorruptIndex as error:
            if self.ending.strict:
                raise
            self.note(Finding(path, kind, str(error)))
            return
        self.ending.sanity(path)

    def _log_of(self, path: str) -> AbstractContextManager[Segment | None]:
        """The log of an index. A missing log ends Kafka's tool."""
        try:
            return Segment(index_remarks.sibling(path, names.LOG))
        except FileNotFoundError:
            if self.ending.strict:
                raise
            self.note(Finding(path, "orphan-file", "no log of this segment to compare with"))
            return nullcontext()

    def _offset_lookup(self, path: str, base_offset: int) -> index_remarks.OffsetIndexSearch | None:
        try:
            return index_remarks.OffsetIndexSearch(index_remarks.sibling(path, names.INDEX), base_offset)
        except FileNotFoundError:
            if self.ending.strict:
                raise
            return None

    def _wants(self, offset: int, timestamp_ms: int | None = None) -> bool:
        selection = self.options.selection
        return selection is None or (
            selection.has_offset(offset) and (timestamp_ms is None or selection.has_time(timestamp_ms))
        )

    def _txn_index(self, path: str, name: str) -> None:
        self._file(DumpedFile(path, "txnindex", self._base_offset(path, name)))
        if self.ending.strict:
            index_remarks.refuse_other_versions(path)
        try:
            for number, entry in enumerate(indexes.read_txn_index(path)):
                if self.ending.strict or self._wants(entry.last_offset):
                    self.ending.entry(entry)
                if entry.version != indexes.TXN_VERSION:
                    self._note_version(path, number, entry)
        except CorruptIndex as error:
            # Kafka's tool silently ends the list here.
            self.note(Finding(path, "txnindex-size", str(error), error.position))

    def _note_version(self, path: str, number: int, entry: indexes.AbortedTransaction) -> None:
        words = f"the entry has the unknown version {entry.version}"
        self.note(Finding(path, "txnindex-version", words, number * indexes.TXN_ENTRY.size, entry.first_offset))

    # The rest

    def _producer_snapshot(self, path: str, name: str) -> None:
        parsed = names.parse_file_name(name)
        self._file(DumpedFile(path, "producer_snapshot", parsed.base_offset if parsed else None))
        try:
            for entry in read_producer_snapshot(path):
                self.ending.entry(entry)
        except CorruptIndex as error:
            self.note(Finding(path, "producer-snapshot", str(error), error.position))

    def _other(self, path: str, kind: str) -> None:
        self._file(DumpedFile(path, kind))
        try:
            if kind == "leader_epochs":
                for entry in read_leader_epochs(path):
                    self.ending.entry(entry)
            else:
                from kafka_tools.values import uuid_text

                self.ending.topic_id(uuid_text(read_partition_metadata(path)))
        except CorruptIndex as error:
            found = "leader-epochs" if kind == "leader_epochs" else "partition-metadata"
            self.note(Finding(path, found, str(error), error.position))


_INDEXES: dict[str, tuple[int, Callable[..., None]]] = {
    "index": (indexes.OFFSET_ENTRY.size, Dump._offset_entries),
    "timeindex": (indexes.TIME_ENTRY.size, Dump._time_entries),
}
"""Kind of index -> bytes of an entry, and the method that shows the entries."""
