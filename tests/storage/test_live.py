"""A directory that a broker is writing to: whatever it does between two reads, no damage is told that is not there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.clock import ManualClock, SystemClock
from kafka_tools.records.build import build_batch
from kafka_tools.records.control import build_marker
from kafka_tools.storage import checkpoints, indexes, live, partition_check, snapshots
from kafka_tools.storage.check import check_log_dir, check_partition
from kafka_tools.storage.findings import Finding
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog

START_MS = 1_700_000_000_000
EPOCHS = "leader-epoch-checkpoint"


class Writer:
    """A log as a broker writes it: idempotent and transactional producers, small segments, two leader epochs."""

    def __init__(self, directory: Path, start_ms: int = START_MS) -> None:
        self.directory = directory
        self.start_ms = start_ms
        config = LogConfig(segment_bytes=3000, index_interval_bytes=200)
        self.log = PartitionLog.open(str(directory), config, ManualClock(), clean=True)
        self._sequences = [0, 0]
        self._turn = 0

    def write(self, turns: int, *, epoch: int = 0, committed: bool | None = None) -> None:
        """``turns`` batches; the transaction ends after each third, all of them aborted or committed, or in turn."""
        for _ in range(turns):
            self._turn += 1
            rows = [(self.start_ms + self._turn * 10, b"k", b"v" * 100, ())]
            producer = self._turn % 2
            batch = build_batch(
                rows, producer_id=producer, producer_epoch=0, base_sequence=self._sequences[producer],
                transactional=producer == 1,
            )  # fmt: skip
            self._sequences[producer] += 1
            self.log.append(bytearray(batch), leader_epoch=epoch)
            if self._turn % 6 == 0:
                end = self._turn % 12 == 0 if committed is None else committed
                now_ms = self.start_ms + self._turn * 10
                marker = build_marker(1, 0, committed=end, coordinator_epoch=1, timestamp=now_ms)
                self.log.append(bytearray(marker), leader_epoch=epoch, from_client=False)

    def newest(self, suffix: str) -> Path:
        return max(self.directory.glob(f"*{suffix}"))


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    found = Writer(tmp_path / "orders-0")
    found.write(60)
    assert damage(check_partition(found.directory)) == []
    assert len(list(found.directory.glob("*.log"))) > 2
    return found


def damage(findings: Any) -> list[str]:
    return [f"{finding.kind}: {finding}" for finding in findings if finding.is_damage]


def once(action: Callable[[], object]) -> Callable[[], None]:
    left = [action]

    def act() -> None:
        if left:
            left.pop()()

    return act


def before_the_log_is_opened(monkeypatch: pytest.MonkeyPatch, path: Path, action: Callable[[], object]) -> None:
    """``action`` once, when the indexes of a log are open and the log is not yet."""
    act = once(action)

    class Opened(partition_check.Segment):
        def __init__(self, log: str | os.PathLike[str]) -> None:
            if os.fspath(log) == os.fspath(path):
                act()
            super().__init__(log)

    monkeypatch.setattr(partition_check, "Segment", Opened)


def while_waiting(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> list[float]:
    """``action`` once, when somebody waits for the broker to go on; the waits."""
    act, waits = once(action), []

    def sleep(self: SystemClock, seconds: float) -> None:
        waits.append(seconds)
        act()

    monkeypatch.setattr(SystemClock, "sleep", sleep)
    monkeypatch.setattr(live, "STEP_S", 600)  # however slow the machine is, the files were written just now
    return waits


def test_what_is_appended_after_the_indexes_were_opened_is_not_compared(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_the_log_is_opened(monkeypatch, writer.newest(".log"), lambda: writer.write(7))
    assert damage(check_partition(writer.directory)) == []


def test_segments_that_are_rolled_meanwhile_are_not_compared(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their producer snapshots were listed first, the segments after them."""
    before_the_log_is_opened(monkeypatch, min(writer.directory.glob("*.log")), lambda: writer.write(60))
    assert damage(check_partition(writer.directory)) == []


