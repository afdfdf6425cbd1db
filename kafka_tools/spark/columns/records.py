"""The records of a range as Arrow record batches: many batches at once through ``records.columns``.

Batches that the vectorised reader does not accept are read record by record, up to the damage. Keys and values appear
as size and hash; their bytes are copied only into requested columns. A damaged batch is a row with its damage. If only
its offsets are out of order, its records follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kafka_tools.errors import CorruptBatch, UnsupportedCodec
from kafka_tools.records.batches import BatchView
from kafka_tools.records.columns import decode, new_arena
from kafka_tools.records.record import Record
from kafka_tools.records.record_columns import RecordColumns
from kafka_tools.spark.columns import internal_topics
from kafka_tools.spark.columns.batches import from_rows, is_behind, schema_of
from kafka_tools.spark.columns.record_spans import COLUMN_MAKERS, RecordSpans
from kafka_tools.spark.damage import HEADER_FAULTS, SOUND
from kafka_tools.spark.files import File
from kafka_tools.spark.interval import within
from kafka_tools.spark.scan import HeaderRun, Row, Scan, event, open_range
from kafka_tools.storage.findings import ERROR, KINDS, kind_of_unread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.options import ReadOptions
    from kafka_tools.spark.segments import Range

    Numbers = NDArray[np.int64]

WINDOW_BYTES = 4 * 1024 * 1024
"""Bytes of a log that are read into columns at a time (one batch if that is larger)."""
ROWS_PER_BATCH = 32_768
BYTES_PER_BATCH = 32 * 1024 * 1024

_READABLE = tuple(number for number, (kind, _) in enumerate(HEADER_FAULTS) if kind.startswith("offset-"))


def record_batches(range_: Range, options: ReadOptions, interval: tuple[int, int] | None = None) -> Iterator[Any]:
    """The records of one range as ``pyarrow.RecordBatch`` of the columns in ``options``; of a stream, an interval's."""
    reader = _Reader(range_, options, interval)
    file = open_range(range_)
    if not isinstance(file, File):
        parts: Iterator[HeaderRun | list[Row]] = iter([[file]])
        for part in parts if interval is None else within(parts, range_, interval):
            assert not isinstance(part, HeaderRun)
            yield reader.rows(part)
        return
    with file:
        try:
            yield from reader.batches(file)
        except FileNotFoundError:
            yield reader.rows([event(range_, "vanished", "info", "the segment was removed during the read")])


