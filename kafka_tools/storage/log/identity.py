"""Whether a path still leads to a file that was opened, or looked at, before.

A file that is open can be written after it was deleted, replaced or moved, and after its file system was unmounted: the
system says nothing, and the bytes go with the last descriptor. Only the path tells.
"""

from __future__ import annotations

import errno
import os

_SAYS_NOTHING = frozenset({errno.EINTR, errno.ENOMEM, errno.ENOBUFS})
"""Failures of a look that are the system's, not the file's."""


def identity(status: os.stat_result) -> int:
    """A number that no other file of any file system has as long as this one exists: its device and inode."""
    return status.st_dev << 64 | status.st_ino


def why_gone(path: str, expected: int) -> str | None:
    """Why ``path`` does not lead to the file with this identity; None if it does. It costs one ``stat``."""
    try:
        status = os.stat(path)
    except OSError as error:
        return None if error.errno in _SAYS_NOTHING else f"{path}: {error.strerror}"
    return None if identity(status) == expected else f"{path} was replaced by another file"
