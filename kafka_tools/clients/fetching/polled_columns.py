"""Fetched records as numpy columns: ``Consumer.poll_columns``.

Many batches are decoded together (``records.columns``); a batch that this cannot read, as one of magic 0 or 1, is read
record by record into the same columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.records.columns import ARENA_BYTES, decode, new_arena
from kafka_tools.records.record_columns import RecordColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.records.batches import BatchView
    from kafka_tools.values import TopicPartition

MOST_BYTES = ARENA_BYTES
"""About the most bytes of batches that are decoded together."""
_arena: list[memoryview] = []
"""Memory for decoding, used again by every call: the result is a copy of the part that was filled."""


class PolledColumns(NamedTuple):
    """Records of one partition, in order of offset; every column is an int64 per record.

    ``data`` contains keys and values: ``data[key_start[i] : key_start[i] + key_size[i]]``. A size of -1 is null.
    ``timestamps_ms`` is -1 for records without timestamp (magic 0).
    """

    topic: str
    partition: int
    offsets: NDArray[np.int64]
    timestamps_ms: NDArray[np.int64]
    data: bytes
    key_start: NDArray[np.int64]
    key_size: NDArray[np.int64]
    value_start: NDArray[np.int64]
    value_size: NDArray[np.int64]
    header_count: NDArray[np.int64]

    def keys(self) -> Iterator[bytes | None]:
        """The key of every record."""
        return _cut(self.data, self.key_start, self.key_size)

    def values(self) -> Iterator[bytes | None]:
        """The value of every record."""
        return _cut(self.data, self.value_start, self.value_size)


def columns_of(topic_partition: TopicPartition, views: Sequence[BatchView], position: int) -> tuple[PolledColumns, int]:
    """(columns of the records of the first batches from ``position`` on, number of these batches: at least one).

    Raises CorruptBatch if the first batch cannot be read.
    """
    if not _arena:
        _arena.append(new_arena(ARENA_BYTES))
    arena = _arena.pop()
    try:
        found = decode(views, arena)
        if found is None or not found.batch_count:
            found, count = RecordColumns.of_records(list(views[0].records())), 1
        else:
            count = found.batch_count
        kept = found.take(slice(int(np.searchsorted(found.offset, position)), None))
        end = max(
            int((kept.key_start + kept.key_size).max(initial=0)),
            int((kept.value_start + kept.value_size).max(initial=0)),
        )
        return (
            PolledColumns(
                topic_partition.topic,
                topic_partition.partition,
                kept.offset,
                kept.timestamp,
                bytes(found.arena[:end]),
                kept.key_start,
                kept.key_size,
                kept.value_start,
                kept.value_size,
                kept.header_count,
            ),
            count,
        )
    finally:
        _arena.append(arena)
        del _arena[1:]


def _cut(data: bytes, start: NDArray[np.int64], size: NDArray[np.int64]) -> Iterator[bytes | None]:
    for first, length in zip(start.tolist(), size.tolist(), strict=True):
        yield None if length < 0 else data[first : first + length]
