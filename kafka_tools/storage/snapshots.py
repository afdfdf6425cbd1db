"""Reads and writes the other files of a partition directory: producer snapshots, leader epochs, the topic's id.

Sources: ``ProducerStateManager``, ``LeaderEpochCheckpointFile``, ``PartitionMetadataFile`` of Kafka.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from kafka_tools.errors import CorruptIndex, InputError
from kafka_tools.records.crc32c import crc32c, crc32c_extend
from kafka_tools.storage.checkpoints import read_rows, replace_file, write_rows
from kafka_tools.storage.opening import open_file
from kafka_tools.values import number_below, parse_uuid, uuid_text

SNAPSHOT_VERSION = 1
MAX_EPOCHS_BYTES = 4 * 1024 * 1024
"""The maximum size of a leader-epoch-checkpoint: more than a hundred thousand epochs."""

_HEAD = Struct(">hIi")  # version, crc, number of producers
_CRC_END = 6  # the crc covers the bytes after it
_ENTRY = Struct(">qhiqiqiq")
"""Producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, first offset of the open
transaction (``stored.producer_snapshot`` declares the same fields as a message)."""
_PIECE_BYTES = _ENTRY.size * 16384
_METADATA_BYTES = 4096
_COLON = re.compile(r":\s+", re.ASCII)
_LINE_END = re.compile(r"\r\n|\r|\n")


class ProducerStateEntry(NamedTuple):
    """A producer in a snapshot. ``last_sequence`` is -1 without a batch; times are in milliseconds.

    ``transaction_start`` is the first offset of its open transaction, None without one.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    transaction_start: int | None

    @property
    def has_batch(self) -> bool:
        return self.last_offset >= 0

    @property
    def first_sequence(self) -> int:
        """The sequence of the first record of the last batch; 2147483647 comes before 0."""
        first = self.last_sequence - self.offset_delta
        return first if first >= 0 else first + 2**31


class LeaderEpoch(NamedTuple):
    """Records from ``start_offset`` on have ``epoch``."""

    epoch: int
    start_offset: int


def read_producers(path: str) -> Iterator[ProducerStateEntry]:
    """The producers of a ``.snapshot`` file, in its order, one by one. The file is read twice, in pieces.

    Raises OSError, or CorruptIndex in Kafka's words before the first producer.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD.size)
        if len(head) >= 2 and (version := int.from_bytes(head[:2], "big", signed=True)) != SNAPSHOT_VERSION:
            raise CorruptIndex(
                f"Snapshot failed schema validation: Snapshot contained an unknown file version {version}", path=path
            )
        if len(head) < _HEAD.size:
            text = f"Snapshot failed schema validation: {len(head)} bytes are too few for a header"
            raise CorruptIndex(text, path=path, position=len(head))
        _, crc, count = _HEAD.unpack(head)
        room = (size - _HEAD.size) // _ENTRY.size
        if not 0 <= count <= room:
            text = f"Snapshot failed schema validation: it claims {count} producers and has room for {room}"
            raise CorruptIndex(text, path=path, position=_CRC_END)
        computed = crc32c(head[_CRC_END:])
        while data := file.read(_PIECE_BYTES):
            computed = crc32c_extend(computed, data)
        if crc != computed:
            raise CorruptIndex(
                f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}",
                path=path,
                position=2,
            )
        end = _HEAD.size + count * _ENTRY.size
        if end != size:
            text = f"{size - end} bytes follow the last producer of the snapshot"
            raise CorruptIndex(text, path=path, position=end)
        file.seek(_HEAD.size)
        while data := file.read(_PIECE_BYTES):
            for row in _ENTRY.iter_unpack(data[: len(data) - len(data) % _ENTRY.size]):
                producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, start = row
                transaction_start = None if start < 0 else start
                yield ProducerStateEntry(
                    producer_id, epoch, coordinator_epoch, last_sequence, last_offset, delta, timestamp,
                    transaction_start,
                )  # fmt: skip


def read_producer_snapshot(path: str) -> list[ProducerStateEntry]:
    """All producers of a ``.snapshot`` file, in its order. Raises OSError, or CorruptIndex in Kafka's words."""
    return list(read_producers(path))


def pack_producer_snapshot(states: Iterable[ProducerStateEntry]) -> bytes:
    """The bytes of a ``.snapshot`` file as Kafka writes it: version, CRC, count, producers."""
    entries = [
        _ENTRY.pack(
            state.producer_id,
            state.producer_epoch,
            state.last_sequence,
            state.last_offset,
            state.offset_delta,
            state.timestamp,
            state.coordinator_epoch,
            -1 if state.transaction_start is None else state.transaction_start,
        )
        for state in states
    ]
    body = len(entries).to_bytes(4, "big") + b"".join(entries)
    return SNAPSHOT_VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + body


def read_leader_epochs(path: str) -> list[LeaderEpoch]:
    """The entries of a ``leader-epoch-checkpoint``. Raises OSError or CorruptIndex."""
    rows = read_rows(path, "leader epoch checkpoint", 2, most_bytes=MAX_EPOCHS_BYTES)
    return [LeaderEpoch(int(epoch), int(offset)) for epoch, offset in rows]


def write_leader_epochs(path: str, epochs: Iterable[LeaderEpoch], *, sync: bool = True) -> None:
    """Replace a ``leader-epoch-checkpoint``. Raises OSError."""
    write_rows(path, (f"{epoch} {start_offset}" for epoch, start_offset in epochs), sync=sync)


def read_partition_metadata(path: str) -> uuid.UUID:
    """The topic id in a ``partition.metadata`` file. Raises OSError or CorruptIndex.

    As ``PartitionMetadataReadBuffer``: only the first two lines count, in this order and with any name before the
    colon. A newer version is read like version 0.
    """
    with open_file(path) as file:
        data = file.read(_METADATA_BYTES)
    try:
        values = [_value_of(line) for line in _LINE_END.split(data.decode())[:2]]
        topic_id = parse_uuid(values[1].removesuffix("==")) if len(values) == 2 else None
    except UnicodeDecodeError as error:
        raise CorruptIndex(f"invalid partition metadata file {path}: not UTF-8", path=path) from error
    except InputError as error:
        raise CorruptIndex(f"{path}: {error}", path=path) from error
    if topic_id is None or number_below(2**31, values[0]) is None:
        text = f"invalid partition metadata file {path}: expected the lines 'version: 0' and 'topic_id: ...'"
        raise CorruptIndex(text, path=path)
    if not topic_id.int:
        raise CorruptIndex(f"{path}: a topic id cannot be zero", path=path)
    return topic_id


def _value_of(line: str) -> str:
    """The text after the colon and blanks. Empty unless the line has exactly one such separator."""
    parts = _COLON.split(line)
    return parts[1] if len(parts) == 2 else ""


def write_partition_metadata(path: str, topic_id: uuid.UUID, *, sync: bool = False) -> None:
    """Replace a ``partition.metadata`` file. Raises OSError."""
    replace_file(path, f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode(), sync=sync)
