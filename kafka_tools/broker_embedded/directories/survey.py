"""Whether a directory may become, or is, a log directory of ours: looked at and left alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence

from kafka_tools.errors import ConfigError, CorruptIndex
from kafka_tools.protocol.enums import CLUSTER_METADATA
from kafka_tools.storage.checkpoints import (
    MetaProperties,
    read_meta_properties,
)
from kafka_tools.storage.names import BOOTSTRAP_CHECKPOINT, QUORUM_STATE, checkpoint_name, parse_partition_dir

META_FILE = "meta.properties"
ADOPTING_FILE = "meta.properties.adopting"
"""The name of meta.properties until an adoption (``adoption``) is complete."""
LOCK_FILE = ".lock"
WRITTEN_BY = "kafka_tools"
WRITTEN_BY_KEY = "written.by"
METADATA_DIRECTORY = f"{CLUSTER_METADATA}-0"
"""Where the state of the cluster is, in one of the directories: the one name here that no topic may have."""
FIRST_SNAPSHOT = os.path.join(METADATA_DIRECTORY, checkpoint_name(0, 0))
"""The snapshot that formatting writes: the first voters (KIP-853) and, since Kafka 4.4, the first records."""
_OF_THE_FILE_SYSTEM = frozenset({"lost+found"})
_FIRST_START = frozenset({LOCK_FILE, META_FILE + ".tmp"})
_FORMATTED = _FIRST_START | {META_FILE, BOOTSTRAP_CHECKPOINT, METADATA_DIRECTORY}
_NAMES_SHOWN = 3
_GIVE_ANOTHER = "pass an empty or new directory with --data-dir (log.dirs)"


def survey(path: str, *, formatted: bool = False) -> MetaProperties | None:
    """The meta.properties of a directory of this broker; None for a directory that is empty or does not exist.

    ``formatted``: also accept one that was formatted and on which no broker has started; ``is_ours`` tells the two
    apart. Changes nothing. Raises ConfigError for anything else.
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISDIR(mode):
            raise ConfigError(f"the data directory {path} is {_kind(mode)}, not a directory", hint=_GIVE_ANOTHER)
        names = set(os.listdir(path)) - _OF_THE_FILE_SYSTEM
        if META_FILE in names:
            return _survey_meta(path, formatted)
        if ADOPTING_FILE in names:
            raise ConfigError(
                f"the adoption of a Kafka directory into {path} was not completed",
                hint="start with --adopt again; the adoption then starts from the beginning",
            )
        unfinished = _is_unfinished_start(path, names)
    except FileNotFoundError:
        if os.path.islink(path):
            target = os.readlink(path)
            raise ConfigError(f"the data directory {path} is a link to {target}, which does not exist") from None
        return None
    except NotADirectoryError as error:
        raise ConfigError(f"cannot create data directory {path}: {file_above(path)} is not a directory") from error
    except OSError as error:
        raise ConfigError(f"cannot read data directory {path}: {error.strerror}") from error
    if names and not unfinished:
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        raise ConfigError(
            f"the data directory {path} is not empty and does not belong to this broker (it has no {META_FILE}): "
            f"it contains {', '.join(sorted(names)[:_NAMES_SHOWN])}{more}",
            hint=f"{_GIVE_ANOTHER}; nothing in this directory was changed",
        )
    return None


def _is_unfinished_start(path: str, names: Collection[str]) -> bool:
    """Whether these are what a first start leaves that ended before it had written meta.properties."""
    if not set(names) <= _FIRST_START:
        return False
    found = {name: os.lstat(os.path.join(path, name)) for name in names}
    if not all(stat.S_ISREG(entry.st_mode) for entry in found.values()):
        return False
    return LOCK_FILE not in found or found[LOCK_FILE].st_size == 0  # a loss of power may leave the other file alone


def is_ours(meta: MetaProperties) -> bool:
    """Whether this broker wrote the meta.properties; otherwise the directory was only formatted."""
    return meta.others.get(WRITTEN_BY_KEY) == WRITTEN_BY


def kafka_worked_on(path: str) -> bool:
    """Whether Apache Kafka keeps the metadata log in a directory: its quorum's state, which this broker has none of."""
    return os.path.lexists(os.path.join(path, METADATA_DIRECTORY, QUORUM_STATE))


