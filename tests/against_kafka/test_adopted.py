"""Directories that Kafka wrote, adopted: clients are told what Kafka told them, and go on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.directories.adoption import adopt
from kafka_tools.broker_embedded.directories.locks import ReadersLock
from kafka_tools.clock import SystemClock
from kafka_tools.errors import ConfigError
from kafka_tools.protocol.feature_levels import metadata_level
from kafka_tools.storage.check import check_partition
from tests.against_kafka.filled_cluster import (
    DONE_ID,
    EOF,
    LISTENERS,
    OPEN_ID,
    PROPERTIES,
    SETUPS,
    Tool,
    committed_records,
    fill,
    told,
)
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import BEFORE, NEWEST
from tests.against_kafka.jvm import StartFailed

SCRAM = {
    "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config":
        "org.apache.kafka.common.security.scram.ScramLoginModule required;",
}  # fmt: skip


def begin(kafka_dirs: Sequence[Path], data_dir: Path, node_id: int = 1) -> None:
    adopt(list(map(str, kafka_dirs)), [str(data_dir)], node_id=node_id, cluster_id=None, clock=SystemClock())


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Left(NamedTuple):
    """What a stopped broker has left, and what it had told."""

    kafka: RealKafka
    told: dict[str, object]

    directories: list[Path]

    @property
    def directory(self) -> Path:
        """The one with the cluster's state."""
        return self.directories[0]


CASES = {"newest stopped, two directories": (NEWEST, False, True), "3.9.2 killed": ("3.9.2", True, False)}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, java_tool: Tool) -> Iterator[Left]:
    release, sharply, has_two = request.param
    setup = SETUPS[release]
    if has_two:
        dirs = (("log.dirs", "{folder}/data-1,{folder}/more"), ("metadata.log.dir", "{folder}/data-1"))
        setup = replace(setup, properties=setup.properties + dirs)
    with RealKafka.start(setup, tmp_path_factory.mktemp("kafka")) as kafka:
        directories = [*kafka.log_dirs, *([kafka.folder / "more"] if has_two else [])]
        fill(kafka)
        answers = told(kafka.bootstrap_servers, release, java_tool)
        with pytest.raises(ConfigError, match="a broker is running on"):
            begin(directories, tmp_path_factory.mktemp("none"))
        kafka.stop_node(1, sharply)
        yield Left(kafka, answers, directories)


@pytest.fixture
def adopted(left: Left, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    begin(left.directories, tmp_path / "ours")
    listeners = [f"{name}://127.0.0.1:0" for name in LISTENERS]
    config = dict(PROPERTIES) | SCRAM
    with EmbeddedBroker(data_dir=tmp_path / "ours", listeners=listeners, config=config) as broker:
        yield broker


def test_clients_are_told_what_kafka_told_them(left: Left, adopted: EmbeddedBroker, java_tool: Tool) -> None:
    before = list(map(contents, left.directories))
    found = told(adopted.bootstrap_servers, left.kafka.release, java_tool)
    for key, value in left.told.items():
        assert found[key] == value, key
    adopted.restart()
    assert committed_records(adopted.bootstrap_servers, "orders") == left.told["orders"]
    assert list(map(contents, left.directories)) == before


def test_producers_groups_and_users_go_on(left: Left, adopted: EmbeddedBroker) -> None:
    server = adopted.bootstrap_servers
    for id in (OPEN_ID, DONE_ID):  # the first one's beginning aborts what it had left open
        producer = Producer({"bootstrap.servers": server, "transactional.id": id})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce("orders", id.encode(), partition=1)
        producer.commit_transaction(60)
    address = adopted.call(lambda core: core.registration.endpoints["SASL_PLAINTEXT"])
    alice = Consumer({
        "bootstrap.servers": "{}:{}".format(*address), "group.id": "readers", "enable.partition.eof": True,
        "enable.auto.commit": False,  # it may not, and would try for as long as a session lasts
        "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "alice",
        "sasl.password": "alice-secret",
    })  # fmt: skip
    alice.assign([TopicPartition("orders", 1, 1000)])
    seen = []
    while (message := alice.poll(60)) is not None and (message.error() is None or message.error().code() != EOF):
        if message.error() is None:  # alice may read the topic, and may not be a member of a group
            seen.append(message.value())
    alice.close()
    assert seen[-2:] == [OPEN_ID.encode(), DONE_ID.encode()] and b"never committed" not in seen
    assert adopted.call(lambda core: len(core.tokens._tokens)) == 1
    fresh = Producer({"bootstrap.servers": server, "enable.idempotence": True})
    fresh.produce("again", b"x")
    assert fresh.flush(60) == 0
    known = adopted.call(lambda core: core.partitions.get("again", 0).log.producers.entries)
    others = adopted.call(lambda core: core.partitions.get("orders", 0).log.producers.entries)
    assert known and not known.keys() & others.keys(), "a producer id was given out twice"
    adopted.stop()
    for directory in sorted(Path(adopted.data_dir).glob("*-[0-9]")):
        assert [finding for finding in check_partition(directory, records=True) if finding.is_damage] == []


def test_kafka_does_not_start_on_a_directory_that_is_being_adopted(left: Left) -> None:
    lock = left.directory / ".lock"
    lock.touch()
    reading = ReadersLock(str(left.directory))
    try:
        with pytest.raises(StartFailed):
            left.kafka.start_node(1)
        assert "Failed to acquire lock on file .lock" in (left.kafka.folder / "server-1.log").read_text()
    finally:
        reading.release()


def test_a_directory_of_the_release_before_keeps_its_level(tmp_path: Path) -> None:
    with RealKafka.start(Setup(BEFORE), tmp_path / "kafka") as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        for number in range(100):
            producer.produce("kept", b"%d" % number)
        assert producer.flush(60) == 0
        records = committed_records(kafka.bootstrap_servers, "kept")
        kafka.stop_node(1)
        begin(kafka.log_dirs, tmp_path / "ours")
    with EmbeddedBroker(data_dir=tmp_path / "ours") as broker:
        assert committed_records(broker.bootstrap_servers, "kept") == records
        broker.restart(kill=True)
        assert broker.call(lambda core: core.features.finalized["metadata.version"]) == metadata_level(BEFORE)
