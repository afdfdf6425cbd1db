"""A round of compaction that is killed at each change of a file: the start after it has every key, and nothing half.

The round is run once to count its changes, then once for each of them, ending there as a killed process ends; a second
kill strikes while the start completes or gives up what was begun.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from kafka_tools.storage.cleaner.rounds import MapSize
from kafka_tools.storage.log.partition_log import PartitionLog
from tests.broker_embedded.partitions.test_crash_points import Crash, crash_at
from tests.storage.dirty_logs import COMPACT, Writers, clean_once, opened
from tests.storage.test_compaction import latest, sound

CONFIG = COMPACT._replace(segment_bytes=2500)
SIZE = MapSize(1 << 20)


def values(log: PartitionLog) -> dict[bytes, tuple[int, bytes]]:
    return {key: (offset, value) for key, (offset, value, _) in latest(log).items() if value is not None}


def reopened(directory: Path, now_ms: int) -> PartitionLog:
    return opened(directory, now_ms, CONFIG, clean=False)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A log whose first part was cleaned before, and the time."""
    directory = tmp_path_factory.mktemp("written") / "t-0"
    writers, log = Writers(1), opened(directory, config=CONFIG)
    for turn in range(2):
        writers.write(log, 30)
        writers.end_all(log)
        log.roll()
        writers.now_ms += 10_000
        if not turn:
            clean_once(log, None, writers.now_ms, SIZE)
    log.close()
    for path in directory.glob("*.deleted"):
        path.unlink()
    return directory, writers.now_ms


def clean_killed(directory: Path, now_ms: int, number: int | None, monkeypatch: pytest.MonkeyPatch) -> int:
    """One round from the start of the log, up to its file change ``number``; how many changes there were."""
    log = opened(directory, now_ms, CONFIG)
    with crash_at(number, monkeypatch) as count:
        try:
            clean_once(log, None, now_ms, SIZE)
        except Crash:
            assert number is not None
        changes = count()
    for segment in log.segments:
        segment.close()
    return changes


def check(directory: Path, now_ms: int, before: dict[bytes, tuple[int, bytes]], ends: list[int]) -> None:
    log = reopened(directory, now_ms)
    assert values(log) == before
    assert [log.log_start_offset, log.log_end_offset] == ends
    assert not [name for name in os.listdir(directory) if name.endswith((".cleaned", ".swap", ".deleted", ".tmp"))]
    sound(directory)
    clean_once(log, None, now_ms, SIZE)
    assert values(log) == before
    log.close()
    sound(directory)


def test_a_kill_at_any_change_of_a_file_leaves_the_old_segments_or_the_new_one(
    tmp_path: Path, written: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, now_ms = written
    log = reopened(Path(shutil.copytree(directory, tmp_path / "before" / "t-0")), now_ms)
    before, ends = values(log), [log.log_start_offset, log.log_end_offset]
    log.close()
    whole = Path(shutil.copytree(directory, tmp_path / "whole" / "t-0"))
    changes = clean_killed(whole, now_ms, None, monkeypatch)
    assert changes > 40
    assert len(list(whole.glob("*.log"))) < len(list(directory.glob("*.log")))
    check(whole, now_ms, before, ends)
    for number in range(1, changes + 1):
        path = Path(shutil.copytree(directory, tmp_path / str(number) / "t-0"))
        clean_killed(path, now_ms, number, monkeypatch)
        if number % 5 == 0:
            for again in (1, 2, 4, 7):
                twice = Path(shutil.copytree(path, tmp_path / f"{number}-{again}" / "t-0"))
                with crash_at(again, monkeypatch), contextlib.suppress(Crash):
                    reopened(twice, now_ms).close(clean=False)
                check(twice, now_ms, before, ends)
        check(path, now_ms, before, ends)
        shutil.rmtree(path)
