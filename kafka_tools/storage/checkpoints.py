"""Text files of a log directory: offset checkpoints, meta.properties, the quorum state.

A checkpoint is a version line (0), a count, then that many lines of words. Sources: ``CheckpointFile``,
``OffsetCheckpointFile``, ``PropertiesUtils``, ``FileQuorumStateStore`` of Kafka.
"""

from __future__ import annotations

import json
from typing import Any

from kafka_tools.errors import CorruptIndex
from kafka_tools.values import TopicPartition

MAX_BYTES = 64 * 1024 * 1024
VERSION = 0


def read_lines(path: str, what: str, words: int) -> list[list[str]]:
    """The entries of a checkpoint file, each split into ``words`` words. Raises OSError or CorruptIndex."""
    lines = _text(path, what).splitlines()
    if not lines:  # how brokers before 2.0 leave the file of a log without entries
        return []
    if len(lines) < 2 or not lines[0].isdecimal() or not lines[1].isdecimal():
        raise CorruptIndex(f"{path} is no {what}: it must start with a version and a count", path=path)
    if int(lines[0]) != VERSION:
        raise CorruptIndex(f"{path}: {what} version {lines[0]} is unknown, only {VERSION} is known", path=path)
    rows = []
    for number, line in enumerate(lines[2:], 3):
        row = line.split()
        if len(row) != words or not all(word.lstrip("-").isdecimal() for word in row[-(words if words == 2 else 2) :]):
            raise CorruptIndex(f"{path} line {number}: '{line[:80]}' is no entry of a {what}", path=path)
        rows.append(row)
    if len(rows) != int(lines[1]):
        raise CorruptIndex(f"{path} promises {lines[1]} entries and holds {len(rows)}", path=path)
    return rows


def read_offset_checkpoint(path: str) -> dict[TopicPartition, int]:
    """Partition -> offset of a recovery-point, log-start, replication or cleaner checkpoint.

    Raises OSError or CorruptIndex.
    """
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partition, offset in read_lines(path, "offset checkpoint", 3)
    }


def read_meta_properties(path: str) -> dict[str, str]:
    """``meta.properties``: cluster.id, node.id or broker.id, version, directory.id. Raises OSError or CorruptIndex."""
    found = {}
    for number, line in enumerate(_text(path, "meta.properties file").splitlines(), 1):
        text = line.strip()
        if not text or text[0] in "#!":
            continue
        key, equals, value = text.partition("=")
        if not equals:
            raise CorruptIndex(f"{path} line {number}: key=value is expected", path=path)
        found[key.strip()] = value.strip().replace("\\:", ":").replace("\\=", "=")
    return found


def read_quorum_state(path: str) -> dict[str, Any]:
    """The JSON of a ``quorum-state`` file: leader, epoch and vote of a KRaft node. Raises OSError or CorruptIndex."""
    try:
        document = json.loads(_text(path, "quorum state file"))
    except (ValueError, RecursionError) as error:
        raise CorruptIndex(f"{path} is no JSON", path=path) from error
    if not isinstance(document, dict) or "leaderEpoch" not in document:
        raise CorruptIndex(f"{path} is no quorum state: it has no leaderEpoch", path=path)
    return document


def _text(path: str, what: str) -> str:
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise CorruptIndex(f"{path} is no {what}: it has more than {MAX_BYTES} bytes", path=path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptIndex(f"{path} is no {what}: byte {error.start} is not UTF-8", path=path) from error
