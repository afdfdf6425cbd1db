"""One run of kafka-dump-log over its files: each file in order, what went wrong, how far it was read.

Knows what to read and how to show it, no options. ``Run.one`` is what a worker process does for one file.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.commands import _run
from kafka_tools.commands._dump_output import OutputError
from kafka_tools.errors import CorruptBatch, KafkaToolsError, LogError
from kafka_tools.output.dump_endings import Ending, Sink
from kafka_tools.output.dump_files import Dump, DumpOptions, Notes

if TYPE_CHECKING:
    from kafka_tools.commands._dump_output import Output
    from kafka_tools.output.dump_summary import FileSum
    from kafka_tools.storage.findings import Finding

PROGRAM = "kafka-dump-log"


class Reading(NamedTuple):
    """A file to read, from byte ``start`` on if it is a log."""

    path: str
    start: int = 0


class Outcome(NamedTuple):
    """What became of one file."""

    path: str
    unknown: bool = False
    """Whether its name says nothing to Kafka."""
    failure: str | None = None
    """Why it could not be read (any further), in one line."""
    hint: str | None = None
    position: int | None = None
    """The byte after the last batch of a log."""
    next_offset: int | None = None
    summary: FileSum | None = None


class Run:
    """What is the same for every file: how things are shown, what is read. ``walk_position`` is for a progress bar."""

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
        from kafka_tools.output.dump_walk import FAST_FROM_BYTES

        ending = self.make_ending(_Nowhere())
        large = any(os.path.isfile(each.path) and os.path.getsize(each.path) >= FAST_FROM_BYTES for each in readings)
        if large and ending.deep and ending.at_once:
            import kafka_tools.output.dump_columns  # noqa: F401

    def one(self, reading: Reading, sink: Sink, notes: Notes) -> Outcome:
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
            return Outcome(reading.path, unknown, failure, hint, summary=summary)
        return Outcome(reading.path, unknown, failure, hint, walk.position, walk.next_offset, summary)


def _line(error: KafkaToolsError) -> str:
    """What is said of an error that ends a file; Kafka does not say where in the file it is."""
    if not isinstance(error, CorruptBatch) or error.position is None or str(error).startswith(f"{error.path} at "):
        return str(error)
    return f"{error.path} at {error.position}: {str(error).removesuffix(f' in file {error.path}.')}"


class _Nowhere:
    """A sink of nothing."""

    def write(self, text: str) -> None:
        pass

    def write_bytes(self, data: bytes) -> None:
        pass


class Report:
    """Takes the outcomes of files in their order: says what has to be said now, keeps the rest for the end."""

    def __init__(self, output: Output, run: Run, *, positions: bool) -> None:
        self.notes = Notes()
        self.failed = False
        self.summaries: list[FileSum] = []
        self._output = output
        self._run = run
        self._positions = positions
        self._read: list[Outcome] = []
        self._more: Counter[str] = Counter()
        self.done_bytes = 0
        """Bytes of the files that are done, for a progress bar."""

    def note(self, finding: Finding) -> None:
        """Something that was found about the files together."""
        self.notes.note(finding)
        self._more[finding.kind] += 1

    def all_summaries(self) -> list[FileSum]:
        """The sum of each file, then of all if there are several or something was found about them together."""
        from kafka_tools.output.dump_summary import FileSum

        total = FileSum()
        for summary in self.summaries:
            total.add(summary)
        total.findings.update(self._more)
        return [*self.summaries, total] if len(self.summaries) > 1 or self._more else self.summaries

    def take(self, outcome: Outcome, notes: Notes) -> None:
        """The next file is done. Raises LogError where a strict run ends."""
        self.notes.add(notes)
        with contextlib.suppress(OSError):
            self.done_bytes += os.path.getsize(outcome.path)
        self._run.forget()
        if outcome.unknown:
            self._output.flush()
            if os.path.lexists(outcome.path):
                _run.note(f"Ignoring unknown file {outcome.path}")
            else:
                # Kafka's tool ignores it as well, and a misspelt path looks like a sound file.
                self.failed = True
                _run.complain(PROGRAM, f"{outcome.path}: No such file or directory", None)
        if outcome.summary is not None and not outcome.unknown:
            self.summaries.append(outcome.summary)
        if outcome.position is not None:
            self._read.append(outcome)
        if outcome.failure is None:
            return
        if self._run.strict:
            self._output.flush()
            raise LogError(outcome.failure, path=outcome.path, hint=outcome.hint)
        self.failed = True
        self._output.fail(outcome.path, outcome.failure)
        self._output.flush()
        _run.complain(PROGRAM, outcome.failure, outcome.hint)

    def finish(self) -> int:
        """Damage, gaps and positions to stderr; the exit status."""
        status = report_notes(self.notes)
        if self._positions:
            for outcome in self._read:
                _run.note(position_text(outcome))
        return _run.FAILED if self.failed else status


def position_text(outcome: Outcome) -> str:
    """How far a log was read, and how to go on there."""
    from kafka_tools.storage.names import parse_file_name

    name = parse_file_name(outcome.path.rsplit("/", 1)[-1])
    base = f"{name.base_offset}:" if name is not None else ""
    following = "" if outcome.next_offset is None else f", the next offset is {outcome.next_offset}"
    return f"{outcome.path}: read up to byte {outcome.position}{following}; --from-position {base}{outcome.position}"


_MOST_LINES = 200


def report_notes(notes: Notes) -> int:
    """Damage and gaps to stderr; the exit status."""
    from kafka_tools.output.dump_text import gaps

    told = [finding for finding in notes.findings if finding.is_damage or finding.kind == "skipped"]
    for finding in told[:_MOST_LINES]:
        _run.complain(PROGRAM, str(finding))
    left = max(0, len(told) - _MOST_LINES) + notes.unlisted
    for path, pairs in notes.gaps.items():
        _run.note(gaps(path, pairs.items()).rstrip("\n"))
    if left > 0:
        _run.complain(PROGRAM, f"{left} more findings are not listed")
    return _run.FAILED if notes.damage else 0
