"""Collects notes about files during a dump: findings and gaps."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.storage.findings import Finding

MOST_NOTES = 5000


class FileNotes:
    """Findings, and gaps per file (pairs of offsets): the first few thousand; ``unlisted`` counts the others.

    ``damage``: whether there was any damage, listed or not.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.gaps: dict[str, dict[int, int]] = {}
        self.unlisted = 0
        self.damage = False

    def note(self, finding: Finding) -> None:
        self.damage = self.damage or finding.is_damage
        if len(self.findings) < MOST_NOTES:
            self.findings.append(finding)
        else:
            self.unlisted += 1

    def gap(self, path: str, previous: int, offset: int) -> None:
        pairs = self.gaps.setdefault(path, {})
        if len(pairs) < MOST_NOTES:
            pairs[previous] = offset
        else:
            self.unlisted += 1

    def gap_findings(self, path: str) -> Iterator[Finding]:
        """The gaps of a file as findings."""
        for previous, offset in self.gaps.get(path, {}).items():
            yield Finding(path, "offset-gap", f"offset {previous} is followed by {offset}", None, offset)

    def add(self, other: FileNotes) -> None:
        """Add the notes of another dump."""
        for finding in other.findings:
            self.note(finding)
        for path, pairs in other.gaps.items():
            for previous, offset in pairs.items():
                self.gap(path, previous, offset)
        self.unlisted += other.unlisted
        self.damage = self.damage or other.damage
