"""Counts of unbounded input (sizes, keys, frequent keys) in bounded memory, each with its error.

The sum of two counts equals a single count of both inputs, up to the same error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EXACT = 16
_SLOTS = _EXACT + 16 * 28  # sizes up to 2^31 - 1
_TABLE_SIZES = 1 << 16


def _slots(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    exponents = np.frexp(np.maximum(sizes, 1).astype(np.float64))[1].astype(np.int64) - 1
    shifts = np.maximum(exponents - 4, 0)
    return np.where(sizes < _EXACT, sizes, _EXACT + 16 * shifts + ((sizes >> shifts) & 15))


_TABLE = _slots(np.arange(_TABLE_SIZES)).astype(np.int16)


class Histogram:
    """Sizes of 0 to 2^31 - 1 bytes. Count, total, least and largest are exact.

    Percentiles are the middle of a slot 1/16 of its size wide: at most 3.2 % off, exact below 16.
    """

    ERROR = 1 / 31

    def __init__(self) -> None:
        self.counts = np.zeros(_SLOTS, np.int64)
        self.count = 0
        self.total = 0
        self.least: int | None = None
        self.largest: int | None = None

    def add_all(self, sizes: NDArray[np.int64]) -> None:
        """Count many sizes; negative ones (nulls) are left out."""
        if len(sizes) and int(sizes.min()) < 0:
            sizes = sizes[sizes >= 0]
        if not len(sizes):
            return
        largest = int(sizes.max())
        slots = _TABLE[sizes] if largest < _TABLE_SIZES else _slots(sizes)
        self.counts += np.bincount(slots, minlength=_SLOTS)
        self._range(int(sizes.min()), largest)
        self.count += len(sizes)
        self.total += int(sizes.sum())

    def add(self, other: Histogram) -> None:
        """Add another histogram."""
        if other.least is not None and other.largest is not None:
            self.counts += other.counts
            self.count += other.count
            self.total += other.total
            self._range(other.least, other.largest)

    def _range(self, least: int, largest: int) -> None:
        self.least = least if self.least is None else min(self.least, least)
        self.largest = largest if self.largest is None else max(self.largest, largest)

    def percentile(self, percent: float) -> int | None:
        """The size that ``percent`` of all are at most; None without any."""
        if self.least is None or self.largest is None:
            return None
        rank = max(1, -(-self.count * percent // 100))
        slot = int(np.searchsorted(np.cumsum(self.counts), rank))
        if slot < _EXACT:
            return slot
        shift, part = divmod(slot - _EXACT, 16)
        # A slot is named by the four bits after the leading one.
        middle = ((16 + part) << shift) + ((1 << shift) >> 1)
        return min(max(middle, self.least), self.largest)

    def numbers(self) -> dict[str, int | None]:
        """Count, total, mean and percentiles under the names of the report."""
        return {
            "count": self.count,
            "total_bytes": self.total,
            "mean_bytes": round(self.total / self.count) if self.count else None,
            "min_bytes": self.least,
            "p50_bytes": self.percentile(50),
            "p90_bytes": self.percentile(90),
            "p99_bytes": self.percentile(99),
            "max_bytes": self.largest,
        }


_SAMPLE = np.dtype([("hash", "u8"), ("offset", "i8"), ("size", "i8"), ("tombstone", "?")])


class KeySample:
    """The keys of a partition, by hash, with the newest record of each: all of them while they are few, then a sample.

    Kept are the keys whose hash begins with ``level`` zero bits; the level rises when there are more than ``CAPACITY``.
    Every key is kept or left out as a whole, so that estimates of distinct keys, and of what compaction would keep, are
    unbiased. Exact while ``level`` is 0; else the standard error of a count is 2.2 % or less.
    """

    CAPACITY = 4096
    ERROR = 0.022

    def __init__(self) -> None:
        self.level = 0
        self.rows: NDArray[np.void] = np.zeros(0, _SAMPLE)

    @property
    def exact(self) -> bool:
        return self.level == 0

    @property
    def distinct(self) -> int:
        """Number of different keys."""
        return len(self.rows) << self.level

    @property
    def kept_bytes(self) -> int:
        """Their bytes, by the sizes given to ``add_all``."""
        return int(self.rows["size"].sum()) << self.level

    @property
    def newest_is_tombstone(self) -> int:
        """Number of keys whose newest record is a tombstone."""
        return int(np.count_nonzero(self.rows["tombstone"])) << self.level

    def add_all(
        self,
        hashes: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        sizes: NDArray[np.int64],
        tombstones: NDArray[np.bool_],
    ) -> None:
        """Count records: the hash of the key, the offset, the bytes of the record, whether it has no value."""
        chosen = self._chosen(hashes)
        rows = np.zeros(len(chosen), _SAMPLE)
        rows["hash"], rows["offset"], rows["size"] = hashes[chosen], offsets[chosen], sizes[chosen]
        rows["tombstone"] = tombstones[chosen]
        self._take(rows)

    def add(self, other: KeySample) -> None:
        """Add the sample of other records."""
        self.level = max(self.level, other.level)
        self.rows = self.rows[self._chosen(self.rows["hash"])]
        self._take(other.rows[self._chosen(other.rows["hash"])])

    def _chosen(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        if self.level == 0:
            return np.arange(len(hashes))
        return np.flatnonzero(hashes < np.uint64(1 << (64 - self.level)))

    def _take(self, rows: NDArray[np.void]) -> None:
        if not len(rows):
            return
        rows = np.concatenate((self.rows, rows))
        rows = rows[np.lexsort((rows["offset"], rows["hash"]))]
        newest = np.flatnonzero(np.concatenate((rows["hash"][1:] != rows["hash"][:-1], [True])))
        self.rows = rows[newest]
        while len(self.rows) > self.CAPACITY:
            self.level += 1
            self.rows = self.rows[self._chosen(self.rows["hash"])]


class HotKey(NamedTuple):
    """A frequent key: its hash, how many records and bytes have it at least, and one record to find it by."""

    hash: int
    records: int
    bytes: int
    offset: int
    file: str


class HotKeys:
    """The most frequent keys of a stream (Misra-Gries): counts are at most ``missed`` too low, never too high.

    A key is looked at where it is at least 1/64 of a window's records; every key with a larger share than ``missed`` of
    all records is there.
    """

    CAPACITY = 64
    _CELLS = 4096
    _SHARE = 64

    def __init__(self) -> None:
        self.keys: dict[int, HotKey] = {}
        self.missed = 0

    def add_all(
        self, hashes: NDArray[np.uint64], offsets: NDArray[np.int64], sizes: NDArray[np.int64], file: str
    ) -> None:
        """Count the records of a window: the hash of the key, the offset, the bytes of the record."""
        least = len(hashes) // self._SHARE
        cells = (hashes & np.uint64(self._CELLS - 1)).astype(np.int64)
        full = np.bincount(cells, minlength=self._CELLS) > least
        chosen = np.flatnonzero(full[cells])
        self.missed += least
        if not len(chosen):
            return
        found, first, inverse, counts = np.unique(
            hashes[chosen], return_index=True, return_inverse=True, return_counts=True
        )
        totals = np.bincount(inverse, weights=sizes[chosen])
        for at in np.flatnonzero(counts > least):
            offset = int(offsets[chosen[first[at]]])
            self._count(HotKey(int(found[at]), int(counts[at]), int(totals[at]), offset, file))
        self._shrink()

    def add(self, other: HotKeys) -> None:
        """Add the keys of other records."""
        self.missed += other.missed
        for key in other.keys.values():
            self._count(key)
        self._shrink()

    def top(self) -> Iterator[HotKey]:
        """The keys, the most frequent first."""
        yield from sorted(self.keys.values(), key=lambda key: (-key.records, key.hash))

    def _count(self, key: HotKey) -> None:
        before = self.keys.get(key.hash)
        if before is not None:
            first = min(before, key, key=lambda each: each.offset)
            key = first._replace(records=before.records + key.records, bytes=before.bytes + key.bytes)
        self.keys[key.hash] = key

    def _shrink(self) -> None:
        if len(self.keys) <= self.CAPACITY:
            return
        kept = list(self.top())[: self.CAPACITY]
        # A dropped key may occur again; its count so far is then missing.
        self.missed += max(key.records for key in self.keys.values() if key not in kept)
        self.keys = {key.hash: key for key in kept}
