"""Forcing files and names in directories to the disk (fsync), and a list of what still has to be forced.

A write and a new name are the kernel's until they are forced, and after a loss of power any part of them may be
missing. A failed attempt to force a file says that some of it may be gone, and the next one says nothing of that: so
nobody tries again.
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
"""On macOS ``fsync`` leaves the bytes in the drive's own memory; this function does not."""

NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
"""A file could not be opened to be forced, which may be tried again: nothing was lost."""


def force(fd: int) -> None:
    """Wait until what a file holds is on the disk. Raises OSError."""
    if _FULL_SYNC is not None:
        fcntl.fcntl(fd, _FULL_SYNC)
    else:
        os.fdatasync(fd)


def sync_file(path: str) -> None:
    """Force a file to the disk. Raises OSError, which names it."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        error.filename = error.filename or path
        raise
    finally:
        os.close(fd)


sync_directory = sync_file
"""Force the names in a directory to the disk. Raises OSError."""


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
        """Something was written to an open file."""
        self._files[file] = None

    def holds(self, file: OpenFile) -> bool:
        """Whether something was written to an open file and is still to be taken."""
        return file in self._files

    def replaced(self, path: str) -> None:
        """A file was created or replaced at ``path``; it may be deleted again before it is forced."""
        self._replaced[path] = None
        self.named(os.path.dirname(path))

    def named(self, directory: str) -> None:
        """Names in a directory were made, changed or removed."""
        self._directories[directory] = None

    def then(self, step: Callable[[], None]) -> None:
        """``step`` is to be called, on the other thread, once what was written before is on the disk."""
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
        with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile, which others have to keep
            sync_file(path)
    for step in steps:
        step()
    return [why for file in files if (why := file.why_gone()) is not None]
