"""What findings advise to do with commands, done with these commands on a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.clients.producer import Producer
from kafka_tools.clock import SystemClock
from kafka_tools.storage import names
from kafka_tools.storage.findings import FILE_KINDS, KINDS
from tests.against_kafka.harness import RealKafka

TOPICS = "org.apache.kafka.tools.TopicCommand"
TOPIC = "advice-actions"
DAY_MS = 86_400_000
CONFIGS = {
    "timestamp-future": "message.timestamp.type=LogAppendTime",
    "timestamp-unit": "message.timestamp.after.max.ms=3600000",
    "compaction-lag": "max.compaction.lag.ms=60000",
    "oversized-batch": "max.message.bytes=2000000",
    "uncompressed": "compression.type=zstd",
}
"""Configs that advice names, for topics."""


def command(name: str, *arguments: object) -> str:
    """The output of one of our commands, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "kafka_tools", name, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def configure(kafka: RealKafka, config: str) -> None:
    place = "--entity-type", "topics", "--entity-name", TOPIC
    command("configs", "-b", kafka.bootstrap_servers, "--alter", *place, "--add-config", config)
    assert config in command("configs", "-b", kafka.bootstrap_servers, "--describe", *place)


def send(kafka: RealKafka, time_ms: int) -> str:
    """A record with this timestamp; the error's name or ''."""
    with Producer(bootstrap_servers=kafka.bootstrap_servers, enable_idempotence="false") as producer:
        delivery = producer.send(TOPIC, b"v", timestamp_ms=time_ms, partition=0)
        producer.flush()
        return "" if delivery.error is None else str(delivery.error)


@pytest.fixture(scope="module")
def kafka(kafka_new: RealKafka) -> RealKafka:
    assert kafka_new.tool(TOPICS, "--create", "--topic", TOPIC, "--partitions", 1).returncode == 0
    return kafka_new


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_config_that_advice_names_is_taken(kafka: RealKafka, kind: str) -> None:
    assert CONFIGS[kind].partition("=")[0] in (KINDS[kind].advice or "")
    configure(kafka, CONFIGS[kind])


def deletion(kafka: RealKafka, tmp_path: Path) -> None:
    """kafka-delete-records removes what lies before an offset."""
    (node,) = kafka.node_ids
    configure(kafka, "message.timestamp.type=CreateTime")
    configure(kafka, f"message.timestamp.after.max.ms={2**63 - 1}")
    ahead_ms = SystemClock().now_ms() + 90 * DAY_MS
    assert send(kafka, ahead_ms) == ""
    configure(kafka, "message.timestamp.after.max.ms=3600000")
    assert "timestamp" in send(kafka, ahead_ms).lower()
    offsets = tmp_path / "offsets.json"
    offsets.write_text(json.dumps({"version": 1, "partitions": [{"topic": TOPIC, "partition": 0, "offset": -1}]}))
    command("delete-records", "-b", kafka.bootstrap_servers, "--offset-json-file", offsets)
    read = kafka.tool("org.apache.kafka.tools.GetOffsetShell", "--topic", TOPIC, "--time", "earliest").stdout
    end = kafka.tool("org.apache.kafka.tools.GetOffsetShell", "--topic", TOPIC, "--time", "latest").stdout
    assert read == end != f"{TOPIC}:0:0\n"
    assert node


def dumped(kafka: RealKafka, tmp_path: Path) -> None:
    """kafka-dump-log shows the batches and their records."""
    assert send(kafka, SystemClock().now_ms()) == ""
    segment = max(kafka.partition_dir(TOPIC, 0).glob(f"*{names.LOG}"))
    assert "baseOffset" in command("dump-log", "--files", segment, "--print-data-log")


def described(kafka: RealKafka, tmp_path: Path) -> None:
    """kafka-topics shows the Isr and the topic's id, kafka-metadata-quorum the leader; kafka-configs the policy."""
    shown = command("topics", "-b", kafka.bootstrap_servers, "--describe", "--topic", TOPIC)
    assert "Isr: " in shown and "TopicId: " in shown
    assert "LeaderId:" in command("metadata-quorum", "-b", kafka.bootstrap_servers, "describe", "--status")
    with Producer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        producer.send(TOPIC, b"v")
    place = "--entity-type", "topics", "--entity-name", TOPIC
    command("configs", "-b", kafka.bootstrap_servers, "--describe", *place)


ACTIONS: dict[str, Callable[[RealKafka, Path], None]] = {
    "retention-overdue": deletion,
    "bad-timestamp": deletion,
    "sequence-gap": dumped,
    "sequence-duplicate": dumped,
    "producer-epoch": dumped,
    "offsets-bloat": described,
}


@pytest.mark.parametrize("action", dict.fromkeys(ACTIONS.values()))
def test_a_command_that_advice_names_does_what_is_said(
    kafka: RealKafka, tmp_path: Path, action: Callable[[RealKafka, Path], None]
) -> None:
    action(kafka, tmp_path)


def test_the_actions_are_those_of_the_audit() -> None:
    assert {*ACTIONS, *CONFIGS} - {"bad-timestamp"} <= set(KINDS) - FILE_KINDS
