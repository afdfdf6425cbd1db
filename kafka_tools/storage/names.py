"""Names of files and directories in a log directory.

Source: ``LogFileUtils``, ``UnifiedLog``, ``LocalLog``, ``Snapshots`` of Kafka.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import CLUSTER_METADATA
from kafka_tools.values import TopicPartition

LOG, INDEX, TIME_INDEX, TXN_INDEX = ".log", ".index", ".timeindex", ".txnindex"
SNAPSHOT, CHECKPOINT = ".snapshot", ".checkpoint"
PARTITION_SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT, CHECKPOINT)
STATES = (".deleted", ".cleaned", ".swap", ".part", ".delete")
"""The suffixes of a file's name while a broker replaces or removes the file."""

METADATA_DIRECTORY = f"{CLUSTER_METADATA}-0"
"""The directory of a cluster's metadata log, in one of the log directories."""
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
QUORUM_STATE = "quorum-state"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
OFFSET_CHECKPOINTS = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, "cleaner-offset-checkpoint")
LOCK = ".lock"
REMOTE_INDEX_CACHE = "remote-log-index-cache"
"""The directory in a log directory that contains indexes of segments in tiered storage (KIP-405)."""
PARTITION_FILES = (LEADER_EPOCHS, PARTITION_METADATA, QUORUM_STATE, BOOTSTRAP_CHECKPOINT)
"""The files of a partition's directory that belong to no segment."""
LOG_DIR_FILES = (META_PROPERTIES, CLEAN_SHUTDOWN, LOCK, BOOTSTRAP_CHECKPOINT, REMOTE_INDEX_CACHE, *OFFSET_CHECKPOINTS)
"""The files of a log directory, in addition to the partitions' directories."""

# Compiled on first use: a command uses at most one of them.
_SEGMENT = r"([0-9]{1,20})(?:-([0-9]{10})(?:-[0-9]+(?=\.checkpoint\.part))?)?(\.[a-z]+)((?:\.[a-z]+)*)"
_MAX_OFFSET = 2**63 - 1
_MOST_NAME_BYTES = 255
_UNIQUE = r"[0-9a-f]{32}"
_PARTITION = (
    rf"(?P<topic>[a-zA-Z0-9._-]+?)-(?P<partition>[0-9]+)(?:\.(?P<id>{_UNIQUE})-(?P<state>delete|future|stray))?"
)


class FileName(NamedTuple):
    """The fields of a file's name in a partition directory. ``state`` is one of STATES or empty."""

    base_offset: int
    suffix: str
    state: str = ""
    epoch: int | None = None
    """The epoch of a KRaft checkpoint, None for everything else."""


class PartitionDirectory(NamedTuple):
    """The fields of a partition directory's name. ``state`` is delete, future, stray or empty."""

    topic_partition: TopicPartition
    state: str = ""
    unique_id: str = ""


@lru_cache(4096)  # the files of thousands of partitions have the same few names
def parse_file_name(name: str) -> FileName | None:
    """The parts of a name such as ``00000000000000000042.index.deleted``, None for any other name."""
    match = re.fullmatch(_SEGMENT, name)
    if match is None:
        return None
    offset, epoch, suffix, state = match.groups()
    if suffix not in PARTITION_SUFFIXES or (state and state not in STATES) or (epoch and suffix != CHECKPOINT):
        return None
    if int(offset) > _MAX_OFFSET:
        return None
    return FileName(int(offset), suffix, state, int(epoch) if epoch else None)


def base_offset_of(path: str) -> int | None:
    """The offset in the name of a segment's file, None for any other name."""
    parsed = parse_file_name(os.path.basename(path))
    return parsed.base_offset if parsed is not None else None


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
    """Topic, partition and state of a partition directory's name, None for any other name."""
    match = re.fullmatch(_PARTITION, name)
    if match is None or int(match["partition"]) > 0x7FFFFFFF:
        return None
    return PartitionDirectory(
        TopicPartition(match["topic"], int(match["partition"])), match["state"] or "", match["id"] or ""
    )


def directory_name(partition: TopicPartition, *, state: str = "", unique_id: str = "") -> str:
    """The name of a partition's directory. ``unique_id``: the 32 hexadecimal digits before a state.

    If a partition is deleted or stray, its topic is cut so that the name has 255 characters, as in Kafka.
    """
    if not state:
        return f"{partition.topic}-{partition.partition}"
    suffix = f"-{partition.partition}.{unique_id}-{state}"
    topic = partition.topic if state == "future" else partition.topic[: _MOST_NAME_BYTES - len(suffix)]
    return topic + suffix


def partition_of_dir(name: str) -> TopicPartition:
    """The partition of a directory name with any state. Raises InputError."""
    found = parse_partition_dir(name)
    if found is None:
        raise InputError(f"invalid partition directory '{name}': expected <topic>-<partition>")
    return found.topic_partition