class _Reader:
    def __init__(self, range_: Range, options: ReadOptions, interval: tuple[int, int] | None) -> None:
        self.range = range_
        self.interval = interval
        self.options = options
        self.schema = schema_of(options.columns)
        self.arena = new_arena()
        names = {column.name for column in options.columns}
        self.decodes = bool(names.intersection(internal_topics.COLUMNS))
        self.decoder = internal_topics.decoder(range_.topic) if self.decodes else None

    def rows(self, rows: Sequence[Row]) -> Any:
        return from_rows(rows, self.schema)

    def batches(self, file: File) -> Iterator[Any]:
        check_crc = self.options.check_crc
        scan = Scan(self.range, file, check_crc, count_legacy=False, rows_per_part=1, window_bytes=WINDOW_BYTES)
        parts = scan.parts()
        for part in parts if self.interval is None else within(parts, self.range, self.interval):
            if isinstance(part, HeaderRun):
                yield from self._of_run(file, part)
                if is_behind(part, self.options.selection):
                    return
            else:
                for row in part:
                    yield from self._of_row(file, row)

    def _of_run(self, file: File, run: HeaderRun) -> Iterator[Any]:
        """Damage and records in the order of the file: stretches of readable batches between damaged ones."""
        headers, positions, base = run.headers, run.headers.positions, run.headers.column("base_offset")
        wanted = self.options.selection.batches_with_records(
            base, headers.last_offsets, headers.column("max_timestamp")
        )
        readable = (run.codes == SOUND) | np.isin(run.codes, _READABLE)
        ends = positions + headers.sizes
        damaged = np.flatnonzero(run.codes != SOUND).tolist()
        start = 0
        for at in [*damaged, len(base)]:
            chosen = np.arange(start, at)
            yield from self._of_batches(file, positions, ends, chosen[wanted[chosen] & readable[chosen]])
            if at < len(base):
                kind, text = HEADER_FAULTS[run.codes[at]]
                size = int(ends[at] - positions[at])
                row = event(self.range, kind, ERROR, text, int(positions[at]), size) | {"offset": int(base[at])}
                yield self.rows([row])
            start = at  # read a batch that is only misplaced after reporting its damage

    def _of_batches(self, file: File, positions: Numbers, ends: Numbers, chosen: Numbers) -> Iterator[Any]:
        if not len(chosen):
            return
        first = int(positions[chosen[0]])
        buffer = file.read(first, int(ends[chosen[-1]]) - first)
        # The file may have been cut since its headers were read.
        views = [
            BatchView(buffer, at - first, at)
            for at, end in zip(positions[chosen].tolist(), ends[chosen].tolist(), strict=True)
            if end - first <= len(buffer)
        ]
        if views:
            yield from self._of_views(views)

    def _of_views(self, views: Sequence[BatchView]) -> Iterator[Any]:
        while views:
            try:
                columns = decode(views, self.arena)
            except UnsupportedCodec:
                columns = None  # reported when the batch is read alone
            if columns is not None:
                yield from self._of_columns(RecordSpans(views, columns))
                views = views[columns.batch_count :]
            elif len(views) > 1:
                for view in views:
                    yield from self._of_views([view])
                return
            else:
                yield from self._one_by_one(views[0])
                return

    def _one_by_one(self, view: BatchView) -> Iterator[Any]:
        """The records of a batch up to the first unreadable one."""
        records: list[Record] = []
        size_bytes = 0
        try:
            for record in view.records():
                records.append(record)
                size_bytes += len(record.key or b"") + len(record.value or b"")
                if len(records) >= ROWS_PER_BATCH or size_bytes > BYTES_PER_BATCH:
                    yield from self._of_columns(RecordSpans([view], RecordColumns.of_records(records)))
                    records, size_bytes = [], 0
        except CorruptBatch as error:
            yield from self._of_columns(RecordSpans([view], RecordColumns.of_records(records)))
            kind = kind_of_unread(error)
            severity = KINDS[kind].severity
            row = event(self.range, kind, severity, str(error), view.file_position, view.size_bytes)
            yield self.rows([row | {"offset": view.base_offset if view.magic >= 2 else view.last_offset}])
            return
        yield from self._of_columns(RecordSpans([view], RecordColumns.of_records(records)))

    def _of_row(self, file: File, row: Row) -> Iterator[Any]:
        """A batch of magic 0 or 1, or damage."""
        if row.get("damage") is None:
            yield from self._one_by_one(BatchView(file.read(row["position"], row["size_bytes"]), 0, row["position"]))
        else:
            offset = row.get("last_offset") if row.get("base_offset") is None else row["base_offset"]
            yield self.rows([row | {"offset": offset}])

    def _of_columns(self, records: RecordSpans) -> Iterator[Any]:
        selection, columns = self.options.selection, records.columns
        chosen = None
        if selection.chooses_rows:
            chosen = np.flatnonzero(selection.batches(columns.offset, columns.offset, columns.timestamp))
        total = columns.record_count if chosen is None else len(chosen)
        step = self._step(columns)
        for start in range(0, total, step):
            stop = min(start + step, total)
            part = records.take(np.arange(start, stop) if chosen is None else chosen[start:stop])
            yield self._batch(part)

    def _step(self, columns: RecordColumns) -> int:
        """Rows of one record batch: fewer if large contents are copied into it."""
        if not any(field.name in ("key", "value", "headers") for field in self.schema) or not columns.record_count:
            return ROWS_PER_BATCH
        largest = int((columns.key_size + columns.value_size).max()) + 2
        return max(1, min(ROWS_PER_BATCH, BYTES_PER_BATCH // max(largest, 1)))

    def _batch(self, records: RecordSpans) -> Any:
        internal = self._internal(records) if self.decodes else None
        arrays = []
        for field in self.schema:
            if field.name in internal_topics.COLUMNS:
                if internal is None:
                    arrays.append(pa.nulls(records.columns.record_count, field.type))
                else:
                    arrays.append(pa.array([values.get(field.name) for values in internal], field.type))
            elif field.name in ("topic", "partition", "log_dir", "file"):
                arrays.append(
                    pa.repeat(pa.scalar(getattr(self.range, field.name), field.type), records.columns.record_count)
                )
            elif field.name in ("damage", "severity", "detail"):
                arrays.append(pa.nulls(records.columns.record_count, field.type))
            else:
                made = COLUMN_MAKERS[field.name](records)
                arrays.append(made if made.type == field.type else made.cast(field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _internal(self, records: RecordSpans) -> list[Row] | None:
        """The values of control records and records of internal topics, None where there are none."""
        control = records.of_batch("is_control")
        if self.decoder is None and not control.any():
            return None
        decoder = self.decoder or _nothing
        keys, values = records.keys.to_pylist(), records.values.to_pylist()
        return [
            internal_topics.control_record(key, value) if is_control else decoder(key, value)
            for is_control, key, value in zip(control.tolist(), keys, values, strict=True)
        ]


def _nothing(key: bytes | None, value: bytes | None) -> Row:
    return {}
