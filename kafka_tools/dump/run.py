"""One run of kafka-dump-log over its files: each file in order, its failure, and the end of reading.

A worker process calls ``DumpRun.one`` for one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.dump import walk
from kafka_tools.dump.endings import Ending, Sink
from kafka_tools.dump.files import Dump, DumpOptions
from kafka_tools.dump.inputs import java_path
from kafka_tools.dump.notes import FileNotes
from kafka_tools.dump.walk import UNKNOWN, LogPiece, Reached
from kafka_tools.errors import CorruptBatch, KafkaToolsError, OutputError
from kafka_tools.storage.segment import Segment

if TYPE_CHECKING:
    from kafka_tools.dump.summary import FileSum


class Reading(NamedTuple):
    """A file to read, from byte ``start`` on if it is a log."""

    path: str
    start: int = 0


class FileOutcome(NamedTuple):
    """The outcome of one file."""

    path: str
    unknown: bool = False
    """Whether Kafka's tool ignores a file of this name."""
    failure: str | None = None
    """The reason why the file could not be read, or not to its end, in one line."""
    hint: str | None = None
    position: int | None = None
    """The byte after the last batch of a log."""
    next_offset: int | None = None
    summary: FileSum | None = None
    reached: Reached | None = None
    """The end of the walk over a piece of a log."""


class DumpRun:
    """One run, with the same form of output and selection for every file."""

    def __init__(self, options: DumpOptions, make_ending: Callable[[Sink], Ending], *, strict: bool) -> None:
        self.options = options
        self.make_ending = make_ending
        self.strict = strict
        self.pieces_end = 0
        """The end of the completed pieces of the current log."""
        self._dump: Dump | None = None

    @property
    def walk_position(self) -> int:
        """The current position in the current log, for a progress bar."""
        walk = self._dump.walk if self._dump is not None else None
        return walk.position if walk is not None else self.pieces_end

    def forget(self) -> None:
        """Reset the position, because the current file is complete."""
        self._dump = None
        self.pieces_end = 0

    def is_cut(self, reading: Reading) -> bool:
        """Whether a file may be read in pieces: a large log without a range of offsets, which may end a walk early."""
        selection = self.options.selection
        ranged = selection is not None and (selection.from_offset is not None or selection.to_offset is not None)
        return not ranged and _is_large(reading) and self.make_ending(_Nowhere()).at_once

    def open(self, reading: Reading) -> Segment:
        """Open the log of a reading for ``cut``. Raises OSError."""
        return Segment(java_path(reading.path))

    def cut(self, reading: Reading, segment: Segment) -> Iterator[LogPiece]:
        """The pieces of a log, lazily."""
        return walk.cut(segment, reading.start, self.options.end_of(segment))

    def warm_up(self, readings: list[Reading]) -> None:
        """Import modules that each worker process would import, before the processes start."""
        from kafka_tools.dump.walk import FAST_FROM_BYTES

        ending = self.make_ending(_Nowhere())
        large = any(os.path.isfile(each.path) and os.path.getsize(each.path) >= FAST_FROM_BYTES for each in readings)
        if large and ending.deep and ending.at_once:
            import kafka_tools.dump.text_columns  # noqa: F401

    def one(self, reading: Reading, sink: Sink, notes: FileNotes, piece: LogPiece | None = None) -> FileOutcome:
        """Dump one file, or a piece of it. The outcome contains the failure, also of a strict run."""
        ending = self.make_ending(sink)
        dump = self._dump = Dump(self.options, ending, notes)
        unknown, failure, hint, whole = False, None, None, False
        try:
            if piece is not None:
                whole = dump.piece(reading.path, reading.start, piece)
            else:
                unknown = not dump.file(reading.path, reading.start)
        except (BrokenPipeError, OutputError):
            raise
        except KafkaToolsError as error:
            failure, hint = _line(error), error.hint
        except OSError as error:
            failure = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
        take = getattr(ending, "take", None)
        summary = take() if take is not None else None
        walk = dump.walk
        if walk is None:
            return FileOutcome(reading.path, unknown, failure, hint, summary=summary)
        reached = None if piece is None else Reached(whole, walk.first_offset, walk.last_offset)
        return FileOutcome(reading.path, unknown, failure, hint, walk.position, walk.next_offset, summary, reached)


class PieceSum:
    """Adds up the results of the pieces of one log, in their order."""

    def __init__(self, path: str) -> None:
        self.notes = FileNotes()
        self._path = path
        self._last_offset = -1
        self._next_offset: int | None = None

    def add(self, outcome: FileOutcome, notes: FileNotes) -> FileOutcome:
        """Add the next piece. Returns the outcome of the log so far."""
        reached = outcome.reached
        if reached is not None:
            first = reached.first_offset
            if first is not None and self._last_offset >= 0 and first != self._last_offset + 1:
                self.notes.gap(self._path, self._last_offset, first)
            if reached.last_offset != UNKNOWN:
                self._last_offset = reached.last_offset
        self.notes.add(notes)
        if outcome.next_offset is not None:
            self._next_offset = outcome.next_offset
        return outcome._replace(next_offset=self._next_offset, reached=None)


def _is_large(reading: Reading) -> bool:
    """Whether a file is a log of at least LEAST_PIECES pieces."""
    if not reading.path.endswith(".log") or not os.path.isfile(reading.path):
        return False
    return os.path.getsize(reading.path) - reading.start >= walk.LEAST_PIECES * walk.PIECE_BYTES


def _line(error: KafkaToolsError) -> str:
    """The message for an error that ends a file. Adds the position in the file, which Kafka's text lacks."""
    if not isinstance(error, CorruptBatch) or error.position is None or str(error).startswith(f"{error.path} at "):
        return str(error)
    return f"{error.path} at {error.position}: {str(error).removesuffix(f' in file {error.path}.')}"


class _Nowhere:
    """A sink that discards everything."""

    def write(self, text: str) -> None:
        pass

    def write_bytes(self, data: bytes) -> None:
        pass

    def flush(self) -> None:
        pass
