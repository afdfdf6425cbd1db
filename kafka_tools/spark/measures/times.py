"""Records and bytes per hour and per day, and impossible timestamps.

Batches are counted at their largest timestamp. Memory is bounded: the newest hours and days are kept, older batches are
counted together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
HOURS_KEPT = 168
DAYS_KEPT = 400

FUTURE_SLACK_MS = HOUR_MS
"""The time in ms that a clock may be ahead: the default of message.timestamp.after.max.ms in Kafka 4."""

# Milliseconds of 1973 and of 2286: what is below looks like seconds, what is above like micro- or nanoseconds.
SMALLEST_MS = 100_000_000_000
LARGEST_MS = 10_000_000_000_000
_NANOSECONDS = 10_000_000_000_000_000

FUTURE, SECONDS, MICROSECONDS, NANOSECONDS = "future", "seconds", "microseconds", "nanoseconds"


class Spans:
    """Records and bytes per span of ``span_ms``, the newest ``kept`` spans; ``older`` has what lies before them.

    ``numbers`` counts spans since the epoch, ascending; ``records`` and ``sizes`` (bytes) belong to them.
    """

    def __init__(self, span_ms: int, kept: int) -> None:
        self.span_ms = span_ms
        self.kept = kept
        self.numbers = np.zeros(0, np.int64)
        self.records = np.zeros(0, np.int64)
        self.sizes = np.zeros(0, np.int64)
        self.older = (0, 0)
        """(records, bytes)."""

    def add_all(self, times: NDArray[np.int64], records: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Count batches with their largest timestamp in ms."""
        self._take(times // self.span_ms, records, sizes)

    def add(self, other: Spans) -> None:
        """Add other batches."""
        self._take(other.numbers, other.records, other.sizes)
        self.older = self.older[0] + other.older[0], self.older[1] + other.older[1]

    def _take(self, numbers: NDArray[np.int64], records: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        if not len(numbers):
            return
        numbers = np.concatenate((self.numbers, numbers))
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        begins = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        counts = np.add.reduceat(np.concatenate((self.records, records))[order], begins)
        totals = np.add.reduceat(np.concatenate((self.sizes, sizes))[order], begins)
        left = max(0, len(begins) - self.kept)
        self.older = self.older[0] + int(counts[:left].sum()), self.older[1] + int(totals[:left].sum())
        self.numbers, self.records, self.sizes = numbers[begins][left:], counts[left:], totals[left:]

    def rows(self) -> list[tuple[int, int, int]]:
        """(start of the span in ms, records, bytes), ascending."""
        starts = (self.numbers * self.span_ms).tolist()
        return list(zip(starts, self.records.tolist(), self.sizes.tolist(), strict=True))


class OddTimes(NamedTuple):
    """Batches of one segment whose timestamps are wrong in the same way: the first one's place, and how many.

    ``worst_ms`` is the largest timestamp (of ``SECONDS`` the smallest).
    """

    way: str
    file: str
    position: int
    offset: int
    batches: int
    size_bytes: int
    worst_ms: int

    def plus(self, other: OddTimes) -> OddTimes:
        """Both, of the same way and file."""
        first = min(self, other, key=lambda each: each.position)
        return first._replace(
            batches=self.batches + other.batches,
            size_bytes=self.size_bytes + other.size_bytes,
            worst_ms=(min if self.way == SECONDS else max)(self.worst_ms, other.worst_ms),
        )


def odd_times(
    file: str,
    positions: NDArray[np.int64],
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int64],
    times: NDArray[np.int64],
    now_ms: int,
) -> list[OddTimes]:
    """Wrong timestamps of batches, one row per kind. -1 (no timestamp) is valid, 0 is wrong."""
    low = (times < SMALLEST_MS) & (times != -1)
    high = times > now_ms + FUTURE_SLACK_MS
    if not (low.any() or high.any()):
        return []
    ways = {
        SECONDS: low,
        FUTURE: high & (times < LARGEST_MS),
        MICROSECONDS: high & (times >= LARGEST_MS) & (times < _NANOSECONDS),
        NANOSECONDS: high & (times >= _NANOSECONDS),
    }
    rows = []
    for way, chosen in ways.items():
        at = np.flatnonzero(chosen)
        if len(at):
            worst = times[at].min() if way == SECONDS else times[at].max()
            place = file, int(positions[at[0]]), int(offsets[at[0]])
            rows.append(OddTimes(way, *place, len(at), int(sizes[at].sum()), int(worst)))
    return rows
