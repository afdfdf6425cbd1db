"""PartitionLog: what is appended is read back, after any end of the process (``UnifiedLogTest``, ``LogLoaderTest``)."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.clock import ManualClock
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.control import build_marker
from kafka_tools.storage.cleaner.rounds import MapSize
from kafka_tools.storage.indexes import read_offset_index, read_time_index
from kafka_tools.storage.leader_epochs import LeaderEpochs
from kafka_tools.storage.log.partition_log import LogConfig, LogOffline, PartitionLog
from kafka_tools.storage.log.reading import OffsetOutOfRange
from kafka_tools.storage.log.replacement import remove_retired
from kafka_tools.storage.log.segment import LogSegment
from kafka_tools.storage.producer_state import OutOfOrderSequence, ProducerEntry, StaleProducerEpoch
from tests.storage.dirty_logs import COMPACT, Writers, clean_once, driven, opened

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
START_MS = ManualClock().now_ms()


def records(count: int, first: int = 0) -> list[tuple[int, bytes, bytes, tuple[()]]]:
    return [(START_MS + (first + at) * 10, b"k%d" % at, b"value %d" % (first + at), ()) for at in range(count)]


def batch(count: int = 1, first: int = 0, **options: object) -> bytearray:
    return bytearray(build_batch(records(count, first), **options))  # type: ignore[arg-type]


def idempotent(sequence: int, count: int = 1, *, producer: int = 7, epoch: int = 0) -> bytearray:
    return batch(count, sequence, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)


@pytest.fixture
def reopen(tmp_path: Path) -> Callable[..., PartitionLog]:
    """``reopen(config=..., clean=...)`` opens the log of this test, again and again."""

    def open_log(config: LogConfig | None = None, *, clean: bool = True, **options: int) -> PartitionLog:
        return PartitionLog.open(
            str(tmp_path / "t-0"), config or LogConfig(segment_bytes=4000), ManualClock(), clean=clean, **options
        )

    return open_log


def values(log: PartitionLog, offset: int | None = None, max_bytes: int = 300) -> list[bytes]:
    """Every value from ``offset`` on, read as a consumer does."""
    at = log.log_start_offset if offset is None else offset
    found = []
    while at < log.log_end_offset:
        data = log.read(at, max_bytes)
        assert data, at
        for view in batches(data):
            assert view.crc_ok()
            found += [record.value for record in view.records() if record.offset >= at]
            last = view.last_offset
        at = last + 1
    return [value for value in found if value is not None]


def expected(count: int, first: int = 0) -> list[bytes]:
    return [b"value %d" % at for at in range(first, count)]


@pytest.mark.req("DESIGN-1", "DESIGN-5")
def test_batches_are_stored_as_sent_with_offsets_and_epoch(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen()
    for number, codec in enumerate(CODECS):
        sent = batch(3, number * 3, codec=codec)
        appended = log.append(bytearray(sent), leader_epoch=4)
        assert (appended.base_offset, appended.last_offset) == (number * 3, number * 3 + 2)
        stored = log.read(number * 3, 1 << 20)
        assert stored[16 : len(sent)] == sent[16:]  # all but base offset and leader epoch
        view = next(batches(stored))
        assert (view.base_offset, view.partition_leader_epoch) == (number * 3, 4)
    assert values(log) == expected(15)


def test_segments_roll_by_size_and_by_time(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen(LogConfig(segment_bytes=1000, segment_ms=10_000))
    for at in range(30):
        log.append(batch(1, at, codec="none"), leader_epoch=0)
    assert len(log.segments) > 2
    assert all(segment.size <= 1000 for segment in log.segments)
    rolled = len(log.segments)
    log.append(bytearray(build_batch([(START_MS + 60_000, None, b"late", ())])), leader_epoch=0)
    assert len(log.segments) == rolled + 1
    assert [s.base_offset for s in log.segments] == sorted({s.base_offset for s in log.segments})


def test_jitter_rolls_segments_early(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen(LogConfig(segment_ms=10_000, segment_jitter_ms=20_000))
    log.append(batch(1), leader_epoch=0)
    log.active.roll_early = 0.5
    log.append(bytearray(build_batch([(START_MS + 5_000, None, b"in time", ())])), leader_epoch=0)
    assert len(log.segments) == 1
    log.append(bytearray(build_batch([(START_MS + 5_001, None, b"late", ())])), leader_epoch=0)
    assert len(log.segments) == 2


@pytest.mark.parametrize("clean", [True, False])
def test_a_preallocated_segment_is_as_long_as_its_records_once_it_is_closed(
    reopen: Callable[..., PartitionLog], clean: bool
) -> None:
    config = LogConfig(segment_bytes=4_000, preallocate=True)
    log = reopen(config)
    for at in range(10):
        log.append(batch(1, at, codec="none"), leader_epoch=0)
        assert os.stat(log.active.path).st_size == 4_000
    log.roll()
    log.append(batch(1, 10, codec="none"), leader_epoch=0)
    first, second = log.segments
    assert os.stat(first.path).st_size == first.size < 4_000
    size = second.size
    log.close(clean=clean)
    assert os.stat(second.path).st_size == (size if clean else 4_000)
    again = reopen(config, clean=clean)
    assert values(again) == expected(11)
    assert os.stat(second.path).st_size == size


def test_every_offset_can_be_read_wherever_it_lies(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen(LogConfig(segment_bytes=5000, index_interval_bytes=500))
    for at in range(0, 400, 4):
        log.append(batch(4, at), leader_epoch=0)
    for offset in random.Random(1).sample(range(400), 200):
        view = next(batches(log.read(offset, 1)))
        assert view.base_offset <= offset <= view.last_offset
    assert values(log, 123) == expected(400, 123)


@pytest.mark.req("FS-4")
def test_the_first_batch_comes_whole_and_later_ones_only_if_they_fit(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen()
    size = len(batch(5))
    log.append(batch(5), leader_epoch=0)
    log.append(batch(5, 5), leader_epoch=0)
    assert len(log.read(0, 10)) == size
    assert log.read(0, 10, whole_first=False) == b""
    assert len(log.read(0, size + 5)) == size
    assert len(log.read(0, 100_000)) >= 2 * size
    assert len(log.read(0, 100_000, limit_offset=5)) == size


def test_what_does_not_fit_is_not_skipped_for_what_does_in_the_next_segment(
    reopen: Callable[..., PartitionLog],
) -> None:
    log = reopen(LogConfig(segment_bytes=2100))
    for first in (0, 100):  # each fills a segment
        log.append(batch(100, first), leader_epoch=0)
    log.append(batch(1, 200), leader_epoch=0)
    assert len(log.segments) == 3
    size = len(batch(1)) + 10
    for limit in (None, 201, 150):
        assert log.read(100, size, whole_first=False, limit_offset=limit) == b""
        assert log.range(100, size, limit_offset=limit) is None
    assert len(log.read(200, size, whole_first=False)) == len(batch(1, 200))


def test_offsets_outside_the_log_are_refused(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen()
    log.append(batch(5), leader_epoch=0)
    assert log.read(5, 100) == b""
    for offset in (-1, 6):
        with pytest.raises(OffsetOutOfRange):
            log.read(offset, 100)


@pytest.mark.req("DESIGN-11")
def test_a_repeated_batch_gets_its_first_offset_and_is_not_written(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen()
    for sequence in range(7):
        log.append(idempotent(sequence), leader_epoch=0)
    end = log.log_end_offset
    for sequence in range(2, 7):
        again = log.append(idempotent(sequence), leader_epoch=0)
        assert again.duplicate and again.base_offset == sequence
    with pytest.raises(OutOfOrderSequence):  # the sixth last is forgotten
        log.append(idempotent(1), leader_epoch=0)
    with pytest.raises(OutOfOrderSequence):
        log.append(idempotent(9), leader_epoch=0)
    assert log.log_end_offset == end


@pytest.mark.req("DESIGN-11")
def test_a_new_producer_epoch_begins_at_zero_and_fences_the_old(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen()
    log.append(idempotent(0), leader_epoch=0)
    with pytest.raises(OutOfOrderSequence):
        log.append(idempotent(1, epoch=1), leader_epoch=0)
    log.append(idempotent(0, epoch=1), leader_epoch=0)
    with pytest.raises(StaleProducerEpoch):
        log.append(idempotent(1, epoch=0), leader_epoch=0)


def test_sequences_wrap_after_two_to_the_31_minus_one(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen()
    log.append(idempotent(2**31 - 2, 2), leader_epoch=0)
    log.append(idempotent(0, 1), leader_epoch=0)
    assert log.append(idempotent(2**31 - 2, 2), leader_epoch=0).duplicate


@pytest.mark.parametrize("clean", [True, False])
def test_producers_are_known_after_a_restart(reopen: Callable[..., PartitionLog], clean: bool) -> None:
    """redpanda#3039: an unknown duplicate after a restart makes clients write it twice."""
    log = reopen()
    for sequence in range(60):
        log.append(idempotent(sequence), leader_epoch=0)
    log.close(clean=clean)
    log = reopen(clean=clean)
    for sequence in range(55, 60):
        again = log.append(idempotent(sequence), leader_epoch=0)
        assert again.duplicate and again.base_offset == sequence
    with pytest.raises(OutOfOrderSequence):
        log.append(idempotent(61), leader_epoch=0)
    assert log.append(idempotent(60), leader_epoch=0).base_offset == 60


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_changes_nothing(reopen: Callable[..., PartitionLog], clean: bool) -> None:
    log = reopen()
    for at in range(0, 200, 2):
        log.append(batch(2, at, codec=CODECS[at % 5]), leader_epoch=at // 100)
    segments = [(s.base_offset, s.size) for s in log.segments]
    epochs = log.epochs.entries
    log.close(clean=clean)
    log = reopen(clean=clean)
    assert [(s.base_offset, s.size) for s in log.segments] == segments
    assert log.epochs.entries == epochs == [(0, 0), (1, 100)]
    assert values(log) == expected(200)
    assert log.append(batch(1, 200), leader_epoch=2).base_offset == 200


def test_a_log_cut_anywhere_in_its_last_batch_loses_only_that(tmp_path: Path) -> None:
    """A torn tail was never acknowledged; everything before it stays."""
    config = LogConfig(segment_bytes=100_000)
    log = PartitionLog.open(str(tmp_path / "whole"), config, ManualClock(), clean=True)
    for sequence in range(4):
        log.append(idempotent(sequence, 1), leader_epoch=0)
    before = log.active.size
    log.append(idempotent(4, 1), leader_epoch=0)
    after = log.active.size
    log.close(clean=False)
    for size in range(before, after):
        copy = tmp_path / "cut"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", copy)
        os.truncate(copy / "00000000000000000000.log", size)
        recovered = PartitionLog.open(str(copy), config, ManualClock(), clean=False)
        assert recovered.log_end_offset == 4, size
        assert recovered.active.size == before
        assert recovered.append(idempotent(4, 1), leader_epoch=1).base_offset == 4
        recovered.close(clean=False)


@given(data=st.data())
def test_a_damaged_byte_cuts_the_log_there_and_never_hangs(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    log = PartitionLog.open(str(folder / "t-0"), LogConfig(), ManualClock(), clean=True)
    ends = []
    for at in range(6):
        log.append(batch(2, at * 2), leader_epoch=0)
        ends.append(log.active.size)
    log.close(clean=False)
    path = folder / "t-0" / "00000000000000000000.log"
    raw = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    recovered = PartitionLog.open(str(folder / "t-0"), LogConfig(), ManualClock(), clean=False)
    hit = next(number for number, end in enumerate(ends) if position < end)
    # The leader epoch of a batch is outside its CRC, as are offsets that still ascend.
    assert recovered.log_end_offset >= hit * 2
    assert values(recovered)[: hit * 2] == expected(hit * 2)
    recovered.close()
    shutil.rmtree(folder)


def test_damage_in_an_early_segment_drops_what_follows(reopen: Callable[..., PartitionLog], tmp_path: Path) -> None:
    log = reopen(LogConfig(segment_bytes=1000))
    for at in range(30):
        log.append(batch(1, at), leader_epoch=0)
    log.close(clean=False)
    second = tmp_path / "t-0" / f"{log.segments[1].base_offset:020d}.log"
    raw = bytearray(second.read_bytes())
    raw[-1] ^= 1
    second.write_bytes(raw)
    end = log.segments[2].base_offset - 1
    log = reopen(LogConfig(segment_bytes=1000), clean=False)
    assert log.log_end_offset == end
    assert len(log.segments) == 2
    assert values(log) == expected(end)


def test_segments_below_the_recovery_point_are_not_checked(reopen: Callable[..., PartitionLog], tmp_path: Path) -> None:
    log = reopen(LogConfig(segment_bytes=1000))
    for at in range(30):
        log.append(batch(1, at), leader_epoch=0)
    log.close(clean=False)
    first = tmp_path / "t-0" / "00000000000000000000.log"
    raw = bytearray(first.read_bytes())
    raw[-1] ^= 1
    first.write_bytes(raw)
    log = reopen(LogConfig(segment_bytes=1000), clean=False, recovery_point=log.segments[1].base_offset)
    assert log.log_end_offset == 30


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("damage", ["missing", "odd", "garbage"])
def test_a_damaged_index_is_rebuilt(
    reopen: Callable[..., PartitionLog], tmp_path: Path, suffix: str, damage: str
) -> None:
    config = LogConfig(segment_bytes=100_000, index_interval_bytes=200)
    log = reopen(config)
    for at in range(50):
        log.append(batch(1, at), leader_epoch=0)
    log.close()
    path = tmp_path / "t-0" / f"00000000000000000000.{suffix}"
    whole = path.read_bytes()
    assert whole
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(whole[:-1] if damage == "odd" else b"\xff" * len(whole))
    log = reopen(config)
    assert path.read_bytes()[: len(whole)] == whole
    assert values(log) == expected(50)


@pytest.mark.parametrize("damage", ["missing", "missing with its snapshots", "odd", "garbage"])
def test_the_aborted_transactions_are_listed_anew_with_the_other_indexes(tmp_path: Path, damage: str) -> None:
    """An operator deletes all indexes of a segment, as for Kafka, or copies logs without them."""
    directory = tmp_path / "t-0"
    writers, log = Writers(5), opened(directory)
    writers.write(log, 200)
    writers.end_all(log)
    log.close()
    paths = sorted(directory.glob("*.txnindex"))
    assert len(paths) > 2
    before = [path.read_bytes() for path in paths]
    for path in paths:
        if damage == "odd":
            path.write_bytes(path.read_bytes()[:-1])
        elif damage == "garbage":
            path.write_bytes(b"\xff" * 34)
        else:
            path.unlink()
            path.with_suffix(".index").unlink()
    if damage == "missing with its snapshots":
        for path in directory.glob("*.snapshot"):
            path.unlink()
    opened(directory).close()
    assert [path.read_bytes() for path in paths] == before


def test_a_start_that_is_killed_while_it_rebuilds_indexes_is_made_up_for_by_the_next(
    reopen: Callable[..., PartitionLog], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = LogConfig(segment_bytes=100_000, index_interval_bytes=200)
    log = reopen(config)
    for at in range(1100):
        log.append(batch(1, at), leader_epoch=0)
    assert len(log.segments) == 1
    log.roll()
    log.close()
    paths = [tmp_path / "t-0" / f"00000000000000000000.{suffix}" for suffix in ("index", "timeindex")]
    before = [path.read_bytes() for path in paths]
    assert len(before[0]) > 256 * 8
    paths[0].unlink()
    note, seen = LogSegment.note, 0

    def note_some(*args: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == 1000:
            raise KeyboardInterrupt
        note(*args)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LogSegment, "note", note_some)
        reopen(config)
    reopen(config, clean=False, recovery_point=1100)
    assert [path.read_bytes() for path in paths] == before


def test_indexes_are_as_kafka_writes_them(reopen: Callable[..., PartitionLog], tmp_path: Path) -> None:
    """``LogSegment.append``: an entry for the batch that follows each interval, naming its last offset."""
    log = reopen(LogConfig(segment_bytes=100_000, index_interval_bytes=250))
    size = len(batch(2))
    for at in range(0, 20, 2):
        log.append(batch(2, at), leader_epoch=0)
    log.close()
    step = 250 // size + 1
    entries = [(entry.offset, entry.position) for entry in read_offset_index(log.active.index_path, 0)]
    # Batches past ten have wider values, so only the first entries have round positions.
    assert entries[0] == (step * 2 + 1, step * size)
    assert [offset for offset, _ in entries] == sorted(offset for offset, _ in entries)
    times = [(entry.timestamp, entry.offset) for entry in read_time_index(log.active.time_index_path, 0)]
    assert times[-1] == (START_MS + 190, 19)
    assert times == sorted(times)


def test_search_by_time_finds_the_first_record_at_or_after(reopen: Callable[..., PartitionLog]) -> None:
    log = reopen(LogConfig(segment_bytes=1500, index_interval_bytes=200))
    for at in range(0, 100, 5):
        log.append(batch(5, at), leader_epoch=3)
    for at in (0, 1, 37, 99):
        found = driven(log.offset_for_timestamp(START_MS + at * 10))
        assert found is not None and (found.offset, found.timestamp) == (at, START_MS + at * 10)
        assert found.leader_epoch == 3
    found = driven(log.offset_for_timestamp(START_MS + 371))
    assert found is not None and found.offset == 38
    assert driven(log.offset_for_timestamp(START_MS + 991)) is None
    newest = driven(log.max_timestamp_record())
    assert newest is not None and newest.offset == 99


@pytest.mark.parametrize("seed", range(6))
def test_the_newest_record_is_one_that_was_neither_deleted_nor_compacted(tmp_path: Path, seed: int) -> None:
    rng, now_ms = random.Random(seed), START_MS + 1_000_000
    log = opened(tmp_path / "t-0", config=COMPACT._replace(segment_bytes=1000))
    for _ in range(120):
        rows = [(START_MS + rng.randrange(100_000), b"k%d" % rng.randrange(30), b"v", ()) for _ in range(3)]
        log.append(bytearray(build_batch(rows, codec=rng.choice(CODECS))), leader_epoch=0)
        if rng.random() < 0.2:
            log.delete_before(rng.randrange(log.log_start_offset, log.log_end_offset + 1))
        if rng.random() < 0.1:
            clean_once(log, None, now_ms, MapSize())
        left = [
            (record.timestamp, -record.offset)
            for view in log.walk()
            for record in view.records()
            if record.offset >= log.log_start_offset
        ]
        found = driven(log.max_timestamp_record())
        assert (found and (found.timestamp, -found.offset)) == max(left, default=None)


def test_a_search_by_time_has_pauses_and_begins_anew_where_a_segment_goes_meanwhile(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0", config=LogConfig(segment_bytes=200_000))
    log.append(batch(1, 1_000_000), leader_epoch=0)
    for at in range(2000):
        log.append(batch(1, at), leader_epoch=0)
    log.roll()
    log.append(batch(1), leader_epoch=0)
    log.delete_before(1)
    searches = log.max_timestamp_record(), log.offset_for_timestamp(START_MS + 100_000)
    for search in searches:
        next(search)
    log.delete_before(2001)
    newest, later = map(driven, searches)
    assert newest is not None
    assert newest.offset == 2001
    assert later is None


def test_search_by_time_reads_nothing_below_the_log_start(
    reopen: Callable[..., PartitionLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = reopen(LogConfig(segment_bytes=1 << 20, index_interval_bytes=500))
    for at in range(500):
        log.append(batch(1, at), leader_epoch=0)
    log.delete_before(498)
    read: list[int] = []
    pread = os.pread

    def counting(fd: int, size: int, position: int) -> bytes:
        data = pread(fd, size, position)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counting)
    for timestamp, offset in ((0, 498), (START_MS, 498), (START_MS + 4_990, 499)):
        found = driven(log.offset_for_timestamp(timestamp))
        assert found is not None and found.offset == offset
    assert driven(log.offset_for_timestamp(START_MS + 4_991)) is None
    assert sum(read) < log.active.size // 10


def test_delete_before_moves_the_start_and_drops_whole_segments(
    reopen: Callable[..., PartitionLog], tmp_path: Path
) -> None:
    log = reopen(LogConfig(segment_bytes=1000))
    for at in range(30):
        log.append(batch(1, at), leader_epoch=0)
    third = log.segments[2].base_offset
    log.delete_before(third + 1)
    assert log.log_start_offset == third + 1
    assert log.segments[0].base_offset == third
    assert values(log) == expected(30, third + 1)
    with pytest.raises(OffsetOutOfRange):
        log.read(third, 100)
    with pytest.raises(OffsetOutOfRange):
        log.delete_before(31)
    remove_retired(log.take_retired())
    assert not [name for name in os.listdir(tmp_path / "t-0") if name.endswith(".deleted")]
    log.close(clean=False)
    assert reopen(LogConfig(segment_bytes=1000), clean=False, log_start_offset=third + 1).log_start_offset == third + 1


@pytest.mark.req("DESIGN-28")
def test_retention_by_size_and_by_time(tmp_path: Path) -> None:
    clock = ManualClock()
    config = LogConfig(segment_bytes=1000, retention_bytes=2500, retention_ms=-1)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, clock, clean=True)
    for at in range(60):
        log.append(batch(1, at), leader_epoch=0)
    assert log.enforce_retention() > 0
    assert 2500 <= log.size_bytes < 2500 + 1000
    log.config = config._replace(retention_bytes=-1, retention_ms=1000)
    assert log.enforce_retention() == 0
    clock.advance(60)
    log.enforce_retention()
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (60, 60, 0)
    log.append(batch(1, 60), leader_epoch=0)
    assert values(log) == expected(61, 60)


def test_retention_by_size_comes_first_and_may_leave_nothing(tmp_path: Path) -> None:
    clock = ManualClock()
    log = PartitionLog.open(str(tmp_path / "t-0"), LogConfig(retention_ms=-1), clock, clean=True)
    for at, age_ms in enumerate((0, 50_000, 0, 0)):  # the second segment is old, and nothing before it may stay
        clock_ms = START_MS - age_ms
        log.append(bytearray(build_batch([(clock_ms, b"k", b"v" * 100, ())])), leader_epoch=0)
        if at < 3:
            log.roll()
    one = log.segments[0].size
    log.config = LogConfig(retention_ms=10_000, retention_bytes=one * 3)
    assert log.enforce_retention() == 2
    assert log.log_start_offset == 2
    log.config = LogConfig(retention_ms=-1, retention_bytes=one * 2)
    assert log.enforce_retention() == 0
    log.config = LogConfig(retention_ms=-1, retention_bytes=0)
    assert log.enforce_retention() == 2
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (4, 4, 0)
    assert log.enforce_retention() == 0


def test_retention_by_time_leaves_what_lies_in_the_future_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    log = PartitionLog.open(str(tmp_path / "t-0"), LogConfig(retention_ms=1000), clock, clean=True)
    log.append(bytearray(build_batch([(START_MS + 3_600_000, b"k", b"v", ())])), leader_epoch=0)
    clock.advance(60)
    for _ in range(3):
        assert log.enforce_retention() == 0
    assert [
        record.getMessage().endswith("until then retention by time does not remove it") for record in caplog.records
    ] == [True]
    clock.advance(3600)
    assert log.enforce_retention() == 1


def test_a_segment_without_timestamps_is_as_old_as_its_file(tmp_path: Path) -> None:
    clock = ManualClock()
    config = LogConfig(retention_ms=10_000, segment_ms=5_000)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, clock, clean=True)
    log.append(bytearray(build_batch([(-1, b"k", b"v", ())])), leader_epoch=0)
    log.close()
    os.utime(tmp_path / "t-0" / f"{0:020d}.log", (START_MS / 1000,) * 2)
    clock.advance(9)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, clock, clean=True)
    assert log.enforce_retention() == 0
    clock.advance(2)
    assert log.enforce_retention() == 1


def test_the_age_of_a_segment_counts_from_its_first_batch_after_a_restart_too(tmp_path: Path) -> None:
    clock = ManualClock()
    config = LogConfig(segment_ms=100_000)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, clock, clean=True)
    log.append(bytearray(build_batch([(START_MS, b"k", b"v", ())])), leader_epoch=0)
    log.close()
    clock.advance(99)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, clock, clean=True)
    log.append(bytearray(build_batch([(START_MS + 100_000, b"k", b"v", ())])), leader_epoch=0)
    assert len(log.segments) == 1
    log.append(bytearray(build_batch([(START_MS + 100_001, b"k", b"v", ())])), leader_epoch=0)
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    compact = LogConfig(segment_ms=100_000_000, compact=True, max_compaction_lag_ms=50_000)
    log.config = compact
    log.append(bytearray(build_batch([(START_MS + 150_002, b"k", b"v", ())])), leader_epoch=0)
    assert [segment.base_offset for segment in log.segments] == [0, 2, 3]


