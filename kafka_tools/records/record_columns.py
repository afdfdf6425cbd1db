"""Batches and records as columns: numpy arrays with one entry per batch or record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int64]


class RecordColumns(NamedTuple):
    """Records of several batches, in order. All columns have one int64 per record.

    ``counts`` has the number of records of each batch, ``batch`` the index of each record's batch. Keys, values and
    headers lie in ``arena``: ``arena[key_start : key_start + key_size]``; a size of -1 is null. The headers of a
    record, their number first, lie from ``headers_at`` to ``end`` (``v2.read_headers``). The arena is used again by the
    next ``decode`` that is given it.
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
        """How many records there are."""
        return len(self.offset)

    @property
    def batch_count(self) -> int:
        """The number of batches, of those given, whose records these are."""
        return len(self.counts)

    def part(self, low: int, high: int) -> RecordColumns:
        """Some of the records."""
        return RecordColumns(self.arena, self.counts, *(column[low:high] for column in self[2:]))


class BatchColumns(NamedTuple):
    """The header fields of magic 2 batches of one codec, one entry per batch, and each batch's place in a buffer.

    ``appended``: 1 where all records have the broker's time, which is the largest timestamp, else 0.
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
        """The first ``count`` of them."""
        return BatchColumns(*(column[:count] for column in self))

    def after(self, count: int) -> BatchColumns:
        """All but the first ``count`` of them."""
        return BatchColumns(*(column[count:] for column in self))
