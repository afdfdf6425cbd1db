"""The audit of the bundled broker's directory, again and again while it is under load, finds nothing wrong.

Idempotent producers, segments that are rolled, retention, deleted records, topics that come and go: all at once, for a
fixed number of rounds.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from kafka_tools.admin.calls.topic_changes import NewTopic
from kafka_tools.admin.client import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.producer import Producer
from kafka_tools.storage.check import check_log_dir
from kafka_tools.values import TopicPartition
from tests.spark.one_process import audit_here

ROUNDS = int(os.environ.get("KAFKA_TOOLS_BUSY_ROUNDS", "4"))
BUSY = {
    "log.retention.check.interval.ms": "50",
    "log.segment.delete.delay.ms": "100",
    "log.segment.bytes": "1048576",
    "log.index.interval.bytes": "200",
}
KEPT = {"retention.bytes": "2000000"}


def until(stop: threading.Event, failed: list[BaseException], work: Callable[[int], None]) -> threading.Thread:
    """A thread that works in turns until it is told to stop."""

    def run() -> None:
        turn = 0
        try:
            while not stop.is_set():
                work(turn)
                turn += 1
        except BaseException as error:  # noqa: BLE001  # the main thread tells it
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_the_bundled_brokers_directory_has_no_damage_while_it_is_under_load(tmp_path: Path) -> None:
    log_dir = tmp_path / "data"
    found: list[str] = []
    failed: list[BaseException] = []
    stop = threading.Event()
    turned = threading.Condition()
    turns = [0]
    with EmbeddedBroker(str(log_dir), config=BUSY) as broker, AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("busy", 2, 1, configs=KEPT)])["busy"]

        def produce(turn: int) -> None:
            with Producer(bootstrap_servers=broker.bootstrap_servers, linger_ms="0") as producer:
                for _ in range(30):
                    for partition in range(2):
                        producer.send("busy", b"v" * 60_000, key=b"k", partition=partition)
                    producer.flush()
            with turned:
                turns[0] += 1
                turned.notify_all()

        def come_and_go(turn: int) -> None:
            name = f"passing-{turn % 3}"
            with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
                admin.create_topics([NewTopic(name, 1, 1)])[name]
                producer.send(name, b"v" * 300, partition=0)
                producer.flush()
            admin.delete_records({TopicPartition("busy", 0): -1})[TopicPartition("busy", 0)]
            admin.delete_topics([name])[name]
            stop.wait(0.05)

        threads = [until(stop, failed, work) for work in (produce, come_and_go)]
        try:
            for number in range(ROUNDS):
                with turned:
                    before = turns[0]
                    assert turned.wait_for(lambda before=before: turns[0] > before or failed, 120)  # type: ignore[misc]
                result = audit_here(log_dir, records=number % 2 == 0)
                assert any(row.summary.batches for row in result.partitions if row.summary.topic == "busy")
                found += [
                    f"{number} audit {each.severity} {each.kind} {each.path}: {each.text}"
                    for each in result.findings if each.severity != "info"
                ]  # fmt: skip
                found += [
                    f"{number} check {finding.severity} {finding.kind} {finding}"
                    for finding in check_log_dir(log_dir) if finding.is_damage
                ]  # fmt: skip
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
    assert failed == []
    assert found == []
    assert [f"{finding}" for finding in check_log_dir(log_dir) if finding.is_damage] == []
