"""Groups of both protocols in every state and in wrong order, beside Kafka; the generator is group_walks.py."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands.logs.dump_log import command as dump_log
from tests.against_kafka.group_peer import GroupPeer
from tests.against_kafka.group_walks import PROPERTIES, STATIC, differences, walk_of
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST

WALKS = 12
STEPS = 40


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=PROPERTIES) as running:
        yield running


@pytest.mark.parametrize("seed", range(8480, 8480 + WALKS))
def test_both_brokers_give_the_same_answers_and_write_the_same_records(
    real_kafka: Callable[[Setup], RealKafka], broker: EmbeddedBroker, seed: int
) -> None:
    kafka = real_kafka(Setup(NEWEST, properties=tuple(PROPERTIES.items())))
    assert list(differences((kafka.bootstrap_servers, broker.bootstrap_servers), seed, STEPS)) == []


def test_both_dump_tools_read_the_same_in_what_was_written(
    tmp_path: Path, java_tool: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    with EmbeddedBroker(data_dir=str(tmp_path), config={**PROPERTIES, "offsets.topic.num.partitions": 1}) as broker:
        for seed in range(8500, 8504):
            peer = GroupPeer(broker.bootstrap_servers, f"dumped-{seed}", STATIC)
            for step in walk_of(seed, STEPS):
                peer.take(step)
            peer.close()
    (path,) = tmp_path.glob("__consumer_offsets-0/*.log")
    asked = ["--offsets-decoder", "--files", str(path)]
    theirs = java_tool(NEWEST, "org.apache.kafka.tools.DumpLogSegments", *asked)
    ours = CliRunner().invoke(dump_log, asked)
    assert (theirs.returncode, ours.exit_code) == (0, 0), theirs.stderr + ours.output
    assert theirs.stdout.splitlines() == ours.output.splitlines()
    for record_type in (3, 5, 6, 7, 8, 16):
        assert f'key: {{"type":"{record_type}"' in ours.output
