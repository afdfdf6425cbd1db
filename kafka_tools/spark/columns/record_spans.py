"""Records of some batches as spans of one arena and numbers, and every column that is made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kafka_tools.protocol.enums import CODECS, TIMESTAMP_TYPES
from kafka_tools.records import v2
from kafka_tools.records.batches import BatchView
from kafka_tools.records.record import Record
from kafka_tools.records.record_columns import RecordColumns
from kafka_tools.spark.columns.batches import HEADERS, times
from kafka_tools.spark.xxh64 import PADDING_BYTES, xxh64_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


_PADDING = bytes(PADDING_BYTES)


class RecordSpans:
    """Records of some batches: spans of an arena and numbers; one entry per record in each array."""

    def __init__(
        self,
        views: Sequence[BatchView],
        arena: bytes | memoryview,
        spans: dict[str, Numbers],
        headers: list[Any] | None,
    ) -> None:
        self.views = views
        self.arena = arena
        self.spans = spans
        self.batch, self.offset, self.timestamp = spans["batch"], spans["offset"], spans["timestamp"]
        self.key_size, self.value_size = spans["key_size"], spans["value_size"]
        self.read_headers = headers
        """The headers themselves, where records were read one by one."""

    @classmethod
    def of_columns(cls, views: Sequence[BatchView], columns: RecordColumns) -> RecordSpans:
        names = ("batch", "offset", "timestamp", "sequence", "key_start", "key_size", "value_start", "value_size")
        spans = {name: getattr(columns, name) for name in (*names, "header_count", "headers_at", "end")}
        return cls(views, columns.arena, spans, None)

    @classmethod
    def of_records(cls, view: BatchView, records: Sequence[Record]) -> RecordSpans:
        parts = [part for record in records for part in (record.key or b"", record.value or b"")]
        starts = np.array([0, *accumulate(map(len, parts))], np.int64)

        def numbers(of: Callable[[Record], int]) -> Numbers:
            return np.fromiter((of(record) for record in records), np.int64, len(records))

        spans = {
            "batch": np.zeros(len(records), np.int64),
            "offset": numbers(lambda record: record.offset),
            "timestamp": numbers(lambda record: record.timestamp),
            "sequence": numbers(lambda record: record.sequence),
            "key_start": starts[:-1:2],
            "key_size": numbers(lambda record: -1 if record.key is None else len(record.key)),
            "value_start": starts[1::2],
            "value_size": numbers(lambda record: -1 if record.value is None else len(record.value)),
            "header_count": numbers(lambda record: len(record.headers)),
            "headers_at": np.zeros(len(records), np.int64),
            "end": numbers(_headers_size),
        }
        return cls([view], b"".join(parts) + _PADDING, spans, [record.headers for record in records])

    @property
    def count(self) -> int:
        return len(self.offset)

    def take(self, at: Numbers) -> RecordSpans:
        if len(at) == self.count:
            return self
        headers = None if self.read_headers is None else [self.read_headers[index] for index in at.tolist()]
        return RecordSpans(self.views, self.arena, {name: values[at] for name, values in self.spans.items()}, headers)

    def of_batch(self, name: str) -> Any:
        """An attribute of the records' batches, one per record."""
        return np.array([getattr(view, name) for view in self.views])[self.batch]

    @cached_property
    def keys(self) -> Any:
        return self._contents("key")

    @cached_property
    def values(self) -> Any:
        return self._contents("value")

    def _contents(self, name: str) -> Any:
        """Spans as a binary array: those between them are left out by taking every other one."""
        starts, sizes = self.spans[f"{name}_start"], self.spans[f"{name}_size"]
        if not self.count:
            return pa.array([], pa.binary())
        base = int(starts[0])
        bounds = np.empty(2 * self.count, np.int32)
        bounds[0::2] = starts - base
        bounds[1::2] = starts - base + np.maximum(sizes, 0)
        whole = pa.BinaryArray.from_buffers(
            pa.binary(), 2 * self.count - 1, [None, pa.py_buffer(bounds), pa.py_buffer(memoryview(self.arena)[base:])]
        )
        return whole.take(pa.array(np.arange(0, 2 * self.count, 2), mask=sizes < 0))

    def hashes(self, name: str) -> Any:
        sizes = self.spans[f"{name}_size"]
        return pa.array(xxh64_spans(self.arena, self.spans[f"{name}_start"], np.maximum(sizes, 0)), mask=sizes < 0)

    def sizes(self, name: str) -> Any:
        sizes = self.spans[f"{name}_size"]
        return pa.array(sizes.astype(np.int32), mask=sizes < 0)

    def headers_bytes(self) -> Any:
        """The bytes between the count of the headers and the end of the record."""
        taken = self.spans["end"] - self.spans["headers_at"]
        if self.read_headers is None:
            zigzag = 2 * self.spans["header_count"]
            taken = taken - 1 - sum((zigzag >= 1 << bits).astype(np.int64) for bits in (7, 14, 21, 28))
        return pa.array(taken)

    def headers(self) -> list[list[dict[str, Any]]]:
        found: Sequence[Any]
        if self.read_headers is not None:
            found = self.read_headers
        else:
            found = [
                v2.read_headers(bytes(self.arena[at:end]), 0, end - at)[0] if count else ()
                for count, at, end in zip(
                    *(self.spans[name].tolist() for name in ("header_count", "headers_at", "end")), strict=True
                )
            ]
        return [[{"name": name, "value": value} for name, value in headers] for headers in found]

    def of_v2(self, name: str) -> Any:
        """An attribute that only magic 2 has."""
        return pa.array(self.of_batch(name), mask=self.of_batch("magic") < 2)


