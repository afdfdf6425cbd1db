"""Very many transactions in one log: what readers and markers ask of them costs what it is about, not what there is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.control import build_marker
from kafka_tools.storage import producer_state
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.storage.producer_state import ProducerEntry, ProducerStates

CLOCK = ManualClock()


def batch(**options: object) -> bytearray:
    return bytearray(build_batch([(CLOCK.now_ms(), b"k", b"value", ())], **options))  # type: ignore[arg-type]


class Counted(int):
    """An offset that counts how often it is compared."""

    times = 0

    def __lt__(self, other: int) -> bool:
        Counted.times += 1
        return int.__lt__(self, other)


def test_what_the_stable_offset_costs_does_not_grow_with_the_open_transactions() -> None:
    """A hundred thousand that ended one after the other once took minutes; what is over takes no room."""
    states, count = ProducerStates(), 500
    for number in range(count):
        entry = ProducerEntry(0)
        entry.transaction_start = Counted(number)
        states.add(number, entry)
    Counted.times = 0
    for number in range(count):
        assert states.first_open_offset == number
        states.end_transaction(number, 0, 0, count + number, 0, committed=True)
    assert Counted.times < 50 * count
    assert states.first_open_offset is None
    hanging, other = ProducerEntry(0), ProducerEntry(0)
    hanging.transaction_start = 0
    states.add(1, hanging)
    for number in range(1, 5_000):
        other.transaction_start = number
        states.add(2, other)
        assert states.first_open_offset == 0
        states.end_transaction(2, 0, 0, number, 0, committed=True)
    assert len(states._starts) < 100


def aborting(log: PartitionLog, producer_id: int, count: int) -> None:
    """So many transactions of one record each, all aborted."""
    for number in range(count):
        data = batch(producer_id=producer_id, producer_epoch=0, base_sequence=number, transactional=True)
        log.append(data, leader_epoch=0)
        marker = build_marker(producer_id, 0, committed=False, coordinator_epoch=1, timestamp=CLOCK.now_ms())
        log.append(bytearray(marker), leader_epoch=0, from_client=False)


def test_of_many_aborted_transactions_those_of_the_range_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fetch once listed all of them up to the end of the log, and read every index for it."""
    config = LogConfig(segment_bytes=10_000, index_interval_bytes=500)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, CLOCK, clean=True)
    log.append(batch(producer_id=8, producer_epoch=0, base_sequence=0, transactional=True), leader_epoch=0)
    aborting(log, 9, 400)
    marker = build_marker(8, 0, committed=False, coordinator_epoch=1, timestamp=CLOCK.now_ms())
    log.append(bytearray(marker), leader_epoch=0, from_client=False)
    assert len(log.segments) > 5
    aborting(log, 10, 400)
    assert len(log.aborted_transactions(0, log.last_stable_offset)) == 801
    assert log.aborted_transactions(401, 403) == [(9, 401), (8, 0)], "one of them ended long after the range"
    assert log.aborted_transactions(1001, 1003) == [(10, 1000), (10, 1002)]
    read: list[int] = []
    pread = os.pread

    def counting(fd: int, size: int, position: int) -> bytes:
        read.append(size)
        return pread(fd, size, position)

    monkeypatch.setattr("kafka_tools.storage.indexes.os.pread", counting)
    offset = log.segments[-2].base_offset
    data = log.read(offset, 600, whole_first=False)
    last = max(view.last_offset for view in batches(data))
    end = log.end_of_read(offset, len(data))
    assert last < end <= last + 30
    read.clear()
    assert len(log.aborted_transactions(offset, end)) <= (end - offset) // 2 + 1
    assert sum(read) < 10_000
    assert log.end_of_read(offset, 1 << 20) == log.segments[-1].base_offset
    assert log.end_of_read(log.log_end_offset - 1, 1 << 20) == log.log_end_offset


def test_silent_producers_are_forgotten_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_state, "_EXPIRED_AT_ONCE", 10)
    states = ProducerStates()
    for number in range(95):
        entry = ProducerEntry(0)
        entry.last_timestamp = number
        entry.transaction_start = number if number == 3 else -1
        states.add(number, entry)
    sweep = states.expire(90)
    for _ in range(3):
        next(sweep)
    again = states.entries[40] = ProducerEntry(1)  # which came back meanwhile
    assert sum(1 for _ in sweep) == 6
    assert states.entries[40] is again
    assert sorted(states.entries) == [3, 40, *range(90, 95)]


@pytest.mark.parametrize("ended", [True, False])
def test_a_transaction_is_known_after_a_kill_although_the_log_starts_within_its_first_batch(
    tmp_path: Path, ended: bool
) -> None:
    """What was left of it once was shown as if it were committed."""
    directory, config = str(tmp_path / "t-0"), LogConfig()
    log = PartitionLog.open(directory, config, CLOCK, clean=True)
    records = [(CLOCK.now_ms(), b"k", b"value", ()) for _ in range(3)]
    first = build_batch(records, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    log.append(bytearray(first), leader_epoch=0)
    log.append(batch(), leader_epoch=0)
    marker = build_marker(9, 0, committed=False, coordinator_epoch=1, timestamp=CLOCK.now_ms())
    if ended:
        log.append(bytearray(marker), leader_epoch=0, from_client=False)
    log.delete_before(1)
    log.close(clean=False)
    log = PartitionLog.open(directory, config, CLOCK, clean=False, log_start_offset=1)
    if not ended:
        assert log.last_stable_offset == 1
        log.append(bytearray(marker), leader_epoch=0, from_client=False)
    assert log.last_stable_offset == log.log_end_offset == 5
    assert log.aborted_transactions(1, 5) == [(9, 0)]
