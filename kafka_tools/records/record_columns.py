"""Batches and records as columns: numpy arrays with one entry per batch or record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.protocol.primitives import read_varint
from kafka_tools.records.build import encode_record
from kafka_tools.records.v2 import read_headers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.records.record import Headers, Record

    Column = NDArray[np.int64]


class RecordColumns(NamedTuple):
    """Records of several batches, in order. All columns have one int64 per record.

    ``counts`` is the number of records of each batch, ``batch`` the index of each record's batch. ``arena`` contains
    keys, values and headers: ``arena[key_start : key_start + key_size]``; a size of -1 is null. The headers of a
    record, starting with their number, are from ``headers_at`` to ``end`` (``v2.read_headers``). The next ``decode``
    with the same arena overwrites it.
    """

    arena: memoryview
    counts: Column
    batch: Column
    offset: Column
    timestamp: Column
    sequence: Column
    key_start: Column
    key_size: Column
    value_start: Column
    value_size: Column
    header_count: Column
    headers_at: Column
    end: Column

    @property
    def record_count(self) -> int:
        """The number of records."""
        return len(self.offset)

    @property
    def batch_count(self) -> int:
        """The number of batches that were decoded."""
        return len(self.counts)

    def take(self, at: slice | Column) -> RecordColumns:
        """Some of the records."""
        return RecordColumns(self.arena, self.counts, *(column[at] for column in self[2:]))

    def headers(self) -> Iterator[Headers]:
        """The headers of every record."""
        spans = zip(self.header_count.tolist(), self.headers_at.tolist(), self.end.tolist(), strict=True)
        for count, at, end in spans:
            yield read_headers(bytes(self.arena[at:end]), 0, end - at)[0] if count else ()

    @classmethod
    def of_records(cls, records: Sequence[Record]) -> RecordColumns:
        """Columns of the records of one batch, which were read one by one. Encodes headers again."""
        parts: list[bytes] = []
        rows = []
        position = 0
        for record in records:
            key_size = -1 if record.key is None else len(record.key)
            value_size = -1 if record.value is None else len(record.value)
            headers = _encoded(record.headers) if record.headers else b""
            value_start = position + max(key_size, 0)
            headers_at = value_start + max(value_size, 0)
            end = headers_at + len(headers)
            parts += (record.key or b"", record.value or b"", headers)
            rows.append(
                (record.offset, record.timestamp, record.sequence, position, key_size, value_start, value_size,
                 len(record.headers), headers_at, end)
            )  # fmt: skip
            position = end
        columns = np.array(rows, np.int64).reshape(len(rows), 10).T
        counts, batch = np.array([len(rows)]), np.zeros(len(rows), np.int64)
        return cls(memoryview(b"".join(parts)), counts, batch, *columns)


def _encoded(headers: Headers) -> bytes:
    """The bytes of headers in a record, starting with their number. A record without key and value ends with them."""
    record = encode_record(0, 0, None, None, headers)
    _, start = read_varint(record, 0)
    return record[start + 5 :]


class BatchColumns(NamedTuple):
    """The header fields of magic 2 batches of one codec, one entry per batch, and each batch's place in a buffer.

    ``appended``: 1 if all records have the broker's time, which is the largest timestamp, else 0.
    """

    position: Column
    size_bytes: Column
    counts: Column
    base_offset: Column
    base_sequence: Column
    base_timestamp: Column
    max_timestamp: Column
    appended: Column

    def first(self, count: int) -> BatchColumns:
        """The first ``count`` batches."""
        return BatchColumns(*(column[:count] for column in self))

    def after(self, count: int) -> BatchColumns:
        """All batches except the first ``count``."""
        return BatchColumns(*(column[count:] for column in self))
