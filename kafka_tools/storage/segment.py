"""Reads a segment's log file: batches in order, in bounded windows, never the whole file.

Memory is limited to a window (or the largest batch). The module does not map the file, because mapped pages count as
memory of the process. Rules of Kafka's ``FileLogInputStream``: a tail that is shorter than its length ends the file
silently, and an impossible length is damage.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from kafka_tools.closing import Closing
from kafka_tools.errors import CorruptBatch, InputError
from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import LEAST_LENGTH, MAGIC_POSITION, OF_FILES, PREFIX_BYTES, follow, size_at
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.layout import FIRST_BYTES, MAX_BATCH_BYTES
from kafka_tools.storage.names import base_offset_of
from kafka_tools.storage.opening import open_log

if TYPE_CHECKING:
    from kafka_tools.storage.search import BatchSearch

WINDOW_BYTES = 4 * 1024 * 1024

_HEADER_UP_TO_MAGIC = MAGIC_POSITION + 1
_LEAST_BYTES = PREFIX_BYTES + LEAST_LENGTH


class SegmentReader(ABC):
    """The batches of a log file, in order. Subclasses read the bytes from the place of the file."""

    def __init__(self, path: str, base_offset: int, size_bytes: int) -> None:
        self.path = path
        self.base_offset = base_offset
        """The offset in the file's name, 0 for a name without one."""
        self.size_bytes = size_bytes
        """The size when the file was opened; ``refresh`` updates it."""

    @abstractmethod
    def refresh(self) -> int:
        """The current size, for a file that grows."""

    @abstractmethod
    def read(self, position: int, size_bytes: int) -> bytes:
        """At most ``size_bytes`` from ``position``; fewer only at the end of the file. Raises InputError, OSError."""

    def windows(
        self,
        start: int = 0,
        end: int | None = None,
        *,
        window_bytes: int = WINDOW_BYTES,
        first_bytes: int | None = None,
    ) -> Iterator[tuple[int, bytes, list[int]]]:
        """(file position, bytes, starts of the whole batches in the bytes) from ``start`` up to ``end``.

        All readers of a log use this walk. It omits an incomplete tail. Raises CorruptBatch after the windows before
        the damage. ``first_bytes``: begin with a window of that size, for a walk that may end soon.
        """
        position = start
        end = self.size_bytes if end is None else min(end, self.size_bytes)
        want = size = window_bytes if first_bytes is None else min(first_bytes, window_bytes)
        while position < end - _HEADER_UP_TO_MAGIC:
            want = min(want, end - position)
            buffer = self.read(position, want)
            starts, at = follow(buffer)
            if starts:
                yield position, buffer, starts
            position += at
            is_cut = len(buffer) < want
            want = size = min(size * 4, window_bytes)
            if position < end - _HEADER_UP_TO_MAGIC and at + _HEADER_UP_TO_MAGIC <= len(buffer):
                claimed = size_at(buffer, at)
                if end - position < claimed >= _LEAST_BYTES:
                    return
                self._refuse(claimed, buffer[at + MAGIC_POSITION], position)
                want = max(size, claimed)
            if is_cut:  # the file has become shorter since its size was read
                return

    def _refuse(self, size_bytes: int, magic: int, position: int) -> None:
        """Raise CorruptBatch if the size in a batch's header is impossible."""
        length = size_bytes - PREFIX_BYTES
        if length < LEAST_LENGTH:
            text = (
                f"Found record size {length} smaller than minimum record overhead ({LEAST_LENGTH}) in file {self.path}."
            )
        elif length < OF_FILES[magic]:
            text = f"a batch of magic {magic} cannot have {size_bytes} bytes"
        elif size_bytes > MAX_BATCH_BYTES:
            text = f"a batch claims {size_bytes} bytes, more than the limit of {MAX_BATCH_BYTES}"
        else:
            return
        raise CorruptBatch(text, path=self.path, position=position)

    def walk(
        self,
        start: int = 0,
        end: int | None = None,
        *,
        window_bytes: int = WINDOW_BYTES,
        first_bytes: int | None = None,
    ) -> Iterator[BatchView]:
        """The batches, header fields only, with their ``file_position``. Raises CorruptBatch at damage."""
        for position, buffer, starts in self.windows(start, end, window_bytes=window_bytes, first_bytes=first_bytes):
            for at in starts:
                yield BatchView(buffer, at, position + at)

    def batches(self, start: int = 0, *, strict: bool = False, end: int | None = None) -> Iterator[BatchView | Finding]:
        """The batches of the file. Strict: raises CorruptBatch at the first damage, also for a torn tail.

        Not strict: damage is a Finding at its place in the order. The walk continues at the next batch with a valid
        CRC, if there is one.
        """
        position = start
        last_end = self.size_bytes if end is None else min(end, self.size_bytes)
        first_bytes = FIRST_BYTES if start else None
        while True:
            try:
                for view in self.walk(position, last_end, first_bytes=first_bytes):
                    position = view.file_position + view.size_bytes
                    yield view
                if position >= last_end:
                    return
                problem = torn_tail(self, position, last_end)
            except CorruptBatch as error:
                problem = self.damage(error, position)
            if strict:
                raise CorruptBatch(problem.text, path=self.path, position=problem.position)
            found = None if problem.kind == "zero-tail" else self.next_plausible(position + 1, last_end)
            if found is None:
                yield problem
                return
            yield not_the_tail(problem)
            yield Finding(
                self.path, "skipped", f"{found - position} bytes were skipped before the next complete batch", position
            )
            position, first_bytes = found, FIRST_BYTES

    def damage(self, error: CorruptBatch, position: int) -> Finding:
        """The finding for an error of the walk. Its text omits the path, which is a field of the finding."""
        at = position if error.position is None else error.position
        if is_zero_filled(self, at, self.size_bytes):
            return Finding(self.path, "zero-tail", f"the last {self.size_bytes - at} bytes are zeros", at)
        return Finding(self.path, "bad-length", str(error).replace(f" in file {self.path}.", ""), at)

    def hidden_in(self, view: BatchView) -> int | None:
        """The position of a complete batch within the bytes that ``view`` claims. The CRC of ``view`` is wrong, and
        then its length is wrong too.

        None if the next batch, or the end of the file, follows the claimed bytes.
        """
        end = view.file_position + view.size_bytes
        if end >= self.size_bytes or self._search.may_start_at(end, self.size_bytes):
            return None
        return self.next_plausible(view.file_position + 1, before=end)

    def next_plausible(self, start: int, end: int | None = None, *, before: int | None = None) -> int | None:
        """The position of the next batch with a valid CRC, None if no such batch starts before ``before``."""
        end = self.size_bytes if end is None else end
        return self._search.next(start, end, end if before is None else before)

    @cached_property
    def _search(self) -> BatchSearch:
        from kafka_tools.storage.search import BatchSearch  # numpy, for damage only

        return BatchSearch(self.read, self.base_offset)


