"""One run of kafka-dump-log over its files: each file in order, what went wrong, how far it was read.

Knows what to read and how to show it, no options. ``DumpRun.one`` is what a worker process does for one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.dump.endings import Ending, Sink
from kafka_tools.dump.files import Dump, DumpOptions
from kafka_tools.dump.notes import FileNotes
from kafka_tools.errors import CorruptBatch, KafkaToolsError, OutputError

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
    """Why it could not be read (any further), in one line."""
    hint: str | None = None
    position: int | None = None
    """The byte after the last batch of a log."""
    next_offset: int | None = None
    summary: FileSum | None = None


class DumpRun:
    """One run: form of output and selection, the same for every file. ``walk_position`` is for a progress bar."""

    def __init__(self, options: DumpOptions, make_ending: Callable[[Sink], Ending], *, strict: bool) -> None:
        self.options = options
        self.make_ending = make_ending
        self.strict = strict
        self._dump: Dump | None = None

    @property
    def walk_position(self) -> int:
        """The byte of the log that is being read."""
        walk = self._dump.walk if self._dump is not None else None
        return walk.position if walk is not None else 0

    def forget(self) -> None:
        """The file that was read last counts among those that are done."""
        self._dump = None

    def warm_up(self, readings: list[Reading]) -> None:
        """Import before processes are made what each of them would import."""
        from kafka_tools.dump.walk import FAST_FROM_BYTES

        ending = self.make_ending(_Nowhere())
        large = any(os.path.isfile(each.path) and os.path.getsize(each.path) >= FAST_FROM_BYTES for each in readings)
        if large and ending.deep and ending.at_once:
            import kafka_tools.dump.text_columns  # noqa: F401

    def one(self, reading: Reading, sink: Sink, notes: FileNotes) -> FileOutcome:
        """Dump one file. What keeps it from being read is in the outcome, for a strict run too."""
        ending = self.make_ending(sink)
        dump = self._dump = Dump(self.options, ending, notes)
        unknown, failure, hint = False, None, None
        try:
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
        return FileOutcome(reading.path, unknown, failure, hint, walk.position, walk.next_offset, summary)


def _line(error: KafkaToolsError) -> str:
    """The message for an error that ends a file; Kafka's text does not give its position in the file."""
    if not isinstance(error, CorruptBatch) or error.position is None or str(error).startswith(f"{error.path} at "):
        return str(error)
    return f"{error.path} at {error.position}: {str(error).removesuffix(f' in file {error.path}.')}"


class _Nowhere:
    """A sink that drops everything."""

    def write(self, text: str) -> None:
        pass

    def write_bytes(self, data: bytes) -> None:
        pass

    def flush(self) -> None:
        pass
