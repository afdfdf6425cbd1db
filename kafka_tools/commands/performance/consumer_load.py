"""The load of ``kafka-consumer-perf-test``: polls, and counts what arrives and how long there were no partitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.clients.consumer import Consumer
from kafka_tools.clock import Clock, SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.console.connection import open_exchange
from kafka_tools.commands.performance.latencies import MIB
from kafka_tools.output.cells import Row, rounded
from kafka_tools.output.kafka import performance_text
from kafka_tools.output.rows import Rows
from kafka_tools.texts.java_numbers import java_ratio

if TYPE_CHECKING:
    from kafka_tools.clients.fetched_data import ConsumedRecord
    from kafka_tools.metrics.names import MetricName
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.texts.name_patterns import NamePattern
    from kafka_tools.values import TopicPartition

POLL_S = 0.1


class ConsumerLoad:
    """One run. ``date`` formats milliseconds; ``is_quiet``: keep the rows, and print no lines."""

    def __init__(
        self,
        options: Mapping[str, Any],
        date: Callable[[int], str],
        *,
        is_quiet: bool,
        clock: Clock | None = None,
    ) -> None:
        self._options = options
        self._date = date
        self._is_quiet = is_quiet
        self._clock = clock or SystemClock()
        self._rows: list[Row] = []
        self._records = 0
        self._size_bytes = 0
        self.metrics: Mapping[MetricName, object] = {}
        """The consumer's metrics after the run, with --print-metrics."""

    def run(self, config: ClientConfig, topics: list[str] | NamePattern, trace: bool) -> None:
        """Read until there are enough records or none arrives for too long, and print the lines."""
        is_detailed = self._options["show_detailed_stats"]
        if not self._options["hide_header"] and not self._is_quiet:
            running.emit(performance_text.consumed_header(is_detailed))
        with open_exchange(config, trace) as exchange, Consumer(config, exchange=exchange) as consumer:
            if self._options["print_metrics"]:
                consumer.metrics()  # starts to measure
            start_ms = self._clock.now_ms()
            times = RebalanceTimes(self._clock, start_ms)
            consumer.subscribe(topics, on_assigned=times.assigned, on_revoked=times.revoked)
            self._read(consumer, times, start_ms)
            total = self._row("total", start_ms, self._clock.now_ms(), times.total_ms, (0, 0))
            self._show(total, is_shown=not is_detailed)
            if self._options["print_metrics"]:
                self.metrics = consumer.metrics()

    def result(self, kind: str) -> Rows:
        """The rows of the run."""
        return Rows(kind, self._rows)

    def _read(self, consumer: Consumer, times: RebalanceTimes, start_ms: int) -> None:
        wanted, timeout_ms = self._options["num_records"], self._options["timeout"]
        interval_ms = self._options["reporting_interval"]
        now_ms = reported_ms = consumed_ms = start_ms
        before = (0, 0)
        while self._records < wanted and now_ms - consumed_ms <= timeout_ms:
            records = consumer.poll(POLL_S)
            now_ms = self._clock.now_ms()
            if not records:
                continue
            consumed_ms = now_ms
            self._records += len(records)
            self._size_bytes += size_of(records)
            if now_ms - reported_ms >= interval_ms:
                row = self._row("window", reported_ms, now_ms, times.take_round_ms(), before)
                self._show(row, is_shown=self._options["show_detailed_stats"])
                reported_ms, before = now_ms, (self._records, self._size_bytes)
        if self._records < wanted:
            warning = (
                "WARNING: Exiting before consuming the expected number of records: timeout "
                f"({timeout_ms} ms) exceeded. You can use the --timeout option to increase the timeout."
            )
            running.note(warning) if self._is_quiet else running.emit(f"{warning}\n")

    def _row(self, phase: str, start_ms: int, end_ms: int, rebalance_ms: int, before: tuple[int, int]) -> Row:
        """Totals since the start, and the rates of what was read after ``before`` (records, bytes)."""
        records, size_mb = self._records - before[0], (self._size_bytes - before[1]) / MIB
        elapsed_s, fetch_ms = (end_ms - start_ms) / 1000, end_ms - start_ms - rebalance_ms
        # Kafka's tool shows 0 for an interval without time to fetch, and divides for the total.
        fetch_s = fetch_ms / 1000 if fetch_ms > 0 or phase == "total" else float("inf")
        return {
            "phase": phase,
            "start_time_ms": start_ms,
            "end_time_ms": end_ms,
            "mb": self._size_bytes / MIB,
            "mb_per_s": java_ratio(size_mb, elapsed_s),
            "records": self._records,
            "records_per_s": java_ratio(records, elapsed_s),
            "rebalance_time_ms": rebalance_ms,
            "fetch_time_ms": fetch_ms,
            "fetch_mb_per_s": java_ratio(size_mb, fetch_s),
            "fetch_records_per_s": java_ratio(records, fetch_s),
            "complete": self._records >= self._options["num_records"],
        }

    def _show(self, row: Row, *, is_shown: bool) -> None:
        self._rows.append(rounded(row))
        if is_shown and not self._is_quiet:
            running.emit(performance_text.consumed_line(row, self._date))


def size_of(records: Sequence[ConsumedRecord]) -> int:
    """Bytes of the keys and values."""
    return sum([(len(key) if key else 0) + (len(value) if value else 0) for *_, key, value, _, _ in records])


class RebalanceTimes:
    """Milliseconds during which a consumer has no partitions (``ConsumerPerfRebListener`` of Kafka's tool)."""

    def __init__(self, clock: Clock, start_ms: int) -> None:
        self._clock = clock
        self._without_since_ms = start_ms
        self._assigned: set[TopicPartition] = set()
        self.total_ms = 0
        self._round_ms = 0

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        self._assigned -= set(partitions)
        if not self._assigned:
            self._without_since_ms = self._clock.now_ms()

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        if not self._assigned:
            elapsed_ms = self._clock.now_ms() - self._without_since_ms
            self.total_ms += elapsed_ms
            self._round_ms += elapsed_ms
        self._assigned |= set(partitions)

    def take_round_ms(self) -> int:
        """The time since the last call."""
        found, self._round_ms = self._round_ms, 0
        return found
