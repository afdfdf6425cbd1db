"""Offset, time and transaction index files, read and written.

Layouts of Kafka's ``OffsetIndex`` (relative offset, position), ``TimeIndex`` (timestamp, relative offset) and
``TransactionIndex`` (version, producer id, first, last and last stable offset); big-endian, entries without gaps.
After a crash, a preallocated file ends in zero entries.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from struct import Struct
from struct import error as struct_error
from typing import NamedTuple

from kafka_tools.closing import Closing
from kafka_tools.errors import CorruptIndex
from kafka_tools.storage.checkpoints import file_mode
from kafka_tools.storage.opening import open_file, open_index

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")
TXN_ENTRY = Struct(">hqqqq")
TXN_VERSION = 0

MAX_INDEX_BYTES = 256 * 1024 * 1024
"""The maximum size of an index to read into memory. A broker's default is 10 MiB (``segment.index.bytes``)."""

_READ_BYTES = 1024 * 1024
_TAIL_BYTES = 4096
_TXN_BYTES = 128 * TXN_ENTRY.size
"""The bytes of a .txnindex to read at a time."""
_ZEROS = bytes(_READ_BYTES)


class OffsetEntry(NamedTuple):
    """A batch whose last offset is ``offset`` starts at byte ``position`` of the log."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """No record up to ``offset`` has a timestamp above ``timestamp`` (ms)."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """An entry of a .txnindex."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def whole_entries(path: str, layout: Struct) -> Iterator[tuple[int, ...]]:
    """The complete entries of a file, read in pieces of a megabyte. Raises OSError."""
    with open(open_index(path), "rb") as file:
        whole = _READ_BYTES - _READ_BYTES % layout.size
        while data := file.read(whole):
            yield from layout.iter_unpack(data[: len(data) - len(data) % layout.size])


