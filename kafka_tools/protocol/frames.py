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
    """Splits a byte stream into payloads. Buffers at most one incomplete frame."""

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The payloads completed by ``data``, in order.

        Raises DecodeError if a length is negative or above the limit. The bytes after it cannot be trusted, so the
        caller must close the connection. Returns the payloads before it first; then the next call raises.
        """
        self._buffer += data
        frames: list[bytes] = []
        position = 0
        left = len(self._buffer)
        while left >= 4:
            length = int.from_bytes(self._buffer[position : position + 4], "big", signed=True)
            if length < 0 or length > self.max_frame_bytes:
                if frames:
                    break
                text = f"invalid frame length {length}: expected 0 to {self.max_frame_bytes} bytes"
                raise DecodeError(text, position=0, field="length")
            if left - 4 < length:
                break
            frames.append(bytes(self._buffer[position + 4 : position + 4 + length]))
            position += 4 + length
            left -= 4 + length
        if position:
            del self._buffer[:position]
        return frames

    def needed(self) -> int:
        """Bytes missing until the next frame is complete, or until its length is known; at least 1."""
        have = len(self._buffer)
        if have < 4:
            return 4 - have
        return 4 + int.from_bytes(self._buffer[:4], "big", signed=True) - have

    @property
    def pending(self) -> bytes:
        """The bytes of an incomplete frame (for messages about other protocols)."""
        return bytes(self._buffer)
