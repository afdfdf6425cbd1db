"""Index files against the log: each planted fault in its place, nothing in what Kafka wrote, at any range size."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from kafka_tools.storage.findings import Finding

pytest.importorskip("numpy")

from kafka_tools.records.build import build_batch
from kafka_tools.spark.cutting import cut
from kafka_tools.spark.measures.partition import Depth, measure
from kafka_tools.spark.segments import segments
from kafka_tools.storage.check import check_partition
from kafka_tools.storage.indexes import OFFSET_ENTRY, TIME_ENTRY
from tests.corpus.golden import case, golden_root
from tests.spark.one_process import audit_here


def found_in(log_dir: Path, range_bytes: int = 1 << 20) -> list[Finding]:
    ranges = [part for segment in segments(str(log_dir), ()) for part in cut(segment, range_bytes)]
    return [finding for part in ranges for finding in measure(part, Depth(0, records=False)).summary.findings]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("index-wrong-position-none43", [("error", "index-nowhere", 0, 30)]),
        ("index-past-end-none22", [("error", "index-nowhere", 0, 138)]),
        ("index-past-end-none43", [("error", "index-nowhere", 40, 126)]),
        ("index-not-monotonic-none43", [("error", "index-order", 8, 30)]),
        ("index-wrong-offset-none43", [("error", "index-order", 8, 31), ("error", "index-mismatch", 0, 1030)]),
        ("index-odd-size-none43", [("warning", "index-size", 48, None)]),
        ("index-zero-padded-none43", []),
        ("timeindex-mismatch-none43", [("warning", "timeindex-mismatch", 0, 30)]),
        ("timeindex-not-monotonic-none43", [("warning", "timeindex-order", 12, 30)]),
        ("timeindex-odd-size-none43", [("warning", "timeindex-size", 60, None)]),
        ("timeindex-wrong-offset-none43", [("warning", "timeindex-mismatch", 0, 32)]),
        ("no-index-none43", [("info", "index-missing", None, None), ("info", "timeindex-missing", None, None)]),
    ],
)
def test_each_planted_fault_is_found(name: str, expected: list[tuple[str, str, int | None, int | None]]) -> None:
    found = found_in(case(f"corrupt-{name}").cwd)
    assert [(each.severity, each.kind, each.position, each.offset) for each in found] == expected
    assert all("index" in Path(each.path).suffix for each in found)


@pytest.mark.parametrize("range_bytes", [1024, 1 << 20])
def test_nothing_is_wrong_with_the_indexes_of_any_kafka(range_bytes: int) -> None:
    for folder in sorted(golden_root().iterdir()):
        if (folder / "data").is_dir() and "corrupt-" not in folder.name:
            found = [each for each in found_in(folder / "data", range_bytes) if "index" in each.kind]
            assert [each for each in found if each.severity != "info"] == [], folder.name


def test_an_index_without_its_log_is_found() -> None:
    result = audit_here(case("corrupt-no-log-none43").cwd)
    orphans = [each for each in result.findings if each.kind == "orphan-file"]
    assert [Path(each.path or "").suffix for each in orphans] == [".index", ".timeindex"]


def write(folder: Path, offsets: list[tuple[int, int]], times: list[tuple[int, int]]) -> list[int]:
    """Ten batches of two records with these index entries; the positions of the batches."""
    folder.mkdir()
    data = bytearray()
    starts = []
    for number in range(10):
        starts.append(len(data))
        data += build_batch([(1000 + number, None, b"v", ())] * 2, base_offset=number * 2)
    stem = folder / f"{0:020d}"
    stem.with_suffix(".log").write_bytes(data)
    stem.with_suffix(".index").write_bytes(b"".join(OFFSET_ENTRY.pack(offset, starts[at]) for offset, at in offsets))
    stem.with_suffix(".timeindex").write_bytes(b"".join(TIME_ENTRY.pack(*entry) for entry in times))
    return starts


@pytest.mark.parametrize("offset", [4, 5, 7, 19])
def test_an_entry_may_name_any_offset_that_leads_a_search_to_its_batch(tmp_path: Path, offset: int) -> None:
    write(tmp_path / "orders-0", [(offset, 2)], [(1002, 5)])
    assert found_in(tmp_path) == []


def test_an_entry_before_its_batch_would_hide_records(tmp_path: Path) -> None:
    write(tmp_path / "orders-0", [(3, 2)], [(1002, 9)])
    assert [(each.kind, each.offset) for each in found_in(tmp_path)] == [
        ("index-mismatch", 3),
        ("timeindex-mismatch", 9),
    ]


def test_zeros_of_preallocated_index_files_are_no_entries(tmp_path: Path) -> None:
    write(tmp_path / "orders-0", [], [])
    for suffix in (".index", ".timeindex"):
        (tmp_path / "orders-0" / f"{0:020d}{suffix}").write_bytes(bytes(24 * 100))
    assert found_in(tmp_path) == []


def told(found: Iterable[Finding]) -> list[tuple[str, str, str, int | None, int | None]]:
    """What is no remark of files that are not there, or of what old brokers wrote into every entry."""
    return sorted(
        (Path(each.path or "").suffix, each.kind, each.severity, each.position, each.offset)
        for each in found
        if each.kind not in ("index-batch-range", "index-missing", "timeindex-missing")
    )


@pytest.mark.parametrize("seed", range(200))
def test_the_audit_finds_what_the_check_of_a_directory_finds(seed: int, tmp_path: Path) -> None:
    """Columns here, a walk there: whatever is wrong for the one is wrong for the other, at the same entry."""
    rng = random.Random(seed)
    directory = tmp_path / "t-0"
    starts = write(directory, [], [])
    layout, suffix = rng.choice([(OFFSET_ENTRY, ".index"), (TIME_ENTRY, ".timeindex")])
    entries = {
        ".index": b"".join(OFFSET_ENTRY.pack(2 * at + 1, starts[at]) for at in range(1, 10, 2)),
        ".timeindex": b"".join(TIME_ENTRY.pack(1000 + at, 2 * at + 1) for at in range(1, 10, 2)),
    }
    damaged = bytearray(entries[suffix])
    if rng.random() < 0.5:
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    else:
        at = rng.randrange(5) * layout.size
        entry = list(layout.unpack_from(damaged, at))
        entry[rng.randrange(2)] += rng.choice((-2, -1, 1, 2, 3, 10, 80))
        layout.pack_into(damaged, at, *entry)
    entries[suffix] = bytes(damaged)
    for name, data in entries.items():
        (directory / f"{0:020d}{name}").write_bytes(data)
    if rng.random() < 0.3:  # what stands behind damage is compared as well
        log = directory / f"{0:020d}.log"
        data = bytearray(log.read_bytes())
        data[starts[rng.randrange(10)] + rng.randrange(61)] ^= 1 << rng.randrange(8)
        log.write_bytes(data)
    audit, check = told(found_in(tmp_path)), told(check_partition(directory))
    assert [each for each in audit if each[0] != ".log"] == [each for each in check if each[0] != ".log"]
