"""Requests out of what one client sends: one at a time, and never much more of its bytes than that one's.

Bytes come in where all connections share one piece of memory (``Scratch``). A request that is there as a whole keeps
that piece, and another takes its place, so that what is produced is stored from where the system has put it. What is
too little for that is copied. Of each connection ``SMALL_BYTES`` are kept at most, in up to 112 KiB of memory where a
request keeps a piece that it does not fill. A request larger than that is received into memory of its own, which the
system hands out as the bytes come, not as the request claims.
"""

from __future__ import annotations

import mmap
from typing import NoReturn

from kafka_tools.errors import DecodeError

SMALL_BYTES = 72 * 1024
"""What is kept of one client's requests that come before their turn; what is larger counts (``RequestMemory``).

A batch of 64 KiB, as large as many producers make them, is small with all that is around it."""

_LENGTH_BYTES = 4
_IN_PLACE_BYTES = 8 * 1024
"""From here on what follows a request is moved, and not the request."""
_TAKEN_BYTES = 32 * 1024
"""From here on a request keeps the memory in which it came: never much more than twice what it needs."""
_AHEAD_BYTES = 512
"""What is read behind such a request, to know how long the next one is; so little is moved to where that comes in."""
_STEP_BYTES = 256 * 1024
_MAPPED_BYTES = 128 * 1024

Request = bytearray | memoryview
"""Memory that is nobody else's: what is produced is changed and stored where it lies."""


class Scratch:
    """Where bytes come in, for all connections of a broker: what is kept of them is moved, or taken, at once."""

    def __init__(self) -> None:
        self._memory = bytearray(SMALL_BYTES)
        self._spare: bytearray | None = None
        self.view = memoryview(self._memory)

    def take(self) -> bytearray:
        """The memory with what has come in, which is the caller's from now on."""
        taken, spare = self._memory, self._spare
        self._spare = None
        self._memory = spare if spare is not None and _is_free(spare) else bytearray(SMALL_BYTES)
        self.view = memoryview(self._memory)
        return taken

    def give_back(self, memory: object) -> None:
        """Of a request that is served: used again, if it was taken from here, once nobody has a part of it."""
        if type(memory) is bytearray and len(memory) == SMALL_BYTES:
            self._spare = memory


def _is_free(memory: bytearray) -> bool:
    """Whether nobody has a view of it, not even of a part: else Python does not let it be resized."""
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
        """A request in memory that was taken from the scratch; ``_small`` comes behind it."""
        self._small = bytearray()
        self.large: memoryview | None = None
        """Of a request that is too large to be kept: its memory, while it comes and until it is taken."""
        self.received_bytes = 0
        """How much of a large request has come."""
        self._wanted_bytes = _LENGTH_BYTES
        """How much there must be before the next request can be whole, or found to be a large one."""
        self._moved = False
        """Whether the bytes that were kept are in the scratch as well, before what comes in next."""
        self._room_bytes = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come that is not taken."""
        return not self._small and self._whole is None and self.large is None

    @property
    def has_news(self) -> bool:
        """Whether ``next`` may come to something: not while a small request is on its way."""
        if self.large is not None:
            return self.received_bytes == len(self.large)
        return self._whole is not None or len(self._small) >= self._wanted_bytes

    @property
    def is_receiving(self) -> bool:
        """Whether a large request is on its way, but not whole."""
        return self.large is not None and self.received_bytes < len(self.large)

    @property
    def pending_bytes(self) -> int:
        """What has come and is not taken."""
        return self._kept_bytes + self.received_bytes

    @property
    def _kept_bytes(self) -> int:
        return len(self._small) + (0 if self._whole is None else _LENGTH_BYTES + len(self._whole))

    @property
    def is_full(self) -> bool:
        """Whether nothing more must be read before a request is taken."""
        if self.large is not None:
            return self.received_bytes == len(self.large)
        return len(self._small) >= SMALL_BYTES if self._whole is None else self._kept_bytes >= SMALL_BYTES

    def room(self, scratch: Scratch) -> memoryview:
        """Where the next bytes go: to the large request that is on its way, else to a part of ``scratch``."""
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
        """So many bytes were written to what ``room`` gave last; whether they took all of it: more may have come."""
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
        """The next request's payload if it is whole.

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
        # A map of the system's has only the pages that were written to, and goes back to the system as a whole.
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
