"""The lines of Kafka's performance tools: ProducerPerformance, ConsumerPerformance, EndToEndLatency."""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.output.cells import Row
from kafka_tools.texts.java_numbers import java_double, java_fixed

PRODUCED_STEADY = "In steady state.\n"
CONSUMED_COLUMNS = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, "
    "fetch.nMsg.sec\n"
)


def produced_window(row: Row) -> str:
    """The line of an interval of ``kafka-producer-perf-test``."""
    return (
        f"{row['records']} records sent, {java_fixed(row['records_per_s'], 1)} records/sec "
        f"({java_fixed(row['mb_per_s'], 2)} MB/sec), {java_fixed(row['avg_latency_ms'], 1)} ms avg latency, "
        f"{java_fixed(row['max_latency_ms'], 1)} ms max latency.\n"
    )


def produced_total(row: Row) -> str:
    """The last line of ``kafka-producer-perf-test``, or that of its steady state. Percentiles are whole numbers."""
    steady = " steady state" if row["phase"] == "steady_state" else ""
    return (
        f"{row['records']}{steady} records sent, {java_fixed(row['records_per_s'], 6)} records/sec "
        f"({java_fixed(row['mb_per_s'], 2)} MB/sec), {java_fixed(row['avg_latency_ms'], 2)} ms avg latency, "
        f"{java_fixed(row['max_latency_ms'], 2)} ms max latency, {int(row['p50_ms'])} ms 50th, "
        f"{int(row['p95_ms'])} ms 95th, {int(row['p99_ms'])} ms 99th, {int(row['p999_ms'])} ms 99.9th.\n"
    )


def consumed_header(is_detailed: bool) -> str:
    """The header of ``kafka-consumer-perf-test``."""
    return ("time, threadId, " if is_detailed else "start.time, end.time, ") + CONSUMED_COLUMNS


def consumed_line(row: Row, date: Callable[[int], str]) -> str:
    """A line of ``kafka-consumer-perf-test``: the total, or an interval. ``date`` formats milliseconds."""
    start = f"{date(row['start_time_ms'])}, " if row["phase"] == "total" else ""
    thread = "" if row["phase"] == "total" else "0, "
    rates = ", ".join(java_fixed(row[name], 4) for name in ("fetch_mb_per_s", "fetch_records_per_s"))
    return (
        f"{start}{date(row['end_time_ms'])}, {thread}{java_fixed(row['mb'], 4)}, {java_fixed(row['mb_per_s'], 4)}, "
        f"{row['records']}, {java_fixed(row['records_per_s'], 4)}, {row['rebalance_time_ms']}, "
        f"{row['fetch_time_ms']}, {rates}\n"
    )


def latency_step(number: int, latency_ms: float) -> str:
    """The line of one record of ``kafka-e2e-latency``."""
    return f"{number}\t{java_double(latency_ms)}\n"


def latency_total(row: Row) -> str:
    """The last lines of ``kafka-e2e-latency``."""
    return (
        f"Avg latency: {java_fixed(row['avg_latency_ms'], 4)} ms\n"
        f"Percentiles: 50th = {int(row['p50_ms'])}, 99th = {int(row['p99_ms'])}, 99.9th = {int(row['p999_ms'])}\n"
    )


SHARED_HEADER = "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms\n"


def shared_line(row: Row, date: Callable[[int], str]) -> str:
    """A line of ``kafka-share-consumer-perf-test``: the total, a member's total, or an interval of a member."""
    line = (
        f"{date(row['start_time_ms'])}, {date(row['end_time_ms'])}, {java_fixed(row['mb'], 4)}, "
        f"{java_fixed(row['mb_per_s'], 4)}, {java_fixed(row['records_per_s'], 4)}, {row['records']}, "
        f"{row['fetch_time_ms']}"
    )
    if row["phase"] == "member":
        line = f"Share consumer {row['member']} having client id {row['client_id']} consumption metrics- {line}"
    return f"{line} for share consumer {row['member']}\n" if row["phase"] == "window" else f"{line}\n"
