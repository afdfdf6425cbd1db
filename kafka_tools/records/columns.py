"""Decodes many magic 2 batches together as numpy columns: the fast way to read a log.

It does the same as ``v2.read_records`` for all batches that it accepts. For other batches (damage, numbers of unusual
length) ``decode`` returns None, and the caller reads the batches one by one.

Nearly all numbers in records are varints of one or two bytes. So it reads two bytes for all records, and looks up their
value in a table. Only longer numbers are assembled byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import HEADER_BYTES
from kafka_tools.records.compression import decompress_into
from kafka_tools.records.header_columns import headers_fit
from kafka_tools.records.record_columns import BatchColumns, RecordColumns
from kafka_tools.records.varint_columns import INT32_MOST, Numbers, Unusual

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int64]

ARENA_BYTES = 8 * 1024 * 1024
"""The maximum decompressed size of all bodies of one ``decode`` together."""
MARGIN_BYTES = 1024
"""Space after the bodies, so that reading a little beyond the end of a span never leaves the arena."""
MOST_RECORDS = 100_000
"""If one ``decode`` has more records, they are tiny, and their columns would be larger than the arena."""
_STEP_COST = 40
"""One step over all batches costs as much as this many steps of the plain loop (measured: 5 µs and 0.13 µs)."""


def new_arena(size_bytes: int = ARENA_BYTES) -> memoryview:
    """Memory for the bodies of ``decode``. Reuse it for many windows, because fresh memory costs more than its use."""
    return memoryview(bytearray(size_bytes + MARGIN_BYTES))


def decode(views: Sequence[BatchView], arena: memoryview | None = None) -> RecordColumns | None:
    """The records of the first magic 2 batches, as many as fit into the arena.

    None if the body of the first batch cannot be read, or if a batch needs the scalar loop. Raises UnsupportedCodec.
    """
    if arena is None:
        arena = new_arena()
    starts, ends = _bodies(views, arena)
    if views and not starts:
        return None
    views = views[: len(starts)]
    headers_of = [
        (view.position, view.size_bytes, view.record_count, view.base_offset, view.base_sequence, view.base_timestamp,
         view.max_timestamp, view.timestamp_type)
        for view in views
    ]  # fmt: skip
    batches = BatchColumns(*np.array(headers_of, np.int64).reshape(len(views), 8).T)
    return _decode(batches, arena, np.array(starts, np.int64), np.array(ends, np.int64))


def decode_headers(
    buffer: bytes | memoryview, batches: BatchColumns, codec: int, arena: memoryview
) -> RecordColumns | None:
    """As ``decode``, for batches that are columns already, so that many small batches need no loop.

    ``buffer`` contains the batches in order, and all have the same codec.
    """
    if codec:
        starts, ends = _decompressed(buffer, batches, codec, arena)
    else:
        starts, ends = _copied(buffer, batches, arena)
    return _decode(batches.first(len(starts)), arena, starts, ends) if len(starts) else None


def _decode(batches: BatchColumns, arena: memoryview, first: Column, last: Column) -> RecordColumns | None:
    """The records of batches. ``first`` and ``last``: start and end of each body in the arena."""
    if np.any(batches.counts < 0) or np.any(batches.counts > last - first):
        return None  # a record takes at least a byte: allocate nothing for an impossible count
    numbers = Numbers(arena)
    try:
        begin = _record_starts(numbers, first, last, batches.counts)
        return None if begin is None else _fields(numbers, batches, begin, last)
    except (IndexError, Unusual):  # IndexError: beyond the arena
        return None


def _bodies(views: Sequence[BatchView], arena: memoryview) -> tuple[list[int], list[int]]:
    """Fill the arena with the bodies of the first batches that can be read and fit. Returns their starts and ends."""
    starts: list[int] = []
    ends: list[int] = []
    position, most, records = 0, len(arena) - MARGIN_BYTES, 0
    for view in views:
        records += view.record_count
        if view.magic != 2 or records > MOST_RECORDS:
            break
        end = position
        if view.record_count:
            stored = memoryview(view.buffer)[view.position + HEADER_BYTES : view.position + view.size_bytes]
            codec = view.codec
            if codec:
                written = decompress_into(codec, bytes(stored), arena[position:most])
                if written is None:
                    break
                end += written
            else:
                end += len(stored)
                if end > most:
                    break
                arena[position:end] = stored
        starts.append(position)
        ends.append(end)
        position = end
    return starts, ends


def _copied(buffer: bytes | memoryview, batches: BatchColumns, arena: memoryview) -> tuple[Column, Column]:
    """As ``_bodies``, for uncompressed batches: one copy of all of them, including headers and the bytes in between."""
    position = batches.position
    fits = position + batches.size_bytes - position[:1] <= len(arena) - MARGIN_BYTES
    fits &= np.cumsum(batches.counts) <= MOST_RECORDS
    count = len(fits) if fits.all() else int(fits.argmin())
    if not count:
        return position[:0], position[:0]
    start = int(position[0])
    stop = int(position[count - 1] + batches.size_bytes[count - 1])
    arena[: stop - start] = memoryview(buffer)[start:stop]
    starts = position[:count] - start
    return starts + HEADER_BYTES, starts + batches.size_bytes[:count]


def _decompressed(
    buffer: bytes | memoryview, batches: BatchColumns, codec: int, arena: memoryview
) -> tuple[Column, Column]:
    ends: list[int] = []
    end, most, records = 0, len(arena) - MARGIN_BYTES, 0
    for position, size_bytes, count in zip(*(column.tolist() for column in batches[:3]), strict=True):
        records += count
        if records > MOST_RECORDS:
            break
        if count:
            stored = bytes(buffer[position + HEADER_BYTES : position + size_bytes])
            written = decompress_into(codec, stored, arena[end:most])
            if written is None:
                break
            end += written
        ends.append(end)
    last = np.array(ends, np.int64)
    return np.concatenate(([0], last[:-1])) if ends else last, last


def _record_starts(numbers: Numbers, starts: Column, ends: Column, counts: Column) -> Column | None:
    """The position of every record, None if the lengths do not end at the end of their batch."""
    total = int(counts.sum())
    if total > _STEP_COST * int(counts.max(initial=0)):
        found = _chain_in_step(numbers, starts, ends, counts, total)
        if found is not None:
            return found
    used = int(ends[-1]) + MARGIN_BYTES if len(ends) else 0
    return _chain(bytes(numbers.arena[:used]), starts.tolist(), ends.tolist(), counts.tolist())


def _chain(arena: bytes, starts: list[int], ends: list[int], counts: list[int]) -> Column | None:
    """Follow the lengths record by record: best for few batches of many records, and for long records."""
    positions: list[int] = []
    append = positions.append
    for position, end, count in zip(starts, ends, counts, strict=True):
        for _ in range(count):
            if position >= end:
                return None
            append(position)
            size = arena[position]
            if size < 0x80:
                position += 1
            else:
                byte = arena[position + 1]
                size = size & 0x7F | byte << 7
                if byte < 0x80:
                    position += 2
                else:
                    byte = arena[position + 2]
                    size = size & 0x3FFF | byte << 14
                    position += 3
                    shift = 21
                    while byte >= 0x80:
                        if shift > 28:
                            return None
                        byte = arena[position]
                        size = size & ((1 << shift) - 1) | byte << shift
                        position += 1
                        shift += 7
            if size & 1:
                return None
            position += size >> 1
        if count and position != end:
            return None
    return np.array(positions, np.int64)


def _chain_in_step(numbers: Numbers, starts: Column, ends: Column, counts: Column, total: int) -> Column | None:
    """Follow the lengths of all batches at the same time: best for many batches. None if there may be a long record.

    Every step goes forward, and the last one must end at the end of the batch, so no step leaves its batch.
    """
    order = np.argsort(-counts, kind="stable")
    remaining = counts[order]
    position = starts[order]
    target = (np.cumsum(counts) - counts)[order]
    begin = np.empty(total, np.int64)
    pairs, steps = numbers.pairs, numbers.step
    # The number of batches that have a record number 0, 1, 2 ...
    active_at = np.searchsorted(-remaining, -np.arange(1, int(remaining[0]) + 1), side="right").tolist()
    try:
        for step, active in enumerate(active_at):
            at = position[:active]
            begin[target[:active] + step] = at
            at += steps[pairs[at]]
    except IndexError:
        return None
    return begin if np.array_equal(position[remaining > 0], ends[order][remaining > 0]) else None


def _fields(numbers: Numbers, batches: BatchColumns, begin: Column, ends: Column) -> RecordColumns | None:
    """The parts of every record. Checks only the end of each record, because every part ends before it."""
    counts = batches.counts
    if not len(begin):
        none = np.zeros(0, np.int64)
        return RecordColumns(numbers.arena, counts, none, none, none, none, none, none, none, none, none, none, none)
    stop = np.empty_like(begin)
    stop[:-1] = begin[1:]
    filled = counts > 0
    stop[np.cumsum(counts)[filled] - 1] = ends[filled]
    _, position = numbers.read(begin, 5)
    timestamp, position = numbers.read(position + 1, 9)  # one byte of attributes comes first
    delta, position = numbers.read(position, 5)
    key_size, key_start = numbers.read(position, 5)
    value_size, value_start = numbers.read(key_start + np.maximum(key_size, 0), 5)
    headers_at = value_start + np.maximum(value_size, 0)
    header_count, position = numbers.read(headers_at, 5)
    bare = header_count == 0
    if np.any(header_count < 0) or np.any(bare & (position != stop)):
        return None
    if not bare.all() and not headers_fit(numbers, header_count, position, stop):
        return None
    offset = np.repeat(batches.base_offset, counts) + delta
    sequence = _sequences(batches, delta)
    if sequence is None:
        return None
    return RecordColumns(
        numbers.arena,
        counts,
        np.repeat(np.arange(len(counts)), counts),
        offset,
        _timestamps(batches, timestamp),
        sequence,
        key_start,
        np.maximum(key_size, -1),
        value_start,
        np.maximum(value_size, -1),
        header_count,
        headers_at,
        stop,
    )


def _sequences(batches: BatchColumns, delta: Column) -> Column | None:
    """0 follows 2147483647; batches without a producer have -1."""
    base = batches.base_sequence
    sequence = np.repeat(np.maximum(base, -1), batches.counts)
    if np.any(base >= 0):
        counted = sequence >= 0
        if np.any(delta[counted] < 0):
            return None
        sequence[counted] = (sequence[counted] + delta[counted]) & INT32_MOST
    return sequence


def _timestamps(batches: BatchColumns, delta: Column) -> Column:
    """The producer's timestamps, or the broker's time for all records of a batch (LogAppendTime)."""
    counts = batches.counts
    timestamp = np.repeat(batches.base_timestamp, counts) + delta
    if batches.appended.any():
        time = np.repeat(batches.max_timestamp, counts)
        timestamp = np.where(np.repeat(batches.appended == 1, counts), time, timestamp)
    return timestamp
