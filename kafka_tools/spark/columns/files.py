"""The files of log directories as Arrow record batches: names, sizes and kinds. It opens no file.

A task lists one partition directory (or, in a store, one log directory, which takes one listing), so that a directory
that vanishes meanwhile is missing. The table is a cluster's inventory, with files in transit, left over or unknown.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kafka_tools.errors import InputError
from kafka_tools.spark.columns.batches import from_rows, schema_of
from kafka_tools.spark.columns.tables import spark_time
from kafka_tools.spark.files import ListedFile, is_remote, list_store
from kafka_tools.spark.segments import is_partition
from kafka_tools.storage import names
from kafka_tools.storage.names import parse_file_name, parse_partition_dir
from kafka_tools.storage.opening import is_directory, is_regular

if TYPE_CHECKING:
    from kafka_tools.spark.options import ReadOptions

DIRECTORIES_PER_TASK = 200
ROWS_PER_BATCH = 32_768

Directory = tuple[str, str, bool]
"""Log directory, directory to list, whether with everything below it."""


def directories(options: ReadOptions) -> Iterator[list[Directory]]:
    """The directories to list, in tasks. InputError for a log directory that cannot be read."""
    task: list[Directory] = []
    for log_dir in options.paths:
        for directory in _directories(log_dir, options):
            task.append(directory)
            if len(task) >= DIRECTORIES_PER_TASK or directory[2]:
                yield task
                task = []
    if task:
        yield task


def record_batches(directory: Directory, options: ReadOptions) -> Iterator[Any]:
    """The files of one directory as record batches of the columns in ``options``."""
    schema = schema_of(options.columns)
    log_dir, path, below = directory
    try:
        entries = list(list_store(path) if below else _entries(path))
    except FileNotFoundError:
        return  # the broker removed the topic since the log directory was listed
    rows: list[dict[str, Any]] = []
    last = _last_segments(entries)
    own = {posixpath.basename(entry.path) for entry in entries if posixpath.dirname(entry.path) == log_dir}
    itself = is_partition(os.path.abspath(log_dir), own)
    for entry in entries:
        row = _row(log_dir, entry, last, itself)
        if row["topic"] is None:
            wanted = not options.selection.topics and options.selection.names is None
        else:
            wanted = options.selection.has_partition(row["topic"], row["partition"])
        if wanted:
            rows.append(row)
        if len(rows) >= ROWS_PER_BATCH:
            yield from_rows(rows, schema)
            rows = []
    if rows:
        yield from_rows(rows, schema)


def _directories(log_dir: str, options: ReadOptions) -> Iterator[Directory]:
    if is_remote(log_dir):
        yield log_dir, log_dir, True
        return
    yield log_dir, log_dir, False
    try:
        with os.scandir(log_dir) as entries:
            below = sorted(entry.path for entry in entries if is_directory(entry))
    except OSError as error:
        raise InputError(f"log directory {error.filename or log_dir}: {error.strerror or error}") from error
    for path in below:
        parsed = parse_partition_dir(os.path.basename(path))
        if parsed is None or options.selection.has_partition(*parsed.topic_partition):
            yield log_dir, path, False


def _entries(directory: str) -> Iterator[ListedFile]:
    with os.scandir(directory) as found:
        for entry in sorted(found, key=lambda entry: entry.name):
            try:
                if is_regular(entry):
                    status = entry.stat()
                    yield ListedFile(entry.path, status.st_size, status.st_mtime_ns // 1_000_000)
            except FileNotFoundError:
                continue  # removed since the directory was listed


def _last_segments(entries: list[ListedFile]) -> set[str]:
    """The log with the highest base offset of each directory: names sort as their offsets."""
    last: dict[str, str] = {}
    for entry in entries:
        name = parse_file_name(posixpath.basename(entry.path))
        if name is not None and name.suffix == names.LOG and not name.state:
            directory = posixpath.dirname(entry.path)
            last[directory] = max(last.get(directory, ""), entry.path)
    return set(last.values())


def _row(log_dir: str, entry: ListedFile, last: set[str], itself: bool) -> dict[str, Any]:
    """A file's row; ``itself``: the log directory is a partition's."""
    folder, name = posixpath.split(entry.path)
    directory = (
        parse_partition_dir(posixpath.basename(os.path.abspath(folder))) if folder != log_dir or itself else None
    )
    parsed = parse_file_name(name)
    row: dict[str, Any] = {
        "log_dir": log_dir,
        "file": entry.path,
        "kind": name if parsed is None else parsed.suffix.removeprefix("."),
        "topic": None,
        "is_known": parsed is not None if directory else name in names.LOG_DIR_FILES,
        "size_bytes": entry.size_bytes,
        "modified_ms": entry.modified_ms,
        "modified": spark_time(entry.modified_ms),
    }
    if directory is not None:
        topic, partition = directory.topic_partition
        row |= {"topic": topic, "partition": partition, "directory_state": directory.state or None}
        row["is_known"] = row["is_known"] or name in names.PARTITION_FILES
    if parsed is not None:
        row |= {"file_state": parsed.state.removeprefix(".") or None, "base_offset": parsed.base_offset}
        if parsed.suffix == names.LOG:
            row["is_last"] = entry.path in last
    return row
