"""Walks log directories: their partitions, and the files and sizes of each.

Reads only names and sizes. Source: ``LogManager`` and ``UnifiedLog`` of Kafka.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kafka_tools.storage import names
from kafka_tools.storage.opening import is_directory, is_regular

MAX_BATCH_BYTES = 512 * 1024 * 1024
"""A larger batch counts as damage, and its bytes are never read."""
MAX_RELATIVE_OFFSET = 2**31 - 1
"""The maximum distance of an offset from its segment's base: index entries store the difference in 32 bits."""
FIRST_BYTES = 8 * 1024
"""The size of the first read after damage, because more damage may be near: every batch of a file may be damaged."""


class SegmentFiles(NamedTuple):
    """The files of one segment; the path of a missing file is None."""

    base_offset: int
    log: str | None = None
    offset_index: str | None = None
    time_index: str | None = None
    txn_index: str | None = None


class PartitionFiles(NamedTuple):
    """One partition directory. ``state`` is empty, delete, future or stray."""

    directory: str
    topic: str
    partition: int
    state: str
    segments: tuple[SegmentFiles, ...]
    """Ascending by base offset."""
    snapshots: tuple[str, ...]
    """Producer snapshots, ascending."""
    checkpoints: tuple[str, ...]
    """KRaft snapshots, ascending."""
    leftovers: tuple[str, ...]
    """Files that a broker was removing or replacing (``.deleted``, ``.cleaned``, ``.swap``)."""
    size_bytes: int
    """Sum of the sizes of the log files."""
    others: tuple[str, ...] = ()
    """All other files by name: files that Kafka knows (``names.PARTITION_FILES``), and unknown ones."""


_FIELDS = {names.LOG: "log", names.INDEX: "offset_index", names.TIME_INDEX: "time_index", names.TXN_INDEX: "txn_index"}


def partition_files(directory: str) -> PartitionFiles:
    """The files of one partition directory, which may have any name. Raises OSError."""
    with os.scandir(directory) as entries:
        found = {entry.path: is_regular(entry) for entry in entries}
    files = arranged(directory, sorted(path for path, regular in found.items() if regular), _size_of)
    irregular = [path for path, regular in found.items() if not regular]
    return files._replace(others=tuple(sorted((*files.others, *irregular))))


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None  # a running broker removed the segment since the directory was listed


def arranged(directory: str, paths: Iterable[str], size_of: Callable[[str], int | None]) -> PartitionFiles:
    """The files of one partition directory by their names, in the order of ``paths``.

    ``size_of``: the size of a log in bytes, None for a log that no longer exists. Raises OSError as ``size_of`` does.
    """
    parsed = names.parse_partition_dir(os.path.basename(os.path.abspath(directory)))
    segments: dict[int, dict[str, str]] = {}
    rest: dict[str, list[str]] = {kind: [] for kind in (names.SNAPSHOT, names.CHECKPOINT, "leftover", "other")}
    size_bytes = 0
    for path in paths:
        name = names.parse_file_name(os.path.basename(path))
        if name is None or name.state:
            rest["leftover" if name else "other"].append(path)
        elif name.suffix in _FIELDS:
            size = size_of(path) if name.suffix == names.LOG else 0
            if size is not None:
                size_bytes += size
                segments.setdefault(name.base_offset, {})[_FIELDS[name.suffix]] = path
        else:
            rest[name.suffix].append(path)
    return PartitionFiles(
        directory,
        parsed.topic_partition.topic if parsed else os.path.basename(os.path.abspath(directory)),
        parsed.topic_partition.partition if parsed else -1,
        parsed.state if parsed else "",
        tuple(SegmentFiles(offset, **segments[offset]) for offset in sorted(segments)),
        tuple(rest[names.SNAPSHOT]),
        tuple(rest[names.CHECKPOINT]),
        tuple(rest["leftover"]),
        size_bytes,
        tuple(rest["other"]),
    )


def walk(log_dirs: Iterable[str]) -> Iterator[PartitionFiles]:
    """Every partition directory below the log directories, sorted by name in each. Raises OSError."""
    for log_dir in log_dirs:
        with os.scandir(log_dir) as entries:
            found = sorted(
                entry.path
                for entry in entries
                if is_directory(entry) and names.parse_partition_dir(entry.name) is not None
            )
        for directory in found:
            yield partition_files(directory)


_HERE_OR_COMING = (names.LOG, names.LOG + ".swap")
"""Suffixes of a segment, and of a segment that is about to replace others."""


class ListedAgain:
    """Lists a partition directory again, if the first listing seems to lack a segment.

    While compaction replaces segments by another one, a listing may contain neither.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._base_offsets: list[int] | None = None

    def has_between(self, after: int, before: int) -> bool:
        """Whether a segment exists between two base offsets that are neighbours in the first listing."""
        if self._base_offsets is None:
            try:
                found = [name.partition(".") for name in os.listdir(self._directory)]
            except OSError:  # the reader of the segments reports it
                found = []
            self._base_offsets = sorted(
                int(stem) for stem, _, rest in found if stem.isdecimal() and f".{rest}" in _HERE_OR_COMING
            )
        at = bisect_right(self._base_offsets, after)
        return at < len(self._base_offsets) and self._base_offsets[at] < before
