"""What findings advise, carried out on a real broker: stop it, plant the damage, do as is said, start it again.

Each partition has one kind of damage; one restart mends all. Afterwards the damage is gone, and records, aborted and
open transactions, producers and offsets by time are those of the log.
"""

from __future__ import annotations

import re
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_tools.clients.consumer import Consumer
from kafka_tools.storage import checkpoints, findings, indexes, names
from kafka_tools.storage.check import check_log_dir, check_partition
from kafka_tools.storage.findings import KINDS, Finding
from kafka_tools.storage.snapshots import ProducerStateEntry, pack_producer_snapshot, read_producers
from kafka_tools.values import TopicPartition
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.test_advice_actions import command
from tests.storage.test_live import Writer

TOPIC, OWN = "advice", "advice-own"
TURNS = 64
PROPERTIES = (("log.retention.ms", "-1"), ("metadata.log.max.record.bytes.between.snapshots", "1000"))
START_MS = int(time.time() * 1000) - 600_000  # young enough for the broker to remember the producers


def first(directory: Path, suffix: str) -> Path:
    return min(path for path in directory.glob(f"*{suffix}") if path.stat().st_size)


def last(directory: Path, suffix: str) -> Path:
    return max(directory.glob(f"*{suffix}"))


def overwrite(path: Path, position: int, data: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[position : position + len(data)] = data
    path.write_bytes(whole)


def entry(suffix: str, layout: struct.Struct, number: int, *values: int) -> Callable[[Path], None]:
    return lambda directory: overwrite(first(directory, suffix), number * layout.size, layout.pack(*values))


def append(suffix: str, data: bytes, of: Callable[[Path, str], Path] = first) -> Callable[[Path], None]:
    def plant(directory: Path) -> None:
        path = of(directory, suffix)
        path.write_bytes(path.read_bytes() + data)

    return plant


def write(name: str, text: str) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_text(text) and None


def half_a_batch(directory: Path) -> None:
    path = last(directory, ".log")
    path.write_bytes(path.read_bytes() + first(directory, ".log").read_bytes()[:90])


def other_sequences(directory: Path) -> None:
    path = last(directory, ".snapshot")
    states = [state._replace(last_sequence=state.last_sequence + 7) for state in read_producers(str(path))]
    path.write_bytes(pack_producer_snapshot(states))


def without_its_log(directory: Path) -> None:
    shutil.copy(first(directory, ".index"), directory / names.file_name(10_000, ".index"))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "torn-tail": half_a_batch,
    "zero-tail": append(".log", bytes(5000), last),
    "index-size": append(".index", b"\x01"),
    "index-order": lambda directory: overwrite(first(directory, ".index"), 8, bytes([0, 0, 0, 1, 0, 0, 0, 1])),
    "index-nowhere": entry(".index", indexes.OFFSET_ENTRY, 0, 1, 7),
    "index-mismatch": lambda directory: overwrite(first(directory, ".index"), 0, b"\x00\x00\x00\x00"),
    "timeindex-size": append(".timeindex", b"\x01"),
    "timeindex-order": entry(".timeindex", indexes.TIME_ENTRY, 1, START_MS - 10**6, 9),
    "timeindex-offset": entry(".timeindex", indexes.TIME_ENTRY, 0, START_MS + 10, 10**6),
    "timeindex-mismatch": lambda directory: overwrite(first(directory, ".timeindex"), 7, b"\x07"),
    "txnindex-size": append(".txnindex", b"\x01"),
    "txnindex-version": lambda directory: overwrite(first(directory, ".txnindex"), 0, b"\x00\x09"),
    "txnindex-order": entry(".txnindex", indexes.TXN_ENTRY, 0, 0, 1, 9, 3, 0),
    "txnindex-mismatch": lambda directory: overwrite(first(directory, ".txnindex"), 9, b"\x07"),
    "txnindex-missing": lambda directory: first(directory, ".txnindex").unlink(),
    "producer-snapshot": lambda directory: overwrite(last(directory, ".snapshot"), 3, b"\xff\xfe"),
    "producer-snapshot-mismatch": other_sequences,
    "leader-epochs": write("leader-epoch-checkpoint", "0\n2\n5 10\n4 20\n"),
    "leader-epochs-mismatch": write("leader-epoch-checkpoint", "0\n2\n0 0\n3 10\n"),
    "partition-metadata": write(names.PARTITION_METADATA, "version: 0\ntopic_"),
    "orphan-file": without_its_log,
}
"""What is done to a partition's directory for each kind."""


OTHERS = ("offset-checkpoint-mismatch", "hanging-transaction")
"""Kinds that are planted and tried in the tests themselves."""
OF_THE_LOG_DIR = ("offset-checkpoint", "meta-properties", "quorum-state", "kraft-snapshot")


