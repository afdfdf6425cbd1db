"""What findings advise for a replica, carried out in a real cluster of three: afterwards it has what its leader has.

Each partition of a topic with three replicas has one kind of damage on one node; one restart of that node mends all.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.clients.producer import Producer
from kafka_tools.records.crc32c import crc32c
from kafka_tools.storage import findings, names
from kafka_tools.storage.check import check_log_dir, check_partition
from kafka_tools.storage.findings import FILE_KINDS, KINDS
from tests.against_kafka.harness import RealKafka, eventually

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from tests.spark.one_process import audit_here

TOPIC, ALONE = "advice-replicas", "advice-alone"
BATCHES = 6
TOPICS = "org.apache.kafka.tools.TopicCommand"
_LENGTH, _EPOCH, _MAGIC, _CRC, _ATTRIBUTES, _MAX_TIMESTAMP, _COUNT, _RECORDS = 8, 12, 16, 17, 21, 35, 57, 61
"""Where the fields of a batch are."""


def segment(directory: Path) -> Path:
    return directory / names.log_file_name(0)


def batches(path: Path) -> list[bytearray]:
    data, found = path.read_bytes(), []
    while data:
        size = 12 + int.from_bytes(data[_LENGTH:_EPOCH], "big")
        found.append(bytearray(data[:size]))
        data = data[size:]
    return found


def changed(position: int, value: bytes, *, at: int = 2, crc: bool = False) -> Callable[[Path], None]:
    """Bytes of the third batch (or another) replaced, with a CRC that fits them if ``crc``."""

    def plant(directory: Path) -> None:
        found = batches(segment(directory))
        start = position % len(found[at])
        found[at][start : start + len(value)] = value
        if crc:
            found[at][_CRC:_ATTRIBUTES] = crc32c(bytes(found[at][_ATTRIBUTES:])).to_bytes(4, "big")
        segment(directory).write_bytes(b"".join(found))

    return plant


def half_a_batch(directory: Path) -> None:
    found = batches(segment(directory))
    segment(directory).write_bytes(b"".join([*found, found[0][:50]]))


def zeros(directory: Path) -> None:
    segment(directory).write_bytes(segment(directory).read_bytes() + bytes(4000))


def renamed(directory: Path) -> None:
    for path in directory.glob(f"{names.file_name(0, '')}*"):
        path.rename(directory / names.file_name(3, path.suffix))


def overlapping(directory: Path) -> None:
    (directory / names.log_file_name(2)).write_bytes(b"".join(batches(segment(directory))[2:]))


def without_its_log(directory: Path) -> None:
    (directory / names.file_name(100, names.INDEX)).write_bytes(bytes(8))


FETCHED_ANEW: dict[str, Callable[[Path], None]] = {
    "bad-length": changed(_LENGTH, b"\xff\xff\xff\x00"),
    "unknown-magic": changed(_MAGIC, b"\x07"),
    "crc-mismatch": changed(_RECORDS + 5, b"\xff\xff"),
    "unknown-codec": changed(_ATTRIBUTES, b"\x00\x07", crc=True),
    "bad-count": changed(_COUNT, bytes(4), crc=True),
    "unreadable-records": changed(_RECORDS, b"\xff" * 12, crc=True),
    "bad-marker": changed(_ATTRIBUTES, b"\x00\x30", crc=True),
    "offset-order": changed(0, bytes(7) + b"\x01", at=3),
    "offset-below-segment": renamed,
    "offset-beyond-segment": changed(0, b"\x00\x00\x00\x02" + bytes(4), at=BATCHES - 1),
    "segment-overlap": overlapping,
    "orphan-file": without_its_log,
    "replica-divergence": changed(-20, b"other", crc=True),
}
CUT: dict[str, Callable[[Path], None]] = {"torn-tail": half_a_batch, "zero-tail": zeros}


def described(kafka: RealKafka, topic: str) -> list[str]:
    lines = kafka.tool(TOPICS, "--describe", "--topic", topic).stdout.splitlines()
    return [line for line in lines if "Isr: " in line]


def in_sync(line: str) -> set[str]:
    return set(line.split("Isr: ")[1].split()[0].split(","))


def send(kafka: RealKafka, topic: str, partitions: int) -> None:
    with Producer(bootstrap_servers=kafka.bootstrap_servers, acks="all") as producer:
        for _ in range(BATCHES):
            for number in range(partitions):
                producer.send(topic, b"v" * 100, key=b"k", partition=number)
            producer.flush()


def test_each_replica_kind_says_that_it_is_fetched_anew() -> None:
    for kind in FETCHED_ANEW:
        assert findings._REPLICA in (KINDS[kind].advice or ""), kind
    assert {KINDS[kind].advice for kind in CUT} == {findings._CUT}


def test_a_replica_mended_as_advised_has_what_its_leader_has(kafka_new_three: RealKafka, tmp_path: Path) -> None:
    kafka = kafka_new_three
    damaged, other, third = kafka.node_ids
    kinds = [kind for kind in (*FETCHED_ANEW, *CUT) for _ in range(2)]
    led = [f"{damaged}:{other}:{third}", f"{other}:{damaged}:{third}"]  # once as leader, once as follower
    assignment = ",".join(led * (len(kinds) // 2))
    assert kafka.tool(TOPICS, "--create", "--topic", TOPIC, "--replica-assignment", assignment).returncode == 0
    assert kafka.tool(TOPICS, "--create", "--topic", ALONE, "--replica-assignment", str(damaged)).returncode == 0
    send(kafka, TOPIC, len(kinds))
    send(kafka, ALONE, 1)

    def replicated() -> None:
        for line in described(kafka, TOPIC):
            assert in_sync(line) == set(map(str, kafka.node_ids)), line

    eventually(replicated)
    kafka.stop_node(damaged)
    for number, kind in enumerate(kinds):
        directory = kafka.partition_dir(TOPIC, number, damaged)
        (FETCHED_ANEW | CUT)[kind](directory)
        found = [finding for finding in check_partition(directory, records=True) if finding.is_damage]
        assert kind in {finding.kind for finding in found} or kind not in FILE_KINDS, (kind, found)
    audited = audit_here(*(kafka.partition_dir(TOPIC, 0, node).parent for node in (damaged, other)), topics=(TOPIC,))
    diverging = {each.partition for each in audited.findings if each.kind == "replica-divergence"}
    assert diverging >= {number for number, kind in enumerate(kinds) if kind == "replica-divergence"}
    for number, kind in enumerate(kinds):
        directory = kafka.partition_dir(TOPIC, number, damaged)
        if kind in CUT:
            segment(directory).with_suffix(".index").unlink()
        else:
            shutil.move(directory, tmp_path)
    shutil.move(kafka.partition_dir(ALONE, 0, damaged), tmp_path)
    kafka.start_node(damaged)

    def all_in_sync() -> None:
        lines = described(kafka, TOPIC)
        assert [line for line in lines if str(damaged) not in in_sync(line)] == []

    eventually(all_in_sync, 180)
    send(kafka, TOPIC, len(kinds))

    def equal() -> None:
        for number, kind in enumerate(kinds):
            here, there = (segment(kafka.partition_dir(TOPIC, number, node)) for node in (damaged, other))
            assert here.read_bytes() == there.read_bytes(), kind
            assert len(batches(here)) == 2 * BATCHES

    eventually(equal, 120)
    for number in range(len(kinds)):
        assert [each for each in check_partition(kafka.partition_dir(TOPIC, number, damaged)) if each.is_damage] == []
    # What the advice warns of: nobody else had the records of a replica that was alone.
    assert segment(kafka.partition_dir(ALONE, 0, damaged)).stat().st_size == 0


QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"


def quorum_leader(kafka: RealKafka) -> int:
    """The node that leads the controllers; AssertionError while there is none."""
    done = kafka.tool(QUORUM, "describe", "--status")
    found = re.search(r"^LeaderId:\s+(\d+)$", done.stdout, re.MULTILINE)
    assert found, done
    return int(found[1])


def test_a_quorum_state_that_cannot_be_read_is_moved_away_while_the_others_have_a_leader(
    kafka_new_three: RealKafka, tmp_path: Path
) -> None:
    kafka = kafka_new_three
    leader = quorum_leader(kafka)
    node = next(each for each in kafka.node_ids if each != leader)
    log_dir = kafka.log_dirs[kafka.node_ids.index(node)]
    state = log_dir / "__cluster_metadata-0" / names.QUORUM_STATE
    kafka.stop_node(node)
    state.write_text('{"leaderId":')
    assert [found.path for found in check_log_dir(log_dir) if found.kind == "quorum-state"] == [str(state)]
    assert "move the file away" in KINDS["quorum-state"].advice
    eventually(lambda: quorum_leader(kafka))
    assert quorum_leader(kafka) != node  # as advised: the others have one
    state.rename(tmp_path / "moved away")
    kafka.start_node(node)
    topic = "advice-quorum"
    done = kafka.tool(TOPICS, "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 3)
    assert done.returncode == 0, done

    def follows() -> None:
        shown = kafka.tool(QUORUM, "describe", "--replication").stdout
        lines = {fields[0]: fields for fields in map(str.split, shown.splitlines()[1:])}
        assert int(lines[str(node)][3]) == 0, shown  # it lacks nothing of the metadata log
        assert not [found for found in check_log_dir(log_dir) if found.kind == "quorum-state"]

    eventually(follows)
