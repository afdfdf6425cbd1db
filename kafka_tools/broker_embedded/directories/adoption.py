"""Adoption: the log directories of a single KRaft node of Apache Kafka, copied to a data directory of this broker.

Kafka's directories are read and never changed, and no broker can start on them meanwhile. Until the copy is complete,
its ``meta.properties`` has another name: after a kill, no broker starts on the incomplete copy, and the next adoption
starts from the beginning. Logs, indexes, snapshots and checkpoints are copied unchanged. The cluster metadata is
written anew (``kafka_state``).
"""

from __future__ import annotations

import logging
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from typing import NamedTuple

from kafka_tools.broker_embedded.directories.adoptable import Adoptable, examine
from kafka_tools.broker_embedded.directories.kafka_state import records_of
from kafka_tools.broker_embedded.directories.local_store import LocalStore
from kafka_tools.broker_embedded.directories.locks import DirectoryLock, ReadersLock
from kafka_tools.broker_embedded.directories.survey import (
    ADOPTING_FILE,
    WRITTEN_BY,
    WRITTEN_BY_KEY,
    cannot_be_used,
    distinct,
    is_ours,
    survey,
)
from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError, CorruptIndex, LogError
from kafka_tools.storage import names
from kafka_tools.storage.checkpoints import (
    MetaProperties,
    read_meta_properties,
    read_offset_checkpoint,
    write_meta_properties,
    write_offset_checkpoint,
)
from kafka_tools.storage.log.syncing import sync_directory, sync_tree
from kafka_tools.storage.names import LOCK, META_PROPERTIES
from kafka_tools.values import TopicPartition, uuid_text

log = logging.getLogger(__name__)

_PIECE_BYTES = 1 << 20
_ZEROS = bytes(_PIECE_BYTES)
_LOG_DIR_FILES = (*names.OFFSET_CHECKPOINTS, names.CLEAN_SHUTDOWN)


class Copied(NamedTuple):
    """One file of a log directory, by its name relative to it, with the bytes that it takes on the disk."""

    source_dir: str
    name: str
    size_bytes: int


def adopt(
    kafka_dirs: Sequence[str], data_dirs: Sequence[str], *, node_id: int, cluster_id: str | None, clock: Clock
) -> None:
    """Copy the log directories of a node to the one data directory, which is empty or does not exist.

    ``node_id`` and ``cluster_id``: the ids that the broker is started with. Raises ConfigError, with nothing changed,
    if the directories cannot be adopted or the data directory cannot be used; LogError for damage; OSError.
    """
    if len(data_dirs) != 1:
        raise ConfigError("--adopt needs exactly one data directory", hint="pass one with --data-dir")
    apart = [_apart(each, data_dirs[0]) for each in kafka_dirs]
    paths, data_dir = distinct([path for path, _ in apart]), apart[0][1]
    with ExitStack() as held:
        reading: list[ReadersLock] = []
        for path in paths:
            reading.append(ReadersLock(path))
            held.callback(reading[-1].release)
        found = examine(paths, node_id=node_id, cluster_id=cluster_id)
        files = list(_files(found))
        _check_room(data_dir, files)
        held.callback(_begin(data_dir).release)
        _copy(found, data_dir, files, clock, reading)
    for line in found.left_out:
        log.warning("not adopted: %s", line)
    log.info("adopted %s in %s: %s", ", ".join(paths), data_dir, found.summary())


def _apart(kafka_dir: str, data_dir: str) -> tuple[str, str]:
    """Both paths, absolute. Raises ConfigError if one contains the other, or if ``kafka_dir`` is not a directory."""
    if not os.path.isdir(kafka_dir):
        why = "not a directory" if os.path.lexists(kafka_dir) else "no such directory"
        raise ConfigError(f"cannot adopt {kafka_dir}: {why}")
    outer, inner = sorted((os.path.realpath(kafka_dir), os.path.realpath(data_dir)), key=len)
    if os.path.commonpath((outer, inner)) == outer:
        raise ConfigError(
            f"cannot adopt {kafka_dir} into {data_dir}: the two are the same directory, or one contains the other",
            hint="pass another, empty directory with --data-dir; Kafka's directory stays unchanged",
        )
    return os.path.abspath(kafka_dir), distinct([data_dir])[0]


def _files(found: Adoptable) -> Iterator[Copied]:
    """The files to copy unchanged: those of the partitions' logs, and the checkpoints of a single log directory."""
    first, *others = found.paths
    for name in _LOG_DIR_FILES:
        path = os.path.join(first, name)
        if os.path.exists(path) and not others:
            yield Copied(first, name, os.stat(path).st_size)
    for directory, log_dir in found.partition_dirs.items():
        for entry in sorted(os.scandir(os.path.join(log_dir, directory)), key=lambda entry: entry.name):
            name = os.path.join(directory, entry.name)
            parsed = names.parse_file_name(entry.name)
            known = parsed is not None or entry.name in (names.LEADER_EPOCHS, names.PARTITION_METADATA)
            if not known or not entry.is_file():
                found.left_out.append(f"{os.path.join(log_dir, name)}: not a file of a log")
            elif parsed is None or parsed.state != ".deleted":
                yield Copied(log_dir, name, entry.stat().st_blocks * 512)  # an index that is open is mostly a hole


