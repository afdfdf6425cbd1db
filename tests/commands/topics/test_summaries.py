"""kafka-topics --describe --summary, and what commands say instead of nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, CommittedOffset, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.producer import Producer
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running
from kafka_tools.commands.topics import summaries
from kafka_tools.values import TopicPartition, moment_text

NEWEST_MS = SystemClock().now_ms()


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config={"log.retention.hours": "48"}) as broker:
        address = broker.bootstrap_servers
        with AdminClient(address) as admin, Producer(address) as producer:
            own = {"retention.ms": "3600000", "retention.bytes": "1048576"}
            admin.create_topics([NewTopic("orders", 2, 1, configs=own), NewTopic("empty", 1, 1)]).raise_any()
            for number in range(5):
                producer.send("orders", b"v" * 1000, partition=number % 2, timestamp_ms=NEWEST_MS - 4 + number)
            producer.flush()
            admin.delete_records({TopicPartition("orders", 0): 1}).raise_any()
            keys = {TopicPartition("orders", 0): CommittedOffset(1), TopicPartition("orders", 1): CommittedOffset(2)}
            admin.alter_group_offsets("billing", keys).raise_any()
        yield broker


@pytest.fixture
def run(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str) -> Ended:
        capsys.readouterr()
        line = [*words, "-b", broker.bootstrap_servers]
        return Ended(running.run(cli.load("topics"), line, "kafka-topics"), *capsys.readouterr())

    return ended


def test_a_topic_in_rows_and_in_words(run: Run) -> None:
    (row,) = json.loads(run("--describe", "--summary", "--topic", "orders", "-o", "json").out)["data"]
    size_bytes = row.pop("size_bytes")
    assert 4000 < size_bytes < 7000
    assert row == {
        "topic": "orders", "partition_count": 2, "replication_factor": 1, "records": 4, "newest_ms": NEWEST_MS,
        "retention": "1 h or 1.0 MiB per partition",
        "configs": {"retention.bytes": "1048576", "retention.ms": "3600000"},
        "readers": [{"group": "billing", "lag": 2, "members": 0}],
    }  # fmt: skip
    first, second, third = run("--describe", "--summary", "--topic", "orders").out.splitlines()
    assert first.startswith("orders: 2 partitions with 1 replica, 4 records, ")
    assert first.endswith(f", newest {moment_text(NEWEST_MS)}")
    settings = "its own settings: retention.bytes=1048576, retention.ms=3600000"
    assert second == f"  keeps 1 h or 1.0 MiB per partition; {settings}"
    assert third == "  read by billing (lag 2, 0 members)"


def test_an_empty_topic_has_the_brokers_retention_and_no_reader(run: Run) -> None:
    assert run("--describe", "--summary", "--topic", "empty").out == (
        "empty: 1 partition with 1 replica, 0 records, 0 B\n"
        "  keeps 2 d; no settings of its own\n"
        "  read by no group\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "policy, age, size, words",
    [
        ("delete", "-1", "-1", "everything"),
        ("delete", "604800000", "-1", "7 d"),
        ("compact", "604800000", "-1", "the last record of each key"),
        ("compact,delete", "604800000", "-1", "the last record of each key, at most 7 d"),
        ("compact,delete", "-1", "-1", "the last record of each key"),
        ("", "604800000", "-1", "everything"),
        (None, None, None, None),
    ],
)
def test_retention_in_words(policy: str | None, age: str | None, size: str | None, words: str | None) -> None:
    configs: dict[str, Any] = {"cleanup.policy": policy, "retention.ms": age, "retention.bytes": size}
    assert summaries._retention(configs) == words


@pytest.mark.parametrize("words", [("--under-replicated-partitions",), ("-o", "prometheus")])
def test_a_summary_has_no_filters(words: tuple[str, ...], run: Run) -> None:
    ended = run("--describe", "--summary", *words)
    assert ended.status == 2 and "--summary cannot be combined with filters" in ended.err


def test_an_empty_list_says_what_was_looked_at(run: Run) -> None:
    ended = run("--describe", "--topic", "orders", "--under-replicated-partitions", "-o", "table")
    assert (ended.status, len(ended.out.splitlines())) == (0, 1)
    assert ended.err == "0 of 2 partitions under-replicated\n"
    ended = run("--describe", "--topic", "orders", "--at-min-isr-partitions", "-o", "table")
    assert ended.err == "2 of 2 partitions at min.insync.replicas\n"
    kafkas = run("--describe", "--topic", "orders", "--under-replicated-partitions")
    assert kafkas == Ended(0, "", ""), "on a pipe there is only Kafka's text"


def test_changes_say_how_many_topics_they_changed(run: Run) -> None:
    assert run("--create", "--topic", "grown", "--partitions", "1").status == 0
    assert run("--alter", "--topic", "grown", "--partitions", "2", "-o", "table").err == "1 of 1 topic altered\n"
    assert run("--delete", "--topic", "grown", "-o", "table").err == "1 of 1 topic deleted\n"
