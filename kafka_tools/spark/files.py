"""Files on this machine, or in an object store or HDFS, read by range through ``pyarrow.fs``.

A path without a scheme (or ``file://``) is local; ``s3://`` (``s3a://`` and ``s3n://`` mean the same), ``gs://``,
``abfss://`` and ``hdfs://`` are others. Paths never contain credentials: they come from the usual sources of each
store's clients (environment, instance role, configuration files). This module does not interpret the bytes.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from kafka_tools.closing import Closing
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.storage.live import Identity
from kafka_tools.storage.opening import open_regular, refuse_too_large

SCHEMES = ("s3", "gs", "abfss", "hdfs")
BLOCK_BYTES = 8 * 1024 * 1024
"""Minimum number of bytes per request to a store, which takes tens of milliseconds at any size."""

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")
_SAME_AS_S3 = ("s3a", "s3n")


class ListedFile(NamedTuple):
    """A listed file. ``modified_ms``: since the epoch, None if the store does not return it."""

    path: str
    size_bytes: int
    modified_ms: int | None


class File(Closing):
    """A file opened for reading; a context manager. ``size_bytes`` is the size when it was opened."""

    size_bytes: int
    identity: Identity | None = None
    """The file's identity, even if another file has its path now; None in a store."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self, position: int, size_bytes: int) -> bytes:
        """At most ``size_bytes`` from ``position``; fewer only at the end of the file. OSError as from reading."""
        room = bytearray(size_bytes)
        return bytes(memoryview(room)[: self.read_into(memoryview(room), position)])

    def read_into(self, room: memoryview, position: int) -> int:
        """Fill ``room`` from ``position`` on. Returns the number of bytes read. OSError as from reading."""
        raise OSError(f"{self.path} is not open")

    def refresh(self) -> int:
        """The size now, for a file that grows."""
        return self.size_bytes


class LocalFile(File):
    """A file of this machine or of a mounted volume."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._descriptor = open_regular(path)
        found = os.fstat(self._descriptor)
        self.size_bytes = found.st_size
        self.identity = found.st_dev, found.st_ino

    def read_into(self, room: memoryview, position: int) -> int:
        filled = 0
        while filled < len(room):
            count = os.preadv(self._descriptor, [room[filled:]], position + filled)
            if count == 0:
                break  # the file became shorter: the broker cut it
            filled += count
        return filled

    def refresh(self) -> int:
        self.size_bytes = os.fstat(self._descriptor).st_size
        return self.size_bytes

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class RemoteFile(File):
    """A file of a store. Keeps the last two blocks, so that headers and then records of them cost one request each."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._system, self._key = _system_and_key(path)
        self._file = self._system.open_input_file(self._key)
        self.size_bytes = int(self._file.size())
        self._blocks: list[tuple[int, bytes]] = []

    def read_into(self, room: memoryview, position: int) -> int:
        filled = 0
        while filled < len(room) and position + filled < self.size_bytes:
            at = position + filled
            start, block = self._block_with(at) or self._fetch(at, len(room) - filled)
            part = memoryview(block)[at - start : at - start + len(room) - filled]
            if not part:
                break
            room[filled : filled + len(part)] = part
            filled += len(part)
        return filled

    def _block_with(self, position: int) -> tuple[int, bytes] | None:
        return next((each for each in self._blocks if each[0] <= position < each[0] + len(each[1])), None)

    def _fetch(self, position: int, size_bytes: int) -> tuple[int, bytes]:
        wanted = min(max(size_bytes, BLOCK_BYTES), self.size_bytes - position)
        try:
            fetched = position, self._file.read_at(wanted, position)
        except OSError:
            if not exists(self.path):
                raise FileNotFoundError(2, "No such file or directory", self.path) from None
            raise
        self._blocks = [*self._blocks[-1:], fetched]
        return fetched

    def refresh(self) -> int:
        size, _ = size_and_identity(self.path)
        # An open object is the one that was opened; a larger one has to be opened again.
        if size != self.size_bytes:
            self._file.close()
            self._file = self._system.open_input_file(self._key)
            self.size_bytes = int(self._file.size())
            self._blocks = []
        return self.size_bytes

    def close(self) -> None:
        self._file.close()


def is_remote(path: str) -> bool:
    """Whether a path names a store and not a file of this machine."""
    return _SCHEME.match(path) is not None


def normalised(path: str) -> str:
    """The canonical form of a directory: no ``file://``, ``s3://`` for its other names, no slash at the end.

    A local one is absolute: executors work in other directories.
    InputError for an unsupported scheme, and for a path that contains a secret or options.
    """
    match = _SCHEME.match(path)
    if match is None or match[1].lower() == "file":
        local = path[match.end() :] if match else path
        local = local.rstrip("/") or local[:1]
        return local if not local or os.path.isabs(local) else os.path.join(os.getcwd(), local.removeprefix("./"))
    scheme = match[1].lower()
    scheme = "s3" if scheme in _SAME_AS_S3 else scheme
    if scheme not in SCHEMES:
        raise InputError(
            f"cannot read '{scheme}://': expected a local path or one of {', '.join(f'{s}://' for s in SCHEMES)}"
        )
    rest = path[match.end() :].rstrip("/")
    authority = rest.split("/", 1)[0]
    if "?" in rest or ":" in authority.rpartition("@")[0]:
        raise InputError(
            f"invalid {scheme}:// path: options and credentials belong in the environment, not in the path"
        )
    return f"{scheme}://{rest}"


