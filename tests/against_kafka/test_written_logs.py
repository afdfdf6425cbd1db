"""Files that our writers write, read by Kafka's own ``DumpLogSegments``: logs with transactions, their indexes,
transaction indexes, producer snapshots, and snapshots of the metadata."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.protocol.codec import encode
from kafka_tools.protocol.stored.cluster_metadata import TopicRecord
from kafka_tools.records.build import build_batch
from kafka_tools.records.control import build_marker
from kafka_tools.storage import indexes, snapshots
from kafka_tools.storage.check import check_partition
from kafka_tools.storage.kraft_snapshots import write_kraft_snapshot
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from tests.against_kafka.jars import BEFORE, NEWEST

Tool = Callable[..., subprocess.CompletedProcess[str]]
DUMPS = {
    **dict.fromkeys((NEWEST, BEFORE), "org.apache.kafka.tools.DumpLogSegments"),
    "2.2.2": "kafka.tools.DumpLogSegments",
}
START_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition with several segments and epochs: plain, idempotent, committed, aborted and open records."""
    directory = tmp_path_factory.mktemp("logs") / "mixed-0"
    config = LogConfig(segment_bytes=4000, index_interval_bytes=300)
    log = PartitionLog.open(str(directory), config, ManualClock(), clean=True)
    sequences = [0] * 4
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    for turn in range(120):
        producer = turn % 4
        rows = [(START_MS + turn * 10 + at, b"k%d" % turn, b"v" * (turn % 40), ()) for at in range(1 + turn % 3)]
        transactional = producer >= 2
        batch = build_batch(
            rows, codec=codecs[turn % 5], producer_id=producer - 1 if producer == 0 else producer,
            producer_epoch=-1 if producer == 0 else 0, base_sequence=-1 if producer == 0 else sequences[producer],
            transactional=transactional,
        )  # fmt: skip
        sequences[producer] += len(rows)
        log.append(bytearray(batch), leader_epoch=turn // 50)
        if transactional and turn % 9 == 0:
            marker = build_marker(
                producer, 0, committed=turn % 2 == 0, coordinator_epoch=1, timestamp=START_MS + turn * 10
            )
            log.append(bytearray(marker), leader_epoch=turn // 50, from_client=False)
    log.close()
    assert len(log.segments) > 3
    assert [finding for finding in check_partition(directory, records=True) if finding.is_damage] == []
    return directory


def listed(directory: Path, *suffixes: str) -> list[Path]:
    """The files with something in them, for ``--files``."""
    return [path for path in sorted(directory.iterdir()) if path.suffix in suffixes and path.stat().st_size]


@pytest.mark.parametrize("release", DUMPS)
def test_kafka_finds_nothing_wrong_in_a_log_and_its_indexes(release: str, written: Path, java_tool: Tool) -> None:
    logs = ",".join(map(str, listed(written, ".log")))
    deep = java_tool(release, DUMPS[release], "--deep-iteration", "--files", logs)
    assert deep.returncode == 0, deep.stderr
    assert "isvalid: true" in deep.stdout and "isvalid: false" not in deep.stdout
    found = listed(written, ".index", ".timeindex")
    assert len(found) > 6
    # 2.2.2 compares an entry with the first record of its batch, and finds Kafka's own files wrong as well.
    for option in ("--index-sanity-check", "--verify-index-only")[: 1 if release == "2.2.2" else 2]:
        checked = java_tool(release, DUMPS[release], option, "--files", ",".join(map(str, found)))
        output = checked.stdout + checked.stderr
        assert checked.returncode == 0, output
        for bad in ("ismatch", "Out of order", "not found"):
            assert bad not in output
    assert checked.stdout.count("Dumping") == len(found)


@pytest.mark.parametrize("release", DUMPS)
def test_kafka_reads_transaction_indexes_and_producer_snapshots(release: str, written: Path, java_tool: Tool) -> None:
    aborted = listed(written, ".txnindex")
    dumped = java_tool(release, DUMPS[release], "--files", ",".join(map(str, aborted))).stdout
    expected = [entry for path in aborted for entry in indexes.read_txn_index(str(path))]
    seen = re.findall(r"producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)", dumped)
    assert len(seen) > 2 and [tuple(map(int, row)) for row in seen] == [tuple(entry[1:]) for entry in expected]
    for path in listed(written, ".snapshot"):
        dumped = java_tool(release, DUMPS[release], "--files", path).stdout
        states = list(snapshots.read_producers(str(path)))
        assert re.findall(r"producerId: (\d+)", dumped) == [str(state.producer_id) for state in states]
        assert re.findall(r"lastSequence: (-?\d+)", dumped) == [str(s.last_sequence) for s in states if s.has_batch]


def test_kafka_reads_a_snapshot_of_the_metadata(tmp_path: Path, java_tool: Tool) -> None:
    head = bytes((1, 2, 0))  # frame version, type of the record, its version
    records = [head + encode(TopicRecord(name=name), 0) for name in ("orders", "payments", "audit")]
    path = tmp_path / "00000000000000000042-0000000003.checkpoint"
    write_kraft_snapshot(
        str(path), [records[:2], records[2:]], epoch=3, last_contained_ms=START_MS, written_ms=START_MS, kraft_version=1
    )
    dumped = java_tool(NEWEST, DUMPS[NEWEST], "--cluster-metadata-decoder", "--files", path)
    assert dumped.returncode == 0, dumped.stderr
    for text in ("Snapshot end offset: 42, epoch: 3", "SnapshotHeader", "KRaftVersion", "SnapshotFooter"):
        assert text in dumped.stdout
    assert re.findall(r'"type":"TOPIC_RECORD","version":0,"data":{"name":"(\w+)"', dumped.stdout) == [
        "orders", "payments", "audit",
    ]  # fmt: skip
    assert "isvalid: false" not in dumped.stdout
