"""The partitions and segments of a log directory: on a disk, or in a store by one listing."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.spark.files import is_remote, list_store, normalised, size_and_identity
from kafka_tools.spark.selection import EVERYTHING, Selection
from kafka_tools.storage.layout import PartitionFiles, arranged, partition_files
from kafka_tools.storage.live import Identity
from kafka_tools.storage.names import (
    LOG_DIR_FILES,
    PARTITION_FILES,
    parse_file_name,
    parse_partition_dir,
)
from kafka_tools.storage.opening import is_directory

_OF_PARTITIONS_ONLY = frozenset(PARTITION_FILES) - frozenset(LOG_DIR_FILES)


class Range(NamedTuple):
    """The batches of a segment that start in ``[start, end)``; ``size`` is the file's when it was planned, in bytes.

    ``last_segment``: no segment of the partition follows, so that a broker may be writing at its end. ``identity``:
    which file it was planned for, None in a store: compaction may put another one in its place.
    """

    topic: str
    partition: int
    log_dir: str
    file: str
    base_offset: int
    start: int
    end: int
    size: int
    last_segment: bool
    identity: Identity | None = None


def segments(log_dir: str, topics: tuple[str, ...]) -> Iterator[Range]:
    """Every segment below ``log_dir``, which is a log directory or one partition's; each as one range.

    Directories that a broker is removing (``-delete``) or has not put in place (``-future``, ``-stray``) are left out.
    InputError if the directory cannot be read.
    """
    for found in partitions(log_dir, Selection(topics=topics)):
        yield from segments_of(log_dir, found)


def segments_of(log_dir: str, found: PartitionFiles) -> Iterator[Range]:
    """Every segment of one partition directory, each as one range."""
    logs = [(segment.base_offset, segment.log) for segment in found.segments if segment.log]
    sizes = found.sizes if isinstance(found, ListedFiles) else {}
    for base_offset, path in logs:
        try:
            size, which = (sizes[path], None) if path in sizes else size_and_identity(path)
        except FileNotFoundError:
            continue  # removed by the broker's retention since the directory was listed
        is_last = base_offset == logs[-1][0]
        yield Range(found.topic, found.partition, log_dir, path, base_offset, 0, size, size, is_last, which)


def partitions(log_dir: str, selection: Selection = EVERYTHING) -> Iterator[PartitionFiles]:
    """The selected partition directories of a log directory in use, or the one that ``log_dir`` itself is."""
    try:
        yield from (_in_store if is_remote(log_dir) else _on_disk)(log_dir, selection)
    except OSError as error:
        raise InputError(f"log directory {error.filename or log_dir}: {error.strerror or error}") from error


class ListedFiles(PartitionFiles):
    """A partition's files in a store, with the sizes that the listing told: asking for each would be a request each."""

    sizes: dict[str, int]


def is_partition(directory: str, names: Iterable[str]) -> bool:
    """Whether a directory with files of these names is a partition's.

    Its own name alone does not tell: a log directory may well be called ``broker-1``.
    """
    if parse_partition_dir(posixpath.basename(directory)) is None:
        return False
    return any(parse_file_name(name) or name in _OF_PARTITIONS_ONLY for name in names)


def is_partition_on_disk(directory: str) -> bool:
    """The same of a directory of this machine. OSError as from reading."""
    path = os.path.abspath(directory)
    with os.scandir(path) as entries:
        return is_partition(path, (entry.name for entry in entries))


def _on_disk(log_dir: str, selection: Selection) -> Iterator[PartitionFiles]:
    if is_partition_on_disk(log_dir):
        directories = [log_dir]
    else:
        with os.scandir(log_dir) as entries:
            directories = sorted(entry.path for entry in entries if is_directory(entry))
    for directory in directories:
        parsed = parse_partition_dir(os.path.basename(os.path.abspath(directory)))
        if parsed is None or parsed.state or not selection.has_partition(*parsed.topic_partition):
            continue
        try:
            yield partition_files(directory)
        except FileNotFoundError:
            if directory == log_dir:
                raise
            # The broker removed the topic since the directory was listed.
        except OSError:
            if directory == log_dir:
                raise
            # If one of many cannot be listed, the check of its files reports it.
            yield PartitionFiles(directory, *parsed.topic_partition, parsed.state, (), (), (), (), 0)


def _in_store(log_dir: str, selection: Selection) -> Iterator[PartitionFiles]:
    """One listing of everything below: far fewer requests than one for each directory."""
    log_dir = normalised(log_dir)
    directories: dict[str, dict[str, int]] = {}
    for entry in list_store(log_dir):
        directories.setdefault(posixpath.dirname(entry.path), {})[entry.path] = entry.size_bytes
    for directory, sizes in sorted(directories.items()):
        parsed = parse_partition_dir(posixpath.basename(directory))
        below = posixpath.dirname(directory) == log_dir
        itself = directory == log_dir and is_partition(directory, map(posixpath.basename, sizes))
        if (below or itself) and parsed and not parsed.state and selection.has_partition(*parsed.topic_partition):
            listed = ListedFiles(*arranged(directory, sizes, sizes.get))
            listed.sizes = sizes
            yield listed
