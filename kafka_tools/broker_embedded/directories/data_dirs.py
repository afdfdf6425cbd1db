"""The broker's log directories: ownership, lock, clean-shutdown marker, checkpoints, partition directories.

Files and formats are Kafka's (``LogManager``, ``BrokerMetadataCheckpoint``, ``CleanShutdownFileHandler``). The marker
is removed as soon as it has been read: a crash while starting counts as a crash (KAFKA-10471). A directory that this
broker did not create is refused before anything in any directory is changed.
"""

from __future__ import annotations

import logging
import os
import shutil
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from kafka_tools.broker_embedded.directories.checkpoint_files import CheckpointFile
from kafka_tools.broker_embedded.directories.known_dirs import check_known, naming
from kafka_tools.broker_embedded.directories.locks import OF_LOST, DirectoryLock
from kafka_tools.broker_embedded.directories.survey import (
    WRITTEN_BY,
    WRITTEN_BY_KEY,
    agreed,
    cannot_be_used,
    distinct,
    has_logs,
    is_ours,
    survey,
)
from kafka_tools.errors import ConfigError, LogError
from kafka_tools.storage.checkpoints import (
    MetaProperties,
    replace_file,
    write_meta_properties,
)
from kafka_tools.storage.log.syncing import Unsynced, sync_directory, sync_tree
from kafka_tools.storage.names import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LOCK,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    RECOVERY_POINTS,
    PartitionDirectory,
    directory_name,
    parse_partition_dir,
    partition_of_dir,
)
from kafka_tools.values import TopicPartition, uuid_text

log = logging.getLogger(__name__)

_CHECKPOINTS = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS)
FormattedCheck = Callable[[Sequence[tuple[str, MetaProperties]], Sequence[str]], object]
"""Called with the directories that are only formatted, and all; raises ConfigError if this broker cannot start."""


