"""What else lies in a partition directory: producer snapshots, leader epochs, the topic's id.

Sources: ``ProducerStateManager``, ``LeaderEpochCheckpointFile``, ``PartitionMetadataFile`` of Kafka.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

from kafka_tools.errors import CorruptIndex, InputError, WireError
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.stored.producer_snapshot import ProducerSnapshot
from kafka_tools.records.crc32c import crc32c
from kafka_tools.storage.checkpoints import read_lines
from kafka_tools.values import parse_uuid

SNAPSHOT_VERSION = 1
MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024
_CRC_END = 6  # int16 version, uint32 crc; the crc covers what follows


class ProducerState(NamedTuple):
    """A producer in a snapshot. ``last_sequence`` is -1 for one without a batch; times are in milliseconds.

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
    """From ``start_offset`` on, records carry ``epoch``."""

    epoch: int
    start_offset: int


def read_producer_snapshot(path: str) -> list[ProducerState]:
    """The producers of a ``.snapshot`` file, in its order. Raises OSError, or CorruptIndex in Kafka's words."""
    with open(path, "rb") as file:
        data = file.read(MAX_SNAPSHOT_BYTES + 1)
    if len(data) > MAX_SNAPSHOT_BYTES:
        raise CorruptIndex(f"a snapshot of more than {MAX_SNAPSHOT_BYTES} bytes", path=path)
    if len(data) >= 2 and int.from_bytes(data[:2], "big", signed=True) != SNAPSHOT_VERSION:
        version = int.from_bytes(data[:2], "big", signed=True)
        raise CorruptIndex(
            f"Snapshot failed schema validation: Snapshot contained an unknown file version {version}", path=path
        )
    try:
        snapshot, end = decode_prefix(ProducerSnapshot, SNAPSHOT_VERSION, data, 2)
    except WireError as error:
        raise CorruptIndex(f"Snapshot failed schema validation: {error}", path=path, position=error.position) from error
    computed = crc32c(data[_CRC_END:])
    if snapshot.crc != computed:
        raise CorruptIndex(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {snapshot.crc}. Computed crc: {computed}",
            path=path,
            position=2,
        )
    if end != len(data):
        raise CorruptIndex(f"{len(data) - end} bytes follow the last producer of the snapshot", path=path, position=end)
    return [
        ProducerState(
            entry.producer_id,
            entry.epoch,
            entry.coordinator_epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.offset_delta,
            entry.timestamp,
            entry.current_txn_first_offset if entry.current_txn_first_offset >= 0 else None,
        )
        for entry in snapshot.producer_entries
    ]


def read_leader_epochs(path: str) -> list[LeaderEpoch]:
    """The entries of a ``leader-epoch-checkpoint``. Raises OSError or CorruptIndex."""
    return [LeaderEpoch(int(epoch), int(offset)) for epoch, offset in read_lines(path, "leader epoch checkpoint", 2)]


def read_partition_metadata(path: str) -> uuid.UUID:
    """The topic id in a ``partition.metadata`` file. Raises OSError or CorruptIndex."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read(4096).splitlines()
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    if fields.get("version") != "0" or "topic_id" not in fields:
        raise CorruptIndex(f"{path} is no partition metadata file of version 0", path=path)
    try:
        return parse_uuid(fields["topic_id"])
    except InputError as error:
        raise CorruptIndex(f"{path}: {error}", path=path) from error
