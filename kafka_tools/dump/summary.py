"""The totals of a dump: the sums of logs (``log_sum``), and the number of entries of the other files.

An ending that writes nothing: ``take`` returns a file's totals. Reads records only with ``--deep-iteration``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from kafka_tools.dump.endings import DumpedFile, Ending, Entry
from kafka_tools.dump.json.lines import document_line
from kafka_tools.dump.log_sum import LogSum
from kafka_tools.records.batches import BatchView
from kafka_tools.records.record import Record
from kafka_tools.storage.findings import Finding


class FileSum:
    """The totals of one file, or of all files together (``path`` None)."""

    def __init__(self, path: str | None = None, kind: str | None = None, size_bytes: int = 0) -> None:
        self.path = path
        self.kind = kind
        self.size_bytes = size_bytes
        self.files = 1 if path is not None else 0
        self.entries = 0
        self.log: LogSum | None = None
        self.findings: Counter[str] = Counter()

    def add(self, other: FileSum) -> None:
        """Add the totals of the next file."""
        self.files += other.files
        self.size_bytes += other.size_bytes
        self.entries += other.entries
        self.findings.update(other.findings)
        if other.log is not None:
            self.log = self.log or LogSum()
            self.log.add(other.log)

    def finding(self, finding: Finding) -> None:
        self.findings[finding.kind] += 1

    def document(self) -> dict[str, Any]:
        """The object of ``--summary -o json``."""
        return {
            "type": "summary",
            "file": self.path,
            "kind": self.kind,
            "files": self.files,
            "size_bytes": self.size_bytes,
            "entries": self.entries,
            "findings": dict(sorted(self.findings.items())),
            "log": None if self.log is None else self.log.document(),
        }


class SummaryEnding(Ending):
    """Adds up totals instead of writing; ``take`` returns the totals of a file."""

    at_once = False

    def __init__(self, *, deep: bool) -> None:
        self.deep = deep
        self._file = FileSum()
        self._sound = True
        """Whether the CRC of the last batch was valid."""

    def take(self) -> FileSum:
        """The totals of the file that was dumped last."""
        return self._file

    def dumping(self, path: str) -> None:
        self._file = FileSum(path)

    def file(self, file: DumpedFile, size_bytes: Callable[[], int]) -> None:
        self._file.kind = file.kind
        self._file.size_bytes = size_bytes()
        if file.kind in ("log", "kraft_snapshot", "kraft_bootstrap_snapshot"):
            self._file.log = LogSum()

    def batch(self, view: BatchView, crc_ok: bool) -> str:
        assert self._file.log is not None
        self._sound = crc_ok
        if crc_ok:
            self._file.log.batch(view)
        else:
            self._file.log.damaged_batches += 1
        return ""

    def finding_line(self, finding: Finding) -> str:
        self._file.finding(finding)
        return ""

    def record(self, view: BatchView, record: Record) -> None:
        if self._sound and not view.is_control and self._file.log is not None:
            self._file.log.record(record)

    def end(self, gaps: Iterable[Finding], position: int, next_offset: int | None) -> None:
        for gap in gaps:
            self._file.finding(gap)

    def entry(self, entry: Entry) -> None:
        self._file.entries += 1

    def topic_id(self, topic_id: str) -> None:
        self._file.entries += 1


def summary_line(summary: FileSum) -> str:
    """The JSON object of totals, as a line."""
    return document_line(summary.document())
