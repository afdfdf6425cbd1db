"""Dumping the files of a partition as Kafka 4.3.1's tool does: which lines, in which order, and where it ends.

Text goes to ``write``. What Kafka ends on with an exception ends here with a LogError, after the same text; what it
only remarks is collected as findings. Knows no options and no command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafka_tools.errors import CorruptBatch, CorruptIndex, LogError
from kafka_tools.output import dump_text as text
from kafka_tools.output.dump_decoders import Decoder, control
from kafka_tools.records.batches import BatchView
from kafka_tools.records.compression import NAMES
from kafka_tools.records.record import Record
from kafka_tools.storage import index_check, indexes, names
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.segment import Segment, torn_tail
from kafka_tools.storage.snapshots import read_producer_snapshot

ALL_BYTES = 0x7FFFFFFF
"""``--max-bytes`` when it is not given."""
MAX_MESSAGE_BYTES = 5 * 1024 * 1024
MOST_NOTES = 5000
FAST_FROM_BYTES = 256 * 1024
"""From this size on a log is worth the import of numpy."""
WINDOW_BYTES = 2097152


class DumpOptions(NamedTuple):
    """What to print. ``decoder`` None: no contents; ``deep``: a line per record."""

    decoder: Decoder | None = None
    deep: bool = False
    skip_record_metadata: bool = False
    verify_index_only: bool = False
    index_sanity_check: bool = False
    max_message_bytes: int = MAX_MESSAGE_BYTES
    max_bytes: int = ALL_BYTES


class Dump:
    """One run over several files; ``findings`` and ``gaps`` (per file, pairs of offsets) gather what was noticed.

    Of both only the first few thousand are kept, whatever the files hold; ``unlisted`` counts the others.
    """

    def __init__(
        self, options: DumpOptions, write: Callable[[str], object], write_bytes: Callable[[bytes], object]
    ) -> None:
        self.options = options
        self.findings: list[Finding] = []
        self.gaps: dict[str, dict[int, int]] = {}
        self.unlisted = 0
        self._write = write
        self._write_bytes = write_bytes

    def _note(self, finding: Finding) -> None:
        if len(self.findings) < MOST_NOTES:
            self.findings.append(finding)
        else:
            self.unlisted += 1

    def _gap(self, path: str, previous: int, offset: int) -> None:
        pairs = self.gaps.setdefault(path, {})
        if len(pairs) < MOST_NOTES:
            pairs[previous] = offset
        else:
            self.unlisted += 1

    def file(self, argument: str) -> bool:
        """Dump one file; False for a name that Kafka's tool ignores. Raises LogError, OSError."""
        path = java_path(argument)
        self._write(f"Dumping {path}\n")
        name = os.path.basename(path)
        suffix = name[name.rfind(".") :] if "." in name else ""
        if suffix in (names.LOG, names.CHECKPOINT):
            self._log(path, name, suffix)
        elif suffix == names.INDEX:
            self._offset_index(path, _base_offset(path, name))
        elif suffix == names.TIME_INDEX:
            self._time_index(path, _base_offset(path, name))
        elif suffix == names.TXN_INDEX:
            self._txn_index(path, name)
        elif suffix == names.SNAPSHOT:
            self._producer_snapshot(path)
        else:
            return False
        return True

    # Logs

    def _log(self, path: str, name: str, suffix: str) -> None:
        if suffix == names.LOG:
            self._write(f"Log starting offset: {_base_offset(path, name)}\n")
        elif name == names.BOOTSTRAP_CHECKPOINT:
            self._write("KRaft bootstrap snapshot\n")
        else:
            parsed = names.parse_file_name(name)
            if parsed is None or parsed.epoch is None:
                raise LogError(f"{path} is not named <end offset>-<epoch>.checkpoint", path=path)
            self._write(f"Snapshot end offset: {parsed.base_offset}, epoch: {parsed.epoch}\n")
        with Segment(path) as segment:
            self._batches(segment, name)

    def _batches(self, segment: Segment, name: str) -> None:
        limited = self.options.max_bytes != ALL_BYTES
        end = min(segment.size_bytes, self.options.max_bytes) if limited else segment.size_bytes
        fast = self.options.deep and end >= FAST_FROM_BYTES
        position, previous = 0, -1
        for at, buffer, starts in segment.windows(end=end, window_bytes=WINDOW_BYTES):
            views = [BatchView(buffer, start, at + start) for start in starts]
            position = views[-1].file_position + views[-1].size_bytes
            last = self._window(segment.path, views, previous) if fast else None
            if last is not None:
                previous = last
                continue
            for view in views:
                self._batch(segment, view)
                if self.options.deep:
                    previous = self._records(segment.path, view, previous)
        if position < end and not limited:
            self._write(f"Found {end - position} invalid bytes at the end of {name}\n")
            self._note(torn_tail(segment, position, end))

    def _window(self, path: str, views: list[BatchView], previous: int) -> int | None:
        """Print many batches at once, if they are plain; the offset of the last record."""
        from kafka_tools.output import dump_columns  # numpy: 100 ms

        if any(header_problem(path, view) for view in views):
            return None
        crcs = [view.crc_ok() for view in views]
        lines = [text.batch_start(view) + text.batch_end(view, ok) for view, ok in zip(views, crcs, strict=True)]
        window = dump_columns.window(views, lines, self.options.decoder, self.options.skip_record_metadata)
        if window is None:
            return None
        self._write_bytes(window.data)
        for view, crc_ok in zip(views, crcs, strict=True):
            self._note_batch(path, view, crc_ok)
        for before, after in window.gaps(previous):
            self._gap(path, before, after)
        return previous if window.last_offset is None else window.last_offset

    def _batch(self, segment: Segment, view: BatchView) -> None:
        self._write(text.batch_start(view))
        problem = header_problem(segment.path, view)
        if problem is not None:
            raise problem
        crc_ok = view.crc_ok()
        self._write(text.batch_end(view, crc_ok))
        self._note_batch(segment.path, view, crc_ok)

    def _note_batch(self, path: str, view: BatchView, crc_ok: bool) -> None:
        where = (path, view.file_position, view.last_offset)
        if not crc_ok:
            self._note(_finding(where, "crc-mismatch", "the CRC of the batch does not match its contents"))
        if view.magic > 2:
            self._note(_finding(where, "unknown-magic", f"the batch has the unknown magic {view.magic}"))

    def _records(self, path: str, view: BatchView, previous: int) -> int:
        """Print the records of a batch; the offset of the last one."""
        options, write = self.options, self._write
        decoder = None if view.is_control else options.decoder
        prefix = "| " if options.skip_record_metadata else " "
        timestamp_type = text.TIMESTAMP_TYPES[view.timestamp_type]
        try:
            for record in readable_records(view):
                offset = record.offset
                if offset != previous + 1 and previous >= 0:
                    self._gap(path, previous, offset)
                previous = offset
                line = ""
                if not options.skip_record_metadata:
                    line = text.record_metadata(record, timestamp_type, view.magic)
                    if view.is_control:
                        write(line)
                        line = control(record)
                if decoder is not None:
                    write(line)
                    key, payload = decoder(offset, record.key, record.value)
                    line = text.contents(key, payload, prefix)
                write(line + "\n")
        except LogError as error:
            raise _located(error, path, view) from error
        return previous

    # Indexes

    def _offset_index(self, path: str, base_offset: int) -> None:
        with Segment(index_check.sibling(path, names.LOG)) as segment:
            count = os.path.getsize(path) // indexes.OFFSET_ENTRY.size
            if not count:
                self._write(f"{path} is empty.\n")
                return
            if self.options.index_sanity_check:
                index_check.offset_index_sanity(path, base_offset)
                self._write(f"{path} passed sanity check.\n")
                return
            for entry in index_check.written_entries(indexes.read_offset_index(path, base_offset), base_offset):
                last_offset = index_check.last_offset_at(segment, path, entry.position, self.options.max_message_bytes)
                if last_offset != entry.offset:
                    self._note(index_check.index_mismatch(segment, path, entry, last_offset))
                if not self.options.verify_index_only:
                    self._write(f"offset: {entry.offset} position: {entry.position}\n")

    def _time_index(self, path: str, base_offset: int) -> None:
        with Segment(index_check.sibling(path, names.LOG)) as segment:
            offset_index = index_check.OffsetLookup(index_check.sibling(path, names.INDEX), base_offset)
            entries = index_check.written_entries(indexes.read_time_index(path, base_offset), base_offset)
            if self.options.index_sanity_check:
                index_check.time_index_sanity(path, base_offset)
                self._write(f"{path} passed sanity check.\n")
                return
            checker = index_check.TimeEntries(segment, path, offset_index)
            for entry in entries:
                for finding in checker.look_at(entry):
                    self._note(finding)
                if not self.options.verify_index_only:
                    self._write(f"timestamp: {entry.timestamp} offset: {entry.offset}\n")

    def _txn_index(self, path: str, name: str) -> None:
        _base_offset(path, name)
        try:
            for number, entry in enumerate(indexes.read_txn_index(path)):
                if entry.version != indexes.TXN_VERSION:
                    position = number * indexes.TXN_ENTRY.size
                    words = f"the entry has the unknown version {entry.version}"
                    self._note(Finding(path, "txnindex-version", words, position, entry.first_offset))
                # Kafka 4.3.1 reads one of the version's two bytes, and fails only if that one is not 0.
                shown = entry.version >> 8
                if shown > indexes.TXN_VERSION:
                    raise LogError(f"{path}: the unknown version {entry.version} of an entry", path=path)
                self._write(text.aborted_transaction(entry._replace(version=shown)))
        except CorruptIndex as error:
            # Kafka's tool ends the list here and says nothing.
            self._note(Finding(path, "txnindex-size", str(error), error.position))

    def _producer_snapshot(self, path: str) -> None:
        try:
            for entry in read_producer_snapshot(path):
                self._write(text.producer(entry))
        except CorruptIndex as error:
            self._note(Finding(path, "producer-snapshot", str(error), error.position))


