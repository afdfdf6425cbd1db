"""What is wrong in a segment, a partition's directory or a whole log directory: findings, lazily, in bounded memory.

The one place where files on disk are judged: ``kafka-dump-log``, the Spark audit's file checks and the tests of the
bundled broker's recovery take the same findings from here. Nothing is written, nothing is raised for what is on the
disk: a file that cannot be opened is a finding too. Kinds: ``findings.KINDS``.

    for finding in check_partition("/var/lib/kafka/orders-0"):
        print(finding.severity, finding.kind, finding, finding.advice or "")
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from kafka_tools.storage.findings import Finding
from kafka_tools.storage.layout import partition_files
from kafka_tools.storage.segment_check import SegmentCheck

MOST_OF_A_KIND = 1000
"""So many findings of one kind in one file are listed; then one ``unlisted`` tells how many more there are."""


def check_segment(
    path: str | os.PathLike[str],
    *,
    records: bool = False,
    open_end: bool = True,
    most: int = MOST_OF_A_KIND,
) -> Iterator[Finding]:
    """A segment's log and the .index, .timeindex and .txnindex beside it, in one walk.

    ``records``: also decompress and parse every record. ``open_end``: the segment is (or may be) its partition's last,
    where a torn or zero tail is what a crash leaves and only a warning.
    """
    yield from limited(_segment(os.fspath(path), records, open_end), most)


def check_partition(
    directory: str | os.PathLike[str],
    *,
    records: bool = False,
    checkpoints: Mapping[str, int] | None = None,
    most: int = MOST_OF_A_KIND,
) -> Iterator[Finding]:
    """Every file of a partition's directory, compared with each other, segment by segment in the order of offsets.

    Segments must follow each other; indexes, transaction indexes, producer snapshots and leader epochs must agree with
    the log; what belongs to nothing is named. ``checkpoints`` are this partition's offsets in the checkpoint files of
    the log directory, by file name (``recovery-point-offset-checkpoint`` ...); None: they are read from the directory
    above, if there are any.
    """
    yield from limited(_partition(os.fspath(directory), records), most)


def _partition(directory: str, records: bool) -> Iterator[Finding]:
    try:
        files = partition_files(directory)
    except OSError as error:
        yield Finding(directory, "unreadable", f"cannot be listed: {error.strerror}")
        return
    for number, segment in enumerate(files.segments, 1):
        if segment.log is not None:
            yield from _segment(segment.log, records, number == len(files.segments))


def limited(findings: Iterator[Finding], most: int) -> Iterator[Finding]:
    """At most ``most`` findings of a kind in a file; the others are counted in an ``unlisted`` at the end."""
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        key = finding.path, finding.kind
        counts[key] = count = counts.get(key, 0) + 1
        if count <= most:
            yield finding
    for (path, kind), count in counts.items():
        if count > most:
            yield Finding(path, "unlisted", f"{count - most} more findings of the kind {kind} are not listed")


def _segment(path: str, records: bool, open_end: bool) -> Iterator[Finding]:
    try:
        yield from SegmentCheck(path, records=records, open_end=open_end).findings()
    except FileNotFoundError:
        yield Finding(path, "vanished", "the segment was removed while it was looked for")
    except OSError as error:
        yield Finding(path, "unreadable", f"cannot be read: {error.strerror}")
