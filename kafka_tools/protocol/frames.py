"""Frames on a connection: a 4-byte big-endian length that does not count itself, then the payload.

Source: protocol guide, "Protocol Primitive Types" and "Common Request and Response Structure".
"""

from __future__ import annotations

from kafka_tools.errors import DecodeError

DEFAULT_MAX_FRAME_BYTES = 100 * 1024 * 1024
"""Kafka's ``socket.request.max.bytes``."""


def framed(*parts: bytes | bytearray | memoryview) -> bytes:
    """One frame with the payload parts."""
    return b"".join((sum(len(part) for part in parts).to_bytes(4, "big"), *parts))


class FrameReader:
    """Splits a byte stream into payloads. Buffers at most one incomplete frame, whose bytes are copied once."""

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._head = b""
        """The bytes of the length, as far as they are there."""
        self._length: int | None = None
        """The length of the payload, once it is known and valid."""
        self._parts: list[bytes] = []
        self._have = 0
        """The number of bytes in ``_parts``."""

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The payloads completed by ``data``, in order.

        Raises DecodeError if a length is negative or above the limit. The bytes after it cannot be trusted, so the
        caller must close the connection. Returns the payloads before it first; then the next call raises.
        """
        data = bytes(data)
        frames: list[bytes] = []
        position = 0
        while True:
            if self._length is None:
                start, position = position, min(position + 4 - len(self._head), len(data))
                self._head += data[start:position]
                if len(self._head) < 4:
                    return frames
                length = int.from_bytes(self._head, "big", signed=True)
                if length < 0 or length > self.max_frame_bytes:
                    self._keep(data[position:])
                    if frames:
                        return frames
                    text = f"invalid frame length {length}: expected 0 to {self.max_frame_bytes} bytes"
                    raise DecodeError(text, position=0, field="length")
                self._length = length
            start, position = position, position + self._length - self._have
            if position > len(data):
                self._keep(data[start:])
                return frames
            part = data[start:position]
            frames.append(b"".join([*self._parts, part]) if self._parts else part)
            self._head, self._length, self._parts, self._have = b"", None, [], 0

    def _keep(self, part: bytes) -> None:
        if part:
            self._parts.append(part)
            self._have += len(part)

    def needed(self) -> int:
        """Bytes missing until the next frame is complete, or until its length is known; at least 1."""
        return max(1, 4 - len(self._head) if self._length is None else self._length - self._have)

    @property
    def pending(self) -> bytes:
        """The bytes of an incomplete frame (for messages about other protocols)."""
        return b"".join((self._head, *self._parts))