def half_a_snapshot(directory: Path) -> Path:
    """A snapshot of the metadata newer than all others, and incomplete."""
    newest = last(directory, names.CHECKPOINT)
    whole = newest.read_bytes()
    offset, epoch = map(int, newest.stem.split("-"))
    path = directory / names.checkpoint_name(offset + 1, epoch)
    path.write_bytes(whole[: len(whole) // 2])
    return path


def do_as_advised(finding: Finding, topic_id: str) -> None:
    """Carry out the advice, with nothing but what it says."""
    path = Path(finding.path)
    if finding.advice in (findings._REBUILD, findings._NEWER_INDEX, findings._CUT):
        path.with_suffix(".index").unlink(missing_ok=True)
    elif finding.advice == findings._EPOCHS:
        for each in [path, *path.parent.glob("*.index")]:
            each.unlink(missing_ok=True)
    elif finding.advice == findings._SNAPSHOT:
        path.unlink(missing_ok=True)
        last(path.parent, ".log").with_suffix(".index").unlink(missing_ok=True)
    elif finding.advice == findings._TOPIC_ID:
        path.write_text(f"version: 0\ntopic_id: {topic_id}")
    elif finding.advice in (findings._ORPHAN, findings._KRAFT_SNAPSHOT, findings._QUORUM):
        path.rename(path.parents[2] / path.name)
    elif finding.advice == findings._BEYOND:
        if path.name in ("log-start-offset-checkpoint", "cleaner-offset-checkpoint"):
            path.unlink(missing_ok=True)
    elif finding.advice == findings._CHECKPOINT:
        path.unlink(missing_ok=True)
    else:
        assert finding.advice == findings._LEAVE, finding


class Read(NamedTuple):
    """What clients get from a partition."""

    committed: list[int]
    all: list[int]
    by_time: list[int | None]


def read_all(kafka: RealKafka, partition: TopicPartition) -> Read:
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
    return Read(read[0], read[1], [None if each is None else each.offset for each in found])


def producers(directory: Path) -> list[ProducerStateEntry]:
    """What the broker knew of the producers when it stopped."""
    return sorted(read_producers(str(last(directory, ".snapshot"))))


@pytest.fixture(scope="module")
def kafka(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    return real_kafka(Setup(NEWEST, properties=PROPERTIES))


def topic_id(kafka: RealKafka, topic: str) -> str:
    text = kafka.tool("org.apache.kafka.tools.TopicCommand", "--describe", "--topic", topic).stdout
    return text.split("TopicId: ")[1].split()[0]


def registered_directory(metadata: Path) -> str:
    """The directory.id that the metadata log has for the broker."""
    shown = command("dump-log", "--cluster-metadata-decoder", "--files", first(metadata, names.LOG))
    lines = [line for line in shown.splitlines() if "REGISTER_BROKER_RECORD" in line and "logDirs" in line]
    return re.findall(r'"logDirs":\["([^"]+)"\]', lines[-1])[0]


def bytes_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.log"))


def without_snapshots(directory: Path) -> None:
    for path in directory.glob("*.snapshot"):
        path.unlink()


WRONG: dict[str, Callable[[Path], None]] = {
    "a torn tail is left alone": half_a_batch,
    "all snapshots are deleted": without_snapshots,
    "partition.metadata is deleted": lambda directory: (directory / names.PARTITION_METADATA).unlink(),
    "a log start offset beyond the end stays": lambda directory: None,
}
"""What the advice warns of."""


def fill(kafka: RealKafka, topic: str, partitions: int, template: Path) -> None:
    """The same log for all partitions, taken over by the broker."""
    (node,) = kafka.node_ids
    (log_dir,) = kafka.log_dirs
    kafka.stop_node(node)
    writer = Writer(template, START_MS)
    writer.write(TURNS)
    writer.log.close()
    for number in range(partitions):
        directory = log_dir / f"{topic}-{number}"
        for path in directory.iterdir():
            if path.name != names.PARTITION_METADATA:
                path.unlink()
        for path in template.iterdir():
            if path.name != names.PARTITION_METADATA:
                shutil.copy(path, directory)
        assert [finding for finding in check_partition(directory) if finding.is_damage] == []
    kafka.start_node(node)


def beyond_the_end(checkpoint: Path, partition: TopicPartition) -> None:
    offsets = checkpoints.read_offset_checkpoint(str(checkpoint)) if checkpoint.exists() else {}
    checkpoints.write_offset_checkpoint(str(checkpoint), offsets | {partition: 10**6})


def test_what_findings_advise_mends_it(kafka: RealKafka, tmp_path: Path) -> None:
    beyond = {f"{name} beyond the end": name for name in names.OFFSET_CHECKPOINTS}
    kinds = ["nothing", *DAMAGE, *beyond]
    main = "org.apache.kafka.tools.TopicCommand"
    assert kafka.tool(main, "--create", "--topic", TOPIC, "--partitions", len(kinds)).returncode == 0
    identity = topic_id(kafka, TOPIC)
    (node,) = kafka.node_ids
    (log_dir,) = kafka.log_dirs
    fill(kafka, TOPIC, len(kinds), tmp_path / f"{TOPIC}-0")
    expected = read_all(kafka, TopicPartition(TOPIC, 0))
    assert len(expected.committed) < len(expected.all) == TURNS
    kafka.stop_node(node)
    expected_producers = producers(log_dir / f"{TOPIC}-0")
    assert expected_producers[-1].transaction_start is not None
    for number, kind in enumerate(kinds):
        if kind in DAMAGE:
            directory = log_dir / f"{TOPIC}-{number}"
            DAMAGE[kind](directory)
            found = [finding for finding in check_partition(directory) if finding.is_damage]
            assert kind in {finding.kind for finding in found}, kind
            for finding in found:
                do_as_advised(finding, identity)
        elif kind in beyond:
            beyond_the_end(log_dir / beyond[kind], TopicPartition(TOPIC, number))
    told = [finding for finding in check_log_dir(log_dir) if finding.kind == "offset-checkpoint-mismatch"]
    assert {Path(finding.path).name for finding in told} == set(beyond.values())
    for finding in told:
        do_as_advised(finding, identity)
    kafka.start_node(node)
    read = {kind: read_all(kafka, TopicPartition(TOPIC, number)) for number, kind in enumerate(kinds)}
    assert read == dict.fromkeys(kinds, expected)
    kafka.stop_node(node)
    known = {kind: producers(log_dir / f"{TOPIC}-{number}") for number, kind in enumerate(kinds)}
    assert known == dict.fromkeys(kinds, expected_producers)
    assert [f"{finding.kind} {finding}" for finding in check_log_dir(log_dir) if finding.is_damage] == []
    kafka.start_node(node)
    abort_as_advised(kafka, node, expected, expected_producers)


def abort_as_advised(kafka: RealKafka, node: int, before: Read, known: list[ProducerStateEntry]) -> None:
    """The transaction that is open at the end of each partition is found, and aborted in the first one."""
    main = "org.apache.kafka.tools.TransactionsCommand"
    assert all(word in (KINDS["hanging-transaction"].advice or "") for word in ("find-hanging", "--start-offset"))
    (start,) = (state.transaction_start for state in known if state.transaction_start is not None)
    found = kafka.tool(main, "find-hanging", "--broker-id", node, "--max-transaction-timeout", 1)
    assert re.search(rf"{TOPIC}\s+0\s", found.stdout), found
    done = kafka.tool(main, "abort", "--topic", TOPIC, "--partition", 0, "--start-offset", start)
    assert done.returncode == 0, done
    after = read_all(kafka, TopicPartition(TOPIC, 0))
    assert max(after.committed) > start > max(before.committed)
    assert after.all == before.all


def test_a_log_directorys_own_files_are_mended_as_advised(kafka: RealKafka, tmp_path: Path) -> None:
    """And what the advice warns of happens, each in a partition that was whole."""
    kinds = ["nothing", *WRONG]
    main = "org.apache.kafka.tools.TopicCommand"
    assert kafka.tool(main, "--create", "--topic", OWN, "--partitions", len(kinds)).returncode == 0
    identity = topic_id(kafka, OWN)
    (node,) = kafka.node_ids
    (log_dir,) = kafka.log_dirs
    fill(kafka, OWN, len(kinds), tmp_path / f"{OWN}-0")
    expected = read_all(kafka, TopicPartition(OWN, 0))
    kafka.stop_node(node)
    wrong = {kind: log_dir / f"{OWN}-{number}" for number, kind in enumerate(kinds) if number}
    for kind, directory in wrong.items():
        WRONG[kind](directory)
    torn = bytes_of(wrong["a torn tail is left alone"])
    directory_id = registered_directory(log_dir / "__cluster_metadata-0")
    assert f"directory.id={directory_id}\n" in (log_dir / names.META_PROPERTIES).read_text()
    for name in (*names.OFFSET_CHECKPOINTS, names.META_PROPERTIES):
        (log_dir / name).write_text("0\nno checkpoint\n")
    quorum = log_dir / "__cluster_metadata-0" / names.QUORUM_STATE
    quorum.write_text('{"leaderId":')
    snapshot = half_a_snapshot(quorum.parent)
    found = [finding for finding in check_log_dir(log_dir) if finding.is_damage]
    assert {finding.kind for finding in found} >= {*OF_THE_LOG_DIR}
    for finding in found:
        if finding.kind == "meta-properties":
            Path(finding.path).write_text(
                f"version=1\ncluster.id={kafka.cluster_id}\nnode.id={node}\ndirectory.id={directory_id}\n"
            )
        elif finding.kind in OF_THE_LOG_DIR:
            do_as_advised(finding, identity)
    assert not quorum.exists() and not snapshot.exists()
    number = kinds.index("a log start offset beyond the end stays")
    beyond_the_end(log_dir / names.OFFSET_CHECKPOINTS[1], TopicPartition(OWN, number))
    kafka.start_node(node)
    assert read_all(kafka, TopicPartition(OWN, 0)) == expected
    kafka.stop_node(node)
    assert bytes_of(wrong["a torn tail is left alone"]) == torn
    assert producers(wrong["all snapshots are deleted"]) == []
    assert bytes_of(wrong["a log start offset beyond the end stays"]) == 0
    assert bytes_of(wrong["partition.metadata is deleted"]) == 0
    whole = [f for f in check_log_dir(log_dir) if f.is_damage and Path(f.path).parent not in wrong.values()]
    assert whole == []
    kafka.start_node(node)
