"""The broker's log directories: whose they are, lock, clean-shutdown marker, checkpoints, partition directories.

Files and formats are Kafka's (``LogManager``, ``BrokerMetadataCheckpoint``, ``CleanShutdownFileHandler``).
The marker is removed as soon as it was read: a crash while starting counts as a crash (KAFKA-10471). A directory
that this broker did not make is refused before anything in it, or in another one, is touched.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import stat
import threading
import uuid
from collections.abc import Collection, Mapping, Sequence

from kafka_tools.errors import ConfigError, CorruptIndex, LogError
from kafka_tools.protocol.enums import CLUSTER_METADATA
from kafka_tools.storage.checkpoints import (
    MetaProperties,
    read_meta_properties,
    read_offset_checkpoint,
    replace_file,
    write_meta_properties,
    write_offset_checkpoint,
)
from kafka_tools.storage.names import PartitionDirectory, directory_name, parse_partition_dir, partition_of_dir
from kafka_tools.values import TopicPartition, uuid_text

log = logging.getLogger(__name__)

META_FILE = "meta.properties"
LOCK_FILE = ".lock"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
METADATA_DIRECTORY = f"{CLUSTER_METADATA}-0"
"""Where the state of the cluster is, in one of the directories: the one name here that no topic may have."""
_WRITTEN_BY = "kafka_tools"
_WRITTEN_BY_KEY = "written.by"
_OF_THE_FILE_SYSTEM = frozenset({"lost+found"})
_FIRST_START = frozenset({LOCK_FILE, META_FILE + ".tmp"})
_NAMES_SHOWN = 3
_GIVE_ANOTHER = "give an empty directory, or one that is not there yet, with --data-dir (log.dirs)"

_held: set[tuple[int, int]] = set()
"""Device and inode of the lock files held in this process: a file lock keeps other processes out, not this one."""
_holding = threading.Lock()


class DataDirs:
    """The directories of one broker, locked while it runs. ``cluster_id`` is their common identity.

    ``clean`` tells per directory whether its broker stopped regularly.
    """

    def __init__(self, paths: Sequence[str], *, node_id: int, cluster_id: str | None = None) -> None:
        """Lock and read the directories, making what is missing.

        Raises ConfigError, with nothing touched, for a directory that is not empty and not this broker's (one of
        Apache Kafka's included), belongs to another cluster or node, is in use or cannot be used, or that is given
        twice or within another one.
        """
        self.paths = _distinct(paths)
        self.clean: dict[str, bool] = {}
        self.recovery_points: dict[str, dict[TopicPartition, int]] = {}
        self.log_starts: dict[str, dict[TopicPartition, int]] = {}
        self.high_watermarks: dict[str, dict[TopicPartition, int]] = {}
        self._written: dict[str, dict[TopicPartition, int]] = {}
        """What the checkpoint files hold that this object has written."""
        self._locks: list[tuple[int, tuple[int, int]]] = []
        _agreed([(path, survey(path)) for path in self.paths], node_id, cluster_id)
        try:
            self._open(node_id, cluster_id)
        except OSError as error:
            self.unlock()
            raise ConfigError(_cannot_be_used(error, self.paths)) from error
        except BaseException:
            self.unlock()
            raise

    def _open(self, node_id: int, cluster_id: str | None) -> None:
        for path in self.paths:
            try:
                os.makedirs(path, exist_ok=True)
            except OSError as error:
                raise ConfigError(f"the data directory {path} cannot be made: {error.strerror}") from error
            self._lock(path)
        found = [(path, survey(path)) for path in self.paths]  # again: now nobody else can change it
        self.cluster_id = _agreed(found, node_id, cluster_id) or uuid_text(uuid.uuid4())
        for path, meta in found:
            if meta is None:
                _write_meta(path, self.cluster_id, node_id)
            marker = os.path.join(path, CLEAN_SHUTDOWN_FILE)
            self.clean[path] = os.path.exists(marker) or not _has_logs(path)
            if os.path.exists(marker):
                os.remove(marker)
            self.recovery_points[path] = read_checkpoint(os.path.join(path, RECOVERY_POINTS))
            self.log_starts[path] = read_checkpoint(os.path.join(path, LOG_STARTS))
            self.high_watermarks[path] = read_checkpoint(os.path.join(path, HIGH_WATERMARKS))

    def _lock(self, path: str) -> None:
        lock_path = os.path.join(path, LOCK_FILE)
        with _holding:
            # Looked up before it is opened: closing a second descriptor would end the lock of the first.
            if os.path.exists(lock_path) and _identity(os.stat(lock_path)) in _held:
                raise _in_use(path)
            fd = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(fd)
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    raise _in_use(path) from error
                raise ConfigError(f"{path} cannot be locked: {error.strerror}") from error
            identity = _identity(os.fstat(fd))
            _held.add(identity)
            self._locks.append((fd, identity))

    @property
    def metadata_dir(self) -> str:
        """The directory with the cluster's state: where it is, whatever the order of the directories; else the first.

        Raises LogError if several have one.
        """
        having = [path for path in self.paths if os.path.isdir(os.path.join(path, METADATA_DIRECTORY))]
        if len(having) > 1:
            places = " and ".join(os.path.join(path, METADATA_DIRECTORY) for path in having)
            raise LogError(f"the state of the cluster is there twice: {places}", path=having[0])
        return having[0] if having else self.paths[0]

    def partition_dirs(self) -> list[tuple[str, str, PartitionDirectory]]:
        """(log directory, name, what the name tells) of every partition's directory, whatever its state.

        The cluster's state is none of them.
        """
        return [
            (path, entry.name, parsed)
            for path in self.paths
            for entry in sorted(os.scandir(path), key=lambda entry: entry.name)
            if entry.name != METADATA_DIRECTORY and entry.is_dir() and (parsed := parse_partition_dir(entry.name))
        ]

    def emptiest(self, load: Mapping[str, int]) -> str:
        """The directory with the fewest partitions, the first of equals; ``load`` counts them."""
        return min(self.paths, key=lambda path: load.get(path, 0))

    def write_checkpoints(
        self, path: str, recovery_points: Mapping[TopicPartition, int], log_starts: Mapping[TopicPartition, int],
        high_watermarks: Mapping[TopicPartition, int],
    ) -> None:  # fmt: skip
        """Replace the three checkpoint files of one directory."""
        self._write(os.path.join(path, RECOVERY_POINTS), recovery_points)
        self._write(os.path.join(path, LOG_STARTS), log_starts)
        self._write(os.path.join(path, HIGH_WATERMARKS), high_watermarks)

    def write_log_starts(self, path: str, log_starts: Mapping[TopicPartition, int]) -> None:
        """Replace the file that keeps where each log of one directory starts."""
        self._write(os.path.join(path, LOG_STARTS), log_starts)

    def _write(self, path: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace a checkpoint file, unless it holds that already: nothing is forced to the disk in vain."""
        if self._written.get(path) != offsets or not os.path.exists(path):
            self._written.pop(path, None)
            write_offset_checkpoint(path, offsets)
            self._written[path] = dict(offsets)

    def forget_checkpoints(self, path: str, id: TopicPartition) -> None:
        """Write the checkpoints of a directory without a partition, as they were otherwise at the start."""
        kept = [
            {other: offset for other, offset in found.items() if other != id}
            for found in (self.recovery_points[path], self.log_starts[path], self.high_watermarks[path])
        ]
        self.recovery_points[path], self.log_starts[path], self.high_watermarks[path] = kept
        self.write_checkpoints(path, *kept)

    def mark_clean(self, paths: Collection[str]) -> None:
        """Say of these directories that every log in them was closed: the next start trusts the files."""
        for path in paths:
            try:
                replace_file(os.path.join(path, CLEAN_SHUTDOWN_FILE), b'{"version":0,"brokerEpoch":"-1"}')
            except OSError as error:
                log.warning("%s is not marked as closed cleanly, the next start checks its logs: %s", path, error)

    def unlock(self) -> None:
        with _holding:
            for fd, identity in self._locks:
                os.close(fd)
                _held.discard(identity)
            self._locks.clear()