def is_only_formatted(path: str) -> bool:
    """Whether a directory with meta.properties holds only files that ``kafka-storage format`` writes."""
    names = set(os.listdir(path)) - _OF_THE_FILE_SYSTEM
    if not names <= _FORMATTED:
        return False
    for name in names:
        entry = os.lstat(os.path.join(path, name))
        if not (stat.S_ISDIR if name == METADATA_DIRECTORY else stat.S_ISREG)(entry.st_mode):
            return False
        if name == LOCK_FILE and entry.st_size:
            return False
    if METADATA_DIRECTORY not in names:
        return True
    inner = os.listdir(os.path.join(path, METADATA_DIRECTORY))
    return set(inner) <= {os.path.basename(FIRST_SNAPSHOT)} and all(
        stat.S_ISREG(os.lstat(os.path.join(path, METADATA_DIRECTORY, name)).st_mode) for name in inner
    )


def _survey_meta(path: str, formatted: bool) -> MetaProperties:
    meta_path = os.path.join(path, META_FILE)
    if not stat.S_ISREG(os.stat(meta_path).st_mode):
        raise ConfigError(f"{meta_path} is not a file", hint=_GIVE_ANOTHER)
    try:
        found = read_meta_properties(meta_path)
    except CorruptIndex as error:
        raise ConfigError(
            f"the data directory {path} does not belong to this broker: {error}", hint=_GIVE_ANOTHER
        ) from error
    if is_ours(found) and not kafka_worked_on(path):
        return found
    if found.version == 1 and is_only_formatted(path):
        if formatted:
            return found
        raise ConfigError(
            f"the data directory {path} was formatted (cluster {found.cluster_id}, node {found.node_id}), but no "
            "broker has started on it yet",
            hint=f"start on it with kafka-tools broker run --data-dir {path}; nothing in it was changed",
        )
    why = (
        f"Apache Kafka has used it since this broker did ({METADATA_DIRECTORY} has {QUORUM_STATE})"
        if is_ours(found)
        else f"this broker did not write its {META_FILE} (cluster {found.cluster_id}, node {found.node_id})"
    )
    raise ConfigError(
        f"the data directory {path} contains the logs of another broker, Apache Kafka: {why}",
        hint=f"serve a copy of it with --adopt {path}, or {_GIVE_ANOTHER}; nothing in it was changed",
    )


def agreed(found: Sequence[tuple[str, MetaProperties | None]], node_id: int, cluster_id: str | None) -> str | None:
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


def distinct(paths: Sequence[str]) -> list[str]:
    """The paths, absolute. Raises ConfigError for none, an empty one, one that is there twice or within another."""
    if not paths or not all(paths):
        raise ConfigError("invalid data directory: empty directory name", hint=_GIVE_ANOTHER)
    found: dict[str, str] = {}
    for path in paths:
        if "\0" in path:
            raise ConfigError(f"invalid data directory {path!r}: expected a path")
        real = os.path.realpath(path)
        for other_real, other in found.items():
            if real == other_real:
                raise ConfigError(f"log.dirs: duplicate directory: {other} and {path}")
            outer, inner = sorted((real, other_real), key=len)
            if os.path.commonpath((outer, inner)) == outer:
                raise ConfigError(f"log.dirs: one directory contains the other: {other} and {path}")
        found[real] = path
    return [os.path.abspath(path) for path in paths]


def _kind(mode: int) -> str:
    kinds = {stat.S_IFREG: "a file", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def file_above(path: str) -> str:
    """The part of a path that is in the way of a directory."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def cannot_be_used(error: OSError, paths: Sequence[str]) -> str:
    """The sentence for what the operating system refused in one of the log directories."""
    file = str(error.filename or "")
    path = next((path for path in paths if file.startswith(path)), ", ".join(paths))
    return f"cannot use data directory {path}: {f'{file}: ' if file else ''}{error.strerror or error}"


def has_logs(path: str) -> bool:
    """Whether directories of partitions are in it."""
    return any(entry.is_dir() and parse_partition_dir(entry.name) for entry in os.scandir(path))
