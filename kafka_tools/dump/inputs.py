"""The files that kafka-dump-log reads: names as in Kafka's tool, and also patterns and directories."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafka_tools.dump import index_remarks
from kafka_tools.errors import CorruptBatch, InputError, LogError
from kafka_tools.storage import names
from kafka_tools.storage.layout import PartitionFiles, partition_files, walk
from kafka_tools.storage.segment import Segment

if TYPE_CHECKING:
    from kafka_tools.dump.ranges import StartPosition

_MAGIC = frozenset("*?[")


def files_of(arguments: list[str]) -> list[str]:
    """The files to read, in order: the sorted matches of a pattern, and the files in a directory.

    The name of an existing file is never a pattern. Raises InputError, OSError.
    """
    found: list[str] = []
    for path in matches_of(arguments):
        if os.path.isdir(path):
            found += files_below(path)
        else:
            found.append(path)
    return found


def matches_of(arguments: list[str]) -> list[str]:
    """The named files and directories, and the matches of patterns. Raises InputError."""
    return [path for argument in arguments for path in _matches(argument)]


def _matches(argument: str) -> list[str]:
    if _MAGIC.isdisjoint(argument) or os.path.exists(argument):
        return [argument]
    from glob import glob

    matches = sorted(glob(argument))
    if not matches:
        raise InputError(f"no file matches '{argument}'")
    return matches


def files_below(directory: str) -> list[str]:
    """The files of a partition directory, or of every partition directory in a log directory.

    Raises OSError, and InputError if there are no files.
    """
    found = list(in_order(partition_files(directory)))
    if not found:
        found = [path for partition in walk([directory]) for path in in_order(partition)]
    if not found:
        raise InputError(
            f"no log files in directory {directory}",
            hint="give a partition's directory (orders-0), the log directory above it, or files",
        )
    return found


def in_order(partition: PartitionFiles) -> Iterator[str]:
    """A partition's files: each segment's log before its indexes, by offset; then snapshots."""
    for segment in partition.segments:
        for path in (segment.log, segment.offset_index, segment.time_index, segment.txn_index):
            if path is not None:
                yield path
    yield from partition.snapshots
    yield from partition.checkpoints


def whole_partition(directory: str) -> list[str]:
    """All files of one partition, including its leader epochs and topic id. Raises InputError, OSError."""
    if not os.path.isdir(directory):
        raise InputError(f"--partition-dir: {directory} is not a directory")
    found = list(in_order(partition_files(directory)))
    for name in (names.LEADER_EPOCHS, names.PARTITION_METADATA):
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            found.append(path)
    if not found:
        raise InputError(f"--partition-dir: no files of a partition in {directory}")
    return found


def begin_at(paths: list[str], position: StartPosition) -> list[tuple[str, int]]:
    """(path, first byte) of the files to read from ``position`` on. Raises InputError."""
    logs = [path for path in paths if path.endswith(names.LOG)]
    if not logs:
        raise InputError("--from-position needs a log: none of the files ends in .log")
    if position.base_offset is None:
        if len(logs) != 1:
            raise InputError(
                f"--from-position {position.position}: {len(logs)} logs are given",
                hint="add the base offset of the segment before the position: 5000:4096",
            )
        chosen = logs[0]
    else:
        of_base = [path for path in logs if names.base_offset_of(path) == position.base_offset]
        if len(of_base) != 1:
            raise InputError(
                f"--from-position: {len(of_base) or 'no'} log{'s start' if len(of_base) > 1 else ' starts'} at the "
                f"offset {position.base_offset}"
            )
        chosen = of_base[0]
    first = names.base_offset_of(chosen)
    return [
        (path, position.position if path == chosen else 0)
        for path in paths
        if path == chosen or first is None or (names.base_offset_of(path) is None or names.base_offset_of(path) > first)  # type: ignore[operator]
    ]


_INTEGER = re.compile(r"[+-]?[0-9]+")


def java_path(argument: str) -> str:
    """A path as ``java.io.File`` shows it: without double slashes and a slash at the end."""
    while "//" in argument:
        argument = argument.replace("//", "/")
    return argument[:-1] if len(argument) > 1 and argument.endswith("/") else argument


def java_split(files: str) -> list[str]:
    """The elements of a comma-separated list as from Java's ``split``, which ignores empty elements at the end."""
    parts = files.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def check_start(segment: Segment, start: int) -> None:
    """Raise CorruptBatch if no batch starts at byte ``start``, which may be the end of the file."""
    if start == segment.size_bytes:
        return
    if start < segment.size_bytes:
        for view in segment.walk(start, window_bytes=256 * 1024):
            if view.crc_ok():
                return
            break
    raise CorruptBatch(
        f"{segment.path}: no batch starts at byte {start} of {segment.size_bytes}",
        path=segment.path,
        position=start,
        hint="give a position that a dump of this file printed, or leave out the option",
    )


def start_of(segment: Segment, offset: int) -> int:
    """The position from which to search for ``offset``, from the offset index of the log, if there is a sound one."""
    try:
        position = index_remarks.OffsetIndexSearch(
            index_remarks.sibling(segment.path, names.INDEX), segment.base_offset
        ).position(offset)
        if not 0 < position < segment.size_bytes:
            return 0
        for view in segment.walk(position, window_bytes=256 * 1024):
            return position if view.magic == 2 and view.crc_ok() and view.base_offset <= offset else 0
    except (OSError, LogError):
        pass  # works without an index
    return 0
