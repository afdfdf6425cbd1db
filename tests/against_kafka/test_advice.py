"""What findings advise, carried out on a real broker: stop it, plant the damage, do as is said, start it again.

Each partition has one kind of damage; one restart mends all. Afterwards the damage is gone, and records, aborted
transactions and offsets by time are those of the log.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.clients.consumer import Consumer
from kafka_tools.storage import findings, indexes
from kafka_tools.storage.check import check_log_dir, check_partition
from kafka_tools.storage.findings import KINDS, Finding
from kafka_tools.values import TopicPartition
from tests.against_kafka.harness import RealKafka, Setup
from tests.storage.test_live import START_MS, Writer

TOPIC = "advice"
TURNS = 60


def first(directory: Path, suffix: str) -> Path:
    return min(path for path in directory.glob(f"*{suffix}") if path.stat().st_size)


def overwrite(path: Path, position: int, data: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[position : position + len(data)] = data
    path.write_bytes(whole)


def entry(suffix: str, layout: struct.Struct, *values: int) -> Callable[[Path], None]:
    return lambda directory: overwrite(first(directory, suffix), 0, layout.pack(*values))


def append(suffix: str, data: bytes) -> Callable[[Path], None]:
    def plant(directory: Path) -> None:
        path = first(directory, suffix)
        path.write_bytes(path.read_bytes() + data)

    return plant


def write(name: str, text: str) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_text(text) and None


DAMAGE: dict[str, Callable[[Path], None]] = {
    "index-size": append(".index", b"\x01"),
    "index-order": lambda directory: overwrite(first(directory, ".index"), 8, bytes([0, 0, 0, 1, 0, 0, 0, 1])),
    "index-nowhere": entry(".index", indexes.OFFSET_ENTRY, 1, 7),
    "index-mismatch": lambda directory: overwrite(first(directory, ".index"), 0, b"\x00\x00\x00\x00"),
    "timeindex-size": append(".timeindex", b"\x01"),
    "timeindex-mismatch": lambda directory: overwrite(first(directory, ".timeindex"), 7, b"\x07"),
    "txnindex-size": append(".txnindex", b"\x01"),
    "txnindex-version": lambda directory: overwrite(first(directory, ".txnindex"), 0, b"\x00\x09"),
    "txnindex-mismatch": lambda directory: overwrite(first(directory, ".txnindex"), 9, b"\x07"),
    "txnindex-missing": lambda directory: first(directory, ".txnindex").unlink(),
    "producer-snapshot": lambda directory: overwrite(first(directory, ".snapshot"), 3, b"\xff\xfe"),
    "leader-epochs": write("leader-epoch-checkpoint", "0\n2\n5 10\n4 20\n"),
    "leader-epochs-mismatch": write("leader-epoch-checkpoint", "0\n2\n0 0\n3 10\n"),
}
CHECKPOINT = "recovery-point-offset-checkpoint"


def do_as_advised(finding: Finding) -> None:
    """Delete what the advice says."""
    path = Path(finding.path)
    if finding.advice == findings._REBUILD:
        path.with_suffix(".index").unlink(missing_ok=True)
    elif finding.advice == findings._EPOCHS:
        for each in [path, *path.parent.glob("*.index")]:
            each.unlink(missing_ok=True)
    else:
        assert finding.advice in (findings._SNAPSHOT, findings._CHECKPOINT), finding
        path.unlink(missing_ok=True)


def test_every_file_that_advice_says_to_delete_is_deleted_here() -> None:
    advised = (findings._REBUILD, findings._SNAPSHOT, findings._EPOCHS, findings._CHECKPOINT)
    assert {KINDS[kind].advice for kind in [*DAMAGE, "offset-checkpoint"]} == set(advised)


def read_all(kafka: RealKafka, partition: TopicPartition) -> tuple[list[int], list[int], list[int | None]]:
    """Offsets of committed records, of all records, and the offset that each of some times leads to."""
    read = []
    for level in ("read_committed", "read_uncommitted"):
        settings = {
            "bootstrap.servers": kafka.bootstrap_servers, "isolation.level": level, "auto.offset.reset": "earliest",
        }  # fmt: skip
        with Consumer(settings) as consumer:
            consumer.assign([partition])
            end = consumer.end_offsets([partition])[partition]
            offsets: list[int] = []
            while consumer.position(partition) < end:
                offsets += [record.offset for record in consumer.poll(1.0)]
            read.append(offsets)
            times = [START_MS + turn * 10 for turn in range(1, TURNS, 7)]
            found = [consumer.offsets_for_times({partition: time})[partition] for time in times]
    return read[0], read[1], [None if each is None else each.offset for each in found]


@pytest.fixture(scope="module")
def kafka(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    return real_kafka(Setup("4.3.1", properties=(("log.retention.ms", "-1"),)))


def test_what_findings_advise_mends_it(kafka: RealKafka) -> None:
    kinds = [None, *DAMAGE]
    main = "org.apache.kafka.tools.TopicCommand"
    assert kafka.tool(main, "--create", "--topic", TOPIC, "--partitions", len(kinds)).returncode == 0
    (node,) = kafka.node_ids
    (log_dir,) = kafka.log_dirs
    kafka.stop_node(node)
    metadata = {}
    for number in range(len(kinds)):
        directory = log_dir / f"{TOPIC}-{number}"
        metadata[number] = (directory / "partition.metadata").read_bytes()
        for path in directory.iterdir():
            path.unlink()
        writer = Writer(directory)
        writer.write(TURNS)
        writer.log.close()
        (directory / "partition.metadata").write_bytes(metadata[number])
        assert [finding for finding in check_partition(directory) if finding.is_damage] == []
    kafka.start_node(node)
    expected = read_all(kafka, TopicPartition(TOPIC, 0))
    assert len(expected[0]) < len(expected[1]) == TURNS
    kafka.stop_node(node)
    (log_dir / CHECKPOINT).write_text("0\nno checkpoint\n")
    for number, kind in enumerate(kinds):
        if kind is not None:
            directory = log_dir / f"{TOPIC}-{number}"
            DAMAGE[kind](directory)
            found = [finding for finding in check_partition(directory) if finding.is_damage]
            assert kind in {finding.kind for finding in found}
            for finding in found:
                do_as_advised(finding)
    for finding in check_log_dir(log_dir):
        if finding.kind == "offset-checkpoint":
            do_as_advised(finding)
    assert not (log_dir / CHECKPOINT).exists()
    kafka.start_node(node)
    for number, kind in enumerate(kinds):
        assert read_all(kafka, TopicPartition(TOPIC, number)) == expected, kind
    kafka.stop_node(node)
    assert [f"{finding.kind} {finding}" for finding in check_log_dir(log_dir) if finding.is_damage] == []
    kafka.start_node(node)
