"""Opens a log: reads it after a clean shutdown, and also checks its end after a crash.

The order is that of Kafka's ``LogLoader``: leftovers of unfinished work first, then segments, then the
producers. A torn tail was never acknowledged, so truncating it loses nothing. The number of removed bytes is logged.
"""

from __future__ import annotations

import logging
import os
import re
from typing import TYPE_CHECKING

from kafka_tools.errors import CorruptBatch, CorruptIndex, LogError
from kafka_tools.records.batches import BatchView
from kafka_tools.storage import names
from kafka_tools.storage.layout import MAX_RELATIVE_OFFSET
from kafka_tools.storage.log.rebuilding import AbortedAnew, load_indexes
from kafka_tools.storage.log.segment import LogSegment, remove_files
from kafka_tools.storage.producer_files import (
    read_snapshot,
    snapshots,
    write_snapshot,
)
from kafka_tools.storage.producer_state import KnownBatch, ProducerStates
from kafka_tools.storage.segment import Segment

if TYPE_CHECKING:
    from kafka_tools.storage.log.partition_log import PartitionLog

log = logging.getLogger(__name__)

_LOG_FILE = re.compile(r"(\d{20})\.log")
_WINDOW_BYTES = 4 * 1024 * 1024
"""The bytes that a clean start reads back for batches that are not in a snapshot (it contains one per producer)."""


def load(
    opened: PartitionLog,
    *,
    clean: bool,
    recovery_point: int,
    log_start_offset: int | None,
    cleaned_to: int = 0,
    kept_to: int = 0,
) -> None:
    """Load ``opened`` from its directory. Raises LogError, CorruptIndex or OSError if that fails."""
    directory, now_ms = opened.directory, opened.clock.now_ms()
    left = _finish_interrupted_work(directory)
    bases = sorted(int(match[1]) for name in left if (match := _LOG_FILE.fullmatch(name)))
    segments = [LogSegment(directory, base, created_ms=now_ms) for base in bases]
    opened.set_segments(segments or [opened.new_segment(log_start_offset or 0)])
    try:
        opened.epochs.load()  # before the segments, whose recovery adds what the file lacks
    except CorruptIndex as error:
        log.warning("%s; starting a new one", error)
        opened.epochs.save()
    if log_start_offset is None:
        log_start_offset = _log_start_of_epochs(opened)
    opened.log_start_offset = max(log_start_offset, opened.segments[0].base_offset)
    kept: list[LogSegment] = []
    aborted = AbortedAnew(opened)
    end_offset = opened.segments[0].base_offset
    damaged = False
    recovered_from: int | None = None
    for number, segment in enumerate(opened.segments):
        if damaged:
            _remove_segment(segment)
            continue
        kept.append(segment)
        next_base = opened.segments[number + 1].base_offset if number + 1 < len(opened.segments) else None
        suspect = not clean and (next_base is None or next_base > recovery_point)
        if not suspect:
            try:
                load_indexes(opened, segment, aborted, opened.config.index_interval_bytes)
                end_offset = (
                    segment.end_offset(sound=True)
                    if next_base is None
                    else _checked_end(opened, segment, next_base, cleaned_to)
                )
            except CorruptBatch as error:
                if next_base is not None:
                    raise
                log.warning("%s was closed cleanly, but its end is damaged; recovering it: %s", opened.name, error)
                suspect = True
        if suspect:
            recovered_from = segment.base_offset if recovered_from is None else recovered_from
            end_offset, damaged = recover_segment(opened, segment, kept_to)
            if next_base is not None and not damaged:
                _tell_gap(opened, segment, end_offset, next_base, cleaned_to)
    opened.set_segments(kept)
    opened.log_end_offset = end_offset
    if end_offset < opened.log_start_offset:
        log.warning("%s: ends before its log start offset %d; starting empty", opened.name, opened.log_start_offset)
        for segment in kept:
            _remove_segment(segment)
        opened.set_segments([opened.new_segment(opened.log_start_offset)])
        opened.log_end_offset = opened.log_start_offset
    opened.recovery_point = min(recovery_point, opened.log_end_offset)  # the truncated bytes may have been on the disk
    opened.epochs.truncate_end(opened.log_end_offset)
    opened.epochs.truncate_start(opened.log_start_offset)
    rebuild_producers(opened, recovered_from)


