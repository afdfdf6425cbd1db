"""Copies files of a store to this machine, for checks that compare several files and can only read local disks.

It copies a log directory's own files and its metadata log, or one partition's directory. The copies are in a temporary
directory and have the sizes and modification times of the store. A large file of which only the size matters becomes a
sparse file of zeros.
"""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kafka_tools.spark.files import ListedFile, list_directory, open_file
from kafka_tools.spark.measures.configs import METADATA_DIR
from kafka_tools.storage import names

LARGEST_BYTES = 1024 * 1024 * 1024
"""Of a larger file, only the size is copied."""
_CHUNK_BYTES = 8 * 1024 * 1024


@contextmanager
def log_dir_copy(log_dir: str) -> Iterator[str]:
    """A directory with the log directory's own files and the metadata log; its partitions are empty directories.

    OSError as from reading.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-tools-store-") as folder:
        copy = os.path.join(folder, posixpath.basename(log_dir))
        os.mkdir(copy)
        entries, below = list_directory(log_dir)
        _fetch_all(entries, copy)
        for path in below:
            directory = os.path.join(copy, posixpath.basename(path))
            os.mkdir(directory)
            if posixpath.basename(path) == METADATA_DIR:
                _fetch_all(list_directory(path)[0], directory)
        yield copy


@contextmanager
def partition_copy(directory: str, walked_bytes: int, small_bytes: int) -> Iterator[str]:
    """A directory with the files of a partition's directory. The logs have their contents only if a producer snapshot
    or transaction index is compared with them and they have at most ``walked_bytes`` together, or if they have at most
    ``small_bytes``. Raises OSError as reading does.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-tools-store-") as folder:
        copy = os.path.join(folder, posixpath.basename(directory))
        os.mkdir(copy)
        entries, _ = list_directory(directory)
        logs = [entry for entry in entries if entry.path.endswith(names.LOG)]
        state = any(entry.size_bytes for entry in entries if entry.path.endswith((names.SNAPSHOT, names.TXN_INDEX)))
        size = sum(entry.size_bytes for entry in logs)
        wanted = size <= small_bytes or (state and size <= walked_bytes)
        _fetch_all((entry for entry in entries if wanted or not entry.path.endswith(names.LOG)), copy)
        if not wanted:
            for entry in logs:
                _by_size(entry, copy)
        yield copy


def _fetch_all(entries: Iterable[ListedFile], folder: str) -> None:
    for entry in entries:
        if entry.size_bytes > LARGEST_BYTES:
            _by_size(entry, folder)
        else:
            _fetch(entry, folder)


def _fetch(entry: ListedFile, folder: str) -> None:
    path = os.path.join(folder, posixpath.basename(entry.path))
    try:
        with open_file(entry.path) as file, open(path, "wb") as copy:
            position = 0
            while data := file.read(position, _CHUNK_BYTES):
                copy.write(data)
                position += len(data)
    except FileNotFoundError:
        if os.path.exists(path):
            os.remove(path)
        return  # removed since it was listed
    _date(path, entry)


def _by_size(entry: ListedFile, folder: str) -> None:
    path = os.path.join(folder, posixpath.basename(entry.path))
    with open(path, "wb") as copy:
        copy.truncate(entry.size_bytes)
    _date(path, entry)


def _date(path: str, entry: ListedFile) -> None:
    if entry.modified_ms is not None:
        os.utime(path, (entry.modified_ms / 1000, entry.modified_ms / 1000))
