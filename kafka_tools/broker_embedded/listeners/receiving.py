"""Splits the bytes of one client into requests, one at a time, and buffers little more than the current request.

All connections read into one shared buffer (``Scratch``). A complete request keeps that buffer and a new one replaces
it, so that produced batches are stored without a copy. Smaller requests are copied. A connection buffers at most
``SMALL_BYTES``, in up to 112 KiB of memory if a request keeps a buffer that it does not fill. A larger request is
received into memory of its own. The system allocates it as bytes arrive, not by the size that the request claims.
"""

from __future__ import annotations

import mmap
from typing import NoReturn

from kafka_tools.errors import DecodeError

SMALL_BYTES = 72 * 1024
"""Limit of the buffered requests of one client. Larger requests count in ``RequestMemory``.

A request with a batch of 64 KiB, the size that many producers use, is not large."""

_LENGTH_BYTES = 4
_IN_PLACE_BYTES = 8 * 1024
"""For a request of this size or more, the bytes after it are moved instead of the request."""
_TAKEN_BYTES = 32 * 1024
"""A request of this size or more keeps its buffer, which is little more than twice its size."""
_AHEAD_BYTES = 512
"""Bytes read after such a request, to know the length of the next one; at most so many are moved to the scratch."""
_STEP_BYTES = 256 * 1024
_MAPPED_BYTES = 128 * 1024

Request = bytearray | memoryview
"""Memory that nothing else uses: produced batches are changed and stored in place."""


class Scratch:
    """The read buffer of all connections of a broker. Each one copies or takes its bytes immediately."""

    def __init__(self) -> None:
        self._memory = bytearray(SMALL_BYTES)
        self._spare: bytearray | None = None
        self.view = memoryview(self._memory)

    def take(self) -> bytearray:
        """Transfer the buffer with the received bytes to the caller."""
        taken, spare = self._memory, self._spare
        self._spare = None
        self._memory = spare if spare is not None and _is_free(spare) else bytearray(SMALL_BYTES)
        self.view = memoryview(self._memory)
        return taken

    def give_back(self, memory: object) -> None:
        """Reuse the memory of a served request, if it came from ``take``, once nothing references it."""
        if type(memory) is bytearray and len(memory) == SMALL_BYTES:
            self._spare = memory


def _is_free(memory: bytearray) -> bool:
    """Whether no view of the memory exists: Python does not resize a bytearray with views."""
    try:
        memory.append(0)
        memory.pop()
    except BufferError:
        return False
    return True


