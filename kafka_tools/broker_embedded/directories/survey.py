"""Checks whether a directory is, or may become, a log directory of this broker. Nothing is changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence

from kafka_tools.errors import ConfigError, CorruptIndex
from kafka_tools.storage.checkpoints import (
    MetaProperties,
    read_meta_properties,
)
from kafka_tools.storage.names import (
    BOOTSTRAP_CHECKPOINT,
    LOCK,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    QUORUM_STATE,
    checkpoint_name,
    parse_partition_dir,
)

ADOPTING_FILE = "meta.properties.adopting"
"""The name of meta.properties while an adoption (``adoption``) is in progress."""
WRITTEN_BY = "kafka_tools"
WRITTEN_BY_KEY = "written.by"
FIRST_SNAPSHOT = os.path.join(METADATA_DIRECTORY, checkpoint_name(0, 0))
"""The snapshot that formatting writes: the first voters (KIP-853) and, since Kafka 4.4, the first records."""
_OF_THE_FILE_SYSTEM = frozenset({"lost+found"})
_FIRST_START = frozenset({LOCK, META_PROPERTIES + ".tmp"})
_FORMATTED = _FIRST_START | {META_PROPERTIES, BOOTSTRAP_CHECKPOINT}
_NAMES_SHOWN = 3
_GIVE_ANOTHER = "pass an empty or new directory with --data-dir (log.dirs)"


def survey(path: str, *, formatted: bool = False) -> MetaProperties | None:
    """The meta.properties of a directory of this broker; None for a directory that is empty or does not exist.

    ``formatted``: also accept a formatted directory on which no broker has started; ``is_ours`` distinguishes it.
    Changes nothing. Raises ConfigError for anything else.
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISDIR(mode):
            raise ConfigError(f"the data directory {path} is {_kind(mode)}, not a directory", hint=_GIVE_ANOTHER)
        names = set(os.listdir(path)) - _OF_THE_FILE_SYSTEM
        if META_PROPERTIES in names:
            return _survey_meta(path, formatted)
        if ADOPTING_FILE in names:
            raise ConfigError(
                f"the adoption of a Kafka directory into {path} was not completed",
                hint="start with --adopt again; the adoption then starts from the beginning",
            )
        # A first start that was killed before it wrote meta.properties leaves only these files.
        unfinished = _contains_only(path, names, _FIRST_START)
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
            f"the data directory {path} is not empty and does not belong to this broker (it has no {META_PROPERTIES}): "
            f"it contains {', '.join(sorted(names)[:_NAMES_SHOWN])}{more}",
            hint=f"{_GIVE_ANOTHER}; nothing in this directory was changed",
        )
    return None


def _contains_only(path: str, names: Collection[str], allowed: Collection[str]) -> bool:
    """Whether a directory contains only files with allowed names. A lock file must be empty."""
    if not set(names) <= set(allowed):
        return False
    found = {name: os.lstat(os.path.join(path, name)) for name in names}
    is_locked = LOCK in found and found[LOCK].st_size > 0
    return not is_locked and all(stat.S_ISREG(entry.st_mode) for entry in found.values())


def is_ours(meta: MetaProperties) -> bool:
    """Whether this broker wrote the meta.properties; otherwise the directory was only formatted."""
    return meta.others.get(WRITTEN_BY_KEY) == WRITTEN_BY


def kafka_worked_on(path: str) -> bool:
    """Whether Apache Kafka has used the metadata log in a directory: only Kafka writes the state of the quorum."""
    return os.path.lexists(os.path.join(path, METADATA_DIRECTORY, QUORUM_STATE))


def is_only_formatted(path: str) -> bool:
    """Whether a directory with meta.properties contains only files that ``kafka-storage format`` writes."""
    names = set(os.listdir(path)) - _OF_THE_FILE_SYSTEM
    if METADATA_DIRECTORY in names:
        names.remove(METADATA_DIRECTORY)
        place = os.path.join(path, METADATA_DIRECTORY)
        if not stat.S_ISDIR(os.lstat(place).st_mode):
            return False
        if not _contains_only(place, os.listdir(place), {os.path.basename(FIRST_SNAPSHOT)}):
            return False
    return _contains_only(path, names, _FORMATTED)


def _survey_meta(path: str, formatted: bool) -> MetaProperties:
    meta_path = os.path.join(path, META_PROPERTIES)
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
        f"Apache Kafka used the directory after this broker ({METADATA_DIRECTORY} has {QUORUM_STATE})"
        if is_ours(found)
        else f"this broker did not write its {META_PROPERTIES} (cluster {found.cluster_id}, node {found.node_id})"
    )
    raise ConfigError(
        f"the data directory {path} contains the logs of another broker, Apache Kafka: {why}",
        hint=f"serve a copy of it with --adopt {path}, or {_GIVE_ANOTHER}; nothing in it was changed",
    )


def agreed(found: Sequence[tuple[str, MetaProperties | None]], node_id: int, cluster_id: str | None) -> str | None:
    """The cluster of all directories; None if it is unknown. Raises ConfigError if they differ."""
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
    """The paths, absolute. Raises ConfigError for no path, an empty one, a duplicate, or one within another."""
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
    """The longest existing part of a path."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def cannot_be_used(error: OSError, paths: Sequence[str]) -> str:
    """The error text for an OSError in one of the log directories."""
    file = str(error.filename or "")
    path = next((path for path in paths if file.startswith(path)), ", ".join(paths))
    return f"cannot use data directory {path}: {f'{file}: ' if file else ''}{error.strerror or error}"


def has_logs(path: str) -> bool:
    """Whether the directory contains directories of partitions."""
    return any(entry.is_dir() and parse_partition_dir(entry.name) for entry in os.scandir(path))
