"""The load of kafka-producer-perf-test in virtual time: schedule, windows, percentiles, values and keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.commands.performance import payloads
from kafka_tools.commands.performance.latencies import LatencyStats, percentile
from kafka_tools.commands.performance.pacing import SendSchedule
from kafka_tools.commands.performance.producer_load import ProducerLoad
from kafka_tools.errors import InputError, KafkaToolsError, NetworkError, UsageError
from kafka_tools.output.kafka import performance_text

OPTIONS = {
    "topic": "t",
    "num_records": 100,
    "throughput": 100.0,
    "latency_from": None,
    "warmup_records": 0,
    "transaction_duration_ms": None,
    "reporting_interval": 5000,
}


class SlowProducer:
    """Acknowledges a record 2 ms after it was sent. ``blocks``: record -> seconds for which its ``send`` blocks."""

    def __init__(self, clock: ManualClock, blocks: dict[int, float], failing: dict[int, KafkaToolsError]) -> None:
        self._clock = clock
        self._blocks = blocks
        self._failing = failing
        self.transactions: list[str] = []
        self.sent: list[tuple[float, bytes | None, bytes | None]] = []

    def send(self, topic: str, value: bytes, key: bytes | None, *, on_delivery: Callable[..., None]) -> None:
        self._clock.advance(self._blocks.get(len(self.sent), 0))
        error = self._failing.get(len(self.sent))
        self.sent.append((self._clock.monotonic_s(), key, value))
        self._clock.advance(0.002)
        on_delivery(None, error)

    def poll(self, timeout_s: float) -> None:
        self._clock.advance(timeout_s)

    def flush(self) -> None:
        """Nothing waits."""

    def init_transactions(self) -> None:
        self.transactions.append("init")

    def begin_transaction(self) -> None:
        self.transactions.append(f"begin {len(self.sent)}")

    def commit_transaction(self) -> None:
        self.transactions.append(f"commit {len(self.sent)}")


def run(
    blocks: dict[int, float] | None = None, failing: dict[int, KafkaToolsError] | None = None, **options: Any
) -> tuple[ProducerLoad, SlowProducer]:
    clock = ManualClock()
    load = ProducerLoad(OPTIONS | options, is_quiet=False, clock=clock)
    producer: Any = SlowProducer(clock, blocks or {}, failing or {})
    load.run(producer, payloads.monotonic, lambda _: None)
    return load, producer


def test_records_leave_at_the_rate_and_catch_up_after_a_stop() -> None:
    _, producer = run({10: 0.5})
    times = [round(at_s, 3) for at_s, _, _ in producer.sent]
    assert times[:10] == [round(number / 100, 3) for number in range(10)]
    assert times[10] == 0.6
    assert times[11:13] == [0.602, 0.604], "late records leave at once"
    assert times[80:] == [round(number / 100, 3) for number in range(80, 100)], "then the rate applies again"


def test_a_stop_delays_all_records_that_were_due_meanwhile(capsys: pytest.CaptureFixture[str]) -> None:
    """Measured from the time of sending, half a second of standstill would delay one record of a hundred."""
    load, _ = run({10: 0.5})
    (due,) = load.result("producer-performance").rows
    assert "Latencies count from the time at which each record was due" in capsys.readouterr().err
    load, _ = run({10: 0.5}, latency_from="sent")
    (sent,) = load.result("producer-performance").rows
    assert capsys.readouterr().err == ""
    assert (due["latency_from"], sent["latency_from"]) == ("due", "sent")
    assert sent["p50_ms"] == sent["p95_ms"] == 2
    assert (due["p95_ms"], due["max_latency_ms"]) == (470, 502)
    assert sent["max_latency_ms"] == 502


def test_without_a_rate_records_follow_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    load, producer = run(throughput=-1.0)
    assert [round(at_s, 3) for at_s, _, _ in producer.sent] == [round(number * 0.002, 3) for number in range(100)]
    assert load.result("producer-performance").rows[0]["latency_from"] == "sent"
    assert capsys.readouterr() == (
        "100 records sent, 500.000000 records/sec (0.00 MB/sec), 2.00 ms avg latency, 2.00 ms max latency, "
        "2 ms 50th, 2 ms 95th, 2 ms 99th, 2 ms 99.9th.\n",
        "",
    )


def test_a_client_that_does_not_wait_is_not_asked_all_the_time() -> None:
    clock = ManualClock()
    asked: list[float] = []
    schedule = SendSchedule(10, clock, asked.append)
    assert schedule.wait_for(1) == 0.1
    assert clock.monotonic_s() >= 0.1
    assert len(asked) < 60


def test_the_steady_state_starts_after_the_warm_up(capsys: pytest.CaptureFixture[str]) -> None:
    load, _ = run({0: 0.3}, warmup_records=40, reporting_interval=300)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Warmup first 40 records. Steady state results will print after the complete test summary."
    assert re.fullmatch(r"1 records sent, 3\.3 records/sec .*", lines[1])
    assert lines.index("In steady state.") == 2
    assert [line.partition(",")[0] for line in lines[-2:]] == ["100 records sent", "60 steady state records sent"]
    assert [row["phase"] for row in load.result("k").rows] == [
        "window", "steady_state_window", "total", "steady_state",
    ]  # fmt: skip


def test_a_transaction_is_committed_after_its_duration() -> None:
    _, producer = run(num_records=10, transaction_duration_ms=40)
    assert producer.transactions == [
        "init", "begin 0", "commit 4", "begin 4", "commit 8", "begin 8", "commit 10",
    ]  # fmt: skip
    assert run(num_records=2)[1].transactions == []


def test_failed_records_are_not_counted_and_reported_by_cause() -> None:
    gone, slow = NetworkError("the broker is gone"), NetworkError("the broker is slow")
    load, _ = run(failing={3: gone, 4: NetworkError("the broker is gone"), 9: slow})
    assert load.result("k").rows[0]["records"] == 97
    assert [tuple(error) for error in load.complaints] == [
        ("2 records not delivered", None, "the broker is gone"),
        ("1 record not delivered", None, "the broker is slow"),
    ]
    assert [error.item for error in load.result("k").errors] == ["t", "t"]


def test_many_causes_of_failure_stay_few() -> None:
    load, _ = run(failing={number: NetworkError(f"cause {number}") for number in range(100)})
    assert len(load.complaints) == 10
    assert load.complaints[-1].item == "91 records not delivered"
    assert load.result("k").rows[0]["avg_latency_ms"] is None


def test_lines_are_those_of_kafka_to_the_byte() -> None:
    """Taken from a run of ProducerPerformance."""
    row: dict[str, Any] = {
        "phase": "steady_state", "records": 15000, "records_per_s": 11867.0886077, "mb_per_s": 1.131734,
        "avg_latency_ms": 32.345, "max_latency_ms": 114.0, "p50_ms": 8.9, "p95_ms": 109.0, "p99_ms": 112,
        "p999_ms": 114,
    }  # fmt: skip
    assert performance_text.produced_total(row) == (
        "15000 steady state records sent, 11867.088608 records/sec (1.13 MB/sec), 32.35 ms avg latency, 114.00 ms max "
        "latency, 8 ms 50th, 109 ms 95th, 112 ms 99th, 114 ms 99.9th.\n"
    )
    assert performance_text.produced_window(row) == (
        "15000 records sent, 11867.1 records/sec (1.13 MB/sec), 32.3 ms avg latency, 114.0 ms max latency.\n"
    )


def test_percentiles_are_chosen_as_in_kafka_and_samples_are_bounded() -> None:
    assert [percentile(range(1, 101), share) for share in (0.5, 0.95, 0.99, 0.999)] == [51, 96, 100, 100]
    clock = ManualClock()
    stats = LatencyStats(
        1_500_000, 5000, clock, phase="total", latency_from="sent", on_window=lambda _: pytest.fail("no window")
    )
    for number in range(9):
        stats.note(float(number), 1, 0.0)
    assert stats.total()["p50_ms"] == 3.0, "of 1,500,000 records every third is kept: 0, 3, 6"
    assert stats.records == 9


def test_values_have_their_size_and_follow_from_the_seed() -> None:
    one, same, other = (payloads.letters(300, Random(seed)) for seed in (1, 1, 2))
    first = [one(number) for number in range(5000)]
    assert first == [same(number) for number in range(5000)]
    assert first[0] != other(0)
    assert {len(value) for value in first} == {300}
    assert len(set(first)) == 5000
    assert set(b"".join(first)) == set(range(ord("A"), ord("Z") + 1))
    assert len(payloads.letters(3_000_000, Random(0))(0)) == 3_000_000


def test_keys_are_distributed_as_named() -> None:
    def taken(distribution: str, key_range: int, count: int) -> list[bytes | None]:
        source = payloads.keys(distribution, key_range, 1.0, Random(5))
        return [source(number) for number in range(count)]

    assert taken("none", 0, 2) == [None, None]
    assert taken("range", 3, 5) == [b"0", b"1", b"2", b"0", b"1"]
    even = Counter(taken("random", 4, 4000))
    assert even.keys() == {b"0", b"1", b"2", b"3"}
    assert all(900 < count < 1100 for count in even.values())
    skewed = Counter(taken("zipf", 4, 5000))
    assert skewed.keys() == even.keys()
    # 1, 1/2, 1/3 and 1/4 of 2.083
    assert [round(skewed[b"%d" % key] / 5000, 1) for key in range(4)] == [0.5, 0.2, 0.2, 0.1]


@pytest.mark.parametrize(
    "content, delimiter, values",
    [
        ("a\nb\n", "\n", ["a", "b"]),
        ("a\n\nb", "\n", ["a", "", "b"]),
        ("\na\n\n", "\n", ["a", ""]),
        ("\n\na", "\n", ["", "a"]),
        ("one, two,three", ", ?", ["one", "two", "three"]),
        ("gr\u00fc\u00df", "\n", ["gr\u00fc\u00df"]),
    ],
)
def test_a_payload_file_is_cut_as_by_javas_scanner(
    content: str, delimiter: str, values: list[str], tmp_path: Path
) -> None:
    """Each row was tried with java.util.Scanner."""
    file = tmp_path / "payloads"
    file.write_text(content, encoding="utf-8", newline="")
    assert payloads.read_payloads(str(file), delimiter) == [value.encode() for value in values]
    source = payloads.one_of([value.encode() for value in values], Random(0))
    assert {source(number).decode() for number in range(100)} == set(values)


def test_a_payload_file_without_values_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "payloads"
    with pytest.raises(InputError, match=r"cannot read payload file .*payloads: No such file"):
        payloads.read_payloads(str(file), "\n")
    file.write_bytes(b"")
    with pytest.raises(InputError, match="it is empty"):
        payloads.read_payloads(str(file), "\n")
    file.write_bytes(b"\n")
    with pytest.raises(InputError, match="it contains only delimiters"):
        payloads.read_payloads(str(file), "\n")
    with pytest.raises(UsageError, match="invalid --payload-delimiter '\\('"):
        payloads.read_payloads(str(file), "(")