class Receiver:
    """The bytes of one connection that are not served yet."""

    def __init__(self) -> None:
        self._whole: Request | None = None
        """A request in a buffer taken from the scratch; ``_small`` follows it."""
        self._small = bytearray()
        self.large: memoryview | None = None
        """The memory of a large request, until ``next`` returns it."""
        self.received_bytes = 0
        """The number of received bytes of a large request."""
        self._wanted_bytes = _LENGTH_BYTES
        """The bytes needed before the next request can be complete, or recognized as a large one."""
        self._moved = False
        """Whether the buffered bytes are also in the scratch, before the next received bytes."""
        self._room_bytes = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is buffered."""
        return not self._small and self._whole is None and self.large is None

    @property
    def has_news(self) -> bool:
        """Whether ``next`` may return a request; false while a request is incomplete."""
        if self.large is not None:
            return self.received_bytes == len(self.large)
        return self._whole is not None or len(self._small) >= self._wanted_bytes

    @property
    def is_receiving(self) -> bool:
        """Whether a large request is incomplete."""
        return self.large is not None and self.received_bytes < len(self.large)

    @property
    def pending_bytes(self) -> int:
        """The number of buffered bytes."""
        return self._kept_bytes + self.received_bytes

    @property
    def _kept_bytes(self) -> int:
        return len(self._small) + (0 if self._whole is None else _LENGTH_BYTES + len(self._whole))

    @property
    def is_full(self) -> bool:
        """Whether reading must pause until ``next`` returns a request."""
        if self.large is not None:
            return self.received_bytes == len(self.large)
        return len(self._small) >= SMALL_BYTES if self._whole is None else self._kept_bytes >= SMALL_BYTES

    def room(self, scratch: Scratch) -> memoryview:
        """The buffer for the next bytes: in the incomplete large request, else in ``scratch``."""
        if self.large is None and self._whole is None and not self._small:  # nearly always
            self._moved = True
            room = scratch.view
        elif self.large is not None and self.received_bytes < len(self.large):
            room = self.large[self.received_bytes : self.received_bytes + _STEP_BYTES]
        else:
            kept, end = self._kept_bytes, SMALL_BYTES
            wanted = self._wanted_bytes
            if kept < wanted and _IN_PLACE_BYTES <= wanted < end - _AHEAD_BYTES:
                end = wanted + _AHEAD_BYTES
            self._moved = kept <= _AHEAD_BYTES
            if self._moved:
                scratch.view[:kept] = self._small
                room = scratch.view[kept:end]
            else:
                # Never empty: before a TLS connection is there bytes come that cannot be held back.
                room = scratch.view[: max(end - kept, _LENGTH_BYTES)]
        self._room_bytes = len(room)
        return room

    def received(self, scratch: Scratch, size_bytes: int) -> bool:
        """Take the bytes written to the last ``room``. Returns whether they filled it: more may be available."""
        if self.large is not None and self.received_bytes < len(self.large):
            self.received_bytes += size_bytes
        elif self._moved:
            kept = len(self._small)
            came = kept + size_bytes
            end = _LENGTH_BYTES + int.from_bytes(scratch.view[:_LENGTH_BYTES], "big", signed=True)
            if _TAKEN_BYTES <= end <= came:
                memory = scratch.take()
                self._whole = memoryview(memory)[_LENGTH_BYTES:end]
                self._small = memory[end:came]
                self._wanted_bytes = _LENGTH_BYTES
            else:
                self._small += scratch.view[kept:came]
        else:
            self._small += scratch.view[:size_bytes]
        return size_bytes == self._room_bytes

    def next(self, most_bytes: int) -> Request | None:
        """The next request's payload, or None if it is incomplete.

        Raises DecodeError for a length below zero or above ``most_bytes``: nothing after it can be trusted.
        """
        if self._whole is not None:
            whole, self._whole = self._whole, None
            if len(whole) > most_bytes:
                _refuse_length(len(whole), most_bytes)
            return whole
        if self.large is not None:
            if self.received_bytes < len(self.large):
                return None
            large, self.large, self.received_bytes = self.large, None, 0
            return large
        small = self._small
        self._wanted_bytes = _LENGTH_BYTES
        if len(small) < _LENGTH_BYTES:
            return None
        length = int.from_bytes(small[:_LENGTH_BYTES], "big", signed=True)
        if not 0 <= length <= most_bytes:
            _refuse_length(length, most_bytes)
        end = _LENGTH_BYTES + length
        if len(small) >= end:
            if end < _IN_PLACE_BYTES:
                frame = small[_LENGTH_BYTES:end]
                del small[:end]
                return frame
            self._small = small[end:]
            return memoryview(small)[_LENGTH_BYTES:end]
        if end > SMALL_BYTES:
            self._begin_large(length)
        else:
            self._wanted_bytes = end
        return None

    def _begin_large(self, length: int) -> None:
        # An anonymous mmap uses memory only for written pages, and returns all of it to the system.
        memory = mmap.mmap(-1, length) if length >= _MAPPED_BYTES else bytearray(length)
        self.large = memoryview(memory)
        start = memoryview(self._small)[_LENGTH_BYTES:]
        self.received_bytes = len(start)
        self.large[: self.received_bytes] = start
        start.release()
        self._small = bytearray()

    def clear(self) -> None:
        """Drop all bytes."""
        self._small = bytearray()
        self._whole = self.large = None
        self.received_bytes = 0
        self._wanted_bytes = _LENGTH_BYTES


def _refuse_length(length: int, most_bytes: int) -> NoReturn:
    raise DecodeError(f"invalid frame length {length}: expected 0 to {most_bytes} bytes", position=0, field="length")