def test_without_delete_in_the_policy_retention_keeps_everything(tmp_path: Path) -> None:
    clock = ManualClock()
    log = PartitionLog.open(
        str(tmp_path / "t-0"), LogConfig(retention_ms=1, retention_bytes=1, delete=False), clock, clean=True
    )
    log.append(batch(1), leader_epoch=0)
    clock.advance(100)
    assert log.enforce_retention() == 0
    assert log.log_start_offset == 0


def test_a_log_that_was_closed_changes_nothing_where_another_one_is_by_then(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    old = PartitionLog.open(str(directory), LogConfig(retention_bytes=0), ManualClock(), clean=True)
    old.append(batch(3), leader_epoch=0)
    old.close(clean=False)
    directory.rename(tmp_path / "retired")
    new = PartitionLog.open(str(directory), LogConfig(), ManualClock(), clean=True)
    new.append(batch(2), leader_epoch=0)
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    changes = (lambda: old.append(batch(1), leader_epoch=0), old.roll, lambda: old.delete_before(3))
    for change in (*changes, old.enforce_retention):
        with pytest.raises(LogOffline, match="t-0 is closed"):
            change()
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before
    new.close()


@pytest.mark.parametrize(("log_start_offset", "end"), [(0, 9), (15, 15)])
def test_a_recovery_point_is_not_beyond_the_end_of_a_log_that_was_cut(
    reopen: Callable[..., PartitionLog], log_start_offset: int, end: int
) -> None:
    """A regular stop would complete nothing of what was appended below it."""
    log = reopen()
    for at in range(20):
        log.append(batch(1, at), leader_epoch=0)
    damaged = log.active.position_of(10) - 1
    assert log.close() and log.recovery_point == 20
    path = Path(log.active.path)
    data = bytearray(path.read_bytes())
    data[damaged] ^= 1
    path.write_bytes(data)
    log = reopen(clean=False, recovery_point=20, log_start_offset=log_start_offset)
    assert log.recovery_point == log.log_end_offset == end
    newest_ms = START_MS + 1_000_000
    log.append(bytearray(build_batch([(newest_ms, None, b"newest", ())])), leader_epoch=0)
    assert log.close() and log.recovery_point == end + 1
    log = reopen(recovery_point=end + 1, log_start_offset=log_start_offset)
    found = driven(log.offset_for_timestamp(newest_ms))
    assert found is not None and found.offset == end


def test_a_failed_write_leaves_no_part_of_the_batch(
    reopen: Callable[..., PartitionLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = reopen()
    log.append(batch(1), leader_epoch=0)
    size = log.active.size
    real = os.pwrite
    calls = 0

    def short_then_full(fd: int, data: bytes, offset: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            return real(fd, bytes(data)[:10], offset)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", short_then_full)
    with pytest.raises(OSError):
        log.append(batch(1, 1), leader_epoch=0)
    monkeypatch.undo()
    assert os.path.getsize(log.active.path) == size
    assert log.offline and log.waits_for_room
    log.close(clean=False)
    assert reopen(clean=False).log_end_offset == 1


def test_what_is_to_be_synced_is_synced_before_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    config = LogConfig(flush_messages=2, flush_ms=1000)
    log = PartitionLog.open(str(tmp_path / "t-0"), config, clock, clean=True)
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(log.log_end_offset))
    for at in range(5):
        log.append(batch(1, at), leader_epoch=0)
    assert synced == [2, 4]
    log.sync_if_due()
    assert synced == [2, 4]
    clock.advance(1)
    log.sync_if_due()
    assert synced == [2, 4, 5]

    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", broken)
    log.append(batch(1, 5), leader_epoch=0)
    with pytest.raises(OSError):
        log.append(batch(1, 6), leader_epoch=0)
    with pytest.raises(LogOffline):  # a failed sync is final: the kernel may have dropped the pages
        log.append(batch(1, 6), leader_epoch=0)


def test_an_aborted_transaction_is_listed_and_holds_back_the_stable_offset(
    reopen: Callable[..., PartitionLog],
) -> None:
    log = reopen()
    log.append(batch(1), leader_epoch=0)
    transactional = batch(2, 1, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    log.append(transactional, leader_epoch=0)
    log.append(batch(1, 3), leader_epoch=0)
    assert (log.last_stable_offset, log.log_end_offset) == (1, 4)
    abort = build_batch(
        [(START_MS, b"\0\0\0\0", b"\0\0\0\0\0\5", ())],
        producer_id=9,
        producer_epoch=0,
        control=True,
        transactional=True,
    )
    log.append(bytearray(abort), leader_epoch=0, from_client=False)
    assert log.last_stable_offset == log.log_end_offset == 5
    assert log.aborted_transactions(0, 5) == [(9, 1)]
    assert log.aborted_transactions(0, 1) == []
    for clean in (False, True):
        log.close(clean=clean)
        log = reopen(clean=clean)
        assert log.aborted_transactions(0, 5) == [(9, 1)]
        assert log.last_stable_offset == 5


class Unvisited(dict[int, ProducerEntry]):
    """Producers that nobody goes through one by one."""

    def values(self) -> Any:
        raise AssertionError("every producer is looked at")

    items = __iter__ = values


@pytest.mark.parametrize("restarted", [None, True, False])
def test_the_stable_offset_is_told_without_looking_at_every_producer(
    reopen: Callable[..., PartitionLog], restarted: bool | None
) -> None:
    log = reopen()
    for producer_id in range(3):
        log.append(batch(1, producer_id, producer_id=producer_id, producer_epoch=0, base_sequence=0), leader_epoch=0)
    for producer_id in (7, 8):
        begun = batch(1, producer_id, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        log.append(begun, leader_epoch=0)
    if restarted is not None:
        log.close(clean=restarted)
        log = reopen(clean=restarted)
    log.producers.entries = Unvisited(log.producers.entries)
    assert log.last_stable_offset == 3
    for producer_id, stable in ((7, 4), (8, 7)):
        marker = build_marker(producer_id, 0, committed=True, coordinator_epoch=1, timestamp=START_MS)
        log.append(bytearray(marker), leader_epoch=0, from_client=False)
        assert log.last_stable_offset == stable


def test_leader_epochs_answer_where_an_epoch_ended(tmp_path: Path) -> None:
    """``LeaderEpochFileCache.endOffsetFor`` (KIP-279)."""
    epochs = LeaderEpochs(str(tmp_path))
    for epoch, start in ((2, 0), (4, 10), (7, 20)):
        epochs.assign(epoch, start)
    answers = {epoch: epochs.end_offset(epoch, 30) for epoch in (-2, -1, 1, 2, 3, 4, 5, 7, 8)}
    assert answers == {
        -2: (-2, 0), -1: (-1, -1), 1: (1, 0), 2: (2, 10), 3: (2, 10), 4: (4, 20), 5: (4, 20), 7: (7, 30), 8: (-1, -1),
    }  # fmt: skip
    again = LeaderEpochs(str(tmp_path))
    again.load()
    assert again.entries == epochs.entries
    again.truncate_start(15)
    assert again.entries == [(4, 15), (7, 20)]
    again.truncate_end(20)
    assert again.entries == [(4, 15)]


def test_epochs_from_before_the_recovery_point_survive_a_crash(reopen: Callable[..., PartitionLog]) -> None:
    """The checkpoint is read before the segments are recovered; one that is rubbish is built from all of them."""
    log = reopen()
    for epoch in (1, 3, 7):
        log.append(batch(2, epoch), leader_epoch=epoch)
        log.roll()
    before = list(log.epochs.entries)
    log.close(clean=False)
    again = reopen(clean=False, recovery_point=4)
    assert again.epochs.entries == before == [(1, 0), (3, 2), (7, 4)]
    again.close(clean=False)
    path = os.path.join(again.directory, "leader-epoch-checkpoint")
    with open(path, "w") as file:
        file.write("rubbish")
    assert reopen(clean=False).epochs.entries == before


@pytest.mark.req("DESIGN-2")
def test_an_append_is_in_the_file_at_once_and_no_disk_is_waited_for(
    reopen: Callable[..., PartitionLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = reopen()
    forced: list[int] = []
    appender = threading.get_ident()

    def force(fd: int) -> None:
        if threading.get_ident() == appender:  # a broker that another test has left behind may still stop
            forced.append(fd)

    monkeypatch.setattr(os, "fsync", force)
    monkeypatch.setattr(os, "fdatasync", force)
    size = 0
    for at in range(20):
        size += len(batch(1, at))
        log.append(batch(1, at), leader_epoch=0)
        assert os.path.getsize(log.active.path) == size
    assert forced == []


@pytest.mark.req("DESIGN-4")
def test_reading_and_appending_cost_the_same_in_a_small_log_and_a_large_one(
    reopen: Callable[..., PartitionLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in bytes that are read from the file, wherever in the log an offset lies."""
    log = reopen(LogConfig(segment_bytes=1 << 30, index_interval_bytes=1000))
    read_bytes = 0
    pread = os.pread

    def counted(fd: int, size: int, position: int) -> bytes:
        nonlocal read_bytes
        data = pread(fd, size, position)
        read_bytes += len(data)
        return data

    monkeypatch.setattr(os, "pread", counted)
    for at in range(0, 8000, 4):
        log.append(batch(4, at), leader_epoch=0)
    assert read_bytes == 0, "an append reads nothing"
    assert log.size_bytes > 250_000
    for offset in (3, 4000, 7999):
        read_bytes = 0
        log.read(offset, 500)
        assert read_bytes <= 64 * 1024 + 500


@pytest.mark.req("DESIGN-4")
def test_a_read_that_is_not_taken_yet_holds_up_no_append(reopen: Callable[..., PartitionLog]) -> None:
    """A fetch is a range of the file, which its client takes as slowly as it likes; appends go on behind it."""
    log = reopen(LogConfig(segment_bytes=2000))
    first = batch(4, 0)
    log.append(first, leader_epoch=0)
    untaken = log.range(0, 10_000)
    assert untaken is not None
    for at in range(4, 400, 4):
        log.append(batch(4, at), leader_epoch=0)
    assert log.log_end_offset == 400
    assert untaken.read(len(untaken)) == log.read(0, len(untaken))