class DataDirs:
    """The directories of one broker, locked while it runs. ``cluster_id`` is their common identity.

    ``clean``: directory -> whether its broker was shut down cleanly.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        node_id: int,
        cluster_id: str | None = None,
        unsynced: Unsynced | None = None,
        check_formatted: FormattedCheck | None = None,
        lost: Collection[str] = (),
    ) -> None:
        """Lock and read the directories, and create missing ones.

        Raises ConfigError, with nothing changed, for a directory that contains something else (such as the logs of
        Apache Kafka), belongs to another cluster or node, is in use or cannot be used, is given twice or within another
        one; and if a directory that the broker had is missing, unless its id is in ``lost``. ``unsynced`` records the
        writes that are not flushed yet. Directories that are only formatted are accepted if ``check_formatted`` does
        not raise; without it they are refused.
        """
        self.paths = distinct(paths)
        self.unsynced = unsynced
        self.clean: dict[str, bool] = {}
        self.checkpoints: dict[tuple[str, str], CheckpointFile] = {}
        """The checkpoint files by directory and name."""
        self.lost: dict[str, str] = {}
        """The directories that went offline since the start, and the reasons. Their paths are not used any more."""
        self._refused: dict[str, str] = {}
        """The errors that show that a directory cannot be used any more."""
        self._marked: list[str] = []
        """The directories whose marker was removed."""
        self._locks: list[DirectoryLock] = []
        self._check_formatted = check_formatted
        self._lost = frozenset(lost)
        self.node_id = node_id
        self._survey(node_id, cluster_id)
        try:
            self._open(node_id, cluster_id)
        except OSError as error:
            self.unlock()
            raise ConfigError(cannot_be_used(error, self.paths)) from error
        except BaseException:
            self.unlock()
            raise

    def _open(self, node_id: int, cluster_id: str | None) -> None:
        for path in self.paths:
            try:
                os.makedirs(path, exist_ok=True)
            except OSError as error:
                raise ConfigError(f"cannot create data directory {path}: {error.strerror}") from error
            self._locks.append(DirectoryLock(path))
        found, known_id = self._survey(node_id, cluster_id)  # again: now nobody else can change it
        self.cluster_id = known_id or uuid_text(uuid.uuid4())
        self._write_metas(found, node_id)
        for path in self.paths:
            marker = os.path.join(path, CLEAN_SHUTDOWN)
            self.clean[path] = os.path.exists(marker) or not has_logs(path)
            if os.path.exists(marker):
                os.remove(marker)
                self._marked.append(path)
            for name in _CHECKPOINTS:
                self.checkpoints[path, name] = CheckpointFile(os.path.join(path, name))
        for lock in self._locks:
            lock.watch()

    def _write_metas(self, found: Sequence[tuple[str, MetaProperties | None]], node_id: int) -> None:
        """Write the meta.properties of every directory, each of which lists all directories.

        A directory is listed only after its own meta.properties is on disk. Otherwise, after an incomplete first start,
        a directory would seem to be missing.
        """
        metas = [(path, meta) for path, meta in found if meta is not None and is_ours(meta)]
        named = {meta.directory_id: path for path, meta in metas if meta.directory_id}
        for path, formatted in found:
            if formatted is None or not is_ours(formatted):
                directory_id = (formatted and formatted.directory_id) or uuid_text(uuid.uuid4())
                named[directory_id] = path
                others = {**(formatted.others if formatted else {}), WRITTEN_BY_KEY: WRITTEN_BY}
                meta = naming(MetaProperties(1, self.cluster_id, node_id, directory_id, others), named)
                write_meta_properties(os.path.join(path, META_PROPERTIES), meta)
                sync_directory(path)  # otherwise the next start may not recognize the directory as its own
                metas.append((path, meta))
        for path, meta in metas:
            if meta != naming(meta, named):
                try:
                    write_meta_properties(os.path.join(path, META_PROPERTIES), naming(meta, named))
                except OSError as error:  # older versions wrote no such list, so the start continues
                    log.warning(
                        "cannot update the list of log directories in %s: %s. Until a later start updates it, a "
                        "missing directory is not detected",
                        path,
                        error,
                    )

    def _survey(
        self, node_id: int, cluster_id: str | None
    ) -> tuple[list[tuple[str, MetaProperties | None]], str | None]:
        """The meta.properties of each directory, and their cluster. Changes nothing; raises ConfigError."""
        found = [(path, survey(path, formatted=self._check_formatted is not None)) for path in self.paths]
        known_id = agreed(found, node_id, cluster_id)
        check_known(found, self._lost)
        formatted = [(path, meta) for path, meta in found if meta is not None and not is_ours(meta)]
        if formatted and self._check_formatted is not None:
            self._check_formatted(formatted, self.paths)
        return found, known_id

    @property
    def live(self) -> list[str]:
        """The directories that are not offline."""
        return [path for path in self.paths if path not in self.lost]

    def look(self) -> dict[str, str]:
        """The directories that were lost since the last check, and the reasons. They are now offline."""
        found = {
            each.path: why
            for each in self._locks
            if each.path not in self.lost and (why := self._refused.get(each.path) or each.why_lost())
        }
        self.lost |= found
        return found

    def refused(self, path: str, error: OSError) -> bool:
        """Whether the error of a write means that the directory is lost, as the next ``look`` will report."""
        if error.errno not in OF_LOST:
            return False
        self._refused[path] = f"{error.filename or path}: {error.strerror}"
        return True

    @property
    def metadata_dir(self) -> str:
        """The directory that contains the cluster's state, at any position in the list; otherwise the first one.

        Raises LogError if several directories contain a state.
        """
        having = [path for path in self.paths if os.path.isdir(os.path.join(path, METADATA_DIRECTORY))]
        if len(having) > 1:
            places = " and ".join(os.path.join(path, METADATA_DIRECTORY) for path in having)
            raise LogError(f"found two copies of the cluster metadata: {places}", path=having[0])
        return having[0] if having else self.paths[0]

    def partition_dirs(self) -> list[tuple[str, str, PartitionDirectory]]:
        """(log directory, name, parsed name) of every partition's directory in any state.

        Does not contain the directory of the cluster's state.
        """
        return [
            (path, entry.name, parsed)
            for path in self.paths
            for entry in sorted(os.scandir(path), key=lambda entry: entry.name)
            if entry.name != METADATA_DIRECTORY and entry.is_dir() and (parsed := parse_partition_dir(entry.name))
        ]

    def emptiest(self, load: Mapping[str, int]) -> str:
        """The directory with the fewest partitions, the first one of several; ``load`` contains the counts.

        Raises LogError if all are offline.
        """
        if not self.live:
            raise LogError("all log directories are offline", path=self.paths[0])
        return min(self.live, key=lambda path: load.get(path, 0))

    def forget_checkpoints(self, path: str, id: TopicPartition) -> None:
        """Remove a partition from the checkpoints of a directory, which otherwise stay as at the start."""
        for name in _CHECKPOINTS:
            file = self.checkpoints[path, name]
            file.at_start.pop(id, None)
            file.write_now(file.at_start)

    def mark_clean(self, paths: Collection[str]) -> None:
        """Mark directories in which every log was closed: the next start does not check their logs."""
        for path in paths:
            try:
                replace_file(os.path.join(path, CLEAN_SHUTDOWN), b'{"version":0,"brokerEpoch":"-1"}')
            except OSError as error:
                log.warning("%s is not marked as cleanly shut down, so the next start checks its logs: %s", path, error)

    def put_back(self) -> None:
        """Mark the directories as before: the start has changed nothing."""
        self.mark_clean(self._marked)

    def sync(self) -> None:
        """Flush everything in the directories to the disk. Raises OSError."""
        for path in self.live:
            sync_tree(path, besides=(LOCK,))  # opening and closing it would end its lock

    def unlock(self) -> None:
        for lock in self._locks:
            lock.release()
        self._locks.clear()


def retire_directory(path: str, *, state: str = "delete") -> str:
    """Rename a partition's directory for deletion, or as ``stray``, to free its name immediately. Returns the new path.

    Raises InputError for a directory that is not named after a partition.
    """
    partition = partition_of_dir(os.path.basename(path))
    new_path = os.path.join(os.path.dirname(path), directory_name(partition, state=state, unique_id=uuid.uuid4().hex))
    os.rename(path, new_path)
    return new_path


def remove_directory(path: str) -> None:
    """Delete a partition's directory. After an error it is reported and retired, so that its name is free."""
    try:
        shutil.rmtree(path)
    except OSError as error:
        log.warning("cannot delete %s: %s", path, error)
        found = parse_partition_dir(os.path.basename(path))
        if found is not None and not found.state:
            with suppress(OSError):
                retire_directory(path)
