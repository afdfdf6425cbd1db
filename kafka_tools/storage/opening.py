"""Opens files of a log directory for reading: only regular ones, and no larger than Kafka's.

The name of a segment or a checkpoint may belong to anything. Opening a FIFO blocks, ``/dev/zero`` has no end, and
opening some devices has effects. All of them raise OSError with an explanation before they are opened.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import Any, BinaryIO

LARGEST_LOG_BYTES = 2**31 - 1
"""The maximum size of a segment's log and of a KRaft snapshot: ``FileRecords`` of Kafka opens no larger file."""
LARGEST_INDEX_BYTES = 512 * 1024 * 1024
"""The maximum size of a segment's index: the largest log, full of aborted transactions of one record."""


def is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a listing is a directory. False for a loop of symbolic links."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_regular(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a listing is a regular file. False for a loop of symbolic links."""
    try:
        return entry.is_file()
    except OSError:
        return False


def open_regular(path: str | os.PathLike[str], access: int = os.O_RDONLY) -> int:
    """Open a file and return its descriptor. Raises OSError, also for a directory, FIFO, device or socket."""
    refuse_others(os.stat(path), path)
    # O_NONBLOCK: if a FIFO has replaced the file meanwhile, it opens immediately.
    descriptor = os.open(path, access | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        refuse_others(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """As ``open_regular``, but returns a file object."""
    return io.BufferedReader(_Unwaiting(open_regular(path)))


def open_log(path: str | os.PathLike[str]) -> int:
    """As ``open_regular``. Also raises OSError for a log that is larger than any of Kafka's."""
    return _limited(open_regular(path), path, LARGEST_LOG_BYTES)


def open_index(path: str | os.PathLike[str]) -> int:
    """As ``open_regular``. Also raises OSError for an index that is larger than any of Kafka's."""
    return _limited(open_regular(path), path, LARGEST_INDEX_BYTES)


def refuse_too_large(size_bytes: int, path: str | os.PathLike[str], largest_bytes: int = LARGEST_LOG_BYTES) -> None:
    """Raise OSError for a file that is larger than any of Kafka's, because reading it would take hours."""
    if size_bytes > largest_bytes:
        text = f"it has {size_bytes} bytes, but Kafka's largest file of this kind has {largest_bytes}"
        raise OSError(errno.EFBIG, text, os.fspath(path))


class _Unwaiting(io.FileIO):
    """Raises OSError instead of waiting for data: some files of /proc look like regular ones."""

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        if count is None:
            raise BlockingIOError(errno.EAGAIN, "cannot read from it now")
        return count


def _limited(descriptor: int, path: str | os.PathLike[str], largest_bytes: int) -> int:
    try:
        refuse_too_large(os.fstat(descriptor).st_size, path, largest_bytes)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def refuse_others(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    """Raise OSError if the status is not that of a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
