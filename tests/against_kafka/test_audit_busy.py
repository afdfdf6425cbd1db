"""The audit and the checks of a log directory that a real broker is writing to find no damage in it.

The broker appends, rolls, compacts, retires and deletes as fast as it can meanwhile (``java/BusyLoad.java``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from kafka_tools.storage.check import check_log_dir
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.java_programs import compiled, pipes, running
from tests.spark.one_process import audit_here

ROUNDS = 2
BUSY = (
    ("log.retention.check.interval.ms", "200"),
    ("log.cleaner.backoff.ms", "200"),
    ("log.flush.offset.checkpoint.interval.ms", "200"),
    ("log.flush.start.offset.checkpoint.interval.ms", "200"),
    ("replica.high.watermark.checkpoint.interval.ms", "200"),
    ("log.initial.task.delay.ms", "100"),
    ("log.segment.delete.delay.ms", "300"),
    ("metadata.log.max.record.bytes.between.snapshots", "20000"),
)
TOPICS = ("index.interval.bytes=100", "segment.index.bytes=4000", "file.delete.delay.ms=300")


@contextmanager
def load(kafka: RealKafka, folder: Path) -> Iterator[None]:
    """The load beside the ``with`` block, running when it begins."""
    # Kafka 4 takes no segments below 1 MiB: there they are rolled by time.
    segments = "segment.ms=400" if kafka.release >= "4" else "segment.bytes=6000"
    command = [*compiled("BusyLoad", kafka.release), kafka.bootstrap_servers, *TOPICS, segments]
    with running(command, folder) as process:
        assert pipes(process)[1].readline() == b"ready\n", (folder / "stderr").read_text()
        yield
        assert process.poll() is None


@pytest.mark.parametrize("release", [NEWEST, "2.2.2"])
def test_a_directory_that_a_broker_writes_to_has_no_damage(
    real_kafka: Callable[[Setup], RealKafka], tmp_path: Path, release: str
) -> None:
    kafka = real_kafka(Setup(release, properties=BUSY))
    (log_dir,) = kafka.log_dirs
    found: list[str] = []
    seen: set[str] = set()
    try:
        with load(kafka, tmp_path):
            for number in range(ROUNDS):
                result = audit_here(log_dir, records=number % 2 == 0)
                assert any(row.summary.batches for row in result.partitions if row.summary.topic.startswith("busy"))
                found += [
                    f"{number} audit {each.severity} {each.kind} {each.path}: {each.text}"
                    for each in result.findings
                    if each.severity != "info"
                ]
                seen |= {each.kind for each in result.findings}
                found += [
                    f"{number} check {finding.severity} {finding.kind} {finding}"
                    for finding in check_log_dir(log_dir)
                    if finding.is_damage
                ]
    finally:
        kafka.stop()
    assert found == []
    assert seen & {"vanished", "growing", "leftover-file", "leftover-directory"}, "the broker was writing"
