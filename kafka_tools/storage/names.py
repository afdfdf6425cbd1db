"""Names of files and directories in a log directory.

Knows no contents. Source: ``LogFileUtils``, ``UnifiedLog``, ``LocalLog``, ``Snapshots`` of Kafka.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.values import TopicPartition

LOG, INDEX, TIME_INDEX, TXN_INDEX = ".log", ".index", ".timeindex", ".txnindex"
SNAPSHOT, CHECKPOINT = ".snapshot", ".checkpoint"
PARTITION_SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT, CHECKPOINT)
STATES = (".deleted", ".cleaned", ".swap", ".part", ".delete")
"""What a file's name ends with while it is being replaced or removed."""

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
QUORUM_STATE = "quorum-state"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
OFFSET_CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
LOCK = ".lock"

_SEGMENT = re.compile(r"(\d{1,20})(?:-(\d{10}))?(\.[a-z]+)((?:\.[a-z]+)*)")
_UNIQUE = r"[0-9a-f]{32}"
_PARTITION = re.compile(
    rf"(?P<topic>[a-zA-Z0-9._-]+?)-(?P<partition>\d+)(?:\.(?P<id>{_UNIQUE})-(?P<state>delete|future|stray))?"
)


class FileName(NamedTuple):
    """What the name of a file in a partition directory tells. ``state`` is one of STATES or empty."""

    base_offset: int
    suffix: str
    state: str = ""
    epoch: int | None = None
    """The epoch of a KRaft checkpoint, None for everything else."""


class PartitionDirectory(NamedTuple):
    """What the name of a partition directory tells. ``state`` is delete, future, stray or empty."""

    topic_partition: TopicPartition
    state: str = ""
    unique_id: str = ""


def parse_file_name(name: str) -> FileName | None:
    """The parts of ``00000000000000000042.index.deleted`` and its like, None for any other name."""
    match = _SEGMENT.fullmatch(name)
    if match is None:
        return None
    offset, epoch, suffix, state = match.groups()
    if suffix not in PARTITION_SUFFIXES or (state and state not in STATES) or (epoch and suffix != CHECKPOINT):
        return None
    return FileName(int(offset), suffix, state, int(epoch) if epoch else None)


def file_name(base_offset: int, suffix: str = LOG) -> str:
    """The name of a segment's file: the offset in 20 digits, then the suffix."""
    return f"{base_offset:020d}{suffix}"


def log_file_name(base_offset: int) -> str:
    """The name of the log file of the segment that starts at ``base_offset``."""
    return file_name(base_offset, LOG)


def checkpoint_name(end_offset: int, epoch: int) -> str:
    """The name of a KRaft snapshot of everything before ``end_offset``."""
    return f"{end_offset:020d}-{epoch:010d}{CHECKPOINT}"


def parse_partition_dir(name: str) -> PartitionDirectory | None:
    """Topic, partition and state of a directory name, None if it is no partition's."""
    match = _PARTITION.fullmatch(name)
    if match is None or int(match["partition"]) > 0x7FFFFFFF:
        return None
    return PartitionDirectory(
        TopicPartition(match["topic"], int(match["partition"])), match["state"] or "", match["id"] or ""
    )


def partition_of_dir(name: str) -> TopicPartition:
    """The partition that a directory name stands for, whatever its state. Raises InputError."""
    found = parse_partition_dir(name)
    if found is None:
        raise InputError(f"'{name}' is no partition directory: <topic>-<partition> is expected")
    return found.topic_partition
