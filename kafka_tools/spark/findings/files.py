"""Findings about the files beside the logs: ``storage``'s judgement, with a second walk only where one is needed.

Batches, and the offset and time indexes, are compared while they are measured (``measures.summary``,
``measures.indexes``). Producer snapshots and transaction indexes need a walk over the log: that is made where there is
something in them, and where the partition is not too large for one task.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from kafka_tools.spark.files import is_remote
from kafka_tools.spark.findings.facts import Around, PartitionFacts
from kafka_tools.spark.segments import is_partition_on_disk
from kafka_tools.spark.store_copy import partition_copy
from kafka_tools.storage import names
from kafka_tools.storage.check import check_listed, limited
from kafka_tools.storage.findings import ERROR, WARNING, Finding
from kafka_tools.storage.layout import PartitionFiles, partition_files
from kafka_tools.storage.opening import is_directory
from kafka_tools.storage.partition_check import PartitionCheck, is_read_with_log, orphans, still_says
from kafka_tools.values import TopicPartition

WALKED_BYTES = 1024 * 1024 * 1024
"""Larger partitions are not walked a second time by one task."""

ALWAYS_WALKED_BYTES = 1024 * 1024
"""Up to this size a partition is always walked; of larger partitions, leader epochs are only read."""

MOST_OF_A_KIND = 200
_EMPTY_SNAPSHOT_BYTES = 10
_ELSEWHERE = ("index-", "timeindex-")
_OF_THE_LOG = frozenset(
    ("torn-tail", "zero-tail", "bad-length", "skipped", "unknown-magic", "crc-mismatch", "unknown-codec", "bad-count",
     "unreadable-records", "large-records", "bad-timestamp", "offset-order", "offset-below-segment",
     "offset-beyond-segment", "offset-gap", "newer-records", "segment-overlap", "vanished", "growing", "shrunk")
)  # fmt: skip


class Directory(NamedTuple):
    """A partition's directory to check."""

    log_dir: str
    topic: str
    partition: int
    path: str


def partition_file_findings(directory: Directory) -> Iterator[Finding]:
    """The findings about the files of a partition's directory besides logs, offset and time indexes."""
    for finding in _of_directory(directory):
        yield finding._replace(topic=directory.topic, partition=directory.partition)


def _of_directory(directory: Directory) -> Iterator[Finding]:
    if not is_remote(directory.path):
        yield from limited(_of_partition(directory.path), MOST_OF_A_KIND)
        return
    try:
        with partition_copy(directory.path, WALKED_BYTES, ALWAYS_WALKED_BYTES) as copy:
            for finding in limited(_of_partition(copy), MOST_OF_A_KIND):
                yield in_store(finding, copy, directory.path)
    except FileNotFoundError:
        return  # removed since it was listed
    except OSError as error:
        yield Finding(directory.path, "unreadable", f"cannot be listed: {error.strerror or error}")


def in_store(finding: Finding, copy: str, directory: str) -> Finding:
    """A finding about the copy of a directory as one about the directory in its store."""
    path = None if finding.path is None else finding.path.replace(copy, directory, 1)
    return finding._replace(path=path, text=finding.text.replace(copy, directory))


def log_dir_findings(log_dir: str) -> Iterator[Finding]:
    """The findings about a log directory's own files, and about entries in it that are not a partition in use."""
    if is_partition_on_disk(log_dir):
        return
    with os.scandir(log_dir) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        parsed = names.parse_partition_dir(entry.name)
        if is_directory(entry) and entry.name not in _FILES_ONLY:
            if parsed is None:
                finding = Finding(entry.path, "unknown-file", "is a directory, but not of a partition")
                yield finding
            elif parsed.state:
                text = f"the directory is marked '{parsed.state}', so it was not read"
                finding = Finding(entry.path, "leftover-directory", text)
                yield finding._replace(topic=parsed.topic_partition.topic, partition=parsed.topic_partition.partition)
        elif entry.name in names.OFFSET_CHECKPOINTS or entry.name in _CHECKED or entry.name not in names.LOG_DIR_FILES:
            yield from check_listed(entry.path)


def checkpoint_findings(facts: PartitionFacts, around: Around) -> Iterator[Finding]:
    """Checkpoints that name offsets which the log does not have."""
    end = facts.next_offset
    if end is None or facts.summary.corrupt or facts.pieces[-1].lost:
        return  # after damage, the last batch that was read may not be the end of the log
    log_dir = around.log_dir(facts)
    told = log_dir.recovery_points or {}, log_dir.log_starts, log_dir.high_watermarks, log_dir.cleaner_offsets
    partition = TopicPartition(facts.topic, facts.partition)
    for name, offsets in zip(names.OFFSET_CHECKPOINTS, told, strict=True):
        offset = offsets.get(partition)
        path = os.path.join(facts.log_dir, name)
        directory = os.path.join(facts.log_dir, f"{facts.topic}-{facts.partition}")
        if offset is not None and offset > end and still_says(path, directory, partition, offset):
            # Records below the recovery point had reached the disk, but are missing here.
            severity = ERROR if name == names.OFFSET_CHECKPOINTS[0] else WARNING
            text = f"contains offset {offset}, but the log ends at {end}"
            yield facts.finding("offset-checkpoint-mismatch", text, path=path, offset=offset, severity=severity)


_CHECKED = (names.META_PROPERTIES, names.BOOTSTRAP_CHECKPOINT)
_FILES_ONLY = (*names.OFFSET_CHECKPOINTS, *_CHECKED)


def _of_partition(directory: str) -> Iterator[Finding]:
    try:
        files = partition_files(directory)
    except FileNotFoundError:
        return  # removed since it was listed
    except OSError as error:
        yield Finding(directory, "unreadable", f"cannot be listed: {error.strerror}")
        return
    if files.size_bytes <= WALKED_BYTES and _has_state(files):
        check = PartitionCheck(directory, records=False, checkpoints={})
        for finding in check.findings():
            if finding.kind not in _OF_THE_LOG and not finding.kind.startswith(_ELSEWHERE) and not _measured(finding):
                yield finding
        return
    for path in (*files.others, *files.checkpoints, *files.snapshots):
        yield from (finding for finding in check_listed(path) if not _measured(finding))
    for path in files.leftovers:
        yield Finding(path, "leftover-file", f"is {os.path.splitext(path)[1][1:]}: it was being removed or replaced")
    yield from orphans(files)


def _measured(finding: Finding) -> bool:
    """Whether a file could not be read that is read together with the measures of its segment, which say so too."""
    if finding.kind != "unreadable" or finding.path is None:
        return False
    if finding.path.endswith((names.INDEX, names.TIME_INDEX)):
        return is_read_with_log(finding.path) and bool(_size(os.path.splitext(finding.path)[0] + names.LOG))
    return finding.path.endswith(names.LOG) and os.path.isfile(finding.path)


def _has_state(files: PartitionFiles) -> bool:
    """Whether a file in the directory has to be compared with the whole log."""
    indexes = (segment.txn_index for segment in files.segments if segment.txn_index)
    producers = any(_size(path) > _EMPTY_SNAPSHOT_BYTES for path in files.snapshots)
    return producers or any(map(_size, indexes)) or files.size_bytes <= ALWAYS_WALKED_BYTES


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
