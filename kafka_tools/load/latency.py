"""Latencies in bounded memory: a sketch with log-linear slots, and messages per second over time."""

from __future__ import annotations

from threading import Lock

_EXACT_BITS = 7
"""Values below 2**7 microseconds have a slot of their own, and each power of two above is cut into 2**6 slots."""
_PER_POWER = 1 << (_EXACT_BITS - 1)
_LARGEST_US = 1 << 40
"""Twelve days. Larger latencies count as this one."""
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Name -> share of the latencies that are at most as large."""


def _slot(value_us: int) -> int:
    if value_us < 1 << _EXACT_BITS:
        return value_us
    power = value_us.bit_length() - _EXACT_BITS
    return power * _PER_POWER + (value_us >> power)


def _largest_in(slot: int) -> int:
    """The largest value, in microseconds, that has this slot."""
    if slot < 1 << _EXACT_BITS:
        return slot
    power = slot // _PER_POWER - 1
    return ((slot - power * _PER_POWER + 1) << power) - 1


class LatencySketch:
    """Counts latencies in about 2,200 slots at most, whose width is 1.6 % of the value or less.

    A percentile is the upper end of its slot, so it is never too small. Can be used by several threads.
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._lock = Lock()
        self.count = 0
        self._sum_s = 0.0
        self._largest_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one latency. A negative one, after a clock moved back, counts as 0."""
        slot = _slot(min(max(0, int(seconds * 1_000_000)), _LARGEST_US))
        with self._lock:
            self._counts[slot] = self._counts.get(slot, 0) + 1
            self.count += 1
            self._sum_s += max(0.0, seconds)
            self._largest_s = max(self._largest_s, seconds)

    def merge(self, other: LatencySketch) -> None:
        """Add everything that ``other`` counted."""
        with other._lock:
            counts, count, total_s, largest_s = dict(other._counts), other.count, other._sum_s, other._largest_s
        with self._lock:
            for slot, number in counts.items():
                self._counts[slot] = self._counts.get(slot, 0) + number
            self.count += count
            self._sum_s += total_s
            self._largest_s = max(self._largest_s, largest_s)

    def percentile_ms(self, share: float) -> float:
        """The latency in milliseconds that ``share`` of all latencies do not exceed; 0 without latencies."""
        with self._lock:
            rank = max(1, -int(-share * self.count // 1))  # rounded up
            below = 0
            for slot in sorted(self._counts):
                below += self._counts[slot]
                if below >= rank:
                    return min(_largest_in(slot) / 1000, self._largest_s * 1000)
        return 0.0

    def summary(self) -> dict[str, float]:
        """Trogdor's members of a status: averageLatencyMs, p50LatencyMs and so on, with p99.9 and the maximum."""
        with self._lock:
            average_s = self._sum_s / self.count if self.count else 0.0
        found = {"averageLatencyMs": average_s * 1000}
        found |= {f"{name}LatencyMs": self.percentile_ms(share) for name, share in PERCENTILES.items()}
        found["maxLatencyMs"] = self._largest_s * 1000
        return {name: round(value, 3) for name, value in found.items()}


MOST_SPANS = 240


class Timeline:
    """Counts events per span of time, in at most 240 spans: when they are full, each becomes twice as long.

    Can be used by several threads.
    """

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._lock = Lock()
        self.span_s = 1.0
        self._counts: list[int] = []

    def add(self, now_s: float) -> None:
        """Count one event."""
        with self._lock:
            at = max(0, int((now_s - self._start_s) / self.span_s))
            while at >= MOST_SPANS:
                pairs = range(0, len(self._counts), 2)
                self._counts = [sum(self._counts[first : first + 2]) for first in pairs]
                self.span_s *= 2
                at = int((now_s - self._start_s) / self.span_s)
            if at >= len(self._counts):
                self._counts += [0] * (at + 1 - len(self._counts))
            self._counts[at] += 1

    def spans(self) -> dict[str, object]:
        """``span_s`` and the number of events in each span since the start."""
        with self._lock:
            return {"span_s": self.span_s, "counts": list(self._counts)}
