"""The audit of a directory that a broker writes to while it is read: each step of the broker between planning and
reading, and between reading and what is concluded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from kafka_tools.records.build import build_batch
from kafka_tools.spark import engine as engine_module
from kafka_tools.spark import segments as segments_module
from kafka_tools.spark.audit import AuditOptions, audit_with
from kafka_tools.spark.measures import partition as partition_module
from kafka_tools.storage import checkpoints
from kafka_tools.storage.check import check_log_dir
from kafka_tools.values import TopicPartition
from tests.spark.one_process import OneProcess
from tests.storage.test_live import Writer, joined, while_waiting

PARTITION = TopicPartition("orders", 0)


class Busy(OneProcess):
    """An engine beside which a broker does something before the measuring, and again after it."""

    def __init__(self, before: Callable[[], object], after: Callable[[], object] = lambda: None) -> None:
        self.before, self.after = before, after

    def measure(self, *arguments: Any) -> Any:
        self.before()
        found = super().measure(*arguments)
        self.after()
        return found


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    found = Writer(tmp_path / "broker" / "orders-0")
    found.write(60)
    for segment in found.log.segments:
        segment.flush_indexes()
    checkpoint(found)
    assert findings(found.directory.parent, Busy(lambda: None)) == []
    return found


def checkpoint(writer: Writer) -> None:
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        offsets = {PARTITION: writer.log.log_end_offset}
        checkpoints.write_offset_checkpoint(str(writer.directory.parent / name), offsets)


def findings(log_dir: Path, engine: Busy) -> list[str]:
    result = audit_with(engine, [str(log_dir)], AuditOptions(range_bytes=1000))
    # What Writer makes is of 2023 and its transaction stays open.
    expected = ("hanging-transaction",)
    return [
        f"{each.kind}: {each.path} {each.text}"
        for each in result.findings
        if each.severity != "info" and each.kind not in expected
    ]


def written(writer: Writer) -> None:
    writer.write(40)
    for segment in writer.log.segments:
        segment.flush_indexes()
    checkpoint(writer)


def test_checkpoints_are_read_before_the_logs(writer: Writer) -> None:
    """Recovery points and high watermarks move on while the logs are read."""
    for engine in (Busy(lambda: written(writer)), Busy(lambda: None, lambda: written(writer))):
        assert findings(writer.directory.parent, engine) == []


def test_indexes_are_read_before_the_log(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between planning and reading the active segment and its indexes grow, and in between the two."""
    scan = partition_module.scan_range

    def growing(range_: Any, **how: Any) -> Any:
        if range_.last_segment:
            written(writer)
        return scan(range_, **how)

    monkeypatch.setattr(partition_module, "scan_range", growing)
    assert findings(writer.directory.parent, Busy(lambda: written(writer))) == []


def removed(writer: Writer, *logs: Path) -> None:
    for log in logs:
        for path in writer.directory.glob(f"{log.stem}.*"):
            path.unlink()


