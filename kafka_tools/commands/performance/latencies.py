"""The latencies of a load as they arrive: windows, totals and percentiles (``ProducerPerformance.Stats`` of Kafka)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from kafka_tools.clock import Clock
from kafka_tools.output.cells import Row
from kafka_tools.texts.java_numbers import java_ratio

MOST_SAMPLES = 500_000
"""Latencies kept for the percentiles. Of more records, one in so many is kept, as in Kafka's tool."""
MIB = 1024 * 1024
_PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "p999_ms": 0.999}


class LatencyStats:
    """Counts acknowledged records of one phase. ``phase``: ``total`` or ``steady_state``.

    ``on_window(row)`` gets each window when it is complete; ``is_quiet`` turns that off.
    """

    def __init__(
        self,
        records: int,
        interval_ms: int,
        clock: Clock,
        *,
        phase: str,
        latency_from: str,
        on_window: Callable[[Row], object],
    ) -> None:
        self._clock = clock
        self._interval_s = interval_ms / 1000
        self._every = max(1, records // min(records, MOST_SAMPLES))
        self._latencies_ms = array("d")
        self._phase = phase
        self._latency_from = latency_from
        self._on_window = on_window
        self.is_quiet = False
        self._start_s = clock.monotonic_s()
        self._total = _Sum(self._start_s)
        self._window = _Sum(self._start_s)

    @property
    def records(self) -> int:
        """Acknowledged records so far."""
        return self._total.records

    def note(self, latency_ms: float, size_bytes: int, now_s: float) -> None:
        """A record was acknowledged."""
        if self._total.records % self._every == 0:
            self._latencies_ms.append(latency_ms)
        self._total.add(latency_ms, size_bytes)
        self._window.add(latency_ms, size_bytes)
        if now_s - self._window.start_s >= self._interval_s:
            if not self.is_quiet:
                self._on_window(self._row("steady_state_window" if self._phase != "total" else "window", self._window))
            self._window = _Sum(now_s)

    def total(self) -> Row:
        """The row of the whole phase, with percentiles."""
        latencies = sorted(self._latencies_ms)
        return self._row(self._phase, self._total) | {
            name: percentile(latencies, share) for name, share in _PERCENTILES.items()
        }

    def _row(self, phase: str, counted: _Sum) -> Row:
        elapsed_s = self._clock.monotonic_s() - counted.start_s
        return {
            "phase": phase,
            "records": counted.records,
            "records_per_s": java_ratio(counted.records, elapsed_s),
            "mb_per_s": java_ratio(counted.size_bytes / MIB, elapsed_s),
            "elapsed_ms": elapsed_s * 1000,
            "avg_latency_ms": java_ratio(counted.latency_ms, counted.records),
            "max_latency_ms": counted.longest_ms,
            **dict.fromkeys(_PERCENTILES),
            "latency_from": self._latency_from,
        }


class _Sum:
    """Records, bytes and latencies since a time."""

    __slots__ = ("latency_ms", "longest_ms", "records", "size_bytes", "start_s")

    def __init__(self, start_s: float) -> None:
        self.start_s = start_s
        self.records = 0
        self.size_bytes = 0
        self.latency_ms = 0.0
        self.longest_ms = 0.0

    def add(self, latency_ms: float, size_bytes: int) -> None:
        self.records += 1
        self.size_bytes += size_bytes
        self.latency_ms += latency_ms
        if latency_ms > self.longest_ms:
            self.longest_ms = latency_ms


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values in ascending order are, as Kafka's tools choose it."""
    return ordered[int(share * len(ordered))] if ordered else 0.0