def _log_start_of_epochs(opened: PartitionLog) -> int:
    """The start offset of a log without a checkpoint: its first leader epoch, which moves along when records are
    deleted.

    Batches of old formats, and batches that compaction made of them, have no epoch and are before the first one. If the
    log begins with such a batch, it starts at the first segment's base offset.
    """
    first = opened.segments[0]
    if not opened.epochs.entries or not first.size:
        return 0
    try:
        _, view = next(first.walk_headers())
    except (CorruptBatch, StopIteration):
        return 0
    return opened.epochs.entries[0][1] if view.partition_leader_epoch >= 0 else 0


def _finish_interrupted_work(directory: str) -> list[str]:
    """Remove the files of interrupted deletions and compactions. A complete rewrite replaces the original segments.

    Returns the names of the remaining files.

    A .swap at or after the first .cleaned belongs to an incomplete split, and is removed too. KRaft snapshots stay.
    Indexes without a log are removed, because a new segment would use them.
    """
    there = sorted(os.listdir(directory))
    parsed = [(name, names.parse_file_name(name)) for name in there]
    cleaned = [found.base_offset for _, found in parsed if found and found.state == ".cleaned"]
    unfinished_from = min(cleaned, default=None)
    swaps: list[tuple[int, str]] = []
    for name, found in parsed:
        path = os.path.join(directory, name)
        if name.endswith(".tmp") or (found and found.state == ".cleaned"):
            os.remove(path)
        elif found is None or found.suffix == names.CHECKPOINT:
            continue
        elif found.state == ".deleted":
            os.remove(path)
        elif found.state == ".swap":
            if unfinished_from is not None and found.base_offset >= unfinished_from:
                os.remove(path)
            else:
                swaps.append((found.base_offset, path))
    _take_places(directory, swaps)
    if any(found and found.state for _, found in parsed):  # without interrupted work, the first listing is enough
        there = os.listdir(directory)
    logs = set(there)
    for name in there:
        found = names.parse_file_name(name)
        is_index = found and not found.state and found.suffix in (names.INDEX, names.TIME_INDEX, names.TXN_INDEX)
        if found and is_index and names.log_file_name(found.base_offset) not in logs:
            log.warning("%s: removing an index without its log", os.path.join(directory, name))
            os.remove(os.path.join(directory, name))
    return there


def _take_places(directory: str, swaps: list[tuple[int, str]]) -> None:
    """Replace segments by the rewritten ones with their offsets: remove the old files, then rename the new ones."""
    logs = [(base, path) for base, path in swaps if path.endswith(names.LOG + ".swap")]
    if logs:
        first = min(base for base, _ in logs)
        end = max(max(base + 1, _end_of_file(base, path)) for base, path in logs)
        for name in os.listdir(directory):
            found = names.parse_file_name(name)
            if found and not found.state and found.suffix != names.CHECKPOINT and first <= found.base_offset < end:
                os.remove(os.path.join(directory, name))
    for _, path in swaps:
        os.replace(path, path.removesuffix(".swap"))


def _end_of_file(base_offset: int, path: str) -> int:
    """The offset after the last batch of a log file, its base offset if there is none. Raises CorruptBatch."""
    last_offset = base_offset - 1
    with Segment(path) as segment:
        for view in segment.walk():
            last_offset = view.last_offset
    return last_offset + 1


def _checked_end(opened: PartitionLog, segment: LogSegment, next_base: int, cleaned_to: int) -> int:
    """The base offset of the next segment. Logs missing offsets before it."""
    try:
        _tell_gap(opened, segment, segment.end_offset(), next_base, cleaned_to)
    except CorruptBatch as error:
        log.warning("%s: %s", opened.name, error)
    return next_base


def _tell_gap(opened: PartitionLog, segment: LogSegment, end_offset: int, next_base: int, cleaned_to: int) -> None:
    """Log missing offsets, except in the compacted part of a log."""
    if end_offset < next_base and max(end_offset, cleaned_to) < next_base:
        log.warning(
            "%s: offsets %d to %d are missing: %s ends before them and %s begins after them",
            opened.name, end_offset, next_base - 1, segment.path, names.log_file_name(next_base),
        )  # fmt: skip


