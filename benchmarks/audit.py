"""kafka-tools audit over generated log directories: time per GB and peak memory of each kind of process.

``python -m benchmarks.audit [--gb 0.1 --gb 1] [--batch-records N] [--codec C] [--keep DIR] [--kafka]``. Each size is
audited twice, by headers only and in full, on a Spark that is up already and has done an audit before; the files are in
the page cache. CPU time counts all processes. ``--kafka`` lets Kafka's DumpLogSegments read the same files
(``--deep-iteration``; needs its jars). ``--connector`` does something else: see ``audit_connector``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import Watch, cpu_s
from benchmarks.timing import cost, environment, kafka_command, table
from kafka_tools.records.build import build_batch
from kafka_tools.storage.indexes import OffsetEntry, pack_offset_index

GB = 1_000_000_000
PARTITIONS = 8
SEGMENT_BYTES = 128 * 1024 * 1024
TEMPLATES = 64
START_MS = 1_700_000_000_000
INDEX_INTERVAL_BYTES = 4096


def templates(batch_records: int, codec: str) -> list[bytes]:
    """Batches of records of about 100 bytes with a key out of a million; the same ones come again and again."""
    rng = random.Random(1)
    words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(500)]
    made = []
    for number in range(TEMPLATES if batch_records > 1 else 20_000):
        rows = [
            (START_MS + number, b"key-%07d" % rng.randrange(1_000_000), b" ".join(rng.choices(words, k=13))[:80], ())
            for _ in range(batch_records)
        ]
        made.append(build_batch(rows, codec=codec, leader_epoch=0))
    return made


def generate(folder: Path, size_bytes: int, batch_records: int, codec: str) -> int:
    """A log directory of about ``size_bytes`` with indexes; returns how many records it has."""
    made = [bytearray(batch) for batch in templates(batch_records, codec)]
    total = 0
    for partition in range(PARTITIONS):
        directory = folder / f"generated-{partition}"
        directory.mkdir(parents=True)
        left, offset, at = size_bytes // PARTITIONS, 0, partition
        while left > 0:
            written, offset, at = _segment(directory, offset, min(left, SEGMENT_BYTES), made, batch_records, at)
            left -= written
        total += offset
    return total


def _segment(
    directory: Path, base: int, size_bytes: int, made: Sequence[bytearray], batch_records: int, at: int
) -> tuple[int, int, int]:
    offset, position, indexed = base, 0, 0
    offsets = []
    with open(directory / f"{base:020d}.log", "wb", buffering=1 << 20) as file:
        while position < size_bytes:
            batch = made[at % len(made)]
            batch[:8] = offset.to_bytes(8, "big")  # the CRC does not cover the base offset
            last = offset + batch_records - 1
            if position - indexed >= INDEX_INTERVAL_BYTES:
                offsets.append(OffsetEntry(last, position))
                indexed = position
            file.write(batch)
            position += len(batch)
            offset, at = offset + batch_records, at + 1
    stem = directory / f"{base:020d}"
    stem.with_suffix(".index").write_bytes(pack_offset_index(offsets, base))
    stem.with_suffix(".timeindex").write_bytes(b"")
    return position, offset, at


class Run(NamedTuple):
    """One audit: seconds, CPU seconds of all processes, largest resident sizes in bytes, records and batches found."""

    wall_s: float
    cpu_s: float
    java_bytes: int
    worker_bytes: int
    driver_bytes: int
    found: dict[str, int]


def measure(folder: Path, records: bool) -> Run:
    """An audit in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.audit", "--one", str(folder), *(["--records"] if records else [])]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, env=environment())
        watch = Watch(process.pid)
        watch.start()
        if process.wait() != 0:
            raise SystemExit("the audit failed")
        watch.ended.set()
        output.seek(0)
        found = json.loads(output.read())
    peaks = watch.peaks
    return Run(found.pop("wall_s"), found.pop("cpu_s"), peaks["java"], peaks["worker"], peaks["driver"], found)


def one(folder: str, records: bool) -> None:
    """The audit itself; prints what it took as JSON."""
    from kafka_tools.spark.audit import AuditOptions, audit
    from kafka_tools.spark.session import spark_session

    with spark_session() as spark:
        with tempfile.TemporaryDirectory() as small:
            generate(Path(small), 200_000, 10, "none")
            audit(spark, [small], AuditOptions(records=records))
        before = cpu_s(os.getpid())
        start = time.perf_counter()
        result = audit(spark, [folder], AuditOptions(records=records))
        elapsed = time.perf_counter() - start
        used = cpu_s(os.getpid()) - before
    wrong = [finding for finding in result.findings if finding.severity == "error"]
    summaries = [row.summary for row in result.partitions]
    print(
        json.dumps(
            {
                "wall_s": elapsed,
                "cpu_s": used,
                "records": sum(each.records for each in summaries),
                "batches": sum(each.batches for each in summaries),
                "wrong": len(wrong),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, action="append", help="size of the logs, may be repeated (0.1 and 1)")
    parser.add_argument("--batch-records", type=int, default=560, help="560 records of 107 bytes are about 60 KB")
    parser.add_argument("--codec", default="none")
    parser.add_argument("--keep", type=Path, help="make the logs here and leave them")
    parser.add_argument("--kafka", action="store_true", help="let Kafka's DumpLogSegments read them too")
    parser.add_argument("--connector", action="store_true", help="count the records of topics beside Spark's connector")
    parser.add_argument("--connector-records", type=int, default=1_000_000, help="records of each topic (1000000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds beside the connector (5)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--records", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.records)
        return
    if given.connector:
        from benchmarks.audit_connector import compare

        print(compare(given.connector_records, given.rounds))
        return
    rows = []
    for size in given.gb or [0.1, 1.0]:
        folder = Path(tempfile.mkdtemp(dir=given.keep))
        try:
            count = generate(folder, int(size * GB), given.batch_records, given.codec)
            stored = sum(path.stat().st_size for path in folder.rglob("*.log"))
            for records in (False, True):
                found = measure(folder, records)
                assert (found.found["records"], found.found["wrong"]) == (count, 0), found
                rows.append(_row("full" if records else "headers", stored, count, found))
                print(table(_TITLES, rows[-1:]), flush=True)
            if given.kafka:
                rows.append(_kafka(folder, stored, count))
        finally:
            if given.keep is None:
                shutil.rmtree(folder)
    print(table(_TITLES, rows))


_TITLES = (
    "audit", "GB", "records", "wall s", "s/GB", "GB/s", "M records/s", "CPU s", "JVM MiB", "worker MiB", "driver MiB",
)  # fmt: skip


def _row(name: str, stored: int, count: int, found: Run) -> list[str]:
    gb = stored / GB
    memory = [f"{size / 2**20:.0f}" for size in (found.java_bytes, found.worker_bytes, found.driver_bytes)]
    wall = found.wall_s
    times = [f"{wall:.2f}", f"{wall / gb:.2f}", f"{gb / wall:.2f}", f"{count / wall / 1e6:.2f}", f"{found.cpu_s:.2f}"]
    return [name, f"{gb:.2f}", str(count), *times, *memory]


def _kafka(folder: Path, stored: int, count: int) -> list[str]:
    files = ",".join(map(str, sorted(folder.rglob("*.log"))))
    took = cost(kafka_command("org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", files))
    found = Run(took.wall_s, took.cpu_s, took.peak_bytes, 0, 0, {})
    return _row("DumpLogSegments", stored, count, found)


if __name__ == "__main__":
    main()
