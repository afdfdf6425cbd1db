"""Measures of the records of a range: sizes, keys, tombstones, headers, compression ratios.

After the header walk, batches are read again in windows, from the page cache. All batches of one codec in a window are
decompressed and parsed into columns together (``records.columns``). Batches that it does not accept are read record by
record. Memory is bounded by the window and its decompressed size. Keys are counted by hash; neither keys nor values are
kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.errors import CorruptBatch, UnsupportedCodec
from kafka_tools.protocol.enums import CODEC_BITS, CODECS, CONTROL_BIT, LOG_APPEND_TIME_BIT
from kafka_tools.records import v2
from kafka_tools.records.batches import BatchView
from kafka_tools.records.chain import HEADER_BYTES, MAGIC_POSITION, PREFIX_BYTES
from kafka_tools.records.chain_columns import gather
from kafka_tools.records.columns import decode_headers, new_arena
from kafka_tools.records.record_columns import BatchColumns, RecordColumns
from kafka_tools.spark.measures.sketches import Histogram, HotKeys, KeySample
from kafka_tools.spark.xxh64 import xxh64_spans
from kafka_tools.storage.findings import Finding, kind_of_unread
from kafka_tools.storage.segment_check import timestamp_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.files import File

WINDOW_BYTES = 7 * 1024 * 1024
"""Size of batches that are decoded together: enough for vectorised parsing, and they fit into an arena."""

LIMIT_BYTES = 128 * 1024 * 1024
"""The most bytes that a batch which is read record by record may decompress to."""

_NAMED_RECORDS = 32
_NAMES_KEPT = 100


class RecordMeasures:
    """Measures of the records of data batches; control records are not among them.

    ``stored`` and ``plain`` are bytes by codec: of the batches as they are, and with their records decompressed.
    ``header_names`` counts names in a sample of the records that have headers.
    """

    FAULTS_KEPT = 50
    """Of each kind."""

    def __init__(self) -> None:
        self.records = 0
        self.key_sizes = Histogram()
        self.value_sizes = Histogram()
        self.header_sizes = Histogram()
        self.record_sizes = Histogram()
        self.null_keys = 0
        self.tombstones = 0
        self.with_headers = 0
        self.stored: Counter[str] = Counter()
        self.plain: Counter[str] = Counter()
        self.header_names: Counter[str] = Counter()
        self.keys = KeySample()
        self.hot = HotKeys()
        self.largest: tuple[int, str, int] | None = None
        """(bytes, file, offset) of the largest record."""
        self.faults: dict[str, list[Finding]] = {}
        """Kind -> batches in which it was found."""

    def add(self, other: RecordMeasures) -> None:
        """Add the records of other ranges."""
        self.records += other.records
        self.key_sizes.add(other.key_sizes)
        self.value_sizes.add(other.value_sizes)
        self.header_sizes.add(other.header_sizes)
        self.record_sizes.add(other.record_sizes)
        self.null_keys += other.null_keys
        self.tombstones += other.tombstones
        self.with_headers += other.with_headers
        self.stored += other.stored
        self.plain += other.plain
        self.header_names = Counter(dict((self.header_names + other.header_names).most_common(_NAMES_KEPT)))
        self.keys.add(other.keys)
        self.hot.add(other.hot)
        self._see_largest(other.largest)
        for found in other.faults.values():
            for fault in found:
                self._see_fault(fault)

    def drop_keys(self) -> None:
        """Drop the keys themselves once their numbers are known."""
        self.keys, self.hot = KeySample(), HotKeys()

    def add_group(self, group: AlikeBatches, file: str) -> Iterator[RecordColumns]:
        """Count the records of batches of magic 2; yields the columns they were read into.

        Of control batches only the times are compared: their records are looked at where markers are.
        """
        batches = group.batches
        at_once = len(batches.position)
        while len(batches.position):
            columns = decode_headers(group.buffer, batches.first(at_once), group.codec, _arena())
            if columns is not None:
                done = columns.batch_count
                self._see_times(group, batches, columns, file)
                stored = int(batches.size_bytes[:done].sum())
                batches, at_once = batches.after(done), 2 * at_once
                if group.is_control:
                    continue
                plain = stored
                if group.codec:
                    # The bodies lie behind each other in the arena.
                    bodies = int(columns.end[-1]) if columns.record_count else 0
                    plain = bodies + done * HEADER_BYTES
                yield self._add(columns, CODECS[group.codec], stored, plain, file)
            elif at_once > 1:
                # One of them is for the scalar loop: that one is found without reading the others again and again.
                at_once = min(at_once, len(batches.position)) // 2
            else:
                if not group.is_control:
                    position = int(batches.position[0])
                    yield from self.add_views([BatchView(group.buffer, position, group.start + position)], file)
                batches = batches.after(1)

    def add_views(self, views: Sequence[BatchView], file: str) -> Iterator[RecordColumns]:
        """The same of any batches, record by record."""
        for view in views:
            try:
                found, plain = _one_by_one(view)
            except (CorruptBatch, UnsupportedCodec) as error:
                place = view.file_position, view.last_offset
                self._see_fault(Finding(file, kind_of_unread(error), str(error), *place, size_bytes=view.size_bytes))
                continue
            if view.magic == 2 and found.record_count:
                newest = int(found.timestamp.max())
                if newest != view.max_timestamp:
                    place = view.file_position, view.base_offset
                    text = timestamp_text(view.max_timestamp, newest)
                    self._see_fault(Finding(file, "bad-timestamp", text, *place, size_bytes=view.size_bytes))
            yield self._add(found, CODECS[view.codec], view.size_bytes, plain, file)

    def _see_times(self, group: AlikeBatches, batches: BatchColumns, columns: RecordColumns, file: str) -> None:
        """Batches whose newest timestamp is not that of their records."""
        filled = np.flatnonzero(columns.counts)
        if not len(filled):
            return
        starts = (np.cumsum(columns.counts) - columns.counts)[filled]
        newest = np.maximum.reduceat(columns.timestamp, starts)
        claimed = batches.max_timestamp[filled]
        for at in np.flatnonzero(newest != claimed)[: self.FAULTS_KEPT].tolist():
            batch = int(filled[at])
            place = group.start + int(batches.position[batch]), int(batches.base_offset[batch])
            text = timestamp_text(int(claimed[at]), int(newest[at]))
            size_bytes = int(batches.size_bytes[batch])
            self._see_fault(Finding(file, "bad-timestamp", text, *place, size_bytes=size_bytes))

    def _see_fault(self, fault: Finding) -> None:
        found = self.faults.setdefault(fault.kind, [])
        if len(found) < self.FAULTS_KEPT:
            found.append(fault)

    def _add(self, columns: RecordColumns, codec: str, stored: int, plain: int, file: str) -> RecordColumns:
        self.stored[codec] += stored
        self.plain[codec] += plain
        count = columns.record_count
        if not count:
            return columns
        self.records += count
        has_headers = columns.header_count > 0
        header_sizes = np.where(has_headers, columns.end - columns.headers_at, 0)
        sizes = np.maximum(columns.key_size, 0) + np.maximum(columns.value_size, 0) + header_sizes
        self.key_sizes.add_all(columns.key_size)
        self.value_sizes.add_all(columns.value_size)
        self.record_sizes.add_all(sizes)
        self.header_sizes.add_all(header_sizes)
        keyed = columns.key_size >= 0
        empty = keyed & (columns.value_size < 0)
        self.null_keys += count - int(np.count_nonzero(keyed))
        self.tombstones += int(np.count_nonzero(empty))
        if has_headers.any():
            self.with_headers += int(np.count_nonzero(has_headers))
            self._see_names(columns, np.flatnonzero(has_headers)[:_NAMED_RECORDS])
        largest = int(sizes.argmax())
        self._see_largest((int(sizes[largest]), file, int(columns.offset[largest])))
        if keyed.all():
            starts, lengths, offsets = columns.key_start, columns.key_size, columns.offset
        else:
            starts, lengths, offsets = columns.key_start[keyed], columns.key_size[keyed], columns.offset[keyed]
            sizes, empty = sizes[keyed], empty[keyed]
        if len(starts):
            hashes = xxh64_spans(columns.arena, starts, lengths).view(np.uint64)
            self.keys.add_all(hashes, offsets, sizes, empty)
            self.hot.add_all(hashes, offsets, sizes, file)
        return columns

    def _see_names(self, columns: RecordColumns, records: NDArray[np.int64]) -> None:
        for at in records.tolist():
            raw = bytes(columns.arena[int(columns.headers_at[at]) : int(columns.end[at])])
            pairs, _ = v2.read_headers(raw, 0, len(raw))
            self.header_names.update(name[:200] for name, _ in pairs)
        if len(self.header_names) > _NAMES_KEPT:
            self.header_names = Counter(dict(self.header_names.most_common(_NAMES_KEPT)))

    def _see_largest(self, other: tuple[int, str, int] | None) -> None:
        if other is not None and (self.largest is None or other > self.largest):
            self.largest = other


@cache
def _arena() -> memoryview:
    """One per process: fresh memory costs more than using it."""
    return new_arena()


class AlikeBatches(NamedTuple):
    """Batches of magic 2 and of one codec in a buffer, which begins at ``start`` in the file: of data, or control."""

    buffer: bytes
    start: int
    codec: int
    is_control: bool
    batches: BatchColumns


def windows(
    file: File, positions: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Iterator[AlikeBatches | list[BatchView]]:
    """The batches at ``positions`` in a file, read into buffers of about WINDOW_BYTES; older ones as views.

    Batches that are incomplete or different by now are omitted: the file was truncated in the meantime.
    """
    ends = positions + sizes
    at = 0
    while at < len(positions):
        start = int(positions[at])
        stop = max(at + 1, int(np.searchsorted(ends, start + WINDOW_BYTES, "right")))
        buffer = file.read(start, int(ends[stop - 1]) - start)
        whole = slice(at, at + int(np.searchsorted(ends[at:stop], start + len(buffer), "right")))
        yield from _groups(buffer, start, positions[whole] - start, sizes[whole])
        at = stop


def _groups(
    buffer: bytes, start: int, positions: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Iterator[AlikeBatches | list[BatchView]]:
    data = np.frombuffer(buffer, np.uint8)
    magics = data[positions + MAGIC_POSITION]
    old = [BatchView(buffer, position, start + position) for position in positions[magics < 2].tolist()]
    if old:
        yield old
    new = (magics == 2) & (sizes >= HEADER_BYTES)
    positions, sizes = positions[new], sizes[new]
    fields = gather(data, positions)
    attributes = fields["attributes"].astype(np.int64)
    chosen = fields["length"] + PREFIX_BYTES == sizes
    kinds = attributes & (CODEC_BITS | CONTROL_BIT)
    for kind in np.unique(kinds[chosen]).tolist():
        these = np.flatnonzero(chosen & (kinds == kind))
        here = fields[these]
        yield AlikeBatches(
            buffer,
            start,
            kind & CODEC_BITS,
            bool(kind & CONTROL_BIT),
            BatchColumns(
                positions[these],
                sizes[these],
                here["record_count"].astype(np.int64),
                here["base_offset"].astype(np.int64),
                here["base_sequence"].astype(np.int64),
                here["base_timestamp"].astype(np.int64),
                here["max_timestamp"].astype(np.int64),
                (attributes[these] & LOG_APPEND_TIME_BIT) >> 3,
            ),
        )


def _one_by_one(view: BatchView) -> tuple[RecordColumns, int]:
    """The records of one batch, read with the scalar loop, and the size of the batch decompressed.

    Raises CorruptBatch.
    """
    columns = RecordColumns.of_records(list(view.records(limit_bytes=LIMIT_BYTES)))
    size_bytes = len(columns.arena) + columns.record_count * 8 + HEADER_BYTES
    return columns, size_bytes if view.is_compressed else view.size_bytes
