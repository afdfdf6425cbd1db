"""Snapshots of very many producers: written beside whoever appends, as they were when the segment was sealed."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.records.build import build_batch
from kafka_tools.storage.log import producer_snapshots
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.snapshots import ProducerStateEntry, read_producer_snapshot
from tests.broker_embedded.coordinators.pieces import Pieces

CLOCK = ManualClock()
MOST_STEPS = 20_000
"""Of the interpreter for one roll: a few for each producer are more."""


class Held:
    """The other thread, which packs snapshots when the test lets it."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.goes_on = threading.Semaphore(0)
        self.begun = threading.Semaphore(0)
        pack: Callable[..., bytes] = producer_snapshots.packed_snapshot

        def packed(entries: Any) -> bytes:
            self.begun.release()
            assert self.goes_on.acquire(timeout=60)
            return pack(entries)

        patched.setattr(producer_snapshots, "packed_snapshot", packed)
        patched.setattr(producer_snapshots, "FEW", 2)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made = Held(monkeypatch)
    yield made
    made.goes_on.release(100)


def opened(path: Path, *, clean: bool = True) -> PartitionLog:
    return PartitionLog.open(str(path), LogConfig(), CLOCK, clean=clean)


def produce(log: PartitionLog, producer_id: int, sequence: int = 0, epoch: int = 0, **options: Any) -> None:
    rows = [(CLOCK.now_ms(), b"k", b"value", ())]
    fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence, **options}
    log.append(bytearray(build_batch(rows, **fields)), leader_epoch=0)


def snapshot(log: PartitionLog, offset: int) -> list[ProducerStateEntry]:
    return read_producer_snapshot(f"{log.directory}/{offset:020}.snapshot")


def names(log: PartitionLog) -> list[int]:
    return sorted(int(path.stem) for path in Path(log.directory).glob("*.snapshot"))


def test_a_late_snapshot_tells_the_producers_as_they_were(tmp_path: Path, held: Held) -> None:
    log = opened(tmp_path / "t-0")
    for producer_id in range(5):
        produce(log, producer_id)
    log.roll()
    assert held.begun.acquire(timeout=60)
    produce(log, 0, sequence=1)
    produce(log, 1, epoch=1, transactional=True)
    produce(log, 9)
    for _ in log.producers.expire(1 << 60):
        pass
    assert names(log) == []
    held.goes_on.release()
    log._snapshots.wait()
    assert names(log) == [5]
    assert [(each.producer_id, each.producer_epoch, each.last_sequence, each.last_offset, each.transaction_start)
            for each in snapshot(log, 5)] == [(number, 0, 0, number, None) for number in range(5)]  # fmt: skip
    log.close(clean=False)
    again = opened(tmp_path / "t-0", clean=False)
    assert {number: entry.last_sequence for number, entry in again.producers.entries.items()} == {
        0: 1, 1: 0, 2: 0, 3: 0, 4: 0, 9: 0,
    }  # fmt: skip
    assert again.producers.has_open(1, 1)
    again.close()


def test_of_several_that_wait_the_newest_is_written(tmp_path: Path, held: Held) -> None:
    log = opened(tmp_path / "t-0")
    for producer_id in range(5):
        produce(log, producer_id)
    log.roll()
    assert held.begun.acquire(timeout=60)
    for sequence in (1, 2, 3):
        produce(log, 0, sequence)
        log.roll()
    held.goes_on.release(2)
    log._snapshots.wait()
    assert names(log) == [5, 8]
    assert snapshot(log, 8)[0].last_sequence == 3
    log.close()


def test_nothing_is_written_where_the_log_was(tmp_path: Path, held: Held) -> None:
    log = opened(tmp_path / "t-0")
    for producer_id in range(5):
        produce(log, producer_id)
    log.roll()
    assert held.begun.acquire(timeout=60)
    log.close(clean=False)
    held.goes_on.release()
    log._snapshots.wait()
    assert names(log) == []


def test_a_snapshot_that_cannot_be_written_is_told_and_made_up_for(
    tmp_path: Path, held: Held, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log = opened(tmp_path / "t-0")
    for producer_id in range(5):
        produce(log, producer_id)
    with monkeypatch.context() as patched:
        patched.setattr(producer_snapshots, "put_snapshot", full)
        log.roll()
        held.goes_on.release()
        log._snapshots.wait()
    assert "cannot write the producer snapshot at offset 5" in caplog.text
    produce(log, 0, sequence=1)
    log.close(clean=False)
    again = opened(tmp_path / "t-0", clean=False)
    assert [entry.last_sequence for entry in again.producers.entries.values()] == [1, 0, 0, 0, 0]
    again.close()


def test_a_roll_does_not_take_longer_with_many_producers(tmp_path: Path) -> None:
    log, pieces = opened(tmp_path / "t-0"), Pieces()
    for producer_id in range(2 * producer_snapshots.FEW):
        produce(log, producer_id)

    def roll() -> Iterator[None]:
        log.roll()
        yield

    for _ in pieces.watch(roll()):  # type: ignore[arg-type]
        pass
    assert pieces.longest < MOST_STEPS
    log._snapshots.wait()
    assert len(snapshot(log, log.log_end_offset)) == 2 * producer_snapshots.FEW
    log.close()
