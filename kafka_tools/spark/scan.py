"""One range of a segment, batch by batch: sound ones as runs of headers, everything else as rows.

``headers`` reads runs of well-formed magic 2 batches. Where it stops, ``storage.segment`` finds older batches, damage,
or the end. A file that vanishes, grows or shrinks during the read becomes a row, never an error. Knows no Arrow and no
Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_tools import KAFKA_MINOR
from kafka_tools.errors import CorruptBatch, KafkaToolsError
from kafka_tools.protocol.enums import CODECS, TIMESTAMP_TYPES
from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.spark import headers
from kafka_tools.spark.columns.tables import spark_time
from kafka_tools.spark.damage import BELOW, BEYOND, HEADER_FAULTS, SOUND, UNKNOWN_CODEC, WRONG_CRC, judge, severity
from kafka_tools.spark.files import File, check_seen, is_remote, open_log
from kafka_tools.storage.findings import ERROR, INFO, KINDS, WARNING, Finding, kind_of_unread
from kafka_tools.storage.layout import MAX_RELATIVE_OFFSET
from kafka_tools.storage.live import still_wrong
from kafka_tools.storage.segment import SegmentReader
from kafka_tools.storage.segment_check import tail_severity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.segments import Range

ROWS_PER_PART = 32_768
"""Many enough that handing over a part costs little, and few enough that a part stays below 10 MB."""


Row = dict[str, Any]
"""Values by the names of ``tables.BATCH_COLUMNS``; an absent one is null."""


class HeaderRun(NamedTuple):
    """Headers of consecutive magic 2 batches, and the fault of each batch (``damage.judge``)."""

    headers: headers.Headers
    codes: NDArray[np.int8]

    def take(self, at: NDArray[np.int64] | NDArray[np.bool_]) -> HeaderRun:
        """Some of the batches."""
        return HeaderRun(self.headers.take(at), self.codes[at])

    def sound(self) -> HeaderRun:
        """The batches without faults."""
        sound = self.codes == SOUND
        return self if sound.all() else self.take(sound)


def scan_range(range_: Range, *, check_crc: bool, count_legacy: bool) -> Iterator[HeaderRun | list[Row]]:
    """The parts of a range, in order; no run or list is longer than two ROWS_PER_PART.

    ``count_legacy``: open compressed batches of magic 0 and 1 for their count and first offset.
    """
    file = open_range(range_)
    if not isinstance(file, File):
        yield [file]
        return
    with file:
        yield from Scan(range_, file, check_crc, count_legacy).parts()


def open_range(range_: Range) -> File | Row:
    """The file of a range, or a row with the reason why it cannot be read."""
    try:
        file = open_log(range_.file)
        # The inode alone: another machine that mounts the same files has another device number for them.
        if range_.identity is None or file.identity is None or file.identity[1] == range_.identity[1]:
            return file
        file.close()
        return event(range_, "vanished", INFO, "compaction replaced the segment during the audit")
    except FileNotFoundError:
        try:
            check_seen(range_.log_dir)
        except KafkaToolsError as error:
            return event(range_, "unseen", ERROR, str(error))
        return event(range_, "vanished", INFO, "the segment was removed during the audit")
    except OSError as error:
        return event(range_, "unreadable", ERROR, f"cannot open the segment: {reason(error)}")


def event(
    range_: Range, kind: str, how_bad: str, text: str, position: int | None = None, size_bytes: int | None = None
) -> Row:
    """A row about the file, or about a stretch of it that is not a batch."""
    place = {"position": position, "size_bytes": size_bytes}
    return origin(range_) | place | {"damage": kind, "severity": how_bad, "detail": text}


def origin(range_: Range) -> Row:
    """The origin of the rows of a range."""
    return {
        "topic": range_.topic,
        "partition": range_.partition,
        "log_dir": range_.log_dir,
        "file": range_.file,
    }


def reason(error: OSError) -> str:
    """The sentence about a read error, without the path."""
    return error.strerror or str(error).splitlines()[0]


class FileSegment(SegmentReader):
    """A file, wherever it lies, for the walk of ``storage.segment``; who opened it closes it."""

    def __init__(self, file: File, base_offset: int) -> None:
        super().__init__(file.path, base_offset, file.refresh())
        self._file = file

    def refresh(self) -> int:
        self.size_bytes = self._file.refresh()
        return self.size_bytes

    def read(self, position: int, size_bytes: int) -> bytes:
        return self._file.read(position, size_bytes)


@dataclass
class Scan:
    """The walk over a range of an open file, read ``window_bytes`` at a time. Rows are mappings of column names."""

    range: Range
    file: File
    check_crc: bool
    count_legacy: bool
    rows_per_part: int = ROWS_PER_PART
    window_bytes: int = headers.WINDOW_BYTES
    last_offset: int | None = None

    def __post_init__(self) -> None:
        self.position = self.range.start

    def parts(self) -> Iterator[HeaderRun | list[Row]]:
        """The parts of the range, as ``scan_range`` gives them."""
        try:
            while self.position < self.range.end:
                yield from self._sound_batches()
                if self.position < self.range.end:
                    yield from self._what_is_there()
        except FileNotFoundError:
            yield [event(self.range, "vanished", INFO, "the segment was removed during the audit", self.position)]
        except OSError as error:
            text = f"cannot read: {reason(error)}"
            yield [event(self.range, "unreadable", ERROR, text, self.position, self.range.end - self.position)]

    def _sound_batches(self) -> Iterator[HeaderRun | list[Row]]:
        runs: list[headers.Headers] = []
        count = 0
        scan = headers.scan(
            self.file, self.position, self.range.end, check_crc=self.check_crc, window_bytes=self.window_bytes
        )
        while True:
            try:
                run = next(scan)
            except StopIteration as stop:
                self.position = stop.value
                break
            # The last run waits: only what comes behind it tells whether its last length is right.
            if count >= self.rows_per_part:
                yield self._judged(headers.concatenate(runs))
                runs, count = [], 0
            runs.append(run)
            count += len(run.positions)
        if not runs:
            return
        last = headers.concatenate(runs)
        hidden = self._hidden_in_last(last)
        if hidden is None:
            yield self._judged(last)
            return
        if len(last.positions) > 1:
            yield self._judged(last.take(slice(-1)))
        position = int(last.positions[-1])
        text = f"the length in the header is wrong: a complete batch begins within it at {hidden}"
        yield [event(self.range, "bad-length", ERROR, text, position, hidden - position)]
        self.position = hidden

    def _hidden_in_last(self, run: headers.Headers) -> int | None:
        """The position of a complete batch within the last batch of a run, if the length of that batch is damaged."""
        if run.crc_ok is None or run.crc_ok[-1]:
            return None
        position = int(run.positions[-1])
        segment = FileSegment(self.file, self.range.base_offset)
        return segment.hidden_in(BatchView(segment.read(position, HEADER_BYTES), 0, position))

    def _judged(self, run: headers.Headers) -> HeaderRun:
        codes = judge(run, self.last_offset, self.range.base_offset)
        self.last_offset = int(run.last_offsets[-1])
        return HeaderRun(run, codes)

    def _what_is_there(self) -> Iterator[list[Row]]:
        """Rows from the position on, up to the next magic 2 batch or the end of the range."""
        rows: list[Row] = []
        finding: Finding | None = None
        segment = FileSegment(self.file, self.range.base_offset)
        for item in segment.batches(self.position, end=self.range.end):
            if isinstance(item, Finding):
                # "skipped" only says where the next batch is, which is the size of the stretch before it.
                finding = finding or item
                continue
            if finding:
                rows.append(self._stretch(finding, item.file_position))
                finding = None
            if item.magic == 2:
                self.position = item.file_position
                break
            rows.append(self._view(item))
            self.last_offset = item.last_offset
            self.position = item.file_position + item.size_bytes
            if len(rows) >= self.rows_per_part:
                yield rows
                rows = []
        else:
            if finding:
                rows.append(self._end(finding))
            elif segment.size_bytes < self.range.end:
                text = "the broker truncated the segment during the audit"
                rows.append(event(self.range, "shrunk", INFO, text, segment.size_bytes))
            self.position = self.range.end
        if rows:
            yield rows

    def _view(self, view: BatchView) -> Row:
        """A row about a batch of magic 0 or 1, or of a magic that does not exist."""
        row = origin(self.range) | {
            "position": view.file_position,
            "size_bytes": view.size_bytes,
            "last_offset": view.last_offset,
            "magic": view.magic,
            "codec": CODECS[view.codec] if view.codec < len(CODECS) else f"unknown({view.codec})",
            "crc_ok": view.crc_ok() if self.check_crc else None,
            "is_transactional": view.is_transactional,
            "is_control": view.is_control,
        }
        if view.magic == 1:
            row["timestamp_type"] = TIMESTAMP_TYPES[view.timestamp_type]
            row["max_timestamp_ms"] = view.max_timestamp
            row["max_timestamp"] = spark_time(view.max_timestamp)
        if not view.is_compressed:
            time_ms = row.get("max_timestamp_ms")
            row |= {"base_offset": view.last_offset, "record_count": 1, "base_timestamp_ms": time_ms}
        problem = self._problem(view, row)
        if problem:
            row |= {"damage": problem[0], "severity": KINDS[problem[0]].severity, "detail": problem[1]}
        return row

    def _problem(self, view: BatchView, row: Row) -> tuple[str, str] | None:
        """(kind, sentence) of what is wrong with a batch of an old magic. Opens it for its count if that is wanted."""
        if not 0 <= view.magic <= 1:
            return "unknown-magic", f"no Kafka up to {KAFKA_MINOR} writes batches of magic {view.magic}"
        if row["crc_ok"] is False:
            return HEADER_FAULTS[WRONG_CRC]
        if view.codec >= len(CODECS):
            return HEADER_FAULTS[UNKNOWN_CODEC]
        if self.count_legacy and view.is_compressed:
            try:
                row |= {"base_offset": view.base_offset, "record_count": view.record_count}
            except CorruptBatch as error:
                return kind_of_unread(error), str(error)
        first = row.get("base_offset", view.last_offset)
        if first < self.range.base_offset:
            return HEADER_FAULTS[BELOW]
        if view.last_offset - self.range.base_offset > MAX_RELATIVE_OFFSET:
            return HEADER_FAULTS[BEYOND]
        if self.last_offset is not None and view.last_offset <= self.last_offset:
            return "offset-order", "the offset does not follow the last offset of the previous batch"
        return None

    def _stretch(self, finding: Finding, next_batch: int) -> Row:
        """The row for damage after which a batch follows."""
        position = self.position if finding.position is None else finding.position
        kind, text = finding.kind, self._text(finding)
        if kind == "torn-tail":
            # The reader saw a batch go beyond the end of the file; what follows shows that it is not the tail.
            kind, text = "bad-length", "the length in the header extends beyond the end of the file"
        return event(self.range, kind, severity(kind, at_open_end=False), text, position, next_batch - position)

    def _end(self, finding: Finding) -> Row:
        """The row for a finding after which this range contains no batch."""
        position = self.position if finding.position is None else finding.position
        left = self.range.end - position
        at_end_of_file = self.range.end == self.range.size
        if at_end_of_file and finding.kind == "torn-tail" and self._grows():
            return event(self.range, "growing", INFO, "the broker was writing here during the audit", position, left)
        at_open_end = at_end_of_file and self.range.last_segment
        how_bad = severity(finding.kind, at_open_end=at_open_end)
        if at_open_end and how_bad == WARNING and not is_remote(self.range.file):
            how_bad = tail_severity(self.range.file, finding.kind)
        text = f"the last {left} bytes are zeros" if finding.kind == "zero-tail" else self._text(finding)
        return event(self.range, finding.kind, how_bad, text, position, left)

    def _grows(self) -> bool:
        """Whether the file has become larger: the end of a log that is being written may lie within a batch."""

        def has_not_grown() -> bool:
            return self.file.refresh() <= self.range.size

        wait = self.range.last_segment and not is_remote(self.range.file)
        return not (still_wrong(self.range.file, has_not_grown) if wait else has_not_grown())

    def _text(self, finding: Finding) -> str:
        """The finding's sentence without the path, which has a column of its own."""
        return finding.text.replace(f" in file {self.range.file}.", "")