def _headers_size(record: Record) -> int:
    """The size in bytes of headers in a record of magic 2; of names that are not UTF-8, that of their replacement."""
    total = 0
    for name, value in record.headers:
        size = len(name.encode())
        total += size + _number_size(size) + _number_size(-1 if value is None else len(value)) + len(value or b"")
    return total


def _number_size(number: int) -> int:
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    return max(1, -(-zigzag.bit_length() // 7))


_CODECS = pa.array([*CODECS, *(f"unknown({number})" for number in range(len(CODECS), 8))])
_TIMESTAMP_TYPES = pa.array([TIMESTAMP_TYPES[0], TIMESTAMP_TYPES[1]])


def _timestamp_types(records: RecordSpans) -> Any:
    types = records.of_batch("timestamp_type")
    return _TIMESTAMP_TYPES.take(pa.array(types, mask=types < 0))


COLUMN_MAKERS: dict[str, Callable[[RecordSpans], Any]] = {
    "position": lambda records: pa.array(records.of_batch("file_position")),
    "offset": lambda records: pa.array(records.offset),
    "timestamp_ms": lambda records: pa.array(records.timestamp),
    "timestamp": lambda records: times(records.timestamp),
    "timestamp_type": _timestamp_types,
    "key_bytes": lambda records: records.sizes("key"),
    "key_hash": lambda records: records.hashes("key"),
    "value_bytes": lambda records: records.sizes("value"),
    "value_hash": lambda records: records.hashes("value"),
    "header_count": lambda records: pa.array(records.spans["header_count"]),
    "headers_bytes": lambda records: records.headers_bytes(),
    "magic": lambda records: pa.array(records.of_batch("magic")),
    "codec": lambda records: _CODECS.take(pa.array(records.of_batch("codec"))),
    "leader_epoch": lambda records: records.of_v2("partition_leader_epoch"),
    "producer_id": lambda records: records.of_v2("producer_id"),
    "producer_epoch": lambda records: records.of_v2("producer_epoch"),
    "sequence": lambda records: pa.array(records.spans["sequence"], mask=records.of_batch("magic") < 2),
    "is_transactional": lambda records: pa.array(records.of_batch("is_transactional")),
    "is_control": lambda records: pa.array(records.of_batch("is_control")),
    "key": lambda records: records.keys,
    "value": lambda records: records.values,
    "headers": lambda records: pa.array(records.headers(), HEADERS),
}
