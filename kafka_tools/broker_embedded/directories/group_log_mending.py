"""Putting damaged partitions of ``__consumer_offsets`` right: written anew from their sound batches.

A start does not serve the groups of a partition in which a CRC does not match, since what they committed there may
be gone. Once the operator has mended it they are served with what is left; the damaged log is moved aside.
"""

from __future__ import annotations

import os
import shutil
import uuid
from typing import NamedTuple

from kafka_tools.broker_embedded.directories.data_dirs import DataDirs, retire_directory
from kafka_tools.clock import Clock
from kafka_tools.protocol.enums import CONSUMER_OFFSETS
from kafka_tools.records.batches import batches
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.names import PARTITION_METADATA, directory_name
from kafka_tools.storage.salvage import Salvage


class MendedGroups(NamedTuple):
    """One partition that was written anew."""

    directory: str
    kept: int
    """Batches."""
    damaged_spans: int
    moved_to: str


def mend_group_logs(dirs: DataDirs, clock: Clock) -> list[MendedGroups]:
    """Mend every damaged partition of the groups' log; returns what was done. Raises OSError."""
    done = []
    for log_dir, name, parsed in dirs.partition_dirs():
        path = os.path.join(log_dir, name)
        if parsed.topic_partition.topic != CONSUMER_OFFSETS or parsed.state:
            continue
        salvage = Salvage(path)
        kept = sum(1 for _ in salvage)
        if not salvage.damaged_spans:
            continue
        id = parsed.topic_partition
        fresh = os.path.join(log_dir, directory_name(id, state="future", unique_id=uuid.uuid4().hex))
        log = PartitionLog.open(fresh, LogConfig(), clock, clean=True)
        for data in salvage:
            (view,) = batches(data)
            log.append(bytearray(data), leader_epoch=view.partition_leader_epoch, from_client=False)
        log.close()
        metadata = os.path.join(path, PARTITION_METADATA)
        if os.path.exists(metadata):
            shutil.copy(metadata, fresh)
        dirs.forget_checkpoints(log_dir, id)  # they know of offsets that the new log does not reach
        moved_to = retire_directory(path, state="stray")
        os.rename(fresh, path)
        done.append(MendedGroups(path, kept, salvage.damaged_spans, moved_to))
    return done