class Index(Closing):
    """The entries of an index, independent of the place of its bytes. A context manager.

    A broker maps the index of its active segment at full size: zeros follow the entries, and the broker writes the
    newest entry field by field. ``size_bytes`` is the file's size; ``written_bytes`` ends at the last whole entry.
    """

    def __init__(self, path: str, layout: Struct, size_bytes: int, *, padded: bool = True) -> None:
        """``padded``: the file may end in zeros that are not entries."""
        self.path = path
        self._layout = layout
        self._padded = padded
        self.size_bytes = size_bytes
        self.written_bytes = self._written_bytes()

    @abstractmethod
    def _read(self, size_bytes: int, position: int) -> bytes:
        """``size_bytes`` bytes from ``position`` on, fewer at the end."""

    def grow(self) -> bool:
        """Include the entries that were appended since. True if the file has grown."""
        return False

    def entries(self, start: int = 0) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(position in the file, entry) from ``start`` on, up to the zeros at the end.

        A first entry of zeros counts as not written, as in an index that was only preallocated. An incomplete last
        entry is omitted.
        """
        size = self._layout.size
        piece_bytes = _READ_BYTES - _READ_BYTES % size
        end = self.written_bytes - self.written_bytes % size
        position = start
        while position < end:
            data = self._read(min(piece_bytes, end - position), position)
            if len(data) < size:
                return  # the broker truncated the file
            for at, entry in enumerate(self._layout.iter_unpack(data[: len(data) - len(data) % size])):
                if any(entry) or not self._padded:
                    yield position + at * size, entry
                elif position + at:
                    return
            position += len(data) - len(data) % size

    def nonzero_from(self, position: int) -> int | None:
        """The position of the first byte other than zero from ``position`` on. None if there is none."""
        while position < self.written_bytes:
            data = self._read(min(_READ_BYTES, self.written_bytes - position), position)
            if not data:
                return None
            if not _all_zeros(data):
                return position + len(data) - len(data.lstrip(b"\x00"))
            position += len(data)
        return None

    def _written_bytes(self) -> int:
        """The size without the zeros at the end, in whole entries. Excludes an entry that is still being written."""
        if not self._padded:
            return self.size_bytes
        end, want = self.size_bytes, _TAIL_BYTES
        while end:
            start = max(0, end - want)
            data = self._read(end - start, start)
            if not _all_zeros(data):
                end = start + len(data.rstrip(b"\x00"))
                break
            end, want = start, _READ_BYTES
        size = self._layout.size
        end = min(end + -end % size, self.size_bytes)
        last = end - size
        if last >= 0 and end % size == 0 and self.size_bytes - end >= size:
            entry = self._read(size, last)
            if len(entry) == size and not self._layout.unpack(entry)[-1]:
                return last
        return end


def _all_zeros(data: bytes) -> bool:
    """Whether a piece of at most _READ_BYTES contains only zeros.

    ``strip`` takes 500 times as long, and every active segment of a live broker has 20 MiB of zeros.
    """
    return data == _ZEROS[: len(data)]


class IndexFile(Index):
    """An index file as it was when it was opened. ``grow`` includes the entries that a broker appends later."""

    def __init__(self, path: str, layout: Struct, *, padded: bool = True) -> None:
        """Raises OSError."""
        self._fd = open_index(path)
        super().__init__(path, layout, os.fstat(self._fd).st_size, padded=padded)

    def _read(self, size_bytes: int, position: int) -> bytes:
        return os.pread(self._fd, size_bytes, position)

    def grow(self) -> bool:
        before, self.size_bytes = self.size_bytes, os.fstat(self._fd).st_size
        self.written_bytes = self._written_bytes()
        return self.size_bytes > before

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class IndexBytes(Index):
    """An index in memory: ``data`` is the contents of its file. It does not grow."""

    def __init__(self, path: str, layout: Struct, data: bytes) -> None:
        self._data = data
        super().__init__(path, layout, len(data))
        # This saves memory: an index that a broker writes has its full size, nearly all of it zeros.
        self._data = data[: self.written_bytes]

    @property
    def data(self) -> bytes:
        """The bytes that were written, including the first entry of zeros."""
        return self._data

    def _read(self, size_bytes: int, position: int) -> bytes:
        return self._data[position : position + size_bytes]

    def close(self) -> None:
        """Nothing is open."""


def read_packed(path: str, layout: Struct) -> bytes:
    """The bytes of a whole index, for callers that keep it in memory.

    Raises OSError, and CorruptIndex for a file that is missing, too large for an index, or ends within an entry.
    """
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_INDEX_BYTES:
                raise CorruptIndex(f"{path} has {size} bytes, more than an index can have", path=path)
            data = file.read(size)
    except FileNotFoundError as error:
        raise CorruptIndex(f"{path} is missing", path=path) from error
    if len(data) % layout.size:
        raise CorruptIndex(f"the size of {path} is not a multiple of {layout.size} bytes", path=path)
    return data


def read_offset_index(path: str, base_offset: int) -> Iterator[OffsetEntry]:
    """The entries of the file, including the zero entries of a sparse file. Raises OSError."""
    for relative, position in whole_entries(path, OFFSET_ENTRY):
        yield OffsetEntry(base_offset + relative, position)


def read_time_index(path: str, base_offset: int) -> Iterator[TimeEntry]:
    """The entries of the file, including the zero entries of a sparse file. Raises OSError."""
    for timestamp, relative in whole_entries(path, TIME_ENTRY):
        yield TimeEntry(timestamp, base_offset + relative)


def read_txn_index(path: str) -> Iterator[AbortedTransaction]:
    """The aborted transactions of a file, with entries of any version.

    Raises OSError, and CorruptIndex after the last complete entry if another one is incomplete.
    """
    position = 0
    for values in whole_entries(path, TXN_ENTRY):
        position += TXN_ENTRY.size
        yield AbortedTransaction._make(values)
    _check_uncut(path, os.path.getsize(path), position)


def txn_index_from(path: str, offset: int) -> Iterator[AbortedTransaction]:
    """The aborted transactions whose markers are at ``offset`` or after it, found by binary search.

    Raises OSError, and CorruptIndex for an incomplete entry.
    """
    with open(open_index(path), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        count = size // TXN_ENTRY.size
        _check_uncut(path, size, count * TXN_ENTRY.size)

        def entry(number: int) -> AbortedTransaction:
            return AbortedTransaction._make(
                TXN_ENTRY.unpack(os.pread(file.fileno(), TXN_ENTRY.size, number * TXN_ENTRY.size))
            )

        position = bisect_left(range(count), offset, key=lambda number: entry(number).last_offset) * TXN_ENTRY.size
        while data := os.pread(file.fileno(), min(_TXN_BYTES, count * TXN_ENTRY.size - position), position):
            position += len(data)
            for values in TXN_ENTRY.iter_unpack(data):
                yield AbortedTransaction._make(values)


def _check_uncut(path: str, size: int, whole: int) -> None:
    if size != whole:
        raise CorruptIndex(
            f"the last {size - whole} bytes of {path} are not a complete entry of {TXN_ENTRY.size} bytes",
            path=path,
            position=whole,
        )


def pack_offset_index(entries: Iterable[OffsetEntry], base_offset: int) -> bytes:
    """The bytes of an .index with these entries. Raises CorruptIndex for an offset too far from the base."""
    return _pack(OFFSET_ENTRY, ((entry.offset - base_offset, entry.position) for entry in entries))


def pack_time_index(entries: Iterable[TimeEntry], base_offset: int) -> bytes:
    """The bytes of a .timeindex with these entries. Raises CorruptIndex for an offset too far from the base."""
    return _pack(TIME_ENTRY, ((entry.timestamp, entry.offset - base_offset) for entry in entries))


def pack_txn_index(entries: Iterable[AbortedTransaction]) -> bytes:
    """The bytes of a .txnindex with these entries. Raises CorruptIndex for numbers that do not fit."""
    return _pack(TXN_ENTRY, entries)


def append_entries(path: str, data: bytes) -> None:
    """Append packed entries to an index file. If that fails, raises OSError and leaves the file as it was."""
    mode = file_mode(os.path.dirname(path))
    with open(path, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags, mode)) as file:
        size = os.fstat(file.fileno()).st_size
        left = memoryview(data)
        try:
            while left:
                left = left[file.write(left) :]
        except OSError:
            os.ftruncate(file.fileno(), size)
            raise


def _pack(layout: Struct, entries: Iterable[tuple[int, ...]]) -> bytes:
    try:
        return b"".join([layout.pack(*entry) for entry in entries])
    except struct_error as error:
        raise CorruptIndex(f"cannot write an index entry: {error}") from error