def survey(path: str) -> MetaProperties | None:
    """What meta.properties says of a directory of this broker; None for one that is empty or not there yet.

    Touches nothing. Raises ConfigError for anything else.
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISDIR(mode):
            raise ConfigError(f"the data directory {path} is {_kind(mode)}, not a directory", hint=_GIVE_ANOTHER)
        names = set(os.listdir(path)) - _OF_THE_FILE_SYSTEM
        if META_FILE in names:
            return _survey_meta(path)
        unfinished = _is_unfinished_start(path, names)
    except FileNotFoundError:
        if os.path.islink(path):
            target = os.readlink(path)
            raise ConfigError(f"the data directory {path} is a link to {target}, which is not there") from None
        return None
    except NotADirectoryError as error:
        raise ConfigError(
            f"the data directory {path} cannot be made: {_file_above(path)} is not a directory"
        ) from error
    except OSError as error:
        raise ConfigError(f"the data directory {path} cannot be read: {error.strerror}") from error
    if names and not unfinished:
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        raise ConfigError(
            f"the data directory {path} is not empty and is not one of this broker (it has no {META_FILE}): "
            f"it holds {', '.join(sorted(names)[:_NAMES_SHOWN])}{more}",
            hint=f"nothing in it was changed; {_GIVE_ANOTHER}",
        )
    return None


def _is_unfinished_start(path: str, names: Collection[str]) -> bool:
    """Whether these are what a first start leaves that ended before it had written meta.properties."""
    if LOCK_FILE not in names or not set(names) <= _FIRST_START:
        return False
    found = {name: os.lstat(os.path.join(path, name)) for name in names}
    return all(stat.S_ISREG(entry.st_mode) for entry in found.values()) and found[LOCK_FILE].st_size == 0


def _survey_meta(path: str) -> MetaProperties:
    meta_path = os.path.join(path, META_FILE)
    if not stat.S_ISREG(os.stat(meta_path).st_mode):
        raise ConfigError(f"{meta_path} is not a file", hint=_GIVE_ANOTHER)
    try:
        found = read_meta_properties(meta_path)
    except CorruptIndex as error:
        raise ConfigError(
            f"the data directory {path} is not one of this broker: {error}", hint=_GIVE_ANOTHER
        ) from error
    if found.others.get(_WRITTEN_BY_KEY) != _WRITTEN_BY:
        raise ConfigError(
            f"the data directory {path} holds the logs of another broker, Apache Kafka: its {META_FILE} (cluster "
            f"{found.cluster_id}, node {found.node_id}) was not written by this one",
            hint=f"nothing in it was changed; {_GIVE_ANOTHER}",
        )
    return found


def _agreed(found: Sequence[tuple[str, MetaProperties | None]], node_id: int, cluster_id: str | None) -> str | None:
    """The cluster that all directories belong to, None if none says. Raises ConfigError if they differ."""
    for path, meta in found:
        if meta is None:
            continue
        if cluster_id is not None and meta.cluster_id != cluster_id:
            raise ConfigError(f"{path} belongs to cluster {meta.cluster_id}, not {cluster_id}")
        if meta.node_id != node_id:
            raise ConfigError(
                f"{path} belongs to node {meta.node_id}, not {node_id}", hint=f"start it with node.id={meta.node_id}"
            )
        cluster_id = meta.cluster_id
    return cluster_id


def _distinct(paths: Sequence[str]) -> list[str]:
    """The paths, absolute. Raises ConfigError for none, an empty one, one that is there twice or within another."""
    if not paths or not all(paths):
        raise ConfigError("the data directory has an empty name", hint=_GIVE_ANOTHER)
    found: dict[str, str] = {}
    for path in paths:
        if "\0" in path:
            raise ConfigError(f"the data directory {path!r} is not a path")
        real = os.path.realpath(path)
        for other_real, other in found.items():
            if real == other_real:
                raise ConfigError(f"log.dirs: a directory occurs twice: {other} and {path}")
            outer, inner = sorted((real, other_real), key=len)
            if os.path.commonpath((outer, inner)) == outer:
                raise ConfigError(f"log.dirs: one of {other} and {path} is within the other")
        found[real] = path
    return [os.path.abspath(path) for path in paths]


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _in_use(path: str) -> ConfigError:
    return ConfigError(
        f"{path} is in use by another broker", hint="stop that broker, or give another directory with --data-dir"
    )


def _kind(mode: int) -> str:
    kinds = {stat.S_IFREG: "a file", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _file_above(path: str) -> str:
    """The part of a path that is in the way of a directory."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def _cannot_be_used(error: OSError, paths: Sequence[str]) -> str:
    file = str(error.filename or "")
    path = next((path for path in paths if file.startswith(path)), ", ".join(paths))
    return f"the data directory {path} cannot be used: {f'{file}: ' if file else ''}{error.strerror or error}"


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


def _write_meta(path: str, cluster_id: str, node_id: int) -> None:
    meta = MetaProperties(1, cluster_id, node_id, uuid_text(uuid.uuid4()), {_WRITTEN_BY_KEY: _WRITTEN_BY})
    write_meta_properties(os.path.join(path, META_FILE), meta)
