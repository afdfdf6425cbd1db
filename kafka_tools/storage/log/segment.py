"""One segment that a broker writes and serves: a .log file with its .index and .timeindex.

Appends go to the kernel before they return, so that a killed process loses none of them. Index entries are buffered,
because recovery rebuilds an incomplete index. Index rules as in Kafka's ``LogSegment``, ``OffsetIndex`` and
``TimeIndex``: an entry for a batch after ``index_interval_bytes`` since the last entry; time entries only with
ascending timestamps; one more time entry when the segment is sealed.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import random
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from struct import iter_unpack

from kafka_tools.errors import CorruptBatch, CorruptIndex, LogError
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.chain import (
    HEADER_BYTES,
    LEAST_LENGTH,
    MAGIC_POSITION,
    OF_FILES,
    OF_KNOWN_MAGIC,
    OFFSETS_BYTES,
    PREFIX_BYTES,
    follow,
    offsets_at,
    size_at,
)
from kafka_tools.storage.checkpoints import file_mode
from kafka_tools.storage.indexes import OFFSET_ENTRY, TIME_ENTRY, AbortedTransaction, append_entries, read_packed
from kafka_tools.storage.layout import MAX_RELATIVE_OFFSET
from kafka_tools.storage.log.file_range import FileRange, OpenFile
from kafka_tools.storage.log.identity import identity, why_gone
from kafka_tools.storage.log.syncing import sync_file
from kafka_tools.storage.names import INDEX, LOG, SNAPSHOT, TIME_INDEX, TXN_INDEX, file_name
from kafka_tools.storage.opening import refuse_others
from kafka_tools.storage.producer_files import append_aborted, read_aborted

log = logging.getLogger(__name__)

_SCAN_BYTES = 64 * 1024
_FIRST_SCAN_BYTES = 8 * 1024
"""Slightly more than the default distance between two index entries."""
_SMALLEST_BYTES = PREFIX_BYTES + LEAST_LENGTH
_PENDING_ENTRIES = 256
_MANY_BYTES = 64 * 1024
"""Bytes to read at once if batches are small."""
_HINTS = 8


class LogSegment:
    """A segment with the offsets from ``base_offset`` on; ``size`` is the length of its log in bytes.

    ``max_timestamp`` (milliseconds, -1 for none) and ``offset_of_max_timestamp`` cover appended and loaded batches.
    """

    def __init__(
        self, directory: str, base_offset: int, *, created_ms: int, preallocate_bytes: int = 0, state: str = ""
    ) -> None:
        """``state``: the suffix of its files' names while it is not part of the log (``names.STATES``)."""
        self.base_offset = base_offset
        self._stem = os.path.join(directory, file_name(base_offset, ""))
        self._name(state)
        self.created_ms = created_ms
        self.max_timestamp = -1
        self.offset_of_max_timestamp = -1
        self._first_timestamp: int | None = None
        self.roll_early = random.random()
        """The share of ``segment.jitter.ms`` by which this segment rolls early, so that not all roll at once."""
        self.torn = False
        """Whether part of a batch may be after ``size``, because a failed write could not be undone."""
        self._preallocated = False
        self._told_future = False
        self._file: OpenFile | None = None
        try:
            status = os.stat(self.path)
            refuse_others(status, self.path)
            self.size = status.st_size
        except FileNotFoundError:
            self.size = 0
            self._create(preallocate_bytes)
            status = os.stat(self.path)
        self._identity = identity(status)
        # In memory: the offset index relative to base_offset, the time index as lists.
        self._index_offsets: array[int] = array("i")
        self._index_positions: array[int] = array("i")
        self._times: list[int] = []
        self._time_offsets: list[int] = []
        self._pending: list[bytes] = []
        self._pending_times: list[bytes] = []
        self.unwritten_aborted: list[AbortedTransaction] = []
        """Entries that could not be written to the transaction index yet."""
        self._bytes_since_index = 0
        self._writes_at_once = False
        """Whether the indexes are only written when they are complete."""
        self._hints: dict[int, int] = {}

    def _name(self, state: str) -> None:
        self._state = state
        self.path = f"{self._stem}{LOG}{state}"

    # Computed on use, because stored paths of ten thousand partitions would take megabytes.
    @property
    def index_path(self) -> str:
        return f"{self._stem}{INDEX}{self._state}"

    @property
    def time_index_path(self) -> str:
        return f"{self._stem}{TIME_INDEX}{self._state}"

    @property
    def transaction_index_path(self) -> str:
        return f"{self._stem}{TXN_INDEX}{self._state}"

    def _create(self, preallocate_bytes: int) -> None:
        """Create the segment's files: all of them, or none if the disk refuses one."""
        paths = (self.path, self.index_path, self.time_index_path)
        mode = file_mode(os.path.dirname(self.path))
        try:
            for path in paths:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, mode))
            if preallocate_bytes:
                os.posix_fallocate(self.fd, 0, preallocate_bytes)
                self._preallocated = True
        except OSError:
            self.close()
            for path in paths:
                if os.path.exists(path):
                    os.remove(path)
            raise

    @property
    def fd(self) -> int:
        """The descriptor of the log file, opened on first use."""
        return self.file.fd

    @property
    def file(self) -> OpenFile:
        """The log file, which stays open as long as there is a reference to it."""
        if self._file is None:
            self._file = OpenFile(self.path)
        return self._file

    # Appending

    def append(self, buffer: bytes | bytearray | memoryview, views: Sequence[BatchView], interval_bytes: int) -> None:
        """Write batches whose offsets are final. OSError leaves the file unchanged unless ``torn``."""
        start = self.size
        self._write(buffer)
        for view in views:
            self.note(view, start + view.position, interval_bytes)

    def note(self, view: BatchView, position: int, interval_bytes: int) -> None:
        """Add a batch at ``position`` to the indexes and the time range. Rebuilding an index uses it too."""
        if view.max_timestamp > self.max_timestamp:
            self.max_timestamp = view.max_timestamp
            self.offset_of_max_timestamp = view.last_offset
        if not position:
            self._first_timestamp = view.max_timestamp
        if self._bytes_since_index > interval_bytes:
            self._add_index_entry(view.last_offset - self.base_offset, position)
            self._add_time_entry()
            self._bytes_since_index = 0
        self._bytes_since_index += view.size_bytes

    def _write(self, buffer: bytes | bytearray | memoryview) -> None:
        written, fd = 0, (self._file or self.file).fd
        try:
            written = os.pwrite(fd, buffer, self.size)
            while written < len(buffer):
                written += os.pwrite(fd, memoryview(buffer)[written:], self.size + written)
        except OSError:
            self.torn = True
            os.ftruncate(fd, self.size)  # remove the partial batch of a failed append
            self.torn = False
            raise
        self.size += written

    def _add_index_entry(self, relative_offset: int, position: int) -> None:
        if self._index_offsets and relative_offset <= self._index_offsets[-1]:
            return
        self._index_offsets.append(relative_offset)
        self._index_positions.append(position)
        self._pending.append(OFFSET_ENTRY.pack(relative_offset, position))
        if len(self._pending) >= _PENDING_ENTRIES and not self._writes_at_once:
            try:
                self.flush_indexes()
            except OSError as error:  # the batch is written, and the next flush writes the entries
                log.warning("cannot write index entries of %s, keeping them in memory: %s", self.path, error)

    def _add_time_entry(self) -> None:
        if self.max_timestamp > (self._times[-1] if self._times else -1):
            self._times.append(self.max_timestamp)
            self._time_offsets.append(self.offset_of_max_timestamp - self.base_offset)
            self._pending_times.append(TIME_ENTRY.pack(self._times[-1], self._time_offsets[-1]))

    def note_aborted(self, entry: AbortedTransaction) -> None:
        """Add an aborted transaction to the index. After an OSError, readers still get the entry, and the next write
        includes it."""
        self.unwritten_aborted.append(entry)
        self._flush_aborted()

    def _flush_aborted(self) -> None:
        append_aborted(self.transaction_index_path, self.unwritten_aborted)
        self.unwritten_aborted.clear()

    def flush_indexes(self) -> None:
        """Write buffered index entries to the kernel."""
        for path, pending in ((self.time_index_path, self._pending_times), (self.index_path, self._pending)):
            if pending or (self._writes_at_once and path == self.index_path):
                append_entries(path, b"".join(pending))
                pending.clear()
        self._writes_at_once = False
        if self.unwritten_aborted:
            self._flush_aborted()

    def seal(self) -> None:
        """End appends: add the newest timestamp to the time index, and complete the indexes."""
        self._add_time_entry()
        self.flush_indexes()
        self.give_back()

    def give_back(self) -> None:
        """Truncate unused preallocated space."""
        if self._preallocated:
            os.ftruncate(self.fd, self.size)
            self._preallocated = False

    def sync(self) -> None:
        """Flush log and indexes to the disk."""
        for path in (self.path, self.index_path, self.time_index_path, self.transaction_index_path):
            if path == self.transaction_index_path and not os.path.exists(path):
                continue
            sync_file(path)

    # Loading

    def load_indexes(self) -> None:
        """Read both index files. Raises CorruptIndex if one is missing or does not fit this segment."""
        offsets = read_packed(self.index_path, OFFSET_ENTRY)
        times = read_packed(self.time_index_path, TIME_ENTRY)
        numbers = array("i")
        numbers.frombytes(offsets)
        numbers.byteswap()
        self._index_offsets, self._index_positions = numbers[0::2], numbers[1::2]
        if not _ascending(self._index_offsets) or not _ascending(self._index_positions):
            raise CorruptIndex(f"the entries of {self.index_path} are not in ascending order", path=self.index_path)
        if self._index_positions and (self._index_offsets[0] < 0 or self._index_positions[0] < 0):
            raise CorruptIndex(f"{self.index_path} begins with a negative entry", path=self.index_path)
        if self._index_positions and self._index_positions[-1] >= self.size:
            raise CorruptIndex(f"{self.index_path} points beyond the end of its log", path=self.index_path)
        entries = list(iter_unpack(TIME_ENTRY.format, times))
        self._times = [entry[0] for entry in entries]
        self._time_offsets = [entry[1] for entry in entries]
        if not _ascending(self._times):
            raise CorruptIndex(
                f"the entries of {self.time_index_path} are not in ascending order", path=self.time_index_path
            )
        if entries:
            self.max_timestamp = self._times[-1]
            self.offset_of_max_timestamp = self.base_offset + self._time_offsets[-1]

    def reset_indexes(self, *, at_once: bool = False) -> None:
        """Clear both indexes; ``note`` fills them again. With ``at_once`` they are written when the segment is sealed.
        Until then there is no offset index, so that a start after a kill rebuilds it again."""
        mode = file_mode(os.path.dirname(self.path))
        self._writes_at_once = at_once
        if at_once and os.path.exists(self.index_path):
            os.remove(self.index_path)
        for path in (self.time_index_path,) if at_once else (self.index_path, self.time_index_path):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode))
        self._index_offsets, self._index_positions = array("i"), array("i")
        self._times, self._time_offsets = [], []
        self._pending.clear()
        self._pending_times.clear()
        self._bytes_since_index = 0
        self._hints.clear()
        self.max_timestamp = self.offset_of_max_timestamp = -1
        self._first_timestamp = None

    def truncate(self, size: int) -> None:
        """Truncate the log to ``size`` bytes; the caller resets the indexes. Raises LogError if the log is shorter."""
        if not 0 <= size <= self.size:
            raise LogError(
                f"Attempt to truncate log segment {self.path} to {size} bytes failed,  size of this log segment is "
                f"{self.size} bytes.",
                path=self.path,
            )
        os.ftruncate(self.fd, size)
        self.size = size
        self._preallocated = False
        self._hints.clear()

    # Reading

    def position_of(self, offset: int) -> int:
        """The position of the first batch with records at or after ``offset``; ``size`` if there is none."""
        hint = self._hints.get(offset)
        if hint is not None:
            return hint
        return self._scan(self._indexed_position(offset), offset)

    @property
    def last_indexed_position(self) -> int:
        """The position of the batch of the last index entry, 0 without entries."""
        return self._index_positions[-1] if self._index_positions else 0

    def indexed_position_before(self, position: int) -> int:
        """The start of a batch at or before ``position``."""
        at = bisect_right(self._index_positions, position) - 1
        return self._index_positions[at] if at >= 0 else 0

    def _scan(self, position: int, offset: int) -> int:
        scan_bytes = _FIRST_SCAN_BYTES
        while position < self.size:
            data, starts, behind = self._headers(position, self.size, scan_bytes)
            found = bisect_left(starts, offset, key=lambda at: offsets_at(data, at)[1])
            if found < len(starts):
                return position + starts[found]
            if not starts:
                raise self._corrupt(position, f"the remaining {self.size - position} bytes are not a complete batch")
            position += behind
            scan_bytes = _SCAN_BYTES
        return self.size

    def _corrupt(self, position: int, text: str) -> CorruptBatch:
        return CorruptBatch(f"{self.path} at {position}: {text}", path=self.path, position=position)

    def _headers(self, position: int, end: int, scan_bytes: int) -> tuple[bytes, list[int], int]:
        """(bytes from ``position`` on, starts of batches in them that end by ``end``, end of the last one).

        The bytes of the last batch need to contain only its offsets. Raises CorruptBatch if no batch starts there.
        """
        data = os.pread(self.fd, min(scan_bytes, self.size - position), position)
        starts, behind = follow(data, 0, end - position)
        if starts and starts[-1] + OFFSETS_BYTES > len(data):
            behind = starts.pop()
        if not starts:
            self._refuse(data, position)
        return data, starts, behind

    def _refuse(self, data: bytes, position: int) -> None:
        """Raise CorruptBatch if ``data``, read from ``position`` on, begins with an impossible length."""
        if len(data) > MAGIC_POSITION and (length := size_at(data) - PREFIX_BYTES) < OF_FILES[data[MAGIC_POSITION]]:
            raise self._corrupt(position, f"batch length {length}")

    def read(self, position: int, max_bytes: int, limit_offset: int | None, *, whole_first: bool) -> tuple[bytes, int]:
        """(whole batches, offset after them) from ``position``, at most ``max_bytes``.

        With ``whole_first`` the result contains the whole first batch, regardless of its size. Excludes batches that
        start at or after ``limit_offset``. The offset is -1 if nothing was read.
        """
        left = self.size - position
        data = os.pread(self.fd, max(min(max_bytes, left), 0), position)
        if whole_first and len(data) < OFFSETS_BYTES <= left:
            data = os.pread(self.fd, OFFSETS_BYTES, position)
        starts, at = follow(data)
        if not starts and len(data) >= OFFSETS_BYTES:
            self._refuse(data, position)
            if whole_first and size_at(data) <= left:
                data = os.pread(self.fd, size_at(data), position)
                starts, at = follow(data)
        at = _before(limit_offset, data, starts, at)
        if not starts:
            return b"", -1
        next_offset = offsets_at(data, starts[-1])[1] + 1
        self._hint(next_offset, position + at)
        return (data if at == len(data) else data[:at]), next_offset

    def range(self, position: int, max_bytes: int, limit_offset: int | None) -> FileRange | None:
        """The file range whose bytes ``read`` would return, to read later: as many whole batches as fit. None if not
        even one fits.

        Finds the end with the index, so it reads only the last few batches of a large range.
        """
        most = position + min(max_bytes, self.size - position)
        at, next_offset = max(position, self.indexed_position_before(most)), -1
        if limit_offset is not None:
            at = min(at, max(position, self._indexed_position(limit_offset)))
        scan_bytes = _FIRST_SCAN_BYTES
        while at + _SMALLEST_BYTES <= most:
            data, starts, behind = self._headers(at, most, scan_bytes)
            shown = _before(limit_offset, data, starts, behind)
            if starts:
                next_offset = offsets_at(data, starts[-1])[1] + 1
                at += shown
            if not starts or shown < behind or behind + OFFSETS_BYTES <= len(data):
                break
            scan_bytes = _SCAN_BYTES
        if next_offset >= 0:
            self._hint(next_offset, at)
        return FileRange(self.file, position, at - position) if at > position else None

    def _indexed_position(self, offset: int) -> int:
        """The start of a batch at or before the one with ``offset``."""
        at = bisect_right(self._index_offsets, offset - self.base_offset) - 1
        return self._index_positions[at] if at >= 0 else 0

    def _hint(self, offset: int, position: int) -> None:
        """Remember the position after a read, because readers come back for it."""
        hints = self._hints
        if len(hints) >= _HINTS:
            del hints[next(iter(hints))]
        hints[offset] = position

    def walk(self, position: int = 0) -> Iterator[tuple[int, BatchView]]:
        """(position, batch) from ``position`` to the end. Raises CorruptBatch at the first bad length or magic.

        Many small batches are read together, and share one buffer.
        """
        size_bytes = 0
        while position < self.size:
            starts: list[int] = []
            if size_bytes <= _MANY_BYTES // 4:
                data = os.pread(self.fd, min(_MANY_BYTES, self.size - position), position)
                starts, _ = follow(data, least=OF_KNOWN_MAGIC)
            if not starts:  # a large batch, or no batch
                data = self._read_batch(position)
                starts.append(next(batches(data)).position)
            begin = position
            for start in starts:
                view = BatchView(data, start, begin + start)
                size_bytes = view.size_bytes
                yield begin + start, view
                position = begin + start + size_bytes

    def walk_headers(self, position: int = 0) -> Iterator[tuple[int, BatchView]]:
        """As ``walk``, but reads only the header of batches that are not control batches."""
        while position < self.size:
            head = os.pread(self.fd, HEADER_BYTES, position)
            view = None
            if len(head) == HEADER_BYTES and head[MAGIC_POSITION] == 2:
                self._refuse(head, position)
                view = BatchView(head, 0)
                if view.size_bytes > self.size - position:
                    raise self._corrupt(position, f"a batch of {view.size_bytes} bytes extends beyond the end")
            if view is None or view.is_control:
                view = next(batches(self._read_batch(position)))
            yield position, view
            position += view.size_bytes

    def _read_batch(self, position: int) -> bytes:
        head = os.pread(self.fd, PREFIX_BYTES, position)
        left = self.size - position
        size_bytes = size_at(head) if len(head) == PREFIX_BYTES else 0
        if not _SMALLEST_BYTES <= size_bytes <= left:
            raise self._corrupt(position, f"a batch of {size_bytes} bytes is longer than the remaining {left} bytes")
        data = os.pread(self.fd, size_bytes, position)
        if len(data) < size_bytes:
            raise self._corrupt(position, "the file ends there")
        return data

    def first_offset_by_time(self, timestamp: int) -> int:
        """The position from which to search for the first batch with ``max_timestamp >= timestamp``."""
        at = bisect_right(self._times, timestamp - 1) - 1
        if at < 0:
            return 0
        return self._indexed_position(self.base_offset + self._time_offsets[at])

    def close(self) -> None:
        """Release the file, unchanged. File ranges that are still being sent keep it open."""
        if self._file is not None:
            self._file.keeps_name = False
        self._file = None

    def hold(self) -> None:
        """Keep reading the current log file, even if its name changes."""
        self.file.keeps_name = False

    def why_gone(self) -> str | None:
        """The reason why the log file is not at its path: it was removed, moved or replaced. None if it is there."""
        return why_gone(self.path, self._identity)

    def files(self, state: str = "") -> list[str]:
        """All files to delete together with the segment; ``state`` as in the constructor."""
        suffixes = (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT)
        return [f"{self._stem}{suffix}{state}" for suffix in suffixes]

    def rename(self, state: str) -> None:
        """Give the files another state, the log first. Raises OSError."""
        before, after = (self.path, *self._indexes()), self.files(state)
        for old, new in zip(before, after, strict=False):
            if os.path.exists(old):
                os.replace(old, new)
        self._name(state)

    def _indexes(self) -> tuple[str, str, str]:
        return self.index_path, self.time_index_path, self.transaction_index_path

    def modified_ms(self) -> int:
        """The time of the last write of the log file, in milliseconds since the epoch. Raises OSError."""
        return os.stat(self.path).st_mtime_ns // 1_000_000

    def set_modified(self, time_ns: int) -> None:
        """Set the time of the last write of log and indexes, in nanoseconds since the epoch. Raises OSError."""
        for path in (self.path, self.index_path, self.time_index_path):
            os.utime(path, ns=(time_ns, time_ns))

    # Whole segments

    @property
    def largest_timestamp(self) -> int:
        """The newest timestamp in milliseconds. Without timestamps, the time of the last write. Raises OSError."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_ms()

    def tell_future(self, now_ms: int) -> None:
        """Log once that a timestamp is in the future: retention by time does not delete the segment until then."""
        if not self._told_future:
            self._told_future = True
            log.warning(
                "%s has a timestamp %d s in the future: until then retention by time does not remove it",
                self.path, (self.largest_timestamp - now_ms) // 1000,
            )  # fmt: skip

    def first_batch_timestamp(self) -> int:
        """The newest timestamp of the first batch, which determines the segment's age; -1 for none."""
        if self._first_timestamp is None:
            first = next(self.walk_headers(), None)
            if first is None:
                return -1
            self._first_timestamp = first[1].max_timestamp
        return self._first_timestamp

    def fills_index(self, limit_bytes: int) -> bool:
        """Whether an index of ``limit_bytes`` has no space for another entry (in the time index, and the last one)."""
        return (
            len(self._index_offsets) >= limit_bytes // OFFSET_ENTRY.size
            or len(self._times) >= limit_bytes // TIME_ENTRY.size - 1
        )

    @property
    def index_bytes(self) -> int:
        return len(self._index_offsets) * OFFSET_ENTRY.size

    @property
    def time_index_bytes(self) -> int:
        return len(self._times) * TIME_ENTRY.size

    def end_offset(self, *, sound: bool = False) -> int:
        """The offset after the last batch. Reads only headers, from the last index entry on.

        Raises CorruptBatch if the last batch does not end at the end of the file, or offsets do not ascend. With
        ``sound`` also if its CRC does not match.
        """
        position, end_offset, last = self.last_indexed_position, self.base_offset, -1
        while position < self.size:
            data, starts, behind = self._headers(position, self.size, _FIRST_SCAN_BYTES)
            if not starts:
                raise self._corrupt(position, f"the remaining {self.size - position} bytes are not a complete batch")
            for at in starts:
                first_offset, last_offset = offsets_at(data, at)
                if not end_offset <= first_offset <= last_offset <= self.base_offset + MAX_RELATIVE_OFFSET:
                    raise self._corrupt(position + at, f"offset {first_offset} follows {end_offset - 1}")
                end_offset, last = last_offset + 1, position + at
            position += behind
        if sound and last >= 0 and not next(batches(self._read_batch(last))).crc_ok():
            raise self._corrupt(last, "the CRC of the last batch does not match")
        return end_offset

    def offset_behind(self, position: int) -> int | None:
        """The first offset in the index whose position is not before ``position``; None if there is none."""
        at = bisect_left(self._index_positions, position)
        return self.base_offset + self._index_offsets[at] if at < len(self._index_positions) else None

    def aborted_entries(self, first_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """The entries of the transaction index for a range of offsets, and whether no later segment has any.

        Raises OSError, CorruptIndex.
        """
        return read_aborted(self.transaction_index_path, first_offset, end_offset, self.unwritten_aborted)


def remove_files(paths: Sequence[str]) -> None:
    """Remove files, and ignore missing ones. Raises OSError."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def _before(limit_offset: int | None, data: bytes, starts: list[int], behind: int) -> int:
    """Keep only the batches in ``starts`` that begin before an offset. Returns the end of the last one."""
    if limit_offset is not None:
        shown = bisect_left(starts, limit_offset, key=lambda at: offsets_at(data, at)[0])
        if shown < len(starts):
            behind = starts[shown]
            del starts[shown:]
    return behind


def _ascending(values: array[int] | list[int]) -> bool:
    return all(a < b for a, b in itertools.pairwise(values))
