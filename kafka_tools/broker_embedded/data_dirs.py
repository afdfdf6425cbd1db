"""The broker's log directories: lock, identity, clean-shutdown marker, checkpoints, partition directories.

Files and formats are Kafka's (``LogManager``, ``BrokerMetadataCheckpoint``, ``CleanShutdownFileHandler``).
The marker is removed as soon as it was read: a crash while starting counts as a crash (KAFKA-10471).
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence

from kafka_tools.errors import ConfigError, CorruptIndex
from kafka_tools.storage.checkpoints import (
    MetaProperties,
    read_meta_properties,
    read_offset_checkpoint,
    replace_file,
    write_meta_properties,
    write_offset_checkpoint,
)
from kafka_tools.storage.names import directory_name, parse_partition_dir, partition_of_dir
from kafka_tools.values import TopicPartition, uuid_text

log = logging.getLogger(__name__)

META_FILE = "meta.properties"
LOCK_FILE = ".lock"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
_WRITTEN_BY = "kafka_tools"
_WRITTEN_BY_KEY = "written.by"


class DataDirs:
    """The directories of one broker, locked while it runs. ``cluster_id`` is their common identity.

    ``clean`` tells per directory whether its broker stopped regularly.
    """

    def __init__(self, paths: Sequence[str], *, node_id: int, cluster_id: str | None = None) -> None:
        """Lock and read the directories, making what is missing.

        Raises ConfigError for a directory that is in use, belongs to another cluster or node, or was
        written by Apache Kafka itself.
        """
        self.paths = [os.path.abspath(path) for path in paths]
        self.clean: dict[str, bool] = {}
        self.recovery_points: dict[str, dict[TopicPartition, int]] = {}
        self.log_starts: dict[str, dict[TopicPartition, int]] = {}
        self._locks: list[int] = []
        try:
            self._open(node_id, cluster_id)
        except BaseException:
            self.unlock()
            raise

    def _open(self, node_id: int, cluster_id: str | None) -> None:
        known = cluster_id
        for path in self.paths:
            try:
                os.makedirs(path, exist_ok=True)
            except OSError as error:
                raise ConfigError(f"the data directory {path} cannot be made: {error.strerror}") from error
            self._lock(path)
            found = _read_meta(path)
            if found is None:
                continue
            if found.others.get(_WRITTEN_BY_KEY) != _WRITTEN_BY:
                raise ConfigError(
                    f"{path} holds the logs of another broker (its {META_FILE} was not written by this one)",
                    hint="give an empty directory with --data-dir",
                )
            if known is not None and found.cluster_id != known:
                raise ConfigError(f"{path} belongs to cluster {found.cluster_id}, not {known}")
            if found.node_id != node_id:
                raise ConfigError(f"{path} belongs to node {found.node_id}, not {node_id}")
            known = found.cluster_id
        self.cluster_id = known or uuid_text(uuid.uuid4())
        for path in self.paths:
            if _read_meta(path) is None:
                _write_meta(path, self.cluster_id, node_id)
            marker = os.path.join(path, CLEAN_SHUTDOWN_FILE)
            self.clean[path] = os.path.exists(marker) or not _has_logs(path)
            if os.path.exists(marker):
                os.remove(marker)
            self.recovery_points[path] = read_checkpoint(os.path.join(path, RECOVERY_POINTS))
            self.log_starts[path] = read_checkpoint(os.path.join(path, LOG_STARTS))

    def _lock(self, path: str) -> None:
        fd = os.open(os.path.join(path, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            raise ConfigError(
                f"{path} is in use by another broker",
                hint="stop that broker, or give another directory with --data-dir",
            ) from error
        self._locks.append(fd)

    def partition_dirs(self) -> list[tuple[str, str]]:
        """(log directory, name) of every directory that is named after a partition, whatever its state."""
        return [
            (path, entry.name)
            for path in self.paths
            for entry in sorted(os.scandir(path), key=lambda entry: entry.name)
            if entry.is_dir() and parse_partition_dir(entry.name)
        ]

    def emptiest(self, load: Mapping[str, int]) -> str:
        """The directory with the fewest partitions, the first of equals; ``load`` counts them."""
        return min(self.paths, key=lambda path: load.get(path, 0))

    def write_checkpoints(
        self, path: str, recovery_points: Mapping[TopicPartition, int], log_starts: Mapping[TopicPartition, int],
        high_watermarks: Mapping[TopicPartition, int],
    ) -> None:  # fmt: skip
        """Replace the three checkpoint files of one directory."""
        write_offset_checkpoint(os.path.join(path, RECOVERY_POINTS), recovery_points)
        write_offset_checkpoint(os.path.join(path, LOG_STARTS), log_starts)
        write_offset_checkpoint(os.path.join(path, HIGH_WATERMARKS), high_watermarks)

    def write_log_starts(self, path: str, log_starts: Mapping[TopicPartition, int]) -> None:
        """Replace the file that keeps where each log of one directory starts."""
        write_offset_checkpoint(os.path.join(path, LOG_STARTS), log_starts)

    def mark_clean(self) -> None:
        """Say that every log was closed: the next start trusts the files."""
        for path in self.paths:
            replace_file(os.path.join(path, CLEAN_SHUTDOWN_FILE), b'{"version":0,"brokerEpoch":"-1"}')

    def unlock(self) -> None:
        for fd in self._locks:
            os.close(fd)
        self._locks.clear()


def retire_directory(path: str, *, state: str = "delete") -> str:
    """Rename a partition's directory for deletion, or as ``stray``; its name is free at once. Returns the new path.

    Raises InputError for a directory that is not named after a partition.
    """
    partition = partition_of_dir(os.path.basename(path))
    new_path = os.path.join(os.path.dirname(path), directory_name(partition, state=state, unique_id=uuid.uuid4().hex))
    os.rename(path, new_path)
    return new_path


def remove_directory(path: str) -> None:
    """Delete a retired directory; what cannot be deleted stays and is reported."""
    try:
        shutil.rmtree(path)
    except OSError as error:
        log.warning("cannot delete %s: %s", path, error)


def read_checkpoint(path: str) -> dict[TopicPartition, int]:
    """Topic-partition -> offset of a checkpoint file. One that is missing or damaged counts as empty."""
    try:
        return read_offset_checkpoint(path)
    except FileNotFoundError:
        return {}
    except CorruptIndex as error:
        log.warning("ignoring a checkpoint file: %s", error)
        return {}


def _has_logs(path: str) -> bool:
    return any(entry.is_dir() and parse_partition_dir(entry.name) for entry in os.scandir(path))


def _read_meta(path: str) -> MetaProperties | None:
    try:
        return read_meta_properties(os.path.join(path, META_FILE))
    except FileNotFoundError:
        return None


def _write_meta(path: str, cluster_id: str, node_id: int) -> None:
    meta = MetaProperties(1, cluster_id, node_id, uuid_text(uuid.uuid4()), {_WRITTEN_BY_KEY: _WRITTEN_BY})
    write_meta_properties(os.path.join(path, META_FILE), meta)
