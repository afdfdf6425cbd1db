"""Whatever can be wrong is found, at its place; and nothing else is said to be wrong."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from kafka_tools.storage.check import check_log_dir
from kafka_tools.storage.findings import FILE_KINDS, KINDS, Finding

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")
pytest.importorskip("pyspark", reason="the Spark packages are not installed")

from kafka_tools.records.build import build_batch, set_times
from kafka_tools.records.control import build_marker
from tests.corpus.golden import case, golden_root
from tests.spark.one_process import audit_here
from tests.spark.planted import HOUR_MS, NOW_MS, PLANTS, Expected, checkpoint, rows, write

# What a directory has that was made of .log files alone, at whatever time.
BESIDE = {"index-missing", "timeindex-missing", "offset-gap", "empty-partition", "idle-partition"}


def as_expected(finding: Finding) -> Expected:
    return Expected(finding.kind, finding.severity, finding.offset, finding.position, finding.partition)


@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.parametrize("range_bytes", [1024, 1 << 26])
def test_what_is_planted_is_found(name: str, range_bytes: int, tmp_path: Path) -> None:
    expected = PLANTS[name](tmp_path)
    result = audit_here(tmp_path, now_ms=NOW_MS, range_bytes=range_bytes)
    found = [as_expected(finding) for finding in result.findings]
    for each in expected:
        matching = [other for other in found if other._replace(position=None) == each._replace(position=None)]
        assert matching, f"{each} is not among {found}"
        assert each.position is None or each in matching
    others = {
        finding.kind
        for finding in result.findings
        if finding.severity != "info" and finding.kind not in {each.kind for each in expected}
    }
    assert others == set()


def test_every_kind_of_the_audit_is_planted_once(tmp_path: Path) -> None:
    planted = {
        each.kind for number, function in enumerate(PLANTS.values()) for each in function(tmp_path / str(number))
    }
    elsewhere = {"replica-divergence", "replica-behind", "left-out", "unfollowed", "uncompressed", "no-partitions"}
    assert set(KINDS) - FILE_KINDS - planted == elsewhere
    assert planted <= set(KINDS)


def test_the_transactional_id_of_a_hanging_transaction_is_named(tmp_path: Path) -> None:
    PLANTS["hanging_transaction"](tmp_path)
    (found,) = (each for each in audit_here(tmp_path, now_ms=NOW_MS).findings if each.kind == "hanging-transaction")
    assert "'billing'" in found.text
    assert "4 offsets after it wait" in found.text


def copies(folder: Path, difference: int | None, count: int = 300) -> tuple[Path, Path]:
    """Two copies of a partition; in the second one the record at ``difference`` is another."""
    dirs = folder / "one", folder / "two"
    for number, log_dir in enumerate(dirs):
        batches = []
        for offset in range(count):
            found = rows(1, size=30 if number and offset == difference else 20)
            batches.append(build_batch(found, base_offset=offset, leader_epoch=number))
        # Brokers roll segments at different offsets.
        middle = 100 + 50 * number
        write(log_dir, "t-0", batches[:middle])
        write(log_dir, "t-0", batches[middle:], middle)
    return dirs


@pytest.mark.parametrize("difference", [0, 99, 100, 149, 150, 298])
def test_copies_that_differ_are_found_at_the_offset(tmp_path: Path, difference: int) -> None:
    result = audit_here(*copies(tmp_path, difference), now_ms=NOW_MS, range_bytes=2048)
    (found,) = (each for each in result.findings if each.kind == "replica-divergence")
    assert (found.severity, found.topic, found.partition, found.offset) == ("error", "t", 0, difference)


def test_copies_that_are_the_same_are_not_told_apart(tmp_path: Path) -> None:
    result = audit_here(*copies(tmp_path, None), now_ms=NOW_MS, range_bytes=2048)
    assert {each.kind for each in result.findings} <= BESIDE


def test_what_is_not_committed_may_differ(tmp_path: Path) -> None:
    one, two = copies(tmp_path, 290)
    checkpoint(two, "replication", {("t", 0): 290})
    assert "replica-divergence" not in {each.kind for each in audit_here(one, two, now_ms=NOW_MS).findings}


def test_a_copy_that_is_behind_is_a_remark(tmp_path: Path) -> None:
    one, two = copies(tmp_path, None)
    write(one, "t-0", [build_batch(rows(1), base_offset=300)], 300)
    (found,) = (each for each in audit_here(one, two, now_ms=NOW_MS).findings if each.kind == "replica-behind")
    assert (found.severity, found.offset) == ("info", 300)


def test_many_stretches_are_compared_as_well_as_few(tmp_path: Path) -> None:
    one, two = copies(tmp_path, 4321, count=9000)
    (found,) = (each for each in audit_here(one, two, now_ms=NOW_MS).findings if each.kind == "replica-divergence")
    assert found.offset == 4321


@pytest.mark.parametrize(
    "name",
    sorted(p.name for p in golden_root().iterdir() if (p / "data").is_dir() and not p.name.startswith("corrupt")),
)
def test_nothing_is_wrong_in_what_brokers_left(name: str) -> None:
    result = audit_here(golden_root() / name / "data")
    wrong = [finding for finding in result.findings if finding.severity != "info"]
    # A broker that was killed leaves the zeros of a preallocated file.
    assert [each.kind for each in wrong] == (["zero-tail"] if name == "preallocated-killed-22" else [])


def test_old_segments_are_left_out_on_request(tmp_path: Path) -> None:
    import os

    old = write(tmp_path, "t-0", [build_batch(rows(2))])
    os.utime(old, (NOW_MS / 1000 - 7200, NOW_MS / 1000 - 7200))
    write(tmp_path, "t-0", [build_batch(rows(3), base_offset=2)], 2)
    result = audit_here(tmp_path, now_ms=NOW_MS, since_ms=NOW_MS - HOUR_MS)
    (row,) = result.partitions
    assert (row.segments, row.left_out, row.summary.records, row.summary.first_offset) == (2, 1, 3, 2)
    assert "left-out" in {each.kind for each in result.findings}


@pytest.mark.parametrize(
    ("total", "cores", "expected"),
    [(0, 2, 64), (1000, 2, 83), (1000, 100, 64), (1 << 60, 2, 1 << 30)],
)
def test_tasks_are_as_large_as_the_cores_allow(total: int, cores: int, expected: int) -> None:
    from kafka_tools.spark.audit import task_bytes

    assert task_bytes(total, 64, cores) == expected


NOT_SAID_ALIKE = {
    "offset-gap": "the audit counts them up by range, the checks tell each between two sound neighbours",
    "skipped": "the audit tells with the damage itself how many bytes it takes",
    "index-batch-range": "every entry of an old broker's index may be one: a remark that no audit of a cluster needs",
}
"""Kinds that audit and checks do not say alike, and why."""


def said(found: Iterable[Finding]) -> set[tuple[str, str, str, int | None]]:
    """(file, kind, severity, position) of what is said of files."""
    return {
        (os.path.basename(each.path or ""), each.kind, each.severity, each.position)
        for each in found
        if each.kind in FILE_KINDS and each.kind not in NOT_SAID_ALIKE
    }


@pytest.mark.parametrize("name", sorted(path.name for path in golden_root().glob("corrupt-*")))
def test_the_audit_says_of_damaged_files_what_the_checks_say(name: str) -> None:
    data = case(name).cwd
    assert said(audit_here(data).findings) == said(check_log_dir(data, records=True))


@pytest.mark.parametrize("seed", range(100))
def test_the_audit_says_of_damaged_records_what_the_checks_say(seed: int, tmp_path: Path) -> None:
    """Columns here, one record after the other there: of data and control batches, of every codec."""
    rng = random.Random(seed)
    batches = []
    offset = 0
    for _ in range(8):
        count = rng.randrange(1, 4)
        codec = rng.choice(("none", "gzip", "snappy", "lz4", "zstd"))
        if rng.random() < 0.2:
            batch = build_marker(
                7, 0, committed=True, coordinator_epoch=0, timestamp=NOW_MS - HOUR_MS, base_offset=offset
            )
            count = 1
        else:
            batch = build_batch(rows(count), base_offset=offset, codec=codec)
        changed = bytearray(batch)
        if rng.random() < 0.3:
            changed[rng.randrange(61, len(changed))] ^= 1 << rng.randrange(8)
        newest = NOW_MS - HOUR_MS - (rng.random() < 0.3)
        set_times(changed, 0, max_timestamp=newest, appended=rng.random() < 0.2)  # with the right CRC
        batches.append(bytes(changed))
        offset += count
    write(tmp_path, "t-0", batches)
    assert said(audit_here(tmp_path, now_ms=NOW_MS).findings) == said(check_log_dir(tmp_path, records=True))


def test_a_partition_that_grew_beyond_retention_bytes_since_the_broker_looked_is_not_overdue(tmp_path: Path) -> None:
    PLANTS["retention_by_size"](tmp_path)
    for path in (tmp_path / "t-0").iterdir():
        os.utime(path, (NOW_MS / 1000, NOW_MS / 1000 - 60))
    assert [each for each in audit_here(tmp_path, now_ms=NOW_MS).findings if each.kind == "retention-overdue"] == []


def test_segments_that_were_removed_while_they_were_read_are_not_overdue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANTS["retention_by_size"](tmp_path)
    last = sorted((tmp_path / "t-0").glob("*.log"))[-1]
    written_ms = NOW_MS - 60_000
    monkeypatch.setattr(
        "kafka_tools.spark.measures.partition.modified_ms", lambda path: written_ms if path == str(last) else None
    )
    assert [each for each in audit_here(tmp_path, now_ms=NOW_MS).findings if each.kind == "retention-overdue"] == []
