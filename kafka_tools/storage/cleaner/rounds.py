"""A round of compaction: builds the map of the dirty part, then rewrites the segments by group (Kafka's ``Cleaner``).

``clean`` is a generator. It yields after about a millisecond of work, so that its caller can do other things in
between, and yields longer work as a ``Step``. Between two yields the log may grow, roll, lose its start or be
closed. So the round checks the log again, and raises ``CleaningAborted`` if its segments no longer exist.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.errors import CorruptBatch, LogError
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.storage.cleaner.batch_rewrite import Dropped, Retention, Step, records_of, rewritten
from kafka_tools.storage.cleaner.cleanable import Cleanable, groups
from kafka_tools.storage.cleaner.offset_map import ENTRY_BYTES, OffsetMap
from kafka_tools.storage.cleaner.transactions import CleanedTransactions
from kafka_tools.storage.indexes import AbortedTransaction, append_entries, pack_txn_index
from kafka_tools.storage.log.replacement import CLEANED, promise, replace, take_back
from kafka_tools.storage.log.segment import LogSegment, remove_files
from kafka_tools.storage.log.syncing import sync_directory

if TYPE_CHECKING:
    from kafka_tools.storage.log.partition_log import PartitionLog

_PIECE_BATCHES = 64
_PIECE_RECORDS = 256
_WRITE_BYTES = 256 * 1024


class CleaningAborted(LogError):
    """The log was closed, or one of its segments deleted, while it was being cleaned."""


class MapSize(NamedTuple):
    """Limits of the table of keys: ``log.cleaner.dedupe.buffer.size`` and ``io.buffer.load.factor``."""

    memory_bytes: int = 134217728
    load_factor: float = 0.9


class Round(NamedTuple):
    """The result of a round: the log is clean up to ``end_offset``. Also the bytes that were read and written."""

    end_offset: int
    bytes_read: int
    bytes_written: int
    without_key: int
    """Records that were removed because they have no key. A topic that was not always compacted may contain them."""


def clean(opened: PartitionLog, found: Cleanable, size: MapSize, now_ms: int) -> Generator[Step, Any, Round]:
    """Clean the part in ``found``, or as much of it as the map has space for.

    Raises CleaningAborted, CorruptBatch and other LogErrors for a log that cannot be cleaned, and OSError from the
    disk. The segments are then unchanged, or some of them are clean already.
    """
    before = [segment for segment in opened.segments if segment.base_offset < found.first_dirty_offset]
    legacy_horizon_ms = before[-1].modified_ms() - opened.config.delete_retention_ms if before else 0
    aborted = yield from _aborted(opened, found.end_offset)
    offsets = yield from _offset_map(opened, found, size, aborted)
    yield opened.sync_sealed  # records that replace removed ones must not be lost
    _check(opened)
    end = offsets.latest_offset + 1
    transactions, dropped = CleanedTransactions(), Dropped()
    read = written = 0
    for group in groups(opened, end, found.end_offset):
        retention = Retention(
            offsets,
            transactions,
            now_ms,
            opened.config.delete_retention_ms,
            opened.log_end_offset,
            opened.producers.entries,
            dropped,
        )
        read += sum(segment.size for segment in group)
        written += yield from _clean_group(opened, group, retention, legacy_horizon_ms, aborted)
    return Round(end, read, written, dropped.without_key)


def _aborted(opened: PartitionLog, end_offset: int) -> Generator[Step, Any, list[AbortedTransaction]]:
    """The aborted transactions of the log that begin before an offset. Their markers may be after it."""
    found: list[AbortedTransaction] = []
    for number, segment in enumerate(list(opened.segments)):
        entries, complete = segment.aborted_entries(0, end_offset)
        found += entries
        if complete:
            break
        if not number % _PIECE_BATCHES:
            yield None
            _check(opened)
    return found


# The map


def _offset_map(
    opened: PartitionLog, found: Cleanable, size: MapSize, aborted: list[AbortedTransaction]
) -> Generator[Step, Any, OffsetMap]:
    start = found.first_dirty_offset
    dirty = [
        (segment, min(end, found.end_offset))
        for segment, end in zip(opened.segments, opened.ends(), strict=True)
        if segment.base_offset < found.end_offset and end > start
    ]
    most = 0
    for segment, _ in dirty:
        most += yield from _most_keys(opened, segment, size)
    offsets = OffsetMap(size.memory_bytes, size.load_factor, most)
    transactions = CleanedTransactions()
    transactions.add_aborted(entry for entry in aborted if entry.last_offset >= start)
    for segment, end in dirty:
        whole = yield from _map_segment(opened, segment, start, offsets, transactions)
        if not whole:
            break
        offsets.latest_offset = end - 1
    return offsets


def _most_keys(opened: PartitionLog, segment: LogSegment, size: MapSize) -> Generator[Step, Any, int]:
    """The maximum number of keys in a segment, from headers, to limit the size of the map."""
    count = 0
    for number, (_, view) in enumerate(segment.walk_headers(), 1):
        if view.magic < 2 and view.is_compressed:
            return size.memory_bytes // ENTRY_BYTES  # unknown without decompression
        if view.record_count < 0:
            text = f"{segment.path}: the batch at offset {view.base_offset} claims {view.record_count} records"
            raise CorruptBatch(text, path=segment.path)
        count += view.record_count
        if not number % _PIECE_BATCHES:
            yield None
            _check(opened, segment)
    return count


def _map_segment(
    opened: PartitionLog, segment: LogSegment, start: int, offsets: OffsetMap, transactions: CleanedTransactions
) -> Generator[Step, Any, bool]:
    """Add a segment from ``start`` on to the map. True if all of it had space."""
    _check(opened, segment)
    put, end = offsets.put, opened.ends()[opened.segments.index(segment)]
    for _, view in segment.walk(segment.position_of(start)):
        yield view.size_bytes
        _check(opened, segment)
        _check_sound(segment, view, end)
        if not transactions.may_discard(view) and not view.is_control:
            for seen, record in enumerate((yield from records_of(view)), 1):
                if record.key is not None and record.offset >= start:
                    if offsets.full:
                        return False
                    put(record.key, record.offset)
                if not seen % _PIECE_RECORDS:
                    yield None
            _check(opened, segment)
        if view.last_offset >= start:
            offsets.latest_offset = view.last_offset
    return True


# The segments


def _clean_group(
    opened: PartitionLog,
    group: list[LogSegment],
    retention: Retention,
    legacy_horizon_ms: int,
    aborted: list[AbortedTransaction],
) -> Generator[Step, Any, int]:
    """Replace a group by one segment with the remaining records. Returns its size."""
    first = group[0]
    remove_files(first.files(CLEANED))  # from a failed round
    _check(opened, *group)
    cleaned = LogSegment(opened.directory, first.base_offset, created_ms=first.created_ms, state=CLEANED)
    try:
        writer = _Writer(cleaned, opened.config.index_interval_bytes)
        retention.transactions.kept.clear()
        for number, segment in enumerate(group):
            following = group[number + 1].base_offset if number + 1 < len(group) else segment.end_offset()
            retention.transactions.add_aborted(
                entry
                for entry in aborted
                if entry.last_offset >= segment.base_offset and entry.first_offset < following
            )
            keep = segment.modified_ms() > legacy_horizon_ms
            yield from _rewrite(opened, segment, writer, retention._replace(keep_legacy_deletes=keep))
        writer.flush()
        cleaned.seal()
        if retention.transactions.kept:
            append_entries(cleaned.transaction_index_path, pack_txn_index(retention.transactions.kept))
        modified_ns = os.stat(group[-1].path).st_mtime_ns
        yield cleaned.sync
        _check(opened, *group)
        cleaned.set_modified(modified_ns)
        promise(opened, cleaned)
        yield lambda: sync_directory(opened.directory)
        _check(opened, *group)
        replace(opened, cleaned, group)
        yield lambda: sync_directory(opened.directory)
    except Exception as error:
        if not (opened.holds(cleaned) or opened.offline):
            cleaned.close()
            take_back(opened, cleaned, error)
        if opened.closed and not isinstance(error, CleaningAborted):
            raise CleaningAborted(f"{opened.name} was closed during cleaning", path=opened.directory) from error
        raise
    return cleaned.size


class _Writer:
    """Collects batches for a segment, and writes them in larger pieces."""

    def __init__(self, segment: LogSegment, interval_bytes: int) -> None:
        self._segment = segment
        self._interval_bytes = interval_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, batch: bytes) -> None:
        self._parts.append(batch)
        self._size += len(batch)
        if self._size >= _WRITE_BYTES:
            self.flush()

    def flush(self) -> None:
        data = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        self._segment.append(data, list(batches(data)), self._interval_bytes)


def _rewrite(
    opened: PartitionLog, segment: LogSegment, writer: _Writer, retention: Retention
) -> Generator[Step, Any, None]:
    _check(opened, segment)
    end = opened.ends()[opened.segments.index(segment)]
    for _, view in segment.walk():
        yield view.size_bytes
        _check(opened, segment)
        _check_sound(segment, view, end)
        stays = yield from rewritten(view, retention)
        _check(opened, segment)
        if stays is not None:
            writer.add(stays)
            yield len(stays)
            _check(opened, segment)


def _check_sound(segment: LogSegment, view: BatchView, end_offset: int) -> None:
    """Raise CorruptBatch for a damaged batch, because rewriting it would give it a valid CRC.

    The CRC does not cover offsets. If an offset is too high, the round would remove later records of its keys.
    """
    if not view.crc_ok():
        text = f"the CRC of the batch at offset {view.last_offset} does not match its contents"
    elif not segment.base_offset <= view.base_offset <= view.last_offset < end_offset:
        text = f"a batch has the offsets {view.base_offset} to {view.last_offset}, which do not belong to the segment"
    else:
        return
    raise CorruptBatch(f"{segment.path}: {text}", path=segment.path)


def _check(opened: PartitionLog, *segments: LogSegment) -> None:
    if opened.closed or not opened.config.compact:
        raise CleaningAborted(f"cleaning of {opened.name} was cancelled", path=opened.directory)
    for segment in segments:
        if not opened.holds(segment):
            raise CleaningAborted(f"{segment.path} was deleted during cleaning", path=segment.path)
