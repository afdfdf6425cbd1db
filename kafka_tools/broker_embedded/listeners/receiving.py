"""Requests out of what one client sends: one at a time, and never much more of its bytes than that one's.

Small requests are cut from what came in, of which ``SMALL_BYTES`` are kept at most; a larger one is received into
memory of its own, which the system hands out as the bytes come, not as the request claims.
"""

from __future__ import annotations

import mmap

from kafka_tools.errors import DecodeError

SMALL_BYTES = 72 * 1024
"""What is kept of one client's requests that come before their turn; what is larger counts (``RequestMemory``).

A batch of 64 KiB, as large as many producers make them, is small with all that is around it."""

_LENGTH_BYTES = 4
_IN_PLACE_BYTES = 8 * 1024
"""From here on what follows a request is moved, and not the request."""
_STEP_BYTES = 256 * 1024
_MAPPED_BYTES = 128 * 1024

Request = bytearray | memoryview
"""Memory that is nobody else's: what is produced is changed and stored where it lies."""


class Receiver:
    """The bytes of one connection that are not served yet."""

    def __init__(self) -> None:
        self._small = bytearray()
        self._large: memoryview | None = None
        self._filled = 0
        self._wanted_bytes = _LENGTH_BYTES
        """How much there must be before the next request can be whole, or found to be a large one."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come that is not taken."""
        return not self._small and self._large is None

    @property
    def has_news(self) -> bool:
        """Whether ``next`` may come to something: not while a small request is on its way."""
        if self._large is not None:
            return self._filled == len(self._large)
        return len(self._small) >= self._wanted_bytes

    @property
    def is_receiving(self) -> bool:
        """Whether a large request is on its way, but not whole."""
        return self._large is not None and self._filled < len(self._large)

    @property
    def received_bytes(self) -> int:
        """How much of a large request has come."""
        return self._filled

    @property
    def pending_bytes(self) -> int:
        """What has come and is not taken."""
        return len(self._small) + self._filled

    @property
    def is_full(self) -> bool:
        """Whether nothing more must be read before a request is taken."""
        return len(self._small) >= SMALL_BYTES if self._large is None else self._filled == len(self._large)

    def room(self, scratch: memoryview) -> memoryview:
        """Where the next bytes go: to the large request that is on its way, else to a part of ``scratch``."""
        if self._large is not None and self._filled < len(self._large):
            return self._large[self._filled : self._filled + _STEP_BYTES]
        # Never empty: before a TLS connection is there bytes come that cannot be held back.
        return scratch[: max(SMALL_BYTES - len(self._small), _LENGTH_BYTES)]

    def received(self, scratch: memoryview, size_bytes: int) -> None:
        """So many bytes were written to what ``room`` gave last."""
        if self._large is not None and self._filled < len(self._large):
            self._filled += size_bytes
        else:
            self._small += scratch[:size_bytes]

    def next(self, most_bytes: int) -> Request | None:
        """The next request's payload if it is whole.

        Raises DecodeError for a length below zero or above ``most_bytes``: nothing after it can be trusted.
        """
        if self._large is not None:
            if self._filled < len(self._large):
                return None
            whole, self._large, self._filled = self._large, None, 0
            return whole
        small = self._small
        self._wanted_bytes = _LENGTH_BYTES
        if len(small) < _LENGTH_BYTES:
            return None
        length = int.from_bytes(small[:_LENGTH_BYTES], "big", signed=True)
        if not 0 <= length <= most_bytes:
            raise DecodeError(f"frame length {length} is outside 0 to {most_bytes} bytes", position=0, field="length")
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
        self._large = memoryview(memory)
        start = memoryview(self._small)[_LENGTH_BYTES:]
        self._filled = len(start)
        self._large[: self._filled] = start
        start.release()
        self._small = bytearray()

    def clear(self) -> None:
        """Drop all bytes."""
        self._small = bytearray()
        self._large, self._filled = None, 0
        self._wanted_bytes = _LENGTH_BYTES
