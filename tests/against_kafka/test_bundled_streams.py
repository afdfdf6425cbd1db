"""A Kafka Streams application with exactly_once_v2 on the bundled broker: killed, both of them, it doubles nothing."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.net.config import ClientConfig
from tests.against_kafka.jars import NEWEST, STREAMS, library
from tests.against_kafka.java_programs import compiled
from tests.against_kafka.jvm import Server

RELEASE = NEWEST
CONFIG = {
    "group.min.session.timeout.ms": 1000, "group.initial.rebalance.delay.ms": 0,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
}  # fmt: skip
KEYS = 7
BURST = 400
KILLS = 2
"""Of the application; the broker is killed once as well."""
WAIT_S = 180


@pytest.fixture(scope="module")
def command() -> list[str]:
    """The application, compiled; its arguments follow."""
    return compiled("ExactlyOnceStream", RELEASE, more_jars=list(library(STREAMS).glob("*.jar")))


class Application:
    """The application, started again and again with the same state directory."""

    def __init__(self, command: list[str], address: str, folder: Path) -> None:
        self._command = [*command, address, str(folder / "state"), "numbers", "counts"]
        self._folder = folder
        self._starts = 0
        self.server = self._start()

    def _start(self) -> Server:
        self._starts += 1
        return Server("the Streams application", self._command, self._folder / f"application-{self._starts}.log")

    def kill_and_start(self) -> None:
        self.server.stop(sharply=True)
        self.server = self._start()


def test_a_streams_application_that_is_killed_writes_exactly_once(command: list[str], tmp_path: Path) -> None:
    """It counts the records of each key: after each record it writes the count, which must go up one by one."""
    with EmbeddedBroker(data_dir=tmp_path / "data", config=CONFIG) as broker:
        with AdminClient(ClientConfig({"bootstrap.servers": broker.bootstrap_servers})) as admin:
            topics = [NewTopic(name, partitions=2, replication_factor=1) for name in ("numbers", "counts")]
            admin.create_topics(topics).raise_any()
        settings = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
        producer = Producer({**settings, "enable.idempotence": True})
        reading = {"isolation.level": "read_committed", "group.id": "judge", "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, **reading})
        consumer.subscribe(["counts"])
        application = Application(command, broker.bootstrap_servers, tmp_path)
        found: defaultdict[bytes, list[int]] = defaultdict(list)
        sent = 0

        def send() -> None:
            nonlocal sent
            for _ in range(BURST):
                producer.produce("numbers", b"%d" % sent, b"key %d" % (sent % KEYS))
                sent += 1
            assert producer.flush(WAIT_S) == 0

        def read_until(count: int) -> None:
            end = time.monotonic() + WAIT_S
            while sum(map(len, found.values())) < count:
                assert time.monotonic() < end, (count, dict(found), application.server.log_text()[-2000:])
                for message in consumer.consume(500, 0.2):
                    if message.error() is None:
                        found[message.key()].append(int(message.value()))

        try:
            for turn in range(KILLS):
                before = sent
                send()
                read_until(before + BURST // 4)  # and in the midst of the rest it is killed
                application.kill_and_start()
                if turn == 1:
                    broker.restart(kill=True)
            send()
            read_until(sent)
        finally:
            application.server.stop(sharply=True)
            consumer.close()
    assert dict(found) == {b"key %d" % key: list(range(1, len(range(key, sent, KEYS)) + 1)) for key in range(KEYS)}
