"""Answers on their way to one client: in pieces, and the next piece only when the client has taken the one before.

Ranges of files are read when their turn comes, so an answer of a gigabyte holds no more memory than a piece. Where
nothing is encrypted the system sends them from the file (``sendfile``), and they are not read at all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from kafka_tools.broker_embedded.answers import CutShort, Part, Payload
from kafka_tools.storage.log.file_range import FileRange

PIECE_BYTES = 128 * 1024
SENT_FROM_FILE_BYTES = 512 * 1024
"""What of a file the system is asked to send at once."""
READ_BYTES = 4096
"""What is read of a file although the system could send it: to be told when the socket takes something again."""
_APART_BYTES = 16 * 1024
"""So large a range is a piece of its own: copying it behind other parts would cost more than another system call."""
_LITTLE_BYTES = 16 * 1024
"""Up to here small answers wait for those to requests that came with theirs."""
_LENGTH_BYTES = 4


def cut_short(payload: Payload, sent_bytes: int | None) -> CutShort:
    """The first ``sent_bytes`` of an answer as it goes over the wire, half of it if None.

    Raises OSError or LogError when a file does not give what it must.
    """
    outgoing = Outgoing()
    outgoing.add(payload)
    whole = b"".join(iter(outgoing.piece, b""))
    return CutShort([whole[: len(whole) // 2 if sent_bytes is None else sent_bytes]])


class Outgoing(deque[Part]):
    """The parts of answers that were not handed to the system yet, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.held_bytes = 0
        """Those of them that are in memory."""
        self._has_large = False

    @property
    def is_little(self) -> bool:
        """Whether an answer more may go with those that are here, if any are."""
        return not self or (self.held_bytes < _LITTLE_BYTES and not self._has_large)

    def add(self, payload: Payload) -> None:
        """Append an answer, with its length before it."""
        if not self:
            self._has_large = False
        if isinstance(payload, bytes) and len(payload) < PIECE_BYTES:  # nearly all answers: one part, sent at once
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
        """Have the system send what is next if it is a range of a file; whether it took all it was asked to.

        Raises as ``FileRange.send``, but for BlockingIOError.
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

        Raises OSError or LogError when a file does not give what it must: the answer cannot be completed.
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
        """Forget everything."""
        super().clear()
        self.held_bytes = 0
