"""Ranges of a log's file, whose bytes are read only when needed. Fetch responses consist of them.

A range keeps its file open, so a response can be sent while its segment is deleted.
"""

from __future__ import annotations

import os

from kafka_tools.errors import LogError
from kafka_tools.storage.log.identity import identity, why_gone
from kafka_tools.storage.opening import open_regular


class OpenFile:
    """A file descriptor that is closed when its last reference is dropped."""

    __slots__ = ("_identity", "fd", "keeps_name", "path")

    def __init__(self, path: str) -> None:
        """Open for reading and writing. Raises OSError, also for files that would lose data, such as a device."""
        self.path = path
        self.keeps_name = True
        """Whether the file must stay at its path. False once this process deletes or renames it."""
        self.fd = open_regular(path, os.O_RDWR)
        self._identity = identity(os.fstat(self.fd))

    def why_gone(self) -> str | None:
        """The reason why the file is not at its path although it must be; None if it is. On any thread."""
        why = why_gone(self.path, self._identity)
        return why if self.keeps_name else None  # checked last, because the file may be renamed meanwhile

    def __del__(self) -> None:
        fd = getattr(self, "fd", -1)
        if fd >= 0:
            os.close(fd)


class FileRange:
    """``size`` bytes of a file from ``position`` on."""

    __slots__ = ("_file", "_position", "_size")

    def __init__(self, file: OpenFile, position: int, size: int) -> None:
        self._file = file
        self._position = position
        self._size = size

    def __len__(self) -> int:
        return self._size

    def read(self, size: int) -> bytes:
        """The first ``size`` bytes. Raises OSError, or LogError if the file has become shorter."""
        data = os.pread(self._file.fd, size, self._position)
        while len(data) < size:
            more = os.pread(self._file.fd, size - len(data), self._position + len(data))
            if not more:
                raise self._too_short(len(data))
            data += more
        return data

    def send(self, socket_fd: int, size: int) -> int:
        """Send up to ``size`` bytes with ``sendfile``, not through this process. Returns the number of bytes.

        Raises BlockingIOError while the socket accepts nothing, another OSError, or LogError if the file has become
        shorter.
        """
        sent = os.sendfile(socket_fd, self._file.fd, self._position, min(size, self._size))
        if not sent:
            raise self._too_short(0)
        return sent

    def _too_short(self, missing_from: int) -> LogError:
        return LogError(
            f"{self._file.path} ends at {self._position + missing_from}, before the end of the range to read",
            path=self._file.path,
        )

    def after(self, size: int) -> FileRange:
        """The rest of the range after its first ``size`` bytes."""
        return FileRange(self._file, self._position + size, self._size - size)
