"""Text files of a log directory, read and written: offset checkpoints, meta.properties, the quorum state.

A checkpoint contains a version line (0), a count, then that many lines of words. Writers replace a file as a whole, so
that a reader sees the old one or the new one. Sources: ``CheckpointFile``, ``OffsetCheckpointFile``,
``MetaProperties``, ``PropertiesUtils``, ``FileQuorumStateStore`` of Kafka.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from kafka_tools.errors import ConfigError, CorruptIndex, NewerFile
from kafka_tools.protocol.feature_levels import NEWER
from kafka_tools.storage.opening import open_file
from kafka_tools.texts.properties import load_properties, properties_line
from kafka_tools.values import TopicPartition

MAX_BYTES = 64 * 1024 * 1024
"""The maximum size of a checkpoint: two hundred thousand partitions with the longest names."""
MAX_SMALL_BYTES = 1024 * 1024
"""The maximum size of meta.properties and quorum-state."""
VERSION = 0
_LINE_BYTES = 1024
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_INT64 = range(-(2**63), 2**63)


def read_rows(path: str, what: str, words: int, *, most_bytes: int = MAX_BYTES) -> Iterator[list[str]]:
    """The entries of a checkpoint file one by one, each split into ``words`` words. All but a topic name are numbers.

    ``what`` names the file in errors. Raises OSError, and CorruptIndex at the first invalid line.
    """
    with _opened(path, what) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise CorruptIndex(f"invalid {what} {path}: {size} bytes, expected at most {most_bytes}", path=path)
        lines = _lines(file.readline, path, what)
        version, count = next(lines, None), next(lines, None)
        if version is None:  # brokers before 2.0 leave the file of a log without entries empty
            return
        if not _NUMBER.fullmatch(version) or not _NUMBER.fullmatch("0" if count is None else count):
            raise CorruptIndex(f"invalid {what} {path}: it must start with a version and a count", path=path)
        if int(version) != VERSION:
            raise _of_version(path, f"unknown {what} version {version}: expected {VERSION}", int(version))
        if count is None:  # Kafka also reads this as no entries
            return
        found = 0
        for number, line in enumerate(lines, 3):
            row = line.split()
            numbers = row if words == 2 else row[1:]
            if len(row) != words or not all(_NUMBER.fullmatch(word) and int(word) in _INT64 for word in numbers):
                raise CorruptIndex(f"invalid {what} {path}: line {number} is '{line[:80]}'", path=path)
            found += 1
            yield row
        if found != int(count):
            raise CorruptIndex(f"{path} claims {count} entries but contains {found}", path=path)


def _lines(readline: Any, path: str, what: str) -> Iterator[str]:
    number = 0
    while data := readline(_LINE_BYTES):
        number += 1
        if len(data) == _LINE_BYTES:
            raise CorruptIndex(f"invalid {what} {path}: line {number} is too long", path=path)
        try:
            yield data.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise CorruptIndex(f"invalid {what} {path}: line {number} is not UTF-8", path=path) from error


def write_rows(path: str, lines: Iterable[str], *, sync: bool = True) -> None:
    """Replace a checkpoint file by these entries. Raises OSError."""
    replace_file(path, _checkpoint(lines), sync=sync)


def _checkpoint(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(entries)), *entries)).encode()


def read_offset_checkpoint(path: str) -> dict[TopicPartition, int]:
    """Partition -> offset of a recovery-point, log-start, replication or cleaner checkpoint.

    Raises OSError or CorruptIndex.
    """
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partition, offset in read_rows(path, "offset checkpoint", 3)
    }


def write_offset_checkpoint(path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace an offset checkpoint. Raises OSError."""
    replace_file(path, offset_checkpoint(offsets))


