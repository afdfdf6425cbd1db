"""Records of some batches as spans of one arena and numbers, and every column that is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kafka_tools.records.batches import BatchView
from kafka_tools.records.record_columns import RecordColumns
from kafka_tools.spark.columns.batches import CODEC_NAMES, HEADERS, TIMESTAMP_TYPE_NAMES, times
from kafka_tools.spark.xxh64 import xxh64_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


class RecordSpans:
    """Records of some batches."""

    def __init__(self, views: Sequence[BatchView], columns: RecordColumns) -> None:
        self.views = views
        self.columns = columns

    def take(self, at: Numbers) -> RecordSpans:
        """Some of the records."""
        return self if len(at) == self.columns.record_count else RecordSpans(self.views, self.columns.take(at))

    def of_batch(self, name: str) -> Any:
        """An attribute of the records' batches, one per record."""
        return np.array([getattr(view, name) for view in self.views])[self.columns.batch]

    @cached_property
    def keys(self) -> Any:
        return self._contents(self.columns.key_start, self.columns.key_size)

    @cached_property
    def values(self) -> Any:
        return self._contents(self.columns.value_start, self.columns.value_size)

    def _contents(self, starts: Numbers, sizes: Numbers) -> Any:
        """Spans as a binary array: taking every other span omits the bytes between them."""
        count = len(starts)
        if not count:
            return pa.array([], pa.binary())
        base = int(starts[0])
        bounds = np.empty(2 * count, np.int32)
        bounds[0::2] = starts - base
        bounds[1::2] = starts - base + np.maximum(sizes, 0)
        whole = pa.BinaryArray.from_buffers(
            pa.binary(), 2 * count - 1, [None, pa.py_buffer(bounds), pa.py_buffer(self.columns.arena[base:])]
        )
        return whole.take(pa.array(np.arange(0, 2 * count, 2), mask=sizes < 0))

    def hashes(self, starts: Numbers, sizes: Numbers) -> Any:
        return pa.array(xxh64_spans(self.columns.arena, starts, np.maximum(sizes, 0)), mask=sizes < 0)

    def headers_bytes(self) -> Any:
        """The bytes between the count of the headers and the end of the record."""
        count = self.columns.header_count
        taken = self.columns.end - self.columns.headers_at
        taken -= 1 + sum((2 * count >= 1 << bits).astype(np.int64) for bits in (7, 14, 21, 28))
        return pa.array(np.where(count > 0, taken, 0))

    def of_v2(self, name: str) -> Any:
        """An attribute that only magic 2 has."""
        return pa.array(self.of_batch(name), mask=self.of_batch("magic") < 2)


def _sizes(sizes: Numbers) -> Any:
    return pa.array(sizes.astype(np.int32), mask=sizes < 0)


def _headers(records: RecordSpans) -> Any:
    rows = [[{"name": name, "value": value} for name, value in headers] for headers in records.columns.headers()]
    return pa.array(rows, HEADERS)


def _timestamp_types(records: RecordSpans) -> Any:
    types = records.of_batch("timestamp_type")
    return TIMESTAMP_TYPE_NAMES.take(pa.array(types, mask=types < 0))


COLUMN_MAKERS: dict[str, Callable[[RecordSpans], Any]] = {
    "position": lambda records: pa.array(records.of_batch("file_position")),
    "offset": lambda records: pa.array(records.columns.offset),
    "timestamp_ms": lambda records: pa.array(records.columns.timestamp),
    "timestamp": lambda records: times(records.columns.timestamp),
    "timestamp_type": _timestamp_types,
    "key_bytes": lambda records: _sizes(records.columns.key_size),
    "key_hash": lambda records: records.hashes(records.columns.key_start, records.columns.key_size),
    "value_bytes": lambda records: _sizes(records.columns.value_size),
    "value_hash": lambda records: records.hashes(records.columns.value_start, records.columns.value_size),
    "header_count": lambda records: pa.array(records.columns.header_count),
    "headers_bytes": lambda records: records.headers_bytes(),
    "magic": lambda records: pa.array(records.of_batch("magic")),
    "codec": lambda records: CODEC_NAMES.take(pa.array(records.of_batch("codec"))),
    "leader_epoch": lambda records: records.of_v2("partition_leader_epoch"),
    "producer_id": lambda records: records.of_v2("producer_id"),
    "producer_epoch": lambda records: records.of_v2("producer_epoch"),
    "sequence": lambda records: pa.array(records.columns.sequence, mask=records.of_batch("magic") < 2),
    "is_transactional": lambda records: pa.array(records.of_batch("is_transactional")),
    "is_control": lambda records: pa.array(records.of_batch("is_control")),
    "key": lambda records: records.keys,
    "value": lambda records: records.values,
    "headers": _headers,
}