class Segment(SegmentReader, Closing):
    """A log file, open for reading. A context manager. Raises OSError if it cannot be opened, or is no log."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        path = os.fspath(path)
        self._fd = open_log(path)
        found = os.fstat(self._fd)
        super().__init__(path, base_offset_of(path) or 0, found.st_size)
        self.identity = found.st_dev, found.st_ino
        """The identity of the open file (``storage.live``). Another file may be at its path by now."""

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def refresh(self) -> int:
        self.size_bytes = os.fstat(self._fd).st_size
        return self.size_bytes

    def read(self, position: int, size_bytes: int) -> bytes:
        if position < 0:
            raise InputError(f"Invalid position: {position} in read from {self.path}")
        if size_bytes < 0:
            raise InputError(f"Invalid size: {size_bytes} in read from {self.path}")
        parts = []
        while size_bytes > 0:
            part = os.pread(self._fd, size_bytes, position)
            if not part:
                break
            parts.append(part)
            position += len(part)
            size_bytes -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def torn_tail(segment: SegmentReader, position: int, end: int | None = None) -> Finding:
    """The finding for the bytes from ``position`` on, where no complete batch starts."""
    end = segment.size_bytes if end is None else end
    left = end - position
    if is_zero_filled(segment, position, end):
        return Finding(segment.path, "zero-tail", f"the last {left} bytes are zeros", position)
    return Finding(segment.path, "torn-tail", f"the last {left} bytes are not a complete batch", position)


def not_the_tail(finding: Finding) -> Finding:
    """The finding if complete batches follow it: instead of a torn tail, there is a wrong length."""
    if finding.kind != "torn-tail":
        return finding
    text = "the length in the header extends beyond the end of the file"
    return Finding(finding.path, "bad-length", text, finding.position)


def is_zero_filled(segment: SegmentReader, position: int, end: int) -> bool:
    """Whether all bytes from ``position`` on are zeros (a preallocated or sparse file)."""
    want = FIRST_BYTES
    while position < end:
        part = segment.read(position, min(want, end - position))
        if not part or part != bytes(len(part)):
            return False
        position += len(part)
        want = WINDOW_BYTES
    return True