def offset_checkpoint(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The bytes of an offset checkpoint, sorted by topic and partition."""
    return _checkpoint(f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items()))


class MetaProperties(NamedTuple):
    """The contents of ``meta.properties`` in a log directory: version 0 (ZooKeeper) or 1 (KRaft)."""

    version: int
    cluster_id: str | None
    node_id: int | None
    """``broker.id`` in version 0, ``node.id`` in version 1; None for a broker that has not chosen one yet."""
    directory_id: str | None = None
    others: Mapping[str, str] = {}
    """The other properties in the file."""


_FARTHEST_VERSION = 9
"""The highest version that a later release may write to a small file. A higher one is damage."""


def _of_version(path: str, problem: str, version: int | None) -> CorruptIndex:
    """The error for an unknown version of a file. The known versions are 0 and 1."""
    if version is not None and 0 < version <= _FARTHEST_VERSION:
        return NewerFile(f"{path}: {problem}: {NEWER}", path=path)
    return CorruptIndex(f"{path}: {problem}", path=path)


def read_meta_properties(path: str) -> MetaProperties:
    """``meta.properties`` of version 0 or 1. Raises OSError or CorruptIndex."""
    try:
        values = load_properties(_small_file(path, "meta.properties file"), path)
    except ConfigError as error:
        raise CorruptIndex(str(error), path=path) from error
    version = _take_number(values, "version", path)
    if version not in (0, 1):
        told = "no version" if version is None else f"version {version}"
        raise _of_version(path, f"it has {told}: expected 0 or 1", version)
    node_id = _take_number(values, "broker.id" if version == 0 else "node.id", path)
    cluster_id = values.pop("cluster.id", None)
    if version == 1 and (node_id is None or cluster_id is None):
        missing = "node.id" if node_id is None else "cluster.id"
        raise CorruptIndex(f"{path} has version 1 but no {missing}", path=path)
    return MetaProperties(version, cluster_id, node_id, values.pop("directory.id", None), values)


def write_meta_properties(path: str, meta: MetaProperties) -> None:
    """Replace ``meta.properties``, synced to the disk. Raises OSError."""
    known = {
        "version": str(meta.version),
        "cluster.id": meta.cluster_id,
        "broker.id" if meta.version == 0 else "node.id": None if meta.node_id is None else str(meta.node_id),
        "directory.id": meta.directory_id,
    }
    values = {key: value for key, value in known.items() if value is not None} | dict(meta.others)
    lines = (properties_line(key, value) for key, value in sorted(values.items()))
    replace_file(path, ("#\n" + "".join(lines)).encode("ascii"))


def read_quorum_state(path: str) -> dict[str, Any]:
    """The JSON of a ``quorum-state`` file: leader, epoch and vote of a KRaft node. Raises OSError or CorruptIndex.

    ``data_version`` determines its form (``stored.quorum_state``).
    """
    try:
        document = json.loads(_small_file(path, "quorum state file").decode())
    except (ValueError, RecursionError) as error:
        raise CorruptIndex(f"{path} is not JSON", path=path) from error
    if not isinstance(document, dict):
        raise CorruptIndex(f"invalid quorum state {path}: not a JSON object", path=path)
    for key, required in (("leaderEpoch", True), ("data_version", True), ("leaderId", False), ("votedId", False)):
        if required and key not in document:
            raise CorruptIndex(f"invalid quorum state {path}: no {key}", path=path)
        if type(document.get(key, 0)) is not int:
            raise CorruptIndex(f"invalid quorum state {path}: its {key} is not a number", path=path)
    if document["data_version"] not in (0, 1):
        version = document["data_version"]
        raise _of_version(path, f"unknown quorum state version {version}: expected 0 or 1", version)
    return document


def write_quorum_state(path: str, document: Mapping[str, Any]) -> None:
    """Replace a ``quorum-state`` file, synced to the disk. Raises OSError."""
    replace_file(path, json.dumps(document, separators=(",", ":")).encode())


def replace_file(path: str, data: bytes, *, sync: bool = True) -> None:
    """Replace the file by ``data``. A crash leaves the old file or the new one. Raises OSError."""
    new_path = path + ".tmp"
    mode = file_mode(os.path.dirname(path))
    try:
        with open(new_path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(new_path, path)
    except OSError as error:
        if error.filename2 is not None or error.filename is None:  # from the rename
            error.filename = path
            del error.filename2  # the message would contain even None
        with contextlib.suppress(OSError):  # if this fails too, the first error counts
            os.remove(new_path)
        raise


def file_mode(directory: str) -> int:
    """The mode of a new file, which is as private as its directory. Raises OSError."""
    return os.stat(directory or ".").st_mode & 0o666


def _opened(path: str, what: str) -> BinaryIO:
    """The file, opened for reading. Raises OSError, and CorruptIndex for a FIFO and the like."""
    try:
        return open_file(path)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise CorruptIndex(f"invalid {what} {path}: {error.strerror}", path=path) from error


def _small_file(path: str, what: str) -> bytes:
    with _opened(path, what) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_SMALL_BYTES:
            raise CorruptIndex(f"invalid {what} {path}: {size} bytes, expected at most {MAX_SMALL_BYTES}", path=path)
        return file.read(size)


def _take_number(values: dict[str, str], key: str, path: str) -> int | None:
    text = values.pop(key, None)
    if text is None:
        return None
    text = text.rstrip()
    if not re.fullmatch(r"-?[0-9]{1,10}", text) or int(text) not in range(-(2**31), 2**31):
        raise CorruptIndex(f"{path}: invalid {key} '{text[:40]}': expected a number", path=path)
    return int(text)
