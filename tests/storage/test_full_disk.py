"""A disk that refuses: nothing acknowledged is lost, nothing half stays, and a log is written again when it can be."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.records.control import build_marker
from kafka_tools.storage.checkpoints import replace_file
from kafka_tools.storage.log.partition_log import LogConfig, LogOffline, PartitionLog
from kafka_tools.storage.log.replacement import remove_retired
from tests.storage.test_log import batch, expected, values


class FullDisk:
    """The functions of os that need room fail from the ``number``-th call on; ``calls`` counts them."""

    NEEDS_ROOM = ("pwrite", "open", "replace", "posix_fallocate")

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int | None, code: int = 28) -> None:
        self.calls = 0

        def needing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                if name == "open" and not arguments[1] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                    return real(*arguments, **options)
                self.calls += 1
                if number is not None and self.calls >= number:
                    if name == "pwrite" and len(arguments[1]) > 20:
                        real(arguments[0], bytes(arguments[1])[:20], arguments[2])  # as much as there was room for
                    raise OSError(code, os.strerror(code))
                return real(*arguments, **options)

            return call

        for name in self.NEEDS_ROOM:
            monkeypatch.setattr(os, name, needing(name, getattr(os, name)))


@pytest.mark.parametrize("preallocate", [False, True])
def test_a_disk_that_fills_up_at_any_step_loses_nothing_and_is_written_again_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preallocate: bool
) -> None:
    """Appends that roll segments, write indexes, epochs and snapshots, with room for one step more in each round."""
    config = LogConfig(segment_bytes=600, index_interval_bytes=1, segment_index_bytes=80, preallocate=preallocate)

    def story(log: PartitionLog, acknowledged: list[int]) -> None:
        for at in range(12):
            appended = log.append(batch(3, 3 * len(acknowledged)), leader_epoch=at // 4)
            acknowledged.append(appended.base_offset)

    number, done = 0, False
    while not done:
        number += 1
        directory = tmp_path / str(number)
        clock = ManualClock()
        log = PartitionLog.open(str(directory), config, clock, clean=True)
        acknowledged: list[int] = []
        with monkeypatch.context() as patch:
            FullDisk(patch, number)
            try:
                story(log, acknowledged)
                done = True
            except OSError:
                assert log.waits_for_room
                with pytest.raises(LogOffline):
                    log.append(batch(3, 3 * len(acknowledged)), leader_epoch=9)
        assert log.log_end_offset == 3 * len(acknowledged)
        assert [view.base_offset for view in log.walk()] == acknowledged
        killed = tmp_path / f"{number}-killed"
        shutil.copytree(directory, killed)
        clock.advance(0.01)
        story(log, acknowledged)
        assert log.close() and not log.offline
        again = PartitionLog.open(str(directory), config, clock, clean=True)
        assert (
            [view.base_offset for view in again.walk()] == acknowledged == [3 * at for at in range(len(acknowledged))]
        )
        assert values(again) == expected(3 * len(acknowledged))
        again.close()
        after_kill = PartitionLog.open(str(killed), config, clock, clean=False)
        assert after_kill.log_end_offset == 3 * (len(acknowledged) - 12)
        after_kill.close(clean=False)
    assert number > 20


def test_a_write_that_cannot_be_undone_takes_the_log_offline_and_its_end_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = PartitionLog.open(str(tmp_path / "t-0"), LogConfig(), ManualClock(), clean=True)
    log.append(batch(1), leader_epoch=0)

    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        FullDisk(patch, 1)
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(OSError):
            log.append(batch(1, 1), leader_epoch=0)
    assert log.offline and not log.waits_for_room
    assert not log.close(), "files that are not whole are not to be trusted"
    assert os.path.getsize(log.active.path) > log.active.size
    assert values(PartitionLog.open(str(tmp_path / "t-0"), LogConfig(), ManualClock(), clean=False)) == expected(1)


def test_index_entries_that_cannot_be_written_stay_in_memory_and_no_append_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = LogConfig(index_interval_bytes=1)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, ManualClock(), clean=True)

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("kafka_tools.storage.log.segment.append_entries", refused)
        for at in range(300):
            log.append(batch(1, at), leader_epoch=0)
    assert log.log_end_offset == 300
    assert log.close()
    again = PartitionLog.open(str(tmp_path / "t-0"), config, ManualClock(), clean=True)
    assert again.active.index_bytes == 299 * 8
    again.close()


def abort(log: PartitionLog, sequence: int) -> None:
    """A transaction of one record, aborted."""
    begun = batch(1, producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
    log.append(begun, leader_epoch=0)
    marker = build_marker(7, 0, committed=False, coordinator_epoch=1, timestamp=log.clock.now_ms())
    log.append(bytearray(marker), leader_epoch=0, from_client=False)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
@pytest.mark.parametrize("then", ["abort", "flush", "roll", "close", "kill"])
def test_an_aborted_transaction_that_its_index_has_no_room_for_is_hidden_and_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: int, then: str
) -> None:
    log = PartitionLog.open(str(tmp_path / "t-0"), LogConfig(), ManualClock(), clean=True)
    abort(log, 0)
    size = os.path.getsize(log.active.transaction_index_path)
    with monkeypatch.context() as patch:
        refused = Mock(side_effect=OSError(code, os.strerror(code)))
        patch.setattr("kafka_tools.storage.producer_files.append_entries", refused)
        for sequence in (1, 2):
            abort(log, sequence)
        assert not log.offline and log.last_stable_offset == log.log_end_offset == 6
        assert log.aborted_transactions(0, 6) == [(7, 0), (7, 2), (7, 4)]
        assert log.aborted_transactions(4, 6) == [(7, 4)]
        assert log.aborted_transactions(0, 2) == [(7, 0)]
        with pytest.raises(OSError):
            log.roll()
    assert len([each for each in caplog.records if "keeping them in memory" in each.getMessage()]) == 1
    known = [(7, 0), (7, 2), (7, 4)]
    if then == "abort":
        abort(log, 3)
        known.append((7, 6))
    elif then == "flush":
        log.flush()
    elif then == "roll":
        log.roll()
    else:
        clean = then == "close"
        assert log.close(clean=clean) == clean
        log = PartitionLog.open(str(tmp_path / "t-0"), LogConfig(), ManualClock(), clean=clean)
    assert os.path.getsize(log.segments[0].transaction_index_path) == len(known) * size
    assert log.aborted_transactions(0, log.log_end_offset) == known
    assert log.close()


def test_a_transaction_index_that_is_broken_takes_the_log_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = PartitionLog.open(str(tmp_path / "t-0"), LogConfig(), ManualClock(), clean=True)
    with monkeypatch.context() as patch:
        broken = Mock(side_effect=OSError(errno.EIO, os.strerror(errno.EIO)))
        patch.setattr("kafka_tools.storage.producer_files.append_entries", broken)
        with pytest.raises(OSError):
            abort(log, 0)
        assert log.offline and not log.waits_for_room
        assert not log.close()
    again = PartitionLog.open(str(tmp_path / "t-0"), LogConfig(), ManualClock(), clean=False)
    assert again.aborted_transactions(0, 2) == [(7, 0)]
    again.close()


def test_retention_makes_room_on_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = LogConfig(segment_bytes=300, retention_bytes=0)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, ManualClock(), clean=True)
    for at in range(12):
        log.append(batch(1, at), leader_epoch=at)
    before = len(log.segments)
    with monkeypatch.context() as patch:
        FullDisk(patch, 1)
        assert log.enforce_retention() == before - 1
        remove_retired(log.take_retired())
    assert not list((tmp_path / "t-0").glob("*.deleted"))
    log.append(batch(1, 12), leader_epoch=12)
    assert log.close()
    again = PartitionLog.open(str(tmp_path / "t-0"), config, ManualClock(), clean=True)
    assert again.log_end_offset == 13 and again.epochs.entries[-1] == (12, 12)
    again.close()


def test_a_checkpoint_that_cannot_be_replaced_is_told_by_its_own_name_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "offsets"
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(OSError) as caught:
        replace_file(str(path), b"", sync=False)
    assert str(caught.value).endswith(f": {str(path)!r}")
    full = OSError(28, "No space left on device")
    monkeypatch.setattr("kafka_tools.storage.checkpoints.os.replace", Mock(side_effect=full))
    with pytest.raises(OSError) as caught:
        replace_file(str(path), b"", sync=False)
    assert str(caught.value) == f"[Errno 28] No space left on device: {str(path)!r}"
