"""Batch headers as Arrow record batches: one function per column, and only the requested columns.

The Arrow schema is created once per table from ``tables``: Spark compares names, order, types and nullability, and
accepts times in microseconds UTC only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kafka_tools.protocol.enums import (
    CODEC_BITS,
    CODECS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    TIMESTAMP_TYPES,
    TRANSACTIONAL_BIT,
)
from kafka_tools.spark.columns.tables import NEWEST_MS, OLDEST_MS, Column
from kafka_tools.spark.damage import HEADER_FAULTS, SOUND
from kafka_tools.spark.headers import Headers
from kafka_tools.spark.interval import within
from kafka_tools.spark.scan import HeaderRun, Row, scan_range
from kafka_tools.storage.findings import ERROR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.options import ReadOptions
    from kafka_tools.spark.segments import Range
    from kafka_tools.spark.selection import Selection

HEADERS = pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))
"""The headers of a record."""

_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "binary": pa.binary(),
    "array<struct<name:string,value:binary>>": HEADERS,
}
CODEC_NAMES = pa.array([*CODECS, *(f"unknown({number})" for number in range(len(CODECS), 8))])
TIMESTAMP_TYPE_NAMES = pa.array([TIMESTAMP_TYPES[0], TIMESTAMP_TYPES[1]])
_SEQUENCES = 2**31
_RANGE_COLUMNS = ("topic", "partition", "log_dir", "file")
_DAMAGE_COLUMNS = {
    "damage": pa.array([kind for kind, _ in HEADER_FAULTS]),
    "severity": pa.array([ERROR] * len(HEADER_FAULTS)),
    "detail": pa.array([text for _, text in HEADER_FAULTS]),
}


def schema_of(columns: Sequence[Column]) -> Any:
    """The Arrow schema of the columns."""
    return pa.schema([(column.name, _TYPES[column.type]) for column in columns])


def record_batches(range_: Range, options: ReadOptions, interval: tuple[int, int] | None = None) -> Iterator[Any]:
    """The rows of one range as ``pyarrow.RecordBatch`` of the columns in ``options``; of a stream, an interval's."""
    schema = schema_of(options.columns)
    parts = scan_range(range_, check_crc=options.check_crc, count_legacy=options.count_legacy)
    for part in parts if interval is None else within(parts, range_, interval):
        if isinstance(part, HeaderRun):
            run = _chosen(part, options.selection)
            if len(run.codes):
                yield _from_run(range_, run, schema)
            if is_behind(part, options.selection):
                return
        else:
            rows = [row for row in part if _is_chosen(row, options.selection)]
            if rows:
                yield from_rows(rows, schema)


def _chosen(run: HeaderRun, selection: Selection) -> HeaderRun:
    """The selected batches of a run, and all damaged batches."""
    if not selection.chooses_rows:
        return run
    headers = run.headers
    wanted = selection.batches(headers.column("base_offset"), headers.last_offsets, headers.column("max_timestamp"))
    return run.take(wanted | (run.codes != SOUND))


def _is_chosen(row: Row, selection: Selection) -> bool:
    if row.get("damage") is not None or not selection.chooses_rows:
        return True
    last = row["last_offset"]
    first = row.get("base_offset")
    time_ms = row.get("max_timestamp_ms")
    values = (last if first is None else first, last, -1 if time_ms is None else time_ms)
    return bool(selection.batches(*(np.array([value], np.int64) for value in values))[0])


def is_behind(run: HeaderRun, selection: Selection) -> bool:
    """Whether everything from this run on is beyond the selected offsets."""
    return selection.max_offset is not None and int(run.headers.fields["base_offset"][-1]) > selection.max_offset


def _from_run(range_: Range, run: HeaderRun, schema: Any) -> Any:
    count = len(run.codes)
    arrays = []
    for field in schema:
        if field.name in _RANGE_COLUMNS:
            arrays.append(pa.repeat(pa.scalar(getattr(range_, field.name), field.type), count))
        elif field.name in _DAMAGE_COLUMNS:
            arrays.append(_DAMAGE_COLUMNS[field.name].take(pa.array(run.codes, mask=run.codes == SOUND)))
        else:
            arrays.append(_HEADER_COLUMNS[field.name](run.headers).cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def from_rows(rows: Sequence[Row], schema: Any) -> Any:
    """Rows as a record batch; missing values are null."""
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _field(name: str) -> Callable[[Headers], Any]:
    def column(headers: Headers) -> Any:
        values = headers.fields[name]
        return pa.array(values.astype(values.dtype.newbyteorder("=")))

    return column


def _bit(mask: int) -> Callable[[Headers], Any]:
    return lambda headers: pa.array((headers.fields["attributes"] & mask) != 0)


def _crc_ok(headers: Headers) -> Any:
    return pa.nulls(len(headers.positions), pa.bool_()) if headers.crc_ok is None else pa.array(headers.crc_ok)


def _last_sequence(headers: Headers) -> Any:
    base = headers.column("base_sequence")
    # Sequences count from 0 to 2^31 - 1 and start again (DefaultRecordBatch.incrementSequence).
    last = (base + headers.column("last_offset_delta")) % _SEQUENCES
    return pa.array(np.where(base < 0, -1, last))


def times(milliseconds: NDArray[np.int64]) -> Any:
    """Milliseconds since the epoch as Spark's times; null for -1 and for times that Spark cannot show."""
    shown = (milliseconds != -1) & (milliseconds >= OLDEST_MS) & (milliseconds <= NEWEST_MS)
    return (
        pa.array(np.where(shown, milliseconds, 0) * 1000, mask=~shown)
        .cast(pa.timestamp("us"))
        .cast(pa.timestamp("us", tz="UTC"))
    )


def _base_timestamp(headers: Headers) -> Any:
    # With a delete horizon, the field contains the horizon instead (KIP-534).
    return pa.array(headers.column("base_timestamp"), mask=_has_horizon(headers))


def _delete_horizon(headers: Headers) -> Any:
    return pa.array(headers.column("base_timestamp"), mask=~_has_horizon(headers))


def _has_horizon(headers: Headers) -> NDArray[np.bool_]:
    return (headers.fields["attributes"] & DELETE_HORIZON_BIT) != 0  # type: ignore[no-any-return]


_HEADER_COLUMNS: dict[str, Callable[[Headers], Any]] = {
    "position": lambda headers: pa.array(headers.positions),
    "size_bytes": lambda headers: pa.array(headers.sizes),
    "base_offset": _field("base_offset"),
    "last_offset": lambda headers: pa.array(headers.last_offsets),
    "magic": _field("magic"),
    "codec": lambda headers: CODEC_NAMES.take(pa.array(headers.fields["attributes"] & CODEC_BITS)),
    "crc_ok": _crc_ok,
    "timestamp_type": lambda headers: TIMESTAMP_TYPE_NAMES.take(
        pa.array(((headers.fields["attributes"] & LOG_APPEND_TIME_BIT) != 0).astype(np.int8))
    ),
    "base_timestamp_ms": _base_timestamp,
    "max_timestamp_ms": _field("max_timestamp"),
    "max_timestamp": lambda headers: times(headers.column("max_timestamp")),
    "producer_id": _field("producer_id"),
    "producer_epoch": _field("producer_epoch"),
    "base_sequence": _field("base_sequence"),
    "last_sequence": _last_sequence,
    "leader_epoch": _field("leader_epoch"),
    "record_count": _field("record_count"),
    "is_transactional": _bit(TRANSACTIONAL_BIT),
    "is_control": _bit(CONTROL_BIT),
    "delete_horizon_ms": _delete_horizon,
}
