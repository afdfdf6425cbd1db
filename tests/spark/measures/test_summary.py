"""The audit's counts against what Kafka's dump tool said, and against a slow count in plain Python."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.storage.findings import Finding

pytest.importorskip("numpy")

from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.spark.cutting import cut
from kafka_tools.spark.measures.partition import Depth, PartitionMeasures, measure
from kafka_tools.spark.measures.summary import FINDINGS_KEPT, Summary, compare_edges
from kafka_tools.spark.segments import segments
from tests.corpus.golden import golden_root
from tests.spark.kafka_says import dumped

GOLDEN_DIRS = sorted(path.name for path in golden_root().iterdir() if (path / "data").is_dir())


def summaries(log_dir: Path, range_bytes: int = 64 << 20) -> dict[tuple[str, int], Summary]:
    found: dict[tuple[str, int], PartitionMeasures] = {}
    for segment in segments(str(log_dir), ()):
        for part in cut(segment, range_bytes):
            measures = measure(part, Depth(0, records=False))
            key = (part.topic, part.partition)
            found[key] = found[key].add(measures) if key in found else measures
    for measures in found.values():
        compare_edges(measures.summary, measures.batches.pieces)
    return {key: measures.summary for key, measures in found.items()}


def wrong(summary: Summary) -> list[Finding]:
    """The findings that are worse than a remark; these segments have no index files, which is one."""
    return [finding for finding in summary.findings if finding.severity != "info"]


def told_by_kafka(log_dir: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Totals per partition of which the dump tool listed every segment, all batches valid."""
    listed = dumped()
    totals: dict[tuple[str, int], dict[str, Any]] = {}
    for folder in sorted(path for path in log_dir.iterdir() if path.is_dir()):
        logs = [path.resolve() for path in folder.glob("*.log")]
        told = [batch for path in logs for batch in listed.get(path, [])]
        if not logs or any(path not in listed for path in logs) or any(batch["records"] is None for batch in told):
            continue
        topic, _, number = folder.name.rpartition("-")
        codecs: dict[str, list[int]] = {}
        for batch in told:
            codec = codecs.setdefault(batch["codec"], [0, 0, 0])
            codec[0] += 1
            codec[1] += batch["records"]
            codec[2] += batch["size"]
        times = [batch["time"] for batch in told if batch["time"] not in (None, -1)]
        totals[topic, int(number)] = {
            "batches": len(told),
            "records": sum(batch["records"] for batch in told),
            "bytes": sum(batch["size"] for batch in told),
            "control": sum(batch["records"] for batch in told if batch.get("control")),
            "last_offset": max((batch["last_offset"] for batch in told), default=None),
            "last_time": max(times, default=None),
            "codecs": codecs,
        }
    return totals


def test_every_clean_golden_directory_is_counted_as_kafka_counts() -> None:
    partitions = 0
    for name in GOLDEN_DIRS:
        if name.startswith("corrupt-"):
            continue
        log_dir = golden_root() / name / "data"
        ours = summaries(log_dir)
        for key, expected in told_by_kafka(log_dir).items():
            partitions += 1
            summary = ours[key]
            assert {
                "batches": summary.batches,
                "records": summary.records,
                "bytes": summary.batch_bytes,
                "control": summary.control_records,
                "last_offset": summary.last_offset,
                "last_time": summary.last_timestamp_ms,
                "codecs": {n: [c.batches, c.records, c.size_bytes] for n, c in summary.codecs.items()},
            } == expected, (name, key)
            assert summary.corrupt == 0 and not wrong(summary)
    assert partitions > 100


def test_ranges_of_any_size_add_up_to_the_same(tmp_path: Path) -> None:
    pick = random.Random(5)
    folder = tmp_path / "orders-0"
    folder.mkdir()
    everything = []
    offset = 0
    for _ in range(4):
        data = bytearray()
        base = offset
        for _ in range(60):
            count = pick.randrange(1, 9)
            records = [(pick.randrange(10**12), None, pick.randbytes(pick.randrange(200)), ()) for _ in range(count)]
            data += build_batch(records, base_offset=offset, codec=pick.choice(("none", "lz4", "zstd")))
            offset += count + pick.randrange(2)
        (folder / f"{base:020d}.log").write_bytes(data)
        everything += list(batches(bytes(data)))
    for range_bytes in (1024, 5000, 1 << 20):
        (summary,) = summaries(tmp_path, range_bytes).values()
        assert summary.batches == len(everything)
        assert summary.records == sum(view.record_count for view in everything)
        assert summary.first_offset == min(view.base_offset for view in everything)
        assert summary.last_offset == max(view.last_offset for view in everything)
        assert summary.first_timestamp_ms == min(view.base_timestamp for view in everything)
        assert summary.last_timestamp_ms == max(view.max_timestamp for view in everything)
        assert summary.batch_bytes == sum(view.size_bytes for view in everything)
        assert not wrong(summary)


def test_a_segment_that_overlaps_the_one_before_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(build_batch([(1, None, b"", ())] * 10, base_offset=0))
    (folder / f"{5:020d}.log").write_bytes(build_batch([(1, None, b"", ())] * 10, base_offset=5))
    (summary,) = summaries(tmp_path).values()
    (finding,) = wrong(summary)
    assert (finding.kind, finding.severity, finding.offset) == ("segment-overlap", "error", 5)
    assert finding.path.endswith("00000000000000000005.log")


def test_findings_are_all_counted_and_boundedly_kept() -> None:
    one, other = Summary("/logs", "orders", 0), Summary("/logs", "orders", 0)
    for position in range(FINDINGS_KEPT + 50):
        for summary in (one, other):
            summary.find(Finding("f", "crc-mismatch", "text", position, size_bytes=10))
    one.add(other)
    assert one.finding_counts == {("error", "crc-mismatch"): 2 * (FINDINGS_KEPT + 50)}
    assert len(one.findings) == FINDINGS_KEPT


def test_damaged_batches_do_not_count_as_records(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    good = build_batch([(5, None, b"x", ())] * 3, base_offset=0)
    bad = bytearray(build_batch([(9, None, b"x", ())] * 4, base_offset=3))
    bad[-1] ^= 1
    (folder / f"{0:020d}.log").write_bytes(good + bad)
    (summary,) = summaries(tmp_path).values()
    assert (summary.batches, summary.records, summary.corrupt) == (2, 3, 1)
    assert (summary.last_offset, summary.last_timestamp_ms) == (2, 5)
    (finding,) = wrong(summary)
    assert (finding.kind, finding.position, finding.size_bytes, finding.offset) == (
        "crc-mismatch",
        len(good),
        len(bad),
        3,
    )