def recover_segment(opened: PartitionLog, segment: LogSegment, kept_to: int = 0) -> tuple[int, bool]:
    """Check every batch, rebuild the indexes, truncate the file at the first damage. Returns (end offset, truncated?).

    Raises CorruptBatch for damage below ``kept_to``, and truncates nothing.
    """
    segment.reset_indexes()
    if os.path.exists(segment.transaction_index_path):
        os.remove(segment.transaction_index_path)
    end_offset, position = segment.base_offset, 0
    interval_bytes = opened.config.index_interval_bytes
    reason = ""
    try:
        for position, view in segment.walk():
            if not view.crc_ok():
                reason = "the CRC does not match"
                break
            if view.base_offset < end_offset or view.last_offset < view.base_offset:
                reason = f"offset {view.base_offset} follows {end_offset - 1}"
                break
            if view.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                reason = f"offset {view.last_offset} is too far from the segment's base offset"
                break
            segment.note(view, position, interval_bytes)
            end_offset = view.last_offset + 1
            opened.epochs_seen(view.partition_leader_epoch, view.base_offset)
            position += view.size_bytes
    except CorruptBatch as error:
        reason = str(error)
    if reason and end_offset < kept_to:
        text = f"{segment.path} at {position}: {reason}; the segment was valid up to offset {kept_to} before"
        raise CorruptBatch(text, path=segment.path, position=position)
    if reason:
        log.warning(
            "%s: cutting %d bytes off segment %d at %d: %s",
            opened.name, segment.size - position, segment.base_offset, position, reason,
        )  # fmt: skip
        segment.truncate(position)
    segment.seal()
    return end_offset, bool(reason)


def rebuild_producers(opened: PartitionLog, recovered_from: int | None = None) -> None:
    """Rebuild the producer state from the newest usable snapshot and the batches after it.

    A snapshot contains one batch per producer, so the last five batches are read again from the last few megabytes
    before it. From ``recovered_from`` on the transaction index is rebuilt, so no later snapshot may be used.
    """
    opened.producers = ProducerStates()
    start = opened.log_start_offset
    newest_allowed = opened.log_end_offset if recovered_from is None else max(recovered_from, start)
    for offset, path in reversed(snapshots(opened.directory)):
        if offset > newest_allowed:
            os.remove(path)
            continue
        if offset < start:
            break
        try:
            read_snapshot(path, opened.producers)
        except LogError as error:
            log.warning("%s; using an older one", error)
            os.remove(path)
            continue
        start = offset
        _widen_windows(opened, offset)
        break
    for segment, end in zip(opened.segments, opened.ends(), strict=True):
        if segment is not opened.active and end <= start:
            continue
        rewrite = recovered_from is not None and segment.base_offset >= recovered_from
        if rewrite and segment.base_offset > start:
            bases = {each.base_offset for each in opened.segments}
            write_snapshot(opened.directory, segment.base_offset, opened.producers, bases)
        for _, view in segment.walk_headers(segment.position_of(start)):
            if view.last_offset >= start:  # the log may start within a batch
                _note_producer(opened, view, segment if rewrite else None)


def _note_producer(opened: PartitionLog, view: BatchView, segment: LogSegment | None) -> None:
    try:
        opened.note_producer(view, segment)
    except CorruptBatch as error:  # its CRC is valid: it was written like this, so do not truncate it
        log.warning("%s: ignoring the control batch at offset %d: %s", opened.name, view.base_offset, error)


def _widen_windows(opened: PartitionLog, end: int) -> None:
    if not any(entry.batches for entry in opened.producers.entries.values()):
        return
    segment = next(s for s in reversed(opened.segments) if s.base_offset <= max(end - 1, opened.log_start_offset))
    earlier: dict[int, list[BatchView]] = {}
    position = segment.position_of(end)
    for _, view in segment.walk_headers(segment.indexed_position_before(max(position - _WINDOW_BYTES, 0))):
        if view.base_offset >= end:
            break
        if view.producer_id >= 0 and not view.is_control:
            earlier.setdefault(view.producer_id, []).append(view)
    for producer_id, views in earlier.items():
        entry = opened.producers.entries.get(producer_id)
        if entry is None or not entry.batches or views[-1].last_offset != entry.batches[-1].last_offset:
            continue
        entry.batches.clear()
        for view in views:
            if view.producer_epoch == entry.epoch:
                entry.batches.append(_known(view))


def _known(view: BatchView) -> KnownBatch:
    return KnownBatch(
        view.base_sequence, view.last_sequence, view.base_offset, view.last_offset, view.max_timestamp
    )  # fmt: skip


def _remove_segment(segment: LogSegment) -> None:
    segment.close()
    remove_files(segment.files())
