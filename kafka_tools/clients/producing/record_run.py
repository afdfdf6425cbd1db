"""The records of a ``send_many`` as columns: their sizes, and their rows for a batch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, repeat
from operator import add, itemgetter
from typing import TypeVar

from kafka_tools.clients.producing.batch import Header, PendingRecord

T = TypeVar("T")


class RecordRun:
    """Records in their order. ``keys`` is None if no record has one, and ``times_ms`` None if each gets the current
    time.

    ``indexes`` are the positions of the records in the argument of the user.
    """

    def __init__(
        self,
        keys: Sequence[bytes | None] | None,
        values: Sequence[bytes | None],
        headers: Sequence[Header],
        headers_bytes: int,
        times_ms: Sequence[int] | int | None,
        indexes: Sequence[int] | None = None,
    ) -> None:
        self.keys = keys
        self.values = values
        self.indexes = range(len(values)) if indexes is None else indexes
        self._headers = headers
        self._headers_bytes = headers_bytes
        self._times_ms = times_ms
        sizes = _lengths(values)
        if keys is not None:
            sizes = list(map(add, sizes, _lengths(keys)))
        self.largest_bytes = max(sizes, default=0) + headers_bytes
        """The size of the largest record: key, value and headers."""
        self._each = sizes[0] if sizes and sizes.count(sizes[0]) == len(sizes) else None
        """The size of every record without headers, if they are equal."""
        self._ends = list(accumulate(sizes, initial=0)) if self._each is None else []

    def __len__(self) -> int:
        return len(self.values)

    def size_bytes(self, start: int, stop: int) -> int:
        """Keys, values and headers of some records."""
        bare = (stop - start) * self._each if self._each is not None else self._ends[stop] - self._ends[start]
        return bare + (stop - start) * self._headers_bytes

    def most(self, start: int, stop: int, room_bytes: int, extra_bytes: int = 0) -> int:
        """The end of the longest run from ``start`` that takes ``room_bytes``, each record ``extra_bytes`` more."""
        if room_bytes < 0:
            return start
        extra_bytes += self._headers_bytes
        if self._each is not None:
            each = self._each + extra_bytes
            return stop if each == 0 else min(stop, start + room_bytes // each)
        ends, before = self._ends, self._ends[start]
        ordered = range(start, stop + 1)
        return (
            start - 1 + bisect_right(ordered, room_bytes, key=lambda at: ends[at] - before + (at - start) * extra_bytes)
        )

    def rows(self, start: int, stop: int, now_ms: int) -> list[PendingRecord]:
        """The records as batches contain them."""
        count = stop - start
        times = self._times_ms
        times = times[start:stop] if isinstance(times, Sequence) else [now_ms if times is None else times] * count
        keys = repeat(None, count) if self.keys is None else self.keys[start:stop]
        return list(zip(times, keys, self.values[start:stop], repeat(self._headers, count), strict=True))

    def picked(self, places: Sequence[int]) -> RecordRun:
        """Some of the records, in this order."""
        times = self._times_ms
        return RecordRun(
            None if self.keys is None else _picked(self.keys, places),
            _picked(self.values, places),
            self._headers,
            self._headers_bytes,
            _picked(times, places) if isinstance(times, Sequence) else times,
            list(_picked(self.indexes, places)),
        )


def _picked(column: Sequence[T], places: Sequence[int]) -> Sequence[T]:
    return itemgetter(*places)(column) if len(places) > 1 else [column[place] for place in places]


def _lengths(column: Sequence[bytes | None]) -> list[int]:
    try:
        return list(map(len, column))  # type: ignore[arg-type]
    except TypeError:  # some are None
        return [len(each) if each is not None else 0 for each in column]
