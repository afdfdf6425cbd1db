"""Answers to one client, sent in pieces: each piece only after the client has read the one before.

Ranges of files are read when their turn comes, so an answer of a gigabyte needs no more memory than a piece. Without
TLS, ``sendfile`` sends them from the file, and the broker does not read them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from kafka_tools.broker_embedded.answers import CutShort, Part, Payload
from kafka_tools.storage.log.file_range import FileRange

PIECE_BYTES = 128 * 1024
SENT_FROM_FILE_BYTES = 512 * 1024
"""The most bytes of a file in one ``sendfile``."""
READ_BYTES = 4096
"""Bytes read from a file and written to the full socket, so that asyncio reports when it can be written again."""
_APART_BYTES = 16 * 1024
"""A range of this size is a separate piece: copying it after other parts costs more than a system call."""
_LITTLE_BYTES = 16 * 1024
"""Small answers up to this total wait for the answers to requests that arrived with theirs."""
_LENGTH_BYTES = 4


def cut_short(payload: Payload, sent_bytes: int | None) -> CutShort:
    """The first ``sent_bytes`` of an encoded answer with its length prefix; half of it if None.

    Raises OSError or LogError if a file cannot be read.
    """
    outgoing = Outgoing()
    outgoing.add(payload)
    whole = b"".join(iter(outgoing.piece, b""))
    return CutShort([whole[: len(whole) // 2 if sent_bytes is None else sent_bytes]])


class Outgoing(deque[Part]):
    """The parts of answers that are not written to the socket yet, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.held_bytes = 0
        """The bytes of the parts that are in memory."""
        self._has_large = False

    @property
    def is_little(self) -> bool:
        """Whether another answer may be sent together with the current ones."""
        return not self or (self.held_bytes < _LITTLE_BYTES and not self._has_large)

    def add(self, payload: Payload) -> None:
        """Append an answer with a length prefix."""
        if not self:
            self._has_large = False
        if isinstance(payload, bytes) and len(payload) < PIECE_BYTES:  # nearly all answers: one part, sent immediately
            self.append(len(payload).to_bytes(_LENGTH_BYTES, "big") + payload)
            self.held_bytes += _LENGTH_BYTES + len(payload)
            return
        self._has_large = True
        parts: Sequence[Part] = (payload,) if isinstance(payload, bytes) else payload
        size = sum(len(part) for part in parts)
        if not isinstance(parts, CutShort):
            self.append(size.to_bytes(_LENGTH_BYTES, "big"))
            self.held_bytes += _LENGTH_BYTES
        self.extend(parts)
        self.held_bytes += sum(len(part) for part in parts if not isinstance(part, FileRange))

    def send_file(self, socket_fd: int) -> bool:
        """Send the next part with ``sendfile`` if it is a range of a file. Returns whether the socket accepted it.

        Raises the errors of ``FileRange.send`` except BlockingIOError.
        """
        part = self[0]
        if not isinstance(part, FileRange):
            return False
        size = min(len(part), SENT_FROM_FILE_BYTES)
        try:
            sent = part.send(socket_fd, size)
        except BlockingIOError:
            return False
        if sent == len(part):
            self.popleft()
        else:
            self[0] = part.after(sent)
        return sent == size

    def piece(self, most_of_file: int = PIECE_BYTES) -> bytes:
        """The next bytes to send, about ``PIECE_BYTES``, or ``most_of_file`` of a large range; empty if there are none.

        Raises OSError or LogError if a file cannot be read: the answer cannot be completed.
        """
        if len(self) == 1 and self.held_bytes <= PIECE_BYTES and type(self[0]) is bytes:  # nearly always
            self.held_bytes = 0
            return self.popleft()  # type: ignore[return-value]
        pieces: list[bytes | memoryview] = []
        left = PIECE_BYTES
        while self and left > 0:
            part = self.popleft()
            size = len(part)
            if isinstance(part, FileRange):
                if size >= _APART_BYTES:
                    if pieces:
                        self.appendleft(part)
                        break
                    left = most_of_file
                pieces.append(part.read(min(size, left)))
                if size > left:
                    self.appendleft(part.after(left))
            else:
                self.held_bytes -= min(size, left)
                if size > left:
                    view = memoryview(part)
                    pieces.append(view[:left])
                    self.appendleft(view[left:])
                else:
                    pieces.append(part)
            left -= size
        return pieces[0] if len(pieces) == 1 and type(pieces[0]) is bytes else b"".join(pieces)

    def clear(self) -> None:
        """Remove all parts."""
        super().clear()
        self.held_bytes = 0
