"""What the bundled broker builds from a log, byte for byte beside what Kafka built: indexes, transaction indexes,
producer snapshots, and everything that Kafka's own recovery left of a killed broker's directory."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.storage import snapshots
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.log.rebuilding import rebuild_indexes
from kafka_tools.storage.log.segment import LogSegment
from tests.corpus.golden import cases, golden_root

INTERVALS = (4096, 256, 512, 1024, 200, 100)
"""What ``index.interval.bytes`` the brokers had; which topic had which is not in the files."""

OTHERWISE = {
    # Brokers up to 2.x write index entries for what a request appends, which may be several batches.
    "m0-gzip-11", "m0-lz4-11", "m0-none-11", "m1-append-11", "m1-gzip-11", "m1-lz4-11", "m1-none-11", "m1-snappy-11",
    "m2-snappy-11", "mixed-22", "compact-22",
    # The broker was restarted within a segment: it wrote a time entry then, and began to count the interval anew.
    "txn-22", "txn-43", "txnstate-22", "txnstate-43", "offsets-22", "offsets-lib-22", "metadata-43", "logdir-clean-43",
    # It was killed: the indexes were not complete.
    "logdir-killed-43", "preallocated-killed-22",
}  # fmt: skip


def rebuilt(log: Path, interval: int, directory: Path) -> tuple[bytes, bytes]:
    """The .index and .timeindex that are built from a copy of ``log``."""
    directory.mkdir()
    shutil.copy(log, directory)
    segment = LogSegment(str(directory), int(log.name[:20]), created_ms=0)
    rebuild_indexes(segment, interval)
    segment.close()
    built = (directory / log.with_suffix(suffix).name for suffix in (".index", ".timeindex"))
    index, time_index = (path.read_bytes() for path in built)
    shutil.rmtree(directory)
    return index, time_index


def test_indexes_built_from_a_log_are_kafkas(tmp_path: Path) -> None:
    compared = 0
    for case in cases():
        if case.id in OTHERWISE or case.id.startswith("corrupt-"):
            continue
        topics: dict[str, list[Path]] = defaultdict(list)
        for log in (golden_root() / case.id / "data").glob("**/*.log"):
            topics[log.parent.name.rpartition("-")[0]].append(log)
        for topic, logs in topics.items():
            kafkas = [
                (log.with_suffix(".index").read_bytes(), log.with_suffix(".timeindex").read_bytes()) for log in logs
            ]
            assert any(
                [rebuilt(log, interval, tmp_path / "log") for log in logs] == kafkas for interval in INTERVALS
            ), (case.id, topic)
            compared += 2 * len(logs)
    assert compared > 150


def test_recovery_of_a_killed_brokers_directory_ends_with_kafkas_bytes(tmp_path: Path) -> None:
    """Kafka 4.3.1 itself was started on these files; sizes and SHA-1 of what it left are in recovered.json."""
    root = golden_root() / "logdir-killed-43"
    expected: dict[str, dict[str, list[object]]] = defaultdict(dict)
    for name, told in json.loads((root / "recovered.json").read_text())["files"].items():
        directory, _, file = name.rpartition("/")
        expected[directory][file] = told
    assert sum(map(len, expected.values())) == 68
    for directory, files in expected.items():
        shutil.copytree(root / "data" / directory, tmp_path / directory)
        interval = 512 if directory == "orders-base-0" else 256 if "txn" in directory else 4096
        config = LogConfig(index_interval_bytes=interval)
        PartitionLog.open(str(tmp_path / directory), config, ManualClock(), clean=False).close()
        found = {
            path.name: [path.stat().st_size, hashlib.sha1(path.read_bytes()).hexdigest()]
            for path in (tmp_path / directory).iterdir()
            if path.suffix in (".log", ".index", ".timeindex", ".txnindex")
        }
        assert found == files, directory


def transactional() -> list[Path]:
    """Partitions with producers whose whole log is there and that no cleaner has changed."""
    return sorted(
        {
            path.parent
            for path in golden_root().glob("*/data/**/*.snapshot")
            if path.stat().st_size > 10
            and not path.parents[2].name.startswith(("corrupt-", "compact-", "logdir-"))
            and (path.parent / f"{0:020d}.log").exists()
            and not path.parent.name.startswith("__cluster_metadata")
        }
    )


def test_transaction_indexes_built_from_a_log_are_kafkas(tmp_path: Path) -> None:
    compared = 0
    for number, directory in enumerate(transactional()):
        copy = tmp_path / str(number) / directory.name
        shutil.copytree(directory, copy)
        for path in (*copy.glob("*.txnindex"), *copy.glob("*.snapshot")):
            path.unlink()
        PartitionLog.open(str(copy), LogConfig(), ManualClock(), clean=False).close()
        for path in directory.glob("*.txnindex"):
            built = copy / path.name
            assert (built.read_bytes() if built.exists() else b"") == path.read_bytes(), path
            compared += bool(path.stat().st_size)
    assert compared > 15


@pytest.mark.parametrize("case", ["idem-22", "idem-43", "txn-39", "txn-43", "offsets-39", "offsets-43"])
def test_producer_snapshots_built_from_a_log_are_kafkas(case: str, tmp_path: Path) -> None:
    """The same producers with the same numbers; in the file they stand in no order (of Java's hash map)."""
    compared = 0
    for directory in transactional():
        if directory.parents[1].name != case:
            continue
        copy = tmp_path / directory.name
        shutil.copytree(directory, copy)
        for path in copy.glob("*.snapshot"):
            path.unlink()
        PartitionLog.open(str(copy), LogConfig(), ManualClock(), clean=False).close()
        for path in directory.glob("*.snapshot"):
            built = copy / path.name
            assert sorted(snapshots.read_producers(str(built))) == sorted(snapshots.read_producers(str(path))), path
            compared += 1
    assert compared


def test_every_producer_snapshot_is_written_as_kafka_wrote_it() -> None:
    compared = 0
    for path in golden_root().glob("*/data/**/*.snapshot"):
        if not path.parents[2].name.startswith("corrupt-"):
            assert snapshots.pack_producer_snapshot(snapshots.read_producers(str(path))) == path.read_bytes()
            compared += 1
    assert compared > 200
