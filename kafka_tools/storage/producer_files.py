"""Producers and transactions on disk: ``.snapshot`` files, the ``.txnindex``, and markers in the log.

Formats: ``ProducerStateManager.writeSnapshot``, ``TransactionIndex`` and ``EndTransactionMarker`` of Kafka.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from kafka_tools.errors import CorruptIndex
from kafka_tools.records.batches import BatchView
from kafka_tools.records.control import read_marker
from kafka_tools.storage.checkpoints import replace_file
from kafka_tools.storage.indexes import (
    TXN_VERSION,
    AbortedTransaction,
    append_entries,
    pack_txn_index,
    read_txn_index,
    txn_index_from,
)
from kafka_tools.storage.names import file_name
from kafka_tools.storage.producer_state import (
    FinishedTransaction,
    KnownBatch,
    ProducerEntry,
    ProducerStates,
)
from kafka_tools.storage.snapshots import ProducerStateEntry, pack_producer_snapshot, read_producers

_SNAPSHOT_FILE = re.compile(r"(\d{20})\.snapshot")


def snapshots(directory: str) -> list[tuple[int, str]]:
    """(offset, path) of each snapshot file, ascending."""
    matches = ((_SNAPSHOT_FILE.fullmatch(name), name) for name in os.listdir(directory))
    return sorted((int(match[1]), os.path.join(directory, name)) for match, name in matches if match)


def write_snapshot(directory: str, offset: int, producers: ProducerStates, segment_bases: Collection[int]) -> None:
    """Write ``<offset>.snapshot``. Remove the other snapshots, except those at the base offset of a segment."""
    put_snapshot(directory, offset, packed_snapshot(producers.entries))
    remove_snapshots(directory, {*segment_bases, offset})


def packed_snapshot(producers: Mapping[int, ProducerEntry]) -> bytes:
    """The bytes of a ``.snapshot`` file."""
    return pack_producer_snapshot(_state(*item) for item in producers.items())


def put_snapshot(directory: str, offset: int, data: bytes) -> None:
    """Write the bytes of ``packed_snapshot`` to a file. Raises OSError."""
    replace_file(os.path.join(directory, file_name(offset, ".snapshot")), data, sync=False)


def remove_snapshots(directory: str, kept: Collection[int]) -> None:
    """Remove the snapshots at all offsets but ``kept``. Raises OSError."""
    for offset, path in snapshots(directory):
        if offset not in kept:
            os.remove(path)


def _state(producer_id: int, entry: ProducerEntry) -> ProducerStateEntry:
    last = entry.batches[-1] if entry.batches else KnownBatch(-1, -1, -1, -1, -1)
    return ProducerStateEntry(
        producer_id,
        entry.epoch,
        entry.coordinator_epoch,
        last.last_sequence,
        last.last_offset,
        last.last_offset - last.first_offset,
        entry.last_timestamp,
        None if entry.transaction_start < 0 else entry.transaction_start,
    )


def read_snapshot(path: str, states: ProducerStates) -> None:
    """Add the producers of a snapshot to ``states``. Raises OSError, and CorruptIndex for an invalid file."""
    for row in read_producers(path):
        entry = ProducerEntry(row.producer_epoch)
        entry.coordinator_epoch = row.coordinator_epoch
        entry.last_timestamp = row.timestamp
        entry.transaction_start = -1 if row.transaction_start is None else row.transaction_start
        states.add(row.producer_id, entry)
        if row.has_batch:
            first_offset = row.last_offset - row.offset_delta
            entry.batches.append(
                KnownBatch(row.first_sequence, row.last_sequence, first_offset, row.last_offset, row.timestamp)
            )


def note_batch(view: BatchView, states: ProducerStates) -> FinishedTransaction | None:
    """Add a batch of the log to the producer state. Returns the transaction that it ends, None for other batches.

    Raises CorruptBatch for an unreadable marker.
    """
    if view.producer_id < 0:
        return None
    if not view.is_control:
        states.update(view, view.base_offset, view.last_offset, view.max_timestamp)
        return None
    marker = read_marker(view)
    if marker is None:
        return None
    return states.end_transaction(
        view.producer_id,
        view.producer_epoch,
        marker.coordinator_epoch,
        marker.offset,
        marker.timestamp,
        committed=marker.committed,
    )


def aborted_entry(finished: FinishedTransaction) -> AbortedTransaction:
    """The entry of an aborted transaction for a .txnindex."""
    return AbortedTransaction(
        TXN_VERSION, finished.producer_id, finished.first_offset, finished.last_offset, finished.last_stable_offset
    )


def append_aborted(path: str, entries: Iterable[AbortedTransaction]) -> None:
    """Append entries to a segment's .txnindex. If that fails, raises OSError and leaves the file as it was."""
    append_entries(path, pack_txn_index(entries))


def replace_aborted(path: str, entries: Collection[AbortedTransaction]) -> None:
    """Replace a segment's .txnindex, or remove it if there are no entries. OSError leaves the old one."""
    if entries:
        replace_file(path, pack_txn_index(entries), sync=False)
    elif os.path.exists(path):
        os.remove(path)


def check_aborted(path: str, base_offset: int) -> None:
    """Raise CorruptIndex for a .txnindex that does not fit its segment (``TransactionIndex.sanityCheck``)."""
    if not os.path.exists(path):
        return
    before = base_offset - 1
    for entry in read_txn_index(path):
        if entry.version != TXN_VERSION or entry.last_offset <= before:
            raise CorruptIndex(
                f"{path} lists an aborted transaction that cannot end at offset {entry.last_offset}", path=path
            )
        before = entry.last_offset


def read_aborted(
    path: str, first_offset: int, end_offset: int, unwritten: Iterable[AbortedTransaction] = ()
) -> tuple[list[AbortedTransaction], bool]:
    """The aborted transactions that overlap the range, from a .txnindex and from ``unwritten``, the entries after it.

    Also returns whether later indexes contain no more of them: once the last stable offset is at the end of the range,
    all transactions that began in it have ended. Entries before the range are not read, because entries are in the
    order of the markers. Raises OSError, CorruptIndex.
    """
    written = txn_index_from(path, first_offset) if os.path.exists(path) else ()
    found = []
    for entry in chain(written, (each for each in unwritten if each.last_offset >= first_offset)):
        if entry.first_offset < end_offset:
            found.append(entry)
        if entry.last_stable_offset >= end_offset:
            return found, True
    return found, False