def _check_room(data_dir: str, files: Sequence[Copied]) -> None:
    wanted = sum(file.size_bytes for file in files)
    place = data_dir
    while not os.path.exists(place):
        place = os.path.dirname(place)
    room = os.statvfs(place)
    free = room.f_bavail * room.f_frsize
    if wanted > free:
        raise ConfigError(f"not enough space in {data_dir}: {wanted} bytes needed, {free} available")
    log.info("copying %d files, %d bytes, to %s", len(files), wanted, data_dir)


def _begin(data_dir: str) -> DirectoryLock:
    """Create and lock an empty data directory. The remains of an incomplete adoption are removed first."""
    if not _is_unfinished(data_dir):
        _check_empty(data_dir)
    with ExitStack() as on_error:
        try:
            os.makedirs(data_dir, exist_ok=True)
            lock = DirectoryLock(data_dir)
            on_error.callback(lock.release)
            if _is_unfinished(data_dir):
                log.warning("the previous adoption into %s was not completed: starting again", data_dir)
                _undo(data_dir)
            _check_empty(data_dir)  # again: now nobody else can change it
        except OSError as error:
            raise ConfigError(cannot_be_used(error, [data_dir])) from error
        on_error.pop_all()
    return lock


def _is_unfinished(data_dir: str) -> bool:
    """Whether an adoption into the directory was started and not completed."""
    try:
        begun = read_meta_properties(os.path.join(data_dir, ADOPTING_FILE))
    except (FileNotFoundError, NotADirectoryError, CorruptIndex):
        return False
    return is_ours(begun) and not os.path.exists(os.path.join(data_dir, META_PROPERTIES))


def _check_empty(data_dir: str) -> None:
    if survey(data_dir) is not None:
        raise ConfigError(
            f"the data directory {data_dir} already contains data of this broker",
            hint="start without --adopt, or pass an empty directory with --data-dir",
        )


def _copy(
    found: Adoptable, data_dir: str, files: Sequence[Copied], clock: Clock, reading: Sequence[ReadersLock]
) -> None:
    others = {WRITTEN_BY_KEY: WRITTEN_BY}
    meta = MetaProperties(1, found.cluster_id, found.node_id, uuid_text(uuid.uuid4()), others)
    marker = os.path.join(data_dir, ADOPTING_FILE)
    write_meta_properties(marker, meta)
    try:
        for directory in found.partition_dirs:
            os.mkdir(os.path.join(data_dir, directory))
        for file in files:
            copy_file(os.path.join(file.source_dir, file.name), os.path.join(data_dir, file.name))
        if len(found.paths) > 1:
            _write_checkpoints(data_dir, found)
        _write_state(data_dir, found, clock)
        for lock in reading:
            lock.check()
        os.sync()  # one call is fast; ``sync_tree`` then has little to do, and reports disk errors
        sync_tree(data_dir, besides=(LOCK,))  # opening and closing LOCK would end the lock
        os.rename(marker, os.path.join(data_dir, META_PROPERTIES))
        sync_directory(data_dir)
    except BaseException as error:
        if os.path.exists(marker):
            _undo(data_dir)
        if isinstance(error, OSError):
            text = f"cannot adopt {', '.join(found.paths)}: {error.filename or data_dir}: {error.strerror or error}"
            raise LogError(text, path=data_dir) from error
        raise


def _write_checkpoints(data_dir: str, found: Adoptable) -> None:
    """Combine the checkpoints of the directories. The copy is marked as clean if all directories are."""
    for name in names.OFFSET_CHECKPOINTS:
        offsets: dict[TopicPartition, int] = {}
        for log_dir in found.paths:
            with suppress(FileNotFoundError):
                for partition, offset in read_offset_checkpoint(os.path.join(log_dir, name)).items():
                    if found.partition_dirs.get(str(partition)) == log_dir:
                        offsets[partition] = offset
        write_offset_checkpoint(os.path.join(data_dir, name), offsets)
    clean = [os.path.join(log_dir, names.CLEAN_SHUTDOWN) for log_dir in found.paths]
    if all(map(os.path.exists, clean)):
        copy_file(clean[0], os.path.join(data_dir, names.CLEAN_SHUTDOWN))


def _write_state(data_dir: str, found: Adoptable, clock: Clock) -> None:
    with closing(LocalStore(data_dir, clock, clean=True)) as store:
        store.append_all(records_of(found.state, found.node_id))


def copy_file(source: str, target: str) -> None:
    """Copy a file's bytes and times; zeros become a hole, as in an index that is still open. Raises OSError."""
    with open(source, "rb", buffering=0) as reading, open(target, "xb", buffering=0) as writing:
        while piece := reading.read(_PIECE_BYTES):
            if piece == _ZEROS[: len(piece)]:
                writing.seek(len(piece), os.SEEK_CUR)
            else:
                rest = memoryview(piece)
                while rest:
                    rest = rest[writing.write(rest) :]
        writing.truncate(writing.tell())
        status = os.fstat(reading.fileno())
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))  # retention uses it if records have no timestamp


def _undo(data_dir: str) -> None:
    """Remove the files of an adoption. The marker is last, so that this can be repeated after a kill."""
    for entry in list(os.scandir(data_dir)):
        if entry.is_dir(follow_symlinks=False) and names.parse_partition_dir(entry.name) is not None:
            shutil.rmtree(entry.path)
        elif entry.name in _LOG_DIR_FILES or entry.name == ADOPTING_FILE + ".tmp":
            os.remove(entry.path)
    os.remove(os.path.join(data_dir, ADOPTING_FILE))
