"""A log that was closed, and whose end was damaged since: the start finds it, and nothing is appended behind it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_tools.clock import ManualClock
from kafka_tools.errors import CorruptBatch, KafkaToolsError
from kafka_tools.records.batches import batches
from kafka_tools.records.build import encode_message
from kafka_tools.storage.cleaner.rounds import MapSize
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from tests.storage.dirty_logs import COMPACT, clean_once
from tests.storage.test_log import batch, expected, values

CONFIG = LogConfig(index_interval_bytes=200)
COUNT = 20


def opened(directory: Path, *, clean: bool = True, **options: int) -> PartitionLog:
    return PartitionLog.open(str(directory), CONFIG, ManualClock(), clean=clean, **options)


def closed(directory: Path) -> tuple[Path, list[int]]:
    """A log of twenty batches that was closed: its file, and where each batch ends."""
    log = opened(directory)
    for number in range(COUNT):
        log.append(batch(1, number), leader_epoch=0)
    assert log.close()
    file = directory / f"{0:020d}.log"
    return file, [view.position + view.size_bytes for view in batches(file.read_bytes())]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("closed") / "t-0"
    closed(path)
    return path


def whole_batches(file: Path, ends: list[int], data: bytes) -> int:
    """How many of the first batches are as they were."""
    before = file.read_bytes()
    return sum(1 for end in ends if data[:end] == before[:end])


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_happens_to_the_end_what_is_appended_next_is_kept(template: Path, data: st.DataObject) -> None:
    file = template / f"{0:020d}.log"
    good = file.read_bytes()
    ends = [view.position + view.size_bytes for view in batches(good)]
    tail = ends[-2]

    def is_covered(at: int) -> bool:
        """The CRC does not cover the offset and the leader epoch: of an offset only what is far off is noticed."""
        return not (tail + 4 <= at < tail + 8 or tail + 12 <= at < tail + 16)

    how = data.draw(st.sampled_from(["cut", "zeros", "noise", "flip", "batch again", "hole"]))
    if how == "cut":
        bad = good[: data.draw(st.integers(0, len(good) - 1))]
    elif how == "zeros":
        bad = good + bytes(data.draw(st.integers(1, 5000)))
    elif how == "noise":
        bad = good + data.draw(st.binary(min_size=1, max_size=300))
    elif how == "flip":
        at = data.draw(st.integers(tail, len(good) - 1).filter(is_covered))
        bad = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
    elif how == "batch again":
        bad = good + good[: data.draw(st.sampled_from(ends))]
    else:
        bad = good[:tail] + bytes(len(good) - tail)
    kept = whole_batches(file, ends, bad)
    directory = template.parent / "damaged" / "t-0"
    shutil.rmtree(directory.parent, ignore_errors=True)
    shutil.copytree(template, directory)
    (directory / file.name).write_bytes(bad)
    log = opened(directory)
    assert log.log_end_offset == kept and values(log) == expected(kept)
    end = log.log_end_offset
    log.append(batch(3, end), leader_epoch=0)
    log.close(clean=False)
    log = opened(directory, clean=False, recovery_point=0)
    assert values(log) == expected(end + 3)
    log.close()


def test_what_is_sound_is_not_walked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start of many partitions reads of each what follows the last index entry, and the last batch."""
    closed(tmp_path / "t-0")
    read: list[int] = []
    pread = os.pread

    def counted(fd: int, size: int, position: int) -> bytes:
        data = pread(fd, size, position)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counted)
    log = opened(tmp_path / "t-0", log_start_offset=0)
    assert log.log_end_offset == COUNT
    assert len(read) <= 4 and sum(read) < 1000


def test_nothing_is_cut_below_what_has_to_be_kept(tmp_path: Path) -> None:
    file, ends = closed(tmp_path / "t-0")
    data = bytearray(file.read_bytes())
    data[ends[10] - 1] ^= 1
    for clean, bad in ((False, bytes(data)), (True, file.read_bytes()[:-5]), (False, file.read_bytes()[: ends[5] + 7])):
        file.write_bytes(bad)
        with pytest.raises(CorruptBatch, match=f"{file} at .* the segment was valid up to offset {COUNT} before"):
            opened(tmp_path / "t-0", clean=clean, kept_to=COUNT)
        assert file.read_bytes() == bad
    assert opened(tmp_path / "t-0", clean=False, kept_to=6).log_end_offset == 6