def test_a_snapshot_is_about_segments_that_are_listed_after_it(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = partition_check.partition_files
    act = once(lambda: writer.write(60))

    def before(directory: str) -> Any:
        found = listed(directory)
        act()
        return found

    monkeypatch.setattr(partition_check, "partition_files", before)
    assert damage(check_partition(writer.directory)) == []


def test_an_index_with_zeros_behind_it_that_grows_is_sound(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a broker maps it: at full size; the newest entry is there by half, and more come while it is read."""
    for suffix, half in ((".index", b"\x00\x00\x00\x63"), (".timeindex", (START_MS + 10**6).to_bytes(8, "big"))):
        path = writer.newest(suffix)
        written = path.read_bytes()
        path.write_bytes(written + half + bytes(9600 - len(written) - len(half)))
    assert damage(check_partition(writer.directory)) == []
    index = writer.newest(".index")

    def grow() -> None:
        with open(index, "r+b") as file:
            file.seek(len(written))
            file.write(indexes.OFFSET_ENTRY.pack(5000, 500_000) + indexes.OFFSET_ENTRY.pack(5001, 500_100))

    before_the_log_is_opened(monkeypatch, writer.newest(".log"), grow)
    assert damage(check_partition(writer.directory)) == []


def joined(writer: Writer, first: Path, second: Path) -> None:
    """What compaction does with two segments: the old ones away, then the new one in their place, the log first."""
    new_log = first.read_bytes() + second.read_bytes()
    for old in (first, second):
        for suffix in (".log", ".index", ".timeindex", ".txnindex"):
            path = old.with_suffix(suffix)
            if path.exists():
                path.rename(f"{path}.deleted")
    for suffix, data in ((".log", new_log), (".index", b""), (".timeindex", b"")):
        swap = first.with_suffix(suffix + ".swap")
        swap.write_bytes(data)
        swap.rename(first.with_suffix(suffix))
    aborted = b"".join(
        path.read_bytes() for path in (Path(f"{each.with_suffix('.txnindex')}.deleted") for each in (first, second))
        if path.exists()
    )  # fmt: skip
    first.with_suffix(".txnindex").write_bytes(aborted)


@pytest.mark.parametrize("at", [0, 1])
def test_compaction_that_joins_segments_between_index_and_log(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    first, second, *_ = sorted(writer.directory.glob("*.log"))
    before_the_log_is_opened(monkeypatch, (first, second)[at], lambda: joined(writer, first, second))
    found = list(check_partition(writer.directory))
    assert damage(found) == []
    assert any(finding.kind == "vanished" for finding in found)


def test_segments_that_retention_takes_away_are_said_to_have_vanished(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take() -> None:
        for path in [*sorted(writer.directory.glob("*.log"))[:2], *sorted(writer.directory.glob("*.snapshot"))[:2]]:
            for each in writer.directory.glob(f"{path.stem}.*"):
                each.unlink()

    before_the_log_is_opened(monkeypatch, min(writer.directory.glob("*.log")), take)
    found = list(check_partition(writer.directory))
    assert damage(found) == []
    assert [finding.kind for finding in found].count("vanished") >= 2


def test_a_partition_that_is_deleted_meanwhile_has_vanished(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    log_dir = writer.directory.parent
    checkpoints.write_offset_checkpoint(str(log_dir / "cleaner-offset-checkpoint"), {})
    seen: list[Finding] = []
    for finding in check_log_dir(log_dir):
        seen.append(finding)
    listed = partition_check.partition_files

    def gone(directory: str) -> Any:
        shutil.rmtree(directory, ignore_errors=True)
        return listed(directory)

    monkeypatch.setattr(partition_check, "partition_files", gone)
    assert [finding.kind for finding in check_log_dir(log_dir)] == ["vanished"]
    assert damage(seen) == []


def test_a_log_that_vanished_contradicts_no_checkpoint(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "replication-offset-checkpoint"
    (partition,) = [partition_check.names.partition_of_dir("orders-0")]
    checkpoints.write_offset_checkpoint(str(writer.directory.parent / name), {partition: writer.log.log_end_offset})
    newest = writer.newest(".log")
    before_the_log_is_opened(monkeypatch, newest, newest.unlink)
    assert damage(check_partition(writer.directory)) == []


def test_a_checkpoint_of_a_topic_that_was_made_again_under_its_name(writer: Writer) -> None:
    path = writer.directory.parent / "replication-offset-checkpoint"
    partition = partition_check.names.partition_of_dir("orders-0")
    checkpoints.write_offset_checkpoint(str(path), {partition: 10**6})
    assert [finding.kind for finding in check_partition(writer.directory) if finding.is_damage] == [
        "offset-checkpoint-mismatch"
    ]
    metadata = writer.directory / "partition.metadata"
    metadata.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    os.utime(path, (1, 1))
    assert damage(check_partition(writer.directory)) == []
    os.utime(metadata, (0, 0))
    found = check_partition(writer.directory, checkpoints={path.name: 10**7})
    assert damage(found) == [], "the file says something else by now"


def test_an_abort_is_listed_a_moment_after_its_marker(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    writer.write(12, committed=False)
    path = writer.newest(".txnindex")
    whole = path.read_bytes()
    size = indexes.TXN_ENTRY.size
    path.write_bytes(whole[:-size])
    waits = while_waiting(monkeypatch, lambda: path.write_bytes(whole))
    assert damage(check_partition(writer.directory)) == []
    assert waits
    path.write_bytes(whole[: -size // 2])
    while_waiting(monkeypatch, lambda: path.write_bytes(whole))
    assert damage(check_partition(writer.directory)) == []
    path.write_bytes(whole[:-size])
    for each in writer.directory.iterdir():
        os.utime(each, (1, 1))
    waits = while_waiting(monkeypatch, lambda: None)
    found = [finding.kind for finding in check_partition(writer.directory) if finding.is_damage]
    assert (found, waits) == (["txnindex-missing"], []), "nobody writes: nothing is waited for"


def test_a_new_leader_epoch_is_in_its_file_before_it_is_in_the_log(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_the_log_is_opened(monkeypatch, writer.newest(".log"), lambda: writer.write(4, epoch=7))
    assert damage(check_partition(writer.directory)) == []
    assert snapshots.read_leader_epochs(str(writer.directory / EPOCHS))[-1].epoch == 7


def test_files_that_are_only_begun_are_read_again(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, log = writer.newest(".snapshot"), writer.newest(".log")
    for path, begun in ((snapshot, b""), (log, log.read_bytes()[:-10])):
        whole = path.read_bytes()
        path.write_bytes(begun)
        waits = while_waiting(monkeypatch, lambda path=path, whole=whole: path.write_bytes(whole))  # type: ignore[misc]
        assert damage(check_partition(writer.directory)) == []
        assert waits


def test_indexes_whose_log_went_first_go_after_it(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    first = min(writer.directory.glob("*.log"))
    first.unlink()

    def take_the_others() -> None:
        for path in writer.directory.glob(f"{first.stem}.*"):
            path.unlink()

    while_waiting(monkeypatch, take_the_others)
    assert damage(check_partition(writer.directory)) == []


def test_what_stays_wrong_is_wrong_and_old_files_are_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    clock = ManualClock(int(path.stat().st_mtime * 1000))
    assert live.still_wrong(str(path), lambda: True, clock)
    assert live.STEP_S <= clock.monotonic_s() < 2 * live.STEP_S
    answers = [True, True, False]
    assert not live.still_wrong(str(path), lambda: answers.pop(0), ManualClock(int(path.stat().st_mtime * 1000)))
    os.utime(path, (1, 1))
    clock = ManualClock()
    assert live.still_wrong(str(path), lambda: True, clock)
    assert clock.monotonic_s() == 0
