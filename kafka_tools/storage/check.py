"""Checks of a segment, a partition's directory or a whole log directory: findings, lazily, in bounded memory.

``kafka-dump-log``, the Spark audit's file checks and the tests of the bundled broker's recovery take their findings
from here. The checks write nothing, and damage never raises: a file that cannot be opened is a finding too. Kinds:
``findings.KINDS``.

    for finding in check_partition("/var/lib/kafka/orders-0"):
        print(finding.severity, finding.kind, finding, finding.advice or "")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from kafka_tools.storage import names
from kafka_tools.storage.checkpoints import read_meta_properties, read_offset_checkpoint, read_quorum_state
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.kraft_snapshots import KraftSnapshotCheck
from kafka_tools.storage.opening import is_directory
from kafka_tools.storage.partition_check import PartitionCheck, walk_segment
from kafka_tools.storage.producer_state import OpenTransactions
from kafka_tools.storage.segment_check import SegmentCheck, not_regular, read_file, read_safely
from kafka_tools.storage.snapshots import read_leader_epochs, read_partition_metadata
from kafka_tools.storage.state_check import unreadable_snapshot
from kafka_tools.values import TopicPartition

MOST_OF_A_KIND = 1000
"""The maximum number of findings of one kind in one file. An ``unlisted`` finding then counts the others."""


def check_segment(
    path: str | os.PathLike[str],
    *,
    records: bool = False,
    open_end: bool = True,
    most: int = MOST_OF_A_KIND,
) -> Iterator[Finding]:
    """Check a segment's log and the .index, .timeindex and .txnindex next to it, in one walk.

    ``records``: also decompress and parse every record. ``open_end``: the segment is or may be its partition's last. A
    crash leaves a torn or zero tail there, so that is only a warning.
    """
    log_path = os.fspath(path)
    check = SegmentCheck(log_path, base_offset=names.base_offset_of(log_path) or 0, records=records, open_end=open_end)
    yield from limited(_regular(log_path, lambda: walk_segment(check, OpenTransactions())), most)


def check_partition(
    directory: str | os.PathLike[str],
    *,
    records: bool = False,
    checkpoints: Mapping[str, int] | None = None,
    most: int = MOST_OF_A_KIND,
) -> Iterator[Finding]:
    """Check all files of a partition's directory against each other, segment by segment in the order of offsets.

    Segments must follow each other. Indexes, producer snapshots and leader epochs must agree with the log. Files that
    belong to no segment are findings. ``checkpoints`` are this partition's offsets in the checkpoint files of the log
    directory, by file name (``recovery-point-offset-checkpoint`` ...). None: read them from the parent directory, if
    there are any.
    """
    path = os.fspath(directory)
    if not os.path.isdir(path):
        yield Finding(path, "unreadable", "is not a directory" if os.path.exists(path) else "does not exist")
        return
    if checkpoints is None:
        checkpoints = _checkpoints_of(path)
    yield from limited(PartitionCheck(path, records=records, checkpoints=checkpoints).findings(), most)


def check_log_dir(
    directory: str | os.PathLike[str],
    *,
    records: bool = False,
    most: int = MOST_OF_A_KIND,
) -> Iterator[Finding]:
    """Check a whole log directory: its own files, then every partition in it by name."""
    path = os.fspath(directory)
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        yield Finding(path, "unreadable", f"cannot be listed: {error.strerror}")
        return
    offsets: dict[str, dict[TopicPartition, int]] = {}
    partitions = []
    for entry in entries:
        if entry.name in names.OFFSET_CHECKPOINTS:
            found = offsets.setdefault(entry.name, {})
            yield from read_file(entry.path, "offset-checkpoint", _into(found, entry.path))
        elif names.parse_partition_dir(entry.name) is not None and is_directory(entry):
            partitions.append(entry.path)
        elif is_directory(entry) and entry.name not in names.LOG_DIR_FILES:
            yield Finding(entry.path, "unknown-file", "is a directory, but not of a partition")
        elif entry.name not in names.LOG_DIR_FILES or entry.name in (names.META_PROPERTIES, names.BOOTSTRAP_CHECKPOINT):
            yield from check_listed(entry.path)
    for partition in partitions:
        parsed = names.parse_partition_dir(os.path.basename(partition))
        assert parsed is not None
        here = {
            name: found[parsed.topic_partition] for name, found in offsets.items() if parsed.topic_partition in found
        }
        check = PartitionCheck(partition, records=records, checkpoints={} if parsed.state else here)
        yield from limited(check.findings(), most)


def check_file(path: str | os.PathLike[str], *, records: bool = False, most: int = MOST_OF_A_KIND) -> Iterator[Finding]:
    """Check one file, whose name gives its kind. A log is checked together with the indexes next to it.

    An index is compared with its log if the log exists.
    """
    name = os.path.basename(path := os.fspath(path))
    parsed = names.parse_file_name(name)
    suffix = parsed.suffix if parsed is not None else os.path.splitext(name)[1]
    if suffix == names.LOG:
        yield from check_segment(path, records=records, most=most)
    else:
        yield from limited(_regular(path, lambda: _by_name(path, name, suffix, records)), most)


def check_listed(path: str) -> Iterator[Finding]:
    """As ``check_file``, for a file of a listing: if it no longer exists, a broker has removed it."""
    for finding in check_file(path):
        if finding.kind == "unreadable" and not os.path.lexists(path):
            finding = Finding(path, "vanished", "was removed after the directory was listed")
        yield finding


def limited(findings: Iterator[Finding], most: int) -> Iterator[Finding]:
    """At most ``most`` findings of a kind in a file. An ``unlisted`` finding at the end counts the others."""
    counts: dict[tuple[str | None, str], int] = {}
    for finding in findings:
        key = finding.path, finding.kind
        counts[key] = count = counts.get(key, 0) + 1
        if count <= most:
            yield finding
    for (path, kind), count in counts.items():
        if count > most:
            yield Finding(path, "unlisted", f"{count - most} more findings of the kind {kind} are not listed")


def _by_name(path: str, name: str, suffix: str, records: bool) -> Iterator[Finding]:
    readers: dict[str, tuple[str, Callable[[str], object]]] = {
        names.LEADER_EPOCHS: ("leader-epochs", read_leader_epochs),
        names.PARTITION_METADATA: ("partition-metadata", read_partition_metadata),
        names.META_PROPERTIES: ("meta-properties", read_meta_properties),
        names.QUORUM_STATE: ("quorum-state", read_quorum_state),
        **dict.fromkeys(names.OFFSET_CHECKPOINTS, ("offset-checkpoint", read_offset_checkpoint)),
    }
    if name in readers:
        kind, read = readers[name]
        yield from read_file(path, kind, lambda: read(path))
    elif suffix in (names.INDEX, names.TIME_INDEX, names.TXN_INDEX):
        yield from _index(path, suffix)
    elif suffix == names.SNAPSHOT:
        yield from unreadable_snapshot(path)
    elif suffix == names.CHECKPOINT:
        yield from KraftSnapshotCheck(path, records=records).findings()
    else:
        yield Finding(path, "unknown-file", "is unknown to Kafka")


def _index(path: str, suffix: str) -> Iterator[Finding]:
    """The findings about one index, from a walk over its log."""
    log_path = path.removesuffix(suffix) + names.LOG
    if not os.path.exists(log_path):
        yield Finding(path, "orphan-file", "belongs to a segment whose log is missing")
        return
    check = SegmentCheck(log_path, base_offset=names.base_offset_of(path) or 0, records=False, open_end=True)
    for finding in walk_segment(check, OpenTransactions()):
        if finding.path == path:
            yield finding


def _regular(path: str, walk: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of ``walk`` for a regular file."""
    refused = not_regular(path)
    if refused is None:
        yield from read_safely(path, walk)
    else:
        yield refused


def _into(found: dict[TopicPartition, int], path: str) -> Callable[[], None]:
    return lambda: found.update(read_offset_checkpoint(path))


def _checkpoints_of(directory: str) -> dict[str, int]:
    """A partition's offsets in the checkpoint files next to its directory. Unreadable files are ignored."""
    directory = os.path.abspath(directory)
    parsed = names.parse_partition_dir(os.path.basename(directory))
    offsets: dict[str, int] = {}
    if parsed is None or parsed.state:
        return offsets
    for name in names.OFFSET_CHECKPOINTS:
        found: dict[TopicPartition, int] = {}
        path = os.path.join(os.path.dirname(directory), name)
        if not list(read_file(path, "offset-checkpoint", _into(found, path))) and parsed.topic_partition in found:
            offsets[name] = found[parsed.topic_partition]
    return offsets
