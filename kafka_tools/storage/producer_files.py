"""Producers and transactions on disk: ``.snapshot`` files, the ``.txnindex``, and markers in the log.

Formats: ``ProducerStateManager.writeSnapshot``, ``TransactionIndex`` and ``EndTransactionMarker`` of Kafka.
"""

from __future__ import annotations

import os
import re
from struct import Struct

from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.stored.producer_snapshot import ProducerSnapshot
from kafka_tools.records.batches import BatchView
from kafka_tools.records.crc32c import crc32c
from kafka_tools.storage.indexes import TXN_ENTRY, TXN_VERSION, read_txn_index
from kafka_tools.storage.names import file_name
from kafka_tools.storage.producer_state import FinishedTransaction, KnownBatch, ProducerEntry, ProducerStates
from kafka_tools.storage.snapshots import SNAPSHOT_VERSION, read_producer_snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kafka_tools.storage.log import PartitionLog

_SNAPSHOT_FILE = re.compile(r"(\d{20})\.snapshot")
_CRC_END = 6  # version int16, crc uint32; the crc covers what follows
_MARKER_KEY = Struct(">hh")  # version, type: 0 abort, 1 commit
_MARKER_VALUE = Struct(">hi")  # version, coordinator epoch
_COMMIT = 1


def snapshots(directory: str) -> list[tuple[int, str]]:
    """(offset, path) of the snapshot files, ascending."""
    matches = ((_SNAPSHOT_FILE.fullmatch(name), name) for name in os.listdir(directory))
    return sorted((int(match[1]), os.path.join(directory, name)) for match, name in matches if match)


def write_snapshot(log: PartitionLog, offset: int) -> None:
    """The producers as they are at ``offset``, as ``<offset>.snapshot``; others that no segment begins with go."""
    entries = []
    for producer_id, entry in log.producers.entries.items():
        last = entry.batches[-1] if entry.batches else KnownBatch(-1, -1, -1, -1, -1)
        entries.append(
            ProducerSnapshot.ProducerEntry(
                producer_id=producer_id,
                epoch=entry.epoch,
                last_sequence=last.last_sequence,
                last_offset=last.last_offset,
                offset_delta=last.last_offset - last.first_offset,
                timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_first_offset=entry.transaction_start,
            )
        )
    data = bytearray(encode_versioned(ProducerSnapshot(producer_entries=entries), SNAPSHOT_VERSION))
    data[2:_CRC_END] = crc32c(bytes(data[_CRC_END:])).to_bytes(4, "big")
    path = os.path.join(log.directory, file_name(offset, ".snapshot"))
    with open(path + ".tmp", "wb") as file:
        file.write(data)
    os.replace(path + ".tmp", path)
    bases = {segment.base_offset for segment in log.segments}
    for other_offset, other in snapshots(log.directory):
        if other_offset not in bases and other_offset != offset:
            os.remove(other)


def read_snapshot(path: str, states: ProducerStates) -> None:
    """Fill ``states``. Raises OSError, and CorruptIndex for a file that is no snapshot or whose CRC does not match."""
    for row in read_producer_snapshot(path):
        entry = states.entries[row.producer_id] = ProducerEntry(row.producer_epoch)
        entry.coordinator_epoch = row.coordinator_epoch
        entry.last_timestamp = row.timestamp
        entry.transaction_start = -1 if row.transaction_start is None else row.transaction_start
        if row.has_batch:
            first_offset = row.last_offset - row.offset_delta
            entry.batches.append(
                KnownBatch(row.first_sequence, row.last_sequence, first_offset, row.last_offset, row.timestamp)
            )


def read_marker(view: BatchView, states: ProducerStates) -> FinishedTransaction | None:
    """Apply a control batch: the marker that ends a producer's transaction, None for any other control record."""
    for record in view.records():
        if record.key is None or record.value is None or len(record.key) < 4 or len(record.value) < _MARKER_VALUE.size:
            return None
        _, kind = _MARKER_KEY.unpack_from(record.key)
        if kind > _COMMIT:
            return None
        _, coordinator_epoch = _MARKER_VALUE.unpack_from(record.value)
        return states.end_transaction(
            view.producer_id,
            view.producer_epoch,
            coordinator_epoch,
            record.offset,
            record.timestamp,
            committed=kind == _COMMIT,
        )
    return None


def append_aborted(path: str, finished: FinishedTransaction) -> None:
    """One more entry in a segment's .txnindex."""
    entry = TXN_ENTRY.pack(
        TXN_VERSION, finished.producer_id, finished.first_offset, finished.last_offset, finished.last_stable_offset
    )
    with open(path, "ab", buffering=0) as file:
        file.write(entry)


def read_aborted(path: str, first_offset: int, end_offset: int) -> list[tuple[int, int]]:
    """(producer id, first offset) of the aborted transactions that touch the range. Raises OSError, CorruptIndex."""
    if not os.path.exists(path):
        return []
    return [
        (entry.producer_id, entry.first_offset)
        for entry in read_txn_index(path)
        if entry.last_offset >= first_offset and entry.first_offset < end_offset
    ]
