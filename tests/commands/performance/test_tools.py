"""The performance tools on the bundled broker: what they write and read, their lines, and the command lines refused."""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients import Consumer, Producer
from kafka_tools.clients.fetched_data import ConsumedRecord
from kafka_tools.commands import running
from kafka_tools.commands.performance.round_trips import RoundTripFailed, check_read

_numbers = itertools.count()
PRODUCER, CONSUMER, LATENCY = "producer-perf-test", "consumer-perf-test", "e2e-latency"
TOTAL = (
    r"{} records sent, \d+\.\d{{6}} records/sec \(\d+\.\d\d MB/sec\), \d+\.\d\d ms avg latency, "
    r"\d+\.\d\d ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\."
)
MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"
RATE = r"(?:\d+\.\d{4}|NaN|Infinity)"


class Ran(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def topic() -> str:
    return f"load-{next(_numbers)}"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def called(name: str, line: str, *more: str) -> Ran:
        status = running.run(cli.load(name), [*shlex.split(line), *more], f"kafka-{name}")
        return Ran(status, *capsys.readouterr())

    return called


def read_all(servers: str, topic: str, count: int) -> list[ConsumedRecord]:
    """All records of a topic: ``count``, and not one more."""
    found: list[ConsumedRecord] = []
    with Consumer(servers, auto_offset_reset="earliest") as consumer:
        consumer.subscribe([topic])
        while len(found) < count:
            records = consumer.poll(10)
            assert records, f"{len(found)} of {count} records"
            found += records
        assert consumer.poll(0.2) == []
    return found


def test_the_producer_writes_what_it_is_told(run: Run, servers: str, topic: str) -> None:
    line = f"-b {servers} --topic {topic} --num-records 500 --record-size 30 --throughput -1"
    ran = run(PRODUCER, f"{line} --key-distribution range --record-key-range 5")
    assert (ran.status, ran.err) == (0, "")
    assert re.fullmatch(TOTAL.format(500), ran.out.rstrip("\n")), ran.out
    records = read_all(servers, topic, 500)
    assert {len(record.value or b"") for record in records} == {30}
    assert len({record.value for record in records}) == 500
    assert Counter(record.key for record in records) == {b"%d" % key: 100 for key in range(5)}


def test_values_come_from_a_file_or_are_numbers(run: Run, servers: str, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "values"
    file.write_text("one|two|three")
    line = f"-b {servers} --topic {topic} --num-records 60 --throughput 1000000"
    ran = run(PRODUCER, f"{line} --payload-file {file} --payload-delimiter '[|]'")
    first, second, _ = ran.out.splitlines()
    assert (first, second) == (f"Reading payloads from: {file}", "Number of records read: 3")
    assert ran.err.startswith("Latencies count from the time at which each record was due")
    assert {record.value for record in read_all(servers, topic, 60)} == {b"one", b"two", b"three"}
    assert (
        run(PRODUCER, f"{line} --topic {topic}-numbers --payload-monotonic".replace(f"--topic {topic} ", "")).status
        == 0
    )
    assert sorted(int(record.value or b"") for record in read_all(servers, f"{topic}-numbers", 60)) == list(range(60))


def test_older_names_of_the_producers_options_warn_as_in_kafka(
    run: Run, servers: str, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("client.id=mine\n")
    line = f"-b {servers} --topic {topic} --num-records 5 --record-size 5 --throughput -1 --producer.config {file}"
    ran = run(PRODUCER, f"{line} --producer-props linger.ms=1 acks=1")
    assert ran.status == 0
    told = "Option {} has been deprecated and will be removed in a future version. Use {} instead."
    assert ran.err.splitlines() == [
        told.format("--producer-props", "--command-property"),
        told.format("--producer.config", "--command-config"),
    ]
    ran = run(PRODUCER, f"{line} --command-property acks=1 linger.ms=oops")
    assert "linger.ms" in ran.err, "the second value of an option is read, too"


@pytest.mark.parametrize(
    "line, message",
    [
        ("--num-records 1 --throughput 1", "Give exactly one of --record-size, --payload-file or --payload-monotonic."),
        ("--num-records 1 --throughput 1 --record-size 1 --payload-monotonic", "Give exactly one of --record-size"),
        ("--num-records 0 --throughput 1 --record-size 1", "'--num-records': 0 is not in the range"),
        ("--num-records 1 --throughput 1 --record-size 0", "'--record-size': 0 is not in the range"),
        ("--num-records 1 --throughput 0 --record-size 1", "invalid --throughput: expected a number above 0"),
        ("--num-records 1 --throughput nan --record-size 1", "invalid --throughput: expected a number above 0"),
        ("--num-records 5 --throughput 1 --record-size 1 --warmup-records 5", "must be strictly fewer than"),
        ("--num-records 1 --throughput 1 --record-size 1 --reporting-interval 0", "'--reporting-interval': 0"),
        (
            "--num-records 1 --throughput 1 --record-size 1 --record-key-range 1",
            "--key-distribution must not be 'none'",
        ),
        ("--num-records 1 --throughput 1 --record-size 1 --key-distribution range", "--record-key-range is required"),
        (
            "--num-records 1 --throughput 1 --record-size 1 --key-distribution zipf --record-key-range 2000000000",
            "zipf takes at most 10000000",
        ),
        (
            "--num-records 1 --throughput 1 --record-size 1 --key-distribution range --record-key-range 2 --key-skew 2",
            "--key-skew can only be used with --key-distribution zipf.",
        ),
        (
            "--num-records 1 --throughput 1 --record-size 1 --producer-props acks=1 --command-property acks=1",
            "--command-property and --producer-props cannot be specified together.",
        ),
        (
            "--num-records 1 --throughput 1 --record-size 1 --producer.config x --command-config y",
            "--command-config and --producer.config cannot be specified together.",
        ),
        ("--num-records 1 --throughput 1 --record-size 1", "--bootstrap-server is required"),
    ],
)
def test_command_lines_that_the_producer_refuses(run: Run, line: str, message: str) -> None:
    ran = run(PRODUCER, f"--topic t {line}")
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


def test_records_are_written_in_transactions(run: Run, topic: str) -> None:
    with EmbeddedBroker() as broker:
        line = f"-b {broker.bootstrap_servers} --topic {topic} --num-records 20 --record-size 5 --throughput -1"
        assert run(PRODUCER, f"{line} --transaction-duration-ms 1").status == 0
        assert run(PRODUCER, f"{line} --transactional-id mine").status == 0
        assert run(PRODUCER, f"{line} --command-property transactional.id=other").status == 0
        with Consumer(
            broker.bootstrap_servers, auto_offset_reset="earliest", isolation_level="read_committed"
        ) as reader:
            reader.subscribe([topic])
            count = 0
            while count < 60:
                count += len(reader.poll(10))
        from kafka_tools.admin import AdminClient

        with AdminClient(broker.bootstrap_servers) as admin:
            states = {
                each.transactional_id: each.state
                for found in admin.list_transactions().values()
                for each in found.get()
            }
    assert len(states) == 3
    assert set(states.values()) == {"CompleteCommit"}
    (generated,) = states.keys() - {"mine", "other"}
    assert generated.startswith("performance-producer-")


def test_records_that_are_not_delivered_end_with_status_1(run: Run, topic: str) -> None:
    with EmbeddedBroker() as broker:
        broker.faults.error("Produce", "RECORD_LIST_TOO_LARGE")
        line = f"-b {broker.bootstrap_servers} --topic {topic} --num-records 3 --record-size 5 --throughput -1"
        ran = run(PRODUCER, line)
    assert ran.status == 1
    assert ran.out.startswith("0 records sent, 0.000000 records/sec (0.00 MB/sec), NaN ms avg latency")
    assert re.match(r"kafka-producer-perf-test: 3 records not delivered: .*RECORD_LIST_TOO_LARGE", ran.err)


def filled(servers: str, topic: str, count: int) -> None:
    with Producer(servers) as producer:
        for _ in range(count):
            producer.send(topic, b"x" * 1024, b"key")


def test_the_consumer_reads_and_shows_rates(run: Run, servers: str, topic: str) -> None:
    filled(servers, topic, 100)
    ran = run(CONSUMER, f"-b {servers} --topic {topic} --num-records 100")
    header, total = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "")
    assert header == (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, "
        "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )
    # 100 * 1027 bytes
    assert re.fullmatch(rf"{MOMENT}, {MOMENT}, 0\.0979, {RATE}, 100, {RATE}, \d+, -?\d+, {RATE}, {RATE}", total)


def test_the_consumer_shows_intervals(run: Run, servers: str, topic: str) -> None:
    filled(servers, topic, 100)
    line = f"-b {servers} --include '{topic}' --messages 100 --show-detailed-stats --reporting-interval 1"
    ran = run(CONSUMER, f"{line} --date-format HH --command-property max.poll.records=40")
    header, *windows = ran.out.splitlines()
    assert ran.err == "Warning: --messages is deprecated. Use --num-records instead.\n"
    assert header.startswith("time, threadId, data.consumed.in.MB, ")
    assert windows
    for window in windows:
        assert re.fullmatch(rf"\d\d, 0, {RATE}, {RATE}, \d+, {RATE}, \d+, -?\d+, {RATE}, {RATE}", window)
    assert run(CONSUMER, f"{line} --hide-header".replace("--messages", "--num-records")).out.count("threadId") == 0


def test_a_consumer_without_records_stops(run: Run, servers: str, topic: str) -> None:
    filled(servers, topic, 3)
    ran = run(CONSUMER, f"-b {servers} --topic {topic} --num-records 100 --timeout 500 --group g-{topic}")
    assert ran.status == 0
    assert ran.out.splitlines()[1] == (
        "WARNING: Exiting before consuming the expected number of records: timeout (500 ms) exceeded. "
        "You can use the --timeout option to increase the timeout."
    )
    assert ", 3, " in ran.out.splitlines()[2]


@pytest.mark.parametrize(
    "line, message",
    [
        ("--num-records 1", "Give exactly one of --topic and --include."),
        ("--topic t --include t --num-records 1", "Give exactly one of --topic and --include."),
        ("--topic t", "Missing option '--num-records'."),
        ("--topic t --num-records 1 --messages 1", "Give only one of --num-records and --messages."),
        ("--include ( --num-records 1", "invalid regular expression in --include"),
        ("--topic t --num-records 1", "--bootstrap-server is required"),
        (
            "--topic t --num-records 1 --consumer.config a --command-config b",
            "Options --command-config and --consumer.config cannot be specified together.",
        ),
    ],
)
def test_command_lines_that_the_consumer_refuses(run: Run, line: str, message: str) -> None:
    ran = run(CONSUMER, line)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


def test_a_date_format_that_is_none_is_refused(run: Run) -> None:
    ran = run(CONSUMER, "-b localhost:1 --topic t --num-records 1 --date-format GG")
    assert (ran.status, ran.out) == (1, "")
    assert "invalid date format 'GG'" in ran.err


def test_the_latency_of_each_record_is_measured(run: Run, servers: str, topic: str) -> None:
    line = f"-b {servers} --topic {topic} --num-records 3 --producer-acks all --record-size 20"
    ran = run(LATENCY, f"{line} --record-key-size 2 --num-headers 2 --record-header-key-size 3 --record-header-size -1")
    assert (ran.status, ran.err) == (0, "")
    made, step, average, percentiles = ran.out.splitlines()
    assert made == (f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor = 1')
    assert re.fullmatch(r"0\t\d+\.\d+", step)
    assert re.fullmatch(r"Avg latency: \d+\.\d{4} ms", average)
    assert re.fullmatch(r"Percentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+", percentiles)
    for record in read_all(servers, topic, 3):
        assert (len(record.key or b""), len(record.value or b"")) == (2, 20)
        assert [(len(name), value) for name, value in record.headers] == [(3, None)] * 2


def test_the_older_form_of_the_latency_test_warns(run: Run, servers: str, topic: str) -> None:
    ran = run(LATENCY, f"{servers} {topic} 1 1 10")
    assert ran.status == 0
    assert ran.err.startswith("WARNING: Positional argument usage is deprecated and will be removed in")
    assert "Percentiles: " in ran.out
    ran = run(LATENCY, f"{servers} {topic} 1 1")
    assert (ran.status, ran.out) == (2, "")
    assert "Expected 5 or 6 positional arguments, but got 4." in ran.err


def record(
    value: bytes, key: bytes | None = None, headers: tuple[tuple[str, bytes | None], ...] = ()
) -> ConsumedRecord:
    return ConsumedRecord("t", 0, 5, 0, 0, key, value, headers, 0)


@pytest.mark.parametrize(
    "read, message",
    [
        ([], r"poll\(\) timed out before finding a result \(timeout:\[60000ms\]\)"),
        ([record(b"other", b"k")], "the message value read did not match the message value sent"),
        ([record(b"v", None)], "the message key read did not match"),
        ([record(b"v", b"k", (("h", None),))], "the message headers read did not match"),
        ([record(b"v", b"k"), record(b"w")], r"Only one result was expected during this test. We found \[2\]"),
    ],
)
def test_another_record_than_the_one_sent_ends_the_latency_test(read: list[ConsumedRecord], message: str) -> None:
    with pytest.raises(RoundTripFailed, match=message):
        check_read(read, b"k", b"v", ())
    check_read([record(b"v", b"k")], b"k", b"v", ())


def test_metrics_of_the_clients_are_printed_at_the_end(servers: str, topic: str, run: Run) -> None:
    line = f"--bootstrap-server {servers} --topic {topic} --num-records 50"
    produced = run(PRODUCER, f"{line} --record-size 10 --throughput -1 --print-metrics")
    assert produced.status == 0, produced.err
    shown = dict(each.rsplit(" : ", 1) for each in produced.out.splitlines() if " : " in each)
    found = {name.strip(): value for name, value in shown.items()}
    assert found["producer-metrics:record-send-total:{client-id=perf-producer-client}"] == "50.000"
    assert (
        found[f"producer-topic-metrics:record-send-total:{{client-id=perf-producer-client, topic={topic}}}"] == "50.000"
    )
    consumed = run(CONSUMER, f"{line} --print-metrics")
    assert consumed.status == 0, consumed.err
    assert re.search(
        r"consumer-fetch-manager-metrics:records-consumed-total:\{client-id=\S+\} +: 50\.000", consumed.out
    )
    refused = run(PRODUCER, f"{line} --record-size 10 --throughput -1 --print-metrics -o json")
    assert refused.status == 2
    assert "--print-metrics prints text: leave out -o" in refused.err
