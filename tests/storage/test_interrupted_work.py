"""What a start finds of unfinished deletions and rewrites, as Kafka's ``LogLoader`` treats it (``LogLoaderTest``)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.storage.check import check_partition
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog


def log_bytes(*offsets: int) -> bytes:
    return b"".join(build_batch([(offset, b"k", b"v%d" % offset, ())], base_offset=offset) for offset in offsets)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Three segments: 0 to 9, 10 to 19, 20 to 24."""
    path = tmp_path / "t-0"
    path.mkdir()
    for first, last in ((0, 10), (10, 20), (20, 25)):
        write(path, first, ".log", log_bytes(*range(first, last)))
        write(path, first, ".index", b"")
        write(path, first, ".timeindex", b"")
    return path


def write(directory: Path, offset: int, suffix: str, data: bytes) -> None:
    (directory / f"{offset:020d}{suffix}").write_bytes(data)


def opened(directory: Path, *, clean: bool = True) -> list[int]:
    """The offsets that are there after a start; nothing unfinished may be left, nor anything wrong."""
    log = PartitionLog.open(str(directory), LogConfig(), ManualClock(), clean=clean)
    found = []
    at = 0
    while at < log.log_end_offset:
        for view in batches(log.read(at, 1 << 20)):
            found += [record.offset for record in view.records()]
            at = view.last_offset + 1
    log.close()
    assert not [name for name in os.listdir(directory) if name.endswith((".swap", ".cleaned", ".deleted", ".tmp"))]
    assert [finding for finding in check_partition(directory, records=True) if finding.is_damage] == []
    return found


@pytest.mark.parametrize("clean", [True, False])
def test_a_finished_rewrite_takes_the_place_of_all_segments_whose_offsets_it_holds(
    directory: Path, clean: bool
) -> None:
    write(directory, 0, ".log.swap", log_bytes(1, 5, 13, 19))
    write(directory, 0, ".index.swap", b"")
    write(directory, 0, ".timeindex.swap", b"")
    write(directory, 0, ".txnindex", bytes(34))  # of the old segment: its rewrite has no aborted transaction
    write(directory, 10, ".snapshot", b"old")
    assert opened(directory, clean=clean) == [1, 5, 13, 19, *range(20, 25)]
    assert not (directory / f"{10:020d}.log").exists()
    assert not (directory / f"{0:020d}.txnindex").exists()
    assert not (directory / f"{10:020d}.snapshot").exists()


def test_a_rewrite_of_which_nothing_stayed_takes_the_place_of_its_first_original(directory: Path) -> None:
    write(directory, 10, ".log.swap", b"")
    write(directory, 10, ".index.swap", b"")
    write(directory, 10, ".timeindex.swap", b"")
    write(directory, 10, ".txnindex", bytes(34))  # would hide records of a later transaction
    assert opened(directory) == [*range(10), *range(20, 25)]
    assert not (directory / f"{10:020d}.txnindex").exists()


def test_an_unfinished_rewrite_is_given_up(directory: Path) -> None:
    write(directory, 0, ".log.cleaned", log_bytes(1, 5))
    write(directory, 0, ".index.cleaned", b"")
    assert opened(directory) == list(range(25))


def test_an_unfinished_split_is_given_up_with_what_it_had_finished(directory: Path) -> None:
    write(directory, 10, ".log.swap", log_bytes(10, 11))
    write(directory, 12, ".log.cleaned", log_bytes(12))
    write(directory, 9, ".log.cleaned", log_bytes(9))
    assert opened(directory) == list(range(25))


def test_what_was_being_deleted_is_gone(directory: Path) -> None:
    write(directory, 20, ".log.deleted", b"anything")
    write(directory, 20, ".snapshot.deleted", b"anything")
    (directory / "leader-epoch-checkpoint.tmp").write_bytes(b"half")
    assert opened(directory) == list(range(25))


def test_indexes_without_a_log_are_removed_before_a_segment_gets_their_name(directory: Path) -> None:
    write(directory, 25, ".index", b"\x00\x00\x00\x05\x00\x00\x00\x10")
    write(directory, 25, ".timeindex", bytes(7) + b"\x09" + b"\x00\x00\x00\x05")
    write(directory, 25, ".txnindex", bytes(34))
    assert opened(directory) == list(range(25))
    assert not list(directory.glob(f"{25:020d}.*index"))


def test_snapshots_of_a_metadata_log_are_left_alone(directory: Path) -> None:
    name = f"{20:020d}-0000000001.checkpoint.deleted"
    (directory / name).write_bytes(b"x")
    log = PartitionLog.open(str(directory), LogConfig(), ManualClock(), clean=True)
    log.close()
    assert (directory / name).exists()
