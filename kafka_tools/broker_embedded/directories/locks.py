"""The lock of a log directory: one broker at a time, of this product or Apache Kafka, which locks the same file.

While a broker runs, it checks regularly whether a directory is still the one that was locked. Its disk may be
unmounted, the directory may be moved, removed or replaced, or its file system may become read-only. Without this check
the broker would write to files that nobody can find, and a second broker could lock the new directory at the path.
Kafka notices when it next opens a file by its name, for a checkpoint or a new segment.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading

from kafka_tools.errors import ConfigError
from kafka_tools.net.network import replace_descriptors, when_forked
from kafka_tools.storage.log.identity import identity, why_gone
from kafka_tools.storage.names import LOCK, META_PROPERTIES

OF_LOST = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.EROFS, errno.ENODEV, errno.ENXIO})
"""Permanent errors of writes to a log directory, which affect the whole directory."""
_held: set[int] = set()
"""The identities of the lock files held in this process: a file lock keeps other processes out, not this one."""
_holding = threading.Lock()


class DirectoryLock:
    """Locks a log directory for this broker until ``release``."""

    def __init__(self, path: str) -> None:
        """Raises ConfigError for a directory that is in use or cannot be locked, OSError if there is no file."""
        self.path = path
        lock_path = os.path.join(path, LOCK)
        with _holding:
            # Looked up before it is opened: closing a second descriptor would end the lock of the first.
            if os.path.exists(lock_path) and identity(os.stat(lock_path)) in _held:
                raise _in_use(path)
            self._fd = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            _lock(self._fd, fcntl.LOCK_EX, path, _in_use(path))
            self._identity = identity(os.fstat(self._fd))
            _held.add(self._identity)
        self._expected = {lock_path: self._identity}
        """Files of the directory, and their identities."""
        when_forked(self, DirectoryLock._leave_to_parent)

    def _leave_to_parent(self) -> None:
        """Forget the lock in a forked child, which inherits the descriptor but not the lock."""
        global _holding
        _holding = threading.Lock()  # the parent's broker may have held it at the moment of the fork
        _held.discard(self._identity)
        replace_descriptors([self._fd])

    def release(self) -> None:
        with _holding:
            os.close(self._fd)
            self._fd = -1
            _held.discard(self._identity)

    def watch(self) -> None:
        """From now on, ``why_lost`` also checks the meta.properties. Raises OSError."""
        meta_path = os.path.join(self.path, META_PROPERTIES)
        self._expected[meta_path] = identity(os.stat(meta_path))

    def why_lost(self) -> str | None:
        """The reason if the path is no longer this directory, or the directory is read-only; otherwise None."""
        for path, expected in self._expected.items():
            why = why_gone(path, expected)
            if why is not None:
                return why if os.path.isdir(self.path) else why_gone(self.path, -1)
        try:
            is_read_only = os.statvfs(self.path).f_flag & os.ST_RDONLY
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        return f"the file system of {self.path} is now read-only" if is_read_only else None


class ReadersLock:
    """Locks a log directory of Apache Kafka until ``release``: no broker can start on it. Nothing is written.

    A broker that was shut down cleanly has removed the file, and there is nothing to lock: ``check`` then detects a
    broker that started since.
    """

    def __init__(self, path: str) -> None:
        """Raises ConfigError if a broker runs on the directory, or if it cannot be locked."""
        self._path = path
        self._fd: int | None = None
        lock_path = os.path.join(path, LOCK)
        try:
            if identity(os.stat(lock_path)) in _held:
                raise _in_use(path)
            self._fd = os.open(lock_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ConfigError(f"cannot open {lock_path}: {error.strerror}") from error
        _lock(self._fd, fcntl.LOCK_SH, lock_path, self._runs())

    def check(self) -> None:
        """Raises ConfigError if a broker has started since: the files that were read may not fit together."""
        if self._fd is None and os.path.exists(os.path.join(self._path, LOCK)):
            raise self._runs()

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _runs(self) -> ConfigError:
        return ConfigError(
            f"a broker is running on {self._path}: it holds the lock of {LOCK}", hint="stop the broker first"
        )


def _lock(fd: int, how: int, path: str, is_locked: ConfigError) -> None:
    """Lock a file. If it cannot be locked, close it and raise ConfigError: ``is_locked`` if another process has it."""
    try:
        fcntl.lockf(fd, how | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise is_locked from error
        raise ConfigError(f"cannot lock {path}: {error.strerror}") from error


def _in_use(path: str) -> ConfigError:
    return ConfigError(
        f"{path} is in use by another broker", hint="stop that broker, or pass another directory with --data-dir"
    )
