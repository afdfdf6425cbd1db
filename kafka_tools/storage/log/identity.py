"""Checks whether a path still leads to a file that was opened before.

An open file can be written after it was deleted, replaced or moved, and after its file system was unmounted. The system
reports no error, and the bytes are lost with the last descriptor. Only the path shows this.
"""

from __future__ import annotations

import errno
import os

_SAYS_NOTHING = frozenset({errno.EINTR, errno.ENOMEM, errno.ENOBUFS})
"""Errors of ``stat`` that are about the system, not the file."""


def identity(status: os.stat_result) -> int:
    """A number that is unique as long as the file exists: its device and inode."""
    return status.st_dev << 64 | status.st_ino


def why_gone(path: str, expected: int) -> str | None:
    """The reason why ``path`` does not lead to the file with this identity; None if it does. Needs one ``stat``."""
    try:
        status = os.stat(path)
    except OSError as error:
        return None if error.errno in _SAYS_NOTHING else f"{path}: {error.strerror}"
    return None if identity(status) == expected else f"{path} was replaced by another file"