def java_path(argument: str) -> str:
    """A path as ``java.io.File`` shows it: no doubled slashes, none at the end."""
    while "//" in argument:
        argument = argument.replace("//", "/")
    return argument[:-1] if len(argument) > 1 and argument.endswith("/") else argument


def readable_records(view: BatchView) -> Iterator[Record]:
    """The records; of a compressed batch all or none, as in Kafka's reader of files. Raises CorruptBatch."""
    return iter(list(view.records())) if view.is_compressed else view.records()


def header_problem(path: str, view: BatchView) -> LogError | None:
    """What keeps Kafka's tool from printing the second half of a batch's line."""
    if view.magic < 0:
        text_ = f"the batch has the magic {view.magic}"
    elif view.codec >= len(NAMES):
        text_ = f"the batch has the unknown compression codec {view.codec}"
    else:
        return None
    return CorruptBatch(f"{path} at {view.file_position}: {text_}", path=path, position=view.file_position)


def _located(error: LogError, path: str, view: BatchView) -> LogError:
    message = f"{path} at {view.file_position}: batch with offsets up to {view.last_offset}: {error}"
    return type(error)(message, path=path, position=view.file_position)


def _finding(where: tuple[str, int, int], kind: str, words: str) -> Finding:
    path, position, offset = where
    return Finding(path, kind, words, position, offset)


def _base_offset(path: str, name: str) -> int:
    """The offset before the first dot of a name. Raises LogError."""
    digits = name.split(".", 1)[0]
    try:
        return int(digits)
    except ValueError as error:
        raise LogError(f"{path} is not named after the first offset of its segment", path=path) from error


def java_split(files: str) -> list[str]:
    """The elements of a comma-separated list as Java's ``split`` gives them: empty ones at the end do not count."""
    parts = files.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
