"""kafka-log-dirs --by: sums of replicas, shares, growth between two looks, and the time until a disk is full."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.producer import Producer
from kafka_tools.clock import SystemClock
from kafka_tools.commands.partitions.disk_usage import DiskLook, usage
from tests.commands.partitions.conftest import Run


def directory(broker: int, path: str, *partitions: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    told = [{"topic": topic, "partition": number, "size_bytes": size} for topic, number, size in partitions]
    volume = {"total_bytes": 1000, "usable_bytes": 400, "error": None}
    return {"broker": broker, "log_dir": path, "partitions": told, **volume, **more}


BEFORE = DiskLook(10.0, [directory(1, "/a", ("big", 0, 50), ("small", 0, 10)), directory(2, "/b", ("big", 0, 50))], [])
NOW = DiskLook(20.0, [directory(1, "/a", ("big", 0, 80), ("small", 0, 5)), directory(2, "/b", ("big", 0, 50))], [])


def test_topics_are_summed_over_all_replicas_the_largest_first() -> None:
    rows = usage(NOW, None, "topic")
    assert [(row["topic"], row["replicas"], row["size_bytes"], row["share_percent"]) for row in rows] == [
        ("big", 2, 130, 96.3),
        ("small", 1, 5, 3.7),
    ]
    assert [(row["growth_bytes_per_s"], row["full_in_ms"]) for row in rows] == [(None, None)] * 2
    assert [(row["topic"], row["partition"]) for row in usage(NOW, None, "partition")] == [("big", 0), ("small", 0)]


def test_growth_needs_two_looks_and_tells_when_a_directory_is_full() -> None:
    first, second = usage(NOW, BEFORE, "directory")
    assert (first["log_dir"], first["growth_bytes_per_s"]) == ("/a", 2)
    assert first["full_in_ms"] == 200_000, "400 bytes are free, and 2.5 bytes come each second, rounded to 2"
    assert first["used_percent"] == 60.0
    assert (second["log_dir"], second["growth_bytes_per_s"], second["full_in_ms"]) == ("/b", 0, None)
    assert [row["growth_bytes_per_s"] for row in usage(NOW, BEFORE, "topic")] == [3, 0]


def test_empty_and_offline_directories() -> None:
    look = DiskLook(0.0, [directory(1, "/empty"), directory(1, "/gone", error="KAFKA_STORAGE_ERROR")], [])
    (row,) = usage(look, None, "directory")
    assert (row["log_dir"], row["size_bytes"], row["share_percent"]) == ("/empty", 0, 0.0)


@pytest.fixture(scope="module")
def filled() -> Any:
    with EmbeddedBroker() as broker:
        with AdminClient(broker.bootstrap_servers) as admin, Producer(broker.bootstrap_servers) as producer:
            admin.create_topics([NewTopic("large", 2, 1), NewTopic("tiny", 1, 1), NewTopic("none", 1, 1)]).raise_any()
            for topic, size in (("large", 50_000), ("tiny", 100)):
                producer.wait_for(producer.send(topic, b"v" * size, partition=0))
        yield broker


def test_the_top_of_a_cluster(filled: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    from kafka_tools import cli
    from kafka_tools.commands import running

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        line = [*words, "-b", filled.bootstrap_servers]
        return running.run(cli.load("log-dirs"), line, "kafka-log-dirs"), *capsys.readouterr()

    status, out, err = run("--by", "topic", "--top", "1")
    head, row = (line.split() for line in out.splitlines())
    assert status == 0
    assert head == ["TOPIC", "REPLICAS", "SIZE-BYTES", "SHARE-PERCENT"]
    assert row[:2] == ["large", "2"] and int(row[2]) > 50_000 and float(row[3]) > 99
    assert err.startswith("1 of 3 topics: 4") and err.endswith("100 %\n")
    _, out, _ = run("--by", "directory", "-o", "json")
    (found,) = json.loads(out)["data"]
    assert found["log_dir"] == filled.data_dir and found["replicas"] == 4 and found["total_bytes"] > 0


def test_watch_prints_growth_until_it_is_interrupted(
    filled: EmbeddedBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafka_tools import cli
    from kafka_tools.commands import running

    turns = [0]

    def sleep(clock: SystemClock, seconds: float) -> None:
        turns[0] += 1
        if turns[0] == 2:
            raise KeyboardInterrupt
        with Producer(filled.bootstrap_servers) as producer:
            producer.wait_for(producer.send("tiny", b"v" * 90_000, partition=0))

    monkeypatch.setattr(SystemClock, "sleep", sleep)
    line = ["--by", "topic", "--topic-list", "tiny", "--watch", "1s", "-b", filled.bootstrap_servers, "-o", "jsonl"]
    status = running.run(cli.load("log-dirs"), line, "kafka-log-dirs")
    first, second = (json.loads(row) for row in capsys.readouterr().out.splitlines())
    assert status == running.INTERRUPTED
    assert first["growth_bytes_per_s"] is None and second["growth_bytes_per_s"] > 0
    assert second["size_bytes"] > first["size_bytes"] + 90_000


def test_options_of_usage_need_by(run: Run) -> None:
    for words, reason in (
        ("--describe --top 3", "--top can only be used with --by."),
        ("--describe --watch", "--watch can only be used with --by."),
        ("--by topic --watch -o json", "--watch cannot be combined with -o json"),
        ("--by topic -o prometheus", "-o prometheus cannot be combined with --by"),
    ):
        ended = run("log-dirs", *words.split())
        assert ended.status == 2 and reason in ended.err