@pytest.mark.parametrize("how", ["torn", "zeros", "other"])
@pytest.mark.parametrize("with_indexes", [True, False])
def test_a_damaged_segment_in_the_middle_is_told_and_does_not_move_what_follows(
    tmp_path: Path, how: str, with_indexes: bool
) -> None:
    log = opened(tmp_path / "t-0")
    for number in range(3):
        log.append(batch(5, number * 5), leader_epoch=0)
        log.append(batch(1, number), leader_epoch=0)
        log.roll()
    assert log.close()
    file = tmp_path / "t-0" / f"{6:020d}.log"
    good = file.read_bytes()
    file.write_bytes({"torn": good[:-9], "zeros": bytes(len(good)), "other": b"\x7f" * len(good)}[how])
    if not with_indexes:
        file.with_suffix(".index").unlink()
    log = opened(tmp_path / "t-0")
    assert (log.log_start_offset, log.log_end_offset) == (0, 18)
    assert [view.base_offset for view in batches(log.read(12, 1000))] == [12, 17]
    with pytest.raises(CorruptBatch, match=str(file)):
        list(log.walk())


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_is_in_a_sealed_segment_compaction_refuses_it_and_changes_nothing(
    sealed: Path, data: st.DataObject
) -> None:
    directory = sealed.parent / "damaged" / "t-0"
    shutil.rmtree(directory.parent, ignore_errors=True)
    shutil.copytree(sealed, directory)
    file = directory / f"{6 * data.draw(st.integers(0, 2)):020d}.log"
    good = file.read_bytes()
    how = data.draw(st.sampled_from(["cut", "noise", "flip", "offset", "other", "inserted"]))
    at = data.draw(st.integers(0, len(good) - 1))
    if how == "cut":
        bad = good[:at]
    elif how == "noise":
        bad = data.draw(st.binary(max_size=300))
    elif how == "flip":
        bad = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
    elif how == "offset":  # which no CRC covers
        bad = data.draw(st.integers(-(2**63), 2**63 - 1)).to_bytes(8, "big", signed=True) + good[8:]
    elif how == "other":
        bad = next(sealed.glob("*12.log")).read_bytes()
    else:
        bad = good[:at] + data.draw(st.binary(min_size=1, max_size=50)) + good[at:]
    file.write_bytes(bad)
    log = PartitionLog.open(str(directory), COMPACT, ManualClock(), clean=True)
    assert log.log_end_offset == 18
    files = {path.name: path.read_bytes() for path in directory.glob("*.log")}
    try:
        clean_once(log, None, log.clock.now_ms() + 10**9, MapSize(1 << 20))
    except KafkaToolsError:
        assert {path.name: path.read_bytes() for path in directory.glob("*.log")} == files
    log.close()


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of three sealed segments with six records each, of five keys."""
    path = tmp_path_factory.mktemp("sealed") / "t-0"
    log = PartitionLog.open(str(path), COMPACT, ManualClock(), clean=True)
    for number in range(18):
        log.append(batch(1, number % 5), leader_epoch=0)
        if number % 6 == 5:
            log.roll()
    assert log.close()
    return path


def records_deleted(directory: Path, to: int) -> None:
    log = opened(directory)
    log.append(batch(10), leader_epoch=3)
    log.delete_before(to)
    assert log.close()


def test_deleted_records_do_not_come_back_where_the_checkpoint_is_lost(tmp_path: Path) -> None:
    records_deleted(tmp_path / "t-0", 7)
    log = opened(tmp_path / "t-0")
    assert (log.log_start_offset, values(log)) == (7, expected(10, 7))
    log.close()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").unlink()
    assert opened(tmp_path / "t-0").log_start_offset == 0, "nothing tells any more"


def test_the_epochs_tell_nothing_of_a_log_that_was_begun_in_an_old_format(tmp_path: Path) -> None:
    log = opened(tmp_path / "t-0")
    log.close()
    newer = batch(2)
    next(batches(newer)).place(1, 5)
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(encode_message(1, 0, 0, 7, None, b"old") + newer)
    log = opened(tmp_path / "t-0", clean=False)
    assert log.epochs.entries[-1] == (5, 1)
    log.epochs.entries = [(5, 1)]  # as Kafka has it
    log.epochs.save()
    log.close()
    assert opened(tmp_path / "t-0").log_start_offset == 0
