"""Sealed segments on their way to the disk: what a failed attempt means for the log."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kafka_tools.records.build import build_batch
from kafka_tools.storage.cleaner.rounds import MapSize
from kafka_tools.storage.log.syncing import Unsynced
from tests.storage.dirty_logs import START_MS, clean_once, opened


def test_a_failed_fsync_of_a_sealed_segment_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path / "t-0", unsynced=Unsynced())  # nobody forces it but the cleaner
    for number in range(4):
        rows = [(START_MS, b"k%d" % (number % 2), b"v" * 2500, ()) for _ in range(3)]
        log.append(bytearray(build_batch(rows)), leader_epoch=0)
        log.roll()
    failures = [OSError(errno.EMFILE, "no descriptor"), OSError(errno.EIO, "Input/output error")]

    def fsync(_: int) -> None:
        if failures:
            raise failures.pop(0)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="no descriptor"):
        log.sync_sealed()
    assert not log.offline
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            clean_once(log, None, START_MS + 86_400_000, MapSize(1 << 20))
        assert (log.recovery_point, "Input/output" in str(log.offline)) == (0, True)
    assert not log.close()
