"""Flushes files and names in directories to the disk (fsync), and lists unflushed writes.

Writes and new names are only in the kernel until they are flushed. After a loss of power any part of them may be
missing. A failed fsync means that data may be lost, and the next fsync does not report that. So nothing tries again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_tools.storage.log.file_range import OpenFile

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""On macOS ``fsync`` leaves the bytes in the drive's cache; this call flushes them."""

NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
"""Errors of opening a file for fsync. A caller may try again, because nothing was lost."""


def force(fd: int) -> None:
    """Wait until the contents of a file are on the disk. Raises OSError."""
    if _FULL_SYNC is not None:
        fcntl.fcntl(fd, _FULL_SYNC)
    else:
        os.fdatasync(fd)


def sync_file(path: str) -> None:
    """Flush a file to the disk. Raises OSError with its name."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        error.filename = error.filename or path
        raise
    finally:
        os.close(fd)


sync_directory = sync_file
"""Flush the names in a directory to the disk. Raises OSError."""


def sync_tree(path: str, *, besides: Collection[str] = ()) -> None:
    """Flush all files and names in and below a directory to the disk, except files named in ``besides``.

    Raises OSError. A file that disappears in the meantime is skipped.
    """
    for directory, _, names in os.walk(path):
        for name in names:
            if name not in besides:
                with contextlib.suppress(FileNotFoundError):
                    sync_file(os.path.join(directory, name))
        with contextlib.suppress(FileNotFoundError):
            sync_directory(directory)


class Unsynced:
    """The writes that may not be on the disk yet.

    The writing thread adds to it and takes everything that has accumulated. Another thread flushes that to the disk.
    """

    def __init__(self) -> None:
        self._files: dict[OpenFile, None] = {}
        self._replaced: dict[str, None] = {}
        self._directories: dict[str, None] = {}
        self._steps: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        return bool(self._files or self._directories or self._steps)

    def wrote(self, file: OpenFile) -> None:
        """Note a write to an open file."""
        self._files[file] = None

    def holds(self, file: OpenFile) -> bool:
        """Whether an open file has writes that ``take`` has not returned yet."""
        return file in self._files

    def replaced(self, path: str) -> None:
        """Note that a file was created or replaced at ``path``. It may be deleted before it is flushed."""
        self._replaced[path] = None
        self.named(os.path.dirname(path))

    def named(self, directory: str) -> None:
        """Note that names in a directory were created, changed or removed."""
        self._directories[directory] = None

    def then(self, step: Callable[[], None]) -> None:
        """Call ``step`` on the other thread, once all earlier writes are on the disk."""
        self._steps.append(step)

    def take(self) -> Callable[[], list[str]]:
        """A function that flushes all writes noted so far, which this object then forgets. It raises OSError.

        If there was only no file descriptor, it can be called again. It returns the reasons why written files are not
        at their paths any more: an fsync of such a file succeeds, but its data is lost.
        """
        files, replaced, directories, steps = self._files, self._replaced, self._directories, self._steps
        self._files, self._replaced, self._directories, self._steps = {}, {}, {}, []
        return lambda: _force_all(files, [*replaced, *directories], steps)


def _force_all(files: Iterable[OpenFile], paths: Iterable[str], steps: Iterable[Callable[[], None]]) -> list[str]:
    for file in files:
        try:
            force(file.fd)
        except OSError as error:
            error.filename = error.filename or file.path
            raise
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
            sync_file(path)
    for step in steps:
        step()
    return [why for file in files if (why := file.why_gone()) is not None]
