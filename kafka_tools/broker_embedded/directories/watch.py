"""Checks regularly, while a broker runs, whether a log directory is still the one that was locked.

Its disk may be unmounted, the directory may be moved, removed or replaced, or its file system may become read-only.
Without this check the broker would write to files that nobody can find, and a second broker could lock the new
directory at the path. Kafka notices when it next opens a file by its name, for a checkpoint or a new segment.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from kafka_tools.storage.log.identity import identity, why_gone
from kafka_tools.storage.names import META_PROPERTIES

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.directories.locks import DirectoryLock

OF_LOST = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.EROFS, errno.ENODEV, errno.ENXIO})
"""Failures of a write at the top of a log directory that do not pass, and hold for all of it."""


class WatchedDirectory:
    """A log directory as it is now, locked and with its meta.properties written."""

    __slots__ = ("_expected", "path")

    def __init__(self, path: str, lock: DirectoryLock) -> None:
        """Raises OSError."""
        self.path = path
        meta_path = os.path.join(path, META_PROPERTIES)
        self._expected = ((lock.path, lock.identity), (meta_path, identity(os.stat(meta_path))))

    def why_lost(self) -> str | None:
        """Why the path does not lead to this directory any more, or nothing can be written there; None if it does."""
        for path, expected in self._expected:
            why = why_gone(path, expected)
            if why is not None:
                return why if os.path.isdir(self.path) else why_gone(self.path, -1)
        try:
            is_read_only = os.statvfs(self.path).f_flag & os.ST_RDONLY
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        return f"the file system of {self.path} is now read-only" if is_read_only else None
