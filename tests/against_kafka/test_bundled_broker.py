"""Kafka's own tools on the bundled broker: its clients on the wire, its dump tool on the files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.side_by_side import PATIENT_PRODUCER

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

RELEASE = NEWEST
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
DUMP = "org.apache.kafka.tools.DumpLogSegments"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LINES = [f"{number}:value {number}" for number in range(300)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    config = {"log.index.interval.bytes": 512, "log.segment.bytes": 1 << 20}
    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("bundled") / "data", config=config) as running:
        yield running


@pytest.mark.parametrize("codec", CODECS)
def test_kafkas_console_clients_exchange_records(broker: EmbeddedBroker, java_tool: Tool, codec: str) -> None:
    server = ["--bootstrap-server", broker.bootstrap_servers, "--topic", f"console-{codec}"]
    sent = java_tool(
        RELEASE, PRODUCER, *server, *PATIENT_PRODUCER, "--compression-codec", codec, stdin="\n".join(LINES) + "\n"
    )
    assert sent.returncode == 0, sent.stderr
    got = java_tool(
        RELEASE, CONSUMER, *server, "--from-beginning", "--max-messages", len(LINES), "--timeout-ms", 60_000,
        "--group", f"group-{codec}",
    )  # fmt: skip
    assert got.stdout.splitlines() == LINES, got.stderr


GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"


@pytest.mark.parametrize("subscription", [("--topic", "modern"), ("--include", "mod.*")])
def test_javas_consumer_reads_in_a_group_of_the_consumer_protocol(
    broker: EmbeddedBroker, java_tool: Tool, subscription: tuple[str, str]
) -> None:
    server = ["--bootstrap-server", broker.bootstrap_servers]
    sent = java_tool(RELEASE, PRODUCER, *server, "--topic", "modern", *PATIENT_PRODUCER, stdin="\n".join(LINES) + "\n")
    assert sent.returncode == 0, sent.stderr
    got = java_tool(
        RELEASE, CONSUMER, *server, *subscription, "--from-beginning", "--max-messages", len(LINES),
        "--timeout-ms", 60_000, "--group", f"modern {subscription[0]}", "--command-property", "group.protocol=consumer",
    )  # fmt: skip
    assert got.stdout.splitlines()[: len(LINES)] == LINES, got.stderr
    told = java_tool(RELEASE, GROUPS, *server, "--describe", "--group", f"modern {subscription[0]}", "--state")
    assert " Empty " in told.stdout, told.stdout + told.stderr


def test_the_consumer_protocol_can_be_turned_off(java_tool: Tool) -> None:
    with EmbeddedBroker(config={"group.coordinator.rebalance.protocols": "classic"}) as classic:
        asked = java_tool(
            RELEASE, CONSUMER, "--bootstrap-server", classic.bootstrap_servers, "--topic", "t", "--timeout-ms", 60_000,
            "--command-property", "group.protocol=consumer",
        )  # fmt: skip
    assert "UnsupportedVersionException: The cluster does not support the new CONSUMER group protocol." in asked.stderr


@pytest.mark.parametrize("release", ["2.8.2", NEWEST])
def test_javas_producer_writes_in_transactions(broker: EmbeddedBroker, java_tool: Tool, release: str) -> None:
    topic = f"transactions-{release}"
    where = ["--producer-props", f"bootstrap.servers={broker.bootstrap_servers}"]
    if release == RELEASE:
        where = ["--bootstrap-server", broker.bootstrap_servers]
    done = java_tool(
        release, PERFORMANCE, *where, "--topic", topic, "--num-records", 500, "--record-size", 10, "--throughput", 1000,
        "--transactional-id", topic, "--transaction-duration-ms", 100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    read = java_tool(
        RELEASE, CONSUMER, "--bootstrap-server", broker.bootstrap_servers, "--topic", topic, "--from-beginning",
        "--isolation-level", "read_committed", "--max-messages", 500, "--timeout-ms", 60_000,
    )  # fmt: skip
    assert len(read.stdout.splitlines()) == 500, read.stderr


OLD_PRODUCER = "kafka.tools.ConsoleProducer"
OLD_CONSUMER = "kafka.tools.ConsoleConsumer"


@pytest.mark.parametrize(
    ("release", "codec", "consumer"),
    [
        ("1.1.1", "lz4", OLD_CONSUMER),
        ("2.2.2", "zstd", OLD_CONSUMER),
        ("2.8.2", "gzip", OLD_CONSUMER),
        ("3.9.2", "snappy", CONSUMER),
    ],
)
def test_the_console_clients_of_older_releases_exchange_records(
    broker: EmbeddedBroker, java_tool: Tool, release: str, codec: str, consumer: str
) -> None:
    topic = f"old-{release}"
    sent = java_tool(
        release, OLD_PRODUCER, "--broker-list", broker.bootstrap_servers, "--topic", topic,
        "--compression-codec", codec, *PATIENT_PRODUCER, stdin="\n".join(LINES) + "\n",
    )  # fmt: skip
    assert sent.returncode == 0, sent.stderr
    got = java_tool(
        release, consumer, "--bootstrap-server", broker.bootstrap_servers, "--topic", topic, "--from-beginning",
        "--max-messages", len(LINES), "--timeout-ms", 60_000,
    )  # fmt: skip
    assert got.stdout.splitlines() == LINES, got.stderr


def test_todays_clients_speak_to_the_broker_as_to_kafka_2_2(java_tool: Tool) -> None:
    with EmbeddedBroker(release="2.2") as old:
        server = ["--bootstrap-server", old.bootstrap_servers, "--topic", "t"]
        java_tool(RELEASE, PRODUCER, *server, *PATIENT_PRODUCER, stdin="\n".join(LINES) + "\n")
        got = java_tool(
            RELEASE, CONSUMER, *server, "--from-beginning", "--max-messages", len(LINES), "--timeout-ms", 60_000
        )
        assert got.stdout.splitlines() == LINES, got.stderr


def test_kafkas_dump_tool_finds_nothing_wrong_in_the_files(broker: EmbeddedBroker, java_tool: Tool) -> None:
    server = ["--bootstrap-server", broker.bootstrap_servers, "--topic", "dumped"]
    for codec in CODECS:
        java_tool(
            RELEASE,
            PRODUCER,
            *server,
            *PATIENT_PRODUCER,
            "--compression-codec",
            codec,
            stdin="\n".join(LINES * 5) + "\n",
        )
    for kill in (True, False):
        broker.restart(kill=kill)
        for folder in sorted(Path(broker.data_dir).iterdir()):
            if folder.is_dir() and any(file.stat().st_size for file in folder.glob("*.log")):
                _dump(java_tool, folder)
    snapshots = list((Path(broker.data_dir) / "dumped-0").glob("*.snapshot"))
    assert snapshots
    for snapshot in snapshots:
        assert "producerId: " in java_tool(RELEASE, DUMP, "--files", snapshot).stdout


def _dump(java_tool: Tool, folder: Path) -> None:
    logs = ",".join(str(file) for file in sorted(folder.glob("*.log")))
    deep = java_tool(RELEASE, DUMP, "--deep-iteration", "--files", logs)
    assert deep.returncode == 0, deep.stderr
    assert "isvalid: true" in deep.stdout
    for bad in ("isvalid: false", "Non-consecutive", "corrupt", "Found invalid"):
        assert bad not in deep.stdout
    indexes = ",".join(
        str(file) for pattern in ("*.index", "*.timeindex") for file in sorted(folder.glob(pattern))
        if file.stat().st_size
    )  # fmt: skip
    if indexes:
        checked = java_tool(RELEASE, DUMP, "--index-sanity-check", "--files", indexes)
        assert checked.stdout.count("passed sanity check") == len(indexes.split(",")), checked.stdout + checked.stderr
        verified = java_tool(RELEASE, DUMP, "--verify-index-only", "--files", indexes)
        for bad in ("Mismatches", "mismatches", "Out of order", "not found"):
            assert bad not in verified.stdout, verified.stdout


def test_the_clusters_state_is_a_metadata_log_that_kafka_reads(broker: EmbeddedBroker, java_tool: Tool) -> None:
    path = os.path.join(broker.data_dir, "__cluster_metadata-0", "00000000000000000000.log")
    dumped = java_tool(RELEASE, DUMP, "--cluster-metadata-decoder", "--files", path)
    assert '"type":"TOPIC_RECORD"' in dumped.stdout
    assert '"type":"PARTITION_RECORD"' in dumped.stdout
    assert "Could not read" not in dumped.stdout + dumped.stderr
