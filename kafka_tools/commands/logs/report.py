"""The messages of kafka-dump-log on stderr: damage, gaps and positions; and the exit status."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.dump.notes import FileNotes
from kafka_tools.dump.run import DumpRun, FileOutcome
from kafka_tools.errors import LogError

if TYPE_CHECKING:
    from kafka_tools.commands.logs.output import Output
    from kafka_tools.dump.summary import FileSum
    from kafka_tools.storage.findings import Finding

PROGRAM = "kafka-dump-log"


class Report:
    """Gets the results of files in their order. It prints urgent messages immediately, and the others at the end."""

    def __init__(self, output: Output, run: DumpRun, *, positions: bool) -> None:
        self.notes = FileNotes()
        self.failed = False
        self.summaries: list[FileSum] = []
        self._output = output
        self._run = run
        self._positions = positions
        self._read: list[FileOutcome] = []
        self._more: Counter[str] = Counter()
        self.done_bytes = 0
        """Bytes of the completed files, for a progress bar."""

    def note(self, finding: Finding) -> None:
        """Add a finding about several files together."""
        self.notes.note(finding)
        self._more[finding.kind] += 1

    def all_summaries(self) -> list[FileSum]:
        """The sum of each file, then of all if there are several files or findings about them together."""
        from kafka_tools.dump.summary import FileSum

        total = FileSum()
        for summary in self.summaries:
            total.add(summary)
        total.findings.update(self._more)
        return [*self.summaries, total] if len(self.summaries) > 1 or self._more else self.summaries

    def take(self, outcome: FileOutcome, notes: FileNotes) -> None:
        """Add the result of the next file. Raises LogError if a strict run ends."""
        self.notes.add(notes)
        with contextlib.suppress(OSError):
            self.done_bytes += os.path.getsize(outcome.path)
        self._run.forget()
        if outcome.unknown:
            self._output.flush()
            if os.path.lexists(outcome.path):
                running.note(f"Ignoring unknown file {outcome.path}")
            else:
                # Kafka's tool ignores it as well, and a misspelt path looks like a sound file.
                self.failed = True
                reason = f"{outcome.path}: No such file or directory"
                self._output.fail(outcome.path, reason)
                running.complain(PROGRAM, reason, None)
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
        running.complain(PROGRAM, outcome.failure, outcome.hint)

    def finish(self) -> int:
        """Print damage, gaps and positions on stderr. Returns the exit status."""
        status = report_notes(self.notes)
        if self._positions:
            for outcome in self._read:
                running.note(position_text(outcome))
        return running.FAILED if self.failed else status


def position_text(outcome: FileOutcome) -> str:
    """The end of the read part of a log, and how to continue there."""
    from kafka_tools.storage.names import parse_file_name

    name = parse_file_name(outcome.path.rsplit("/", 1)[-1])
    base = f"{name.base_offset}:" if name is not None else ""
    following = "" if outcome.next_offset is None else f", the next offset is {outcome.next_offset}"
    return (
        f"{outcome.path}: read up to byte {outcome.position}{following}; continue with --from-position "
        f"{base}{outcome.position}"
    )


def times_text(run: DumpRun) -> str:
    """The resulting times of --time."""
    from kafka_tools.values import moment_text

    selection = run.options.selection
    assert selection is not None, "--time selects"
    first, last = (None if each is None else moment_text(each) for each in (selection.from_ms, selection.to_ms))
    parts = [f"from {first}"] if first is not None else []
    parts += [f"before {last}"] if last is not None else []
    return f"records with timestamps {', '.join(parts)}"


def print_summaries(report: Report, form: str | None, output: Output) -> None:
    """The sum of each file, and of all if there are several."""
    if form is None:
        from kafka_tools.dump.summary_text import summary_text as line
    else:
        from kafka_tools.dump.summary import summary_line as line
    for summary in report.all_summaries():
        output.write(line(summary))


_MOST_LINES = 200


def report_notes(notes: FileNotes) -> int:
    """Print damage and gaps on stderr. Returns the exit status."""
    from kafka_tools.dump.text import gaps

    told = [finding for finding in notes.findings if finding.is_damage or finding.kind == "skipped"]
    for finding in told[:_MOST_LINES]:
        running.complain(PROGRAM, str(finding))
    left = max(0, len(told) - _MOST_LINES) + notes.unlisted
    for path, pairs in notes.gaps.items():
        running.note(*gaps(path, pairs.items()).rstrip("\n").split("\n"))
    if left > 0:
        running.complain(PROGRAM, f"{left} more findings not listed")
    return running.FAILED if notes.damage else 0