def test_segments_that_retention_removes_leave_no_gap_in_sequences(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one was read already when it is removed with the second: what was in that is not known."""
    first, second, *_ = sorted(writer.directory.glob("*.log"))
    assert findings(writer.directory.parent, Busy(lambda: removed(writer, first, second))) == []
    again = Writer(writer.directory.parent.parent / "other" / "orders-0")
    again.write(60)
    first, second, *_ = sorted(again.directory.glob("*.log"))
    read = partition_module.measure

    def late(range_: Any, depth: Any) -> Any:
        if range_.file == str(second):
            removed(again, first, second)
        return read(range_, depth)

    class InOrder(Busy):
        def measure(self, tasks: Any, *arguments: Any) -> Any:
            return super().measure(tasks[::-1], *arguments)  # OneProcess goes through them from the last one on

    monkeypatch.setattr(engine_module, "measure", late)
    assert findings(again.directory.parent, InOrder(lambda: None)) == []


def test_the_last_segment_may_be_gone_before_it_is_read(writer: Writer) -> None:
    *_, last = sorted(writer.directory.glob("*.log"))
    assert findings(writer.directory.parent, Busy(lambda: removed(writer, last))) == []


def test_segments_that_compaction_joins_are_no_damage(writer: Writer) -> None:
    """The file at the place of the first is another one than was planned: cut ranges of it begin anywhere."""
    first, second, *_ = sorted(writer.directory.glob("*.log"))
    assert findings(writer.directory.parent, Busy(lambda: joined(writer, first, second))) == []


@pytest.mark.parametrize("state", ["", ".swap"])
def test_a_segment_that_was_away_while_the_others_were_listed_is_no_damage(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """Compaction was replacing it just then: what was in it is not known, so nothing is said of what it lacks."""
    listed = segments_module.partition_files
    away = sorted(writer.directory.glob("*.log"))[1]

    def without(path: str) -> Any:
        found = listed(path)
        return found._replace(segments=tuple(each for each in found.segments if each.log != str(away)))

    def told() -> set[tuple[str, int | None]]:
        result = audit_with(Busy(lambda: None), [str(writer.directory.parent)], AuditOptions(range_bytes=1000))
        about = ("offset-gap", "sequence-gap", "hanging-transaction", "open-transaction")
        return {(each.kind, each.offset) for each in result.findings if each.kind in about}

    before = told()
    if state:
        away.rename(f"{away}{state}")
    monkeypatch.setattr(segments_module, "partition_files", without)
    assert told() == before
    Path(f"{away}{state}").unlink()
    assert {"offset-gap", "sequence-gap"} <= {kind for kind, _offset in told()}


def test_a_partition_that_is_deleted_meanwhile(writer: Writer) -> None:
    renamed = writer.directory.with_name(f"orders-0.{'0' * 32}-delete")
    assert findings(writer.directory.parent, Busy(lambda: writer.directory.rename(renamed))) == []
    renamed.rename(writer.directory)
    assert findings(writer.directory.parent, Busy(lambda: shutil.rmtree(writer.directory))) == []


def test_a_batch_that_is_half_written(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = build_batch([(1_700_000_000_000, None, b"v" * 100, ())], base_offset=writer.log.log_end_offset)
    path = writer.newest(".log")
    whole = path.read_bytes()
    path.write_bytes(whole + batch[:-5])
    while_waiting(monkeypatch, lambda: path.open("ab").write(batch[-5:]))
    assert findings(writer.directory.parent, Busy(lambda: None)) == []


def test_copies_that_differ_only_in_what_retention_left_are_the_same(writer: Writer) -> None:
    other = writer.directory.parent.parent / "second" / "orders-0"
    shutil.copytree(writer.directory, other)
    shutil.copy(writer.directory.parent / "replication-offset-checkpoint", other.parent)
    first, second, *_ = sorted(writer.directory.glob("*.log"))

    class Later(Busy):
        def each(self, function: Any, items: Any, per_task: int) -> list[Any]:
            removed(writer, first, second)
            return super().each(function, items, per_task)

    engine = Later(lambda: removed(writer, first))
    result = audit_with(engine, [str(other.parent), str(writer.directory.parent)], AuditOptions())
    assert [each.text for each in result.findings if each.kind == "replica-divergence"] == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="locks are asked for as Linux tells them")
def test_zeros_behind_the_log_of_a_broker_at_work_are_preallocated(tmp_path: Path) -> None:
    """The lock is another process's, as it is where a broker runs; without it they are what a crash left."""
    import fcntl

    writer = Writer(tmp_path / "orders-0")
    writer.write(6)
    writer.log.close()
    log = writer.newest(".log")
    log.write_bytes(log.read_bytes() + bytes(4096))
    lock = tmp_path / ".lock"
    lock.touch()

    def severities() -> list[tuple[str, str]]:
        audited = audit_with(OneProcess(), [str(tmp_path)], AuditOptions()).findings
        found = [*check_log_dir(tmp_path), *audited]
        return sorted((each.kind, each.severity) for each in found if each.kind == "zero-tail")

    assert severities() == [("zero-tail", "warning")] * 2
    program = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"1\n"
        assert severities() == [("zero-tail", "info")] * 2
        holder.communicate(b"\n")
    assert severities() == [("zero-tail", "warning")] * 2
    with open(lock, "w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        assert severities() == [("zero-tail", "info")] * 2, "this process is the broker"
        at_once = program.replace("LOCK_EX", "LOCK_EX | fcntl.LOCK_NB")
        refused = subprocess.run([sys.executable, "-c", at_once, str(lock)], check=False, capture_output=True)
        assert refused.returncode, "its lock was given up by looking"