def check_seen(log_dir: str) -> None:
    """Raises KafkaToolsError on a machine that lacks a log directory which the driver listed."""
    if not is_remote(log_dir) and not os.path.isdir(log_dir):
        raise KafkaToolsError(
            f"host {socket.gethostname()} has no {log_dir}, where the driver found segments",
            hint="give every executor the same files at the same path: mount the directory there, or use a store",
        )


def open_file(path: str) -> File:
    """The file, opened for reading. Raises FileNotFoundError or another OSError."""
    return RemoteFile(path) if is_remote(path) else LocalFile(path)


def open_log(path: str) -> File:
    """The same for a segment's log; OSError also for one that is larger than any of Kafka's."""
    file = open_file(path)
    try:
        refuse_too_large(file.size_bytes, path)
    except OSError:
        file.close()
        raise
    return file


def size_and_identity(path: str) -> tuple[int, Identity | None]:
    """The size of a file in bytes, and which file it is (None in a store). FileNotFoundError, OSError."""
    if not is_remote(path):
        found = os.stat(path)
        return found.st_size, (found.st_dev, found.st_ino)
    info = _info(path)
    if not info.is_file:
        raise FileNotFoundError(2, "No such file or directory", path)
    return int(info.size), None


def modified_ms(path: str) -> int | None:
    """The time of a file's last write, in ms since the epoch; None if it is missing or its store does not return it."""
    try:
        nanoseconds = _info(path).mtime_ns if is_remote(path) else os.stat(path).st_mtime_ns
    except OSError:
        return None
    return None if nanoseconds is None else int(nanoseconds) // 1_000_000


def exists(path: str) -> bool:
    """Whether there is a file (locally also a directory)."""
    return bool(_info(path).is_file) if is_remote(path) else os.path.exists(path)


def read_whole(path: str, limit_bytes: int) -> bytes:
    """The contents of a small file. FileNotFoundError, OSError; also if it is larger than ``limit_bytes``."""
    with open_file(path) as file:
        if file.size_bytes > limit_bytes:
            raise OSError(27, f"{file.size_bytes} bytes exceed the limit of {limit_bytes}", path)
        return file.read(0, file.size_bytes)


def list_store(directory: str) -> Iterator[ListedFile]:
    """All files below a directory of a store, sorted by path. FileNotFoundError, OSError."""
    for entry, is_file in _listed(directory, recursive=True):
        if is_file:
            yield entry


def list_directory(directory: str) -> tuple[list[ListedFile], list[str]]:
    """(files, directories) directly in a directory of a store, sorted by path. FileNotFoundError, OSError."""
    found = list(_listed(directory, recursive=False))
    return [entry for entry, is_file in found if is_file], [entry.path for entry, is_file in found if not is_file]


def _listed(directory: str, *, recursive: bool) -> Iterator[tuple[ListedFile, bool]]:
    """(entry, whether it is a file) for everything found in the directory."""
    from pyarrow import fs

    system, key = _system_and_key(directory)
    prefix = directory.removesuffix("/")[: -len(key)] if key else directory
    found = system.get_file_info(fs.FileSelector(key, recursive=recursive))
    for info in sorted(found, key=lambda info: info.path):
        modified_ms = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
        yield ListedFile(prefix + info.path, int(info.size or 0), modified_ms), bool(info.is_file)


def _info(path: str) -> Any:
    system, key = _system_and_key(path)
    return system.get_file_info(key)


def _system_and_key(path: str) -> tuple[Any, str]:
    """The file system of a path and the path within it, as ``pyarrow.fs`` names it."""
    scheme, _, rest = path.partition("://")
    authority, slash, below = rest.partition("/")
    system, base = _system(scheme, authority)
    return system, base + slash + below


@lru_cache(maxsize=64)
def _system(scheme: str, authority: str) -> tuple[Any, str]:
    """(file system, what stands before a path's own part). One per process: they hold connections and threads."""
    from pyarrow import fs

    if scheme == "s3":
        # Not from the URI, which makes Arrow ask AWS for the bucket's region even with another endpoint.
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if region is None and endpoint is None:
            region = fs.resolve_s3_region(authority)
        return fs.S3FileSystem(region=region, endpoint_override=endpoint), authority
    try:
        system, base = fs.FileSystem.from_uri(f"{scheme}://{authority}/")
    except (OSError, ValueError, ImportError) as error:
        reason = str(error).splitlines()[0]
        if scheme == "hdfs":
            needed = "needs Hadoop's libhdfs, its CLASSPATH and a Java on each machine"
            raise InputError(f"hdfs://{authority} {needed}: {reason}") from error
        raise InputError(f"cannot open {scheme}://{authority}: {reason}") from error
    return system, base.rstrip("/")
