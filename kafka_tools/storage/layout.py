"""Walking log directories: which partitions there are, which files they have, how big they are.

Looks at names and sizes only. Source: ``LogManager`` and ``UnifiedLog`` of Kafka.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kafka_tools.storage import names
from kafka_tools.storage.opening import is_directory, is_regular

MAX_BATCH_BYTES = 512 * 1024 * 1024
"""A larger batch is taken for damage: its bytes are never read."""
MAX_RELATIVE_OFFSET = 2**31 - 1
"""How far an offset may be from its segment's base: index entries hold the difference in 32 bits."""
FIRST_BYTES = 8 * 1024
"""How much is read at first where the next damage may be near: a file may have one in every batch."""


class SegmentFiles(NamedTuple):
    """The files of one segment; a path is None where there is no such file."""

    base_offset: int
    log: str | None = None
    offset_index: str | None = None
    time_index: str | None = None
    txn_index: str | None = None


class PartitionFiles(NamedTuple):
    """One partition directory. ``state`` is empty, or delete, future or stray."""

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
    """Files that are being removed or replaced (``.deleted``, ``.cleaned``, ``.swap``)."""
    size_bytes: int
    """Sum of the sizes of the log files."""
    others: tuple[str, ...] = ()
    """Everything else, by name: what Kafka knows (``names.PARTITION_FILES``) and what it does not."""


_FIELDS = {names.LOG: "log", names.INDEX: "offset_index", names.TIME_INDEX: "time_index", names.TXN_INDEX: "txn_index"}


def partition_files(directory: str) -> PartitionFiles:
    """The files of one partition directory, whatever the directory's name is. Raises OSError."""
    with os.scandir(directory) as entries:
        found = {entry.path: is_regular(entry) for entry in entries}
    files = arranged(directory, sorted(path for path, regular in found.items() if regular), _size_of)
    irregular = [path for path, regular in found.items() if not regular]
    return files._replace(others=tuple(sorted((*files.others, *irregular))))


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None  # a broker at work removed the segment since the directory was listed


def arranged(directory: str, paths: Iterable[str], size_of: Callable[[str], int | None]) -> PartitionFiles:
    """The files of one partition directory by their names, in the order of ``paths``.

    ``size_of``: the size of a log in bytes, None for a log that is gone. Raises OSError as ``size_of`` does.
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
"""Endings of a segment that is there, and of one that is about to take the place of others."""


class ListedAgain:
    """A partition directory that is listed a second time, when the first listing seems to lack a segment.

    While compaction puts a segment in the place of others a listing may have neither.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._base_offsets: list[int] | None = None

    def has_between(self, after: int, before: int) -> bool:
        """Whether there is a segment between two base offsets, which are neighbours in the first listing."""
        if self._base_offsets is None:
            try:
                found = [name.partition(".") for name in os.listdir(self._directory)]
            except OSError:  # which whoever reads the segments will tell
                found = []
            self._base_offsets = sorted(
                int(stem) for stem, _, rest in found if stem.isdecimal() and f".{rest}" in _HERE_OR_COMING
            )
        at = bisect_right(self._base_offsets, after)
        return at < len(self._base_offsets) and self._base_offsets[at] < before
