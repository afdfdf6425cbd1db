"""Reading beside a broker that writes: what is described is read after what describes it, and doubt gets a second look.

A broker appends to the log first and to the log's indexes, snapshots and checkpoints later. So these are opened, and
their ends fixed, before the log is: everything that they name is in it. ``identity`` tells whether the log is still the
one that lay there before its indexes were opened: compaction puts another one in its place, log first. For what a
broker writes in two steps ``stays`` looks again until it has had the time for the second one.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from kafka_tools.clock import Clock, SystemClock

STEP_S = 0.3
"""Longest time that a broker is taken to need between two steps of one change (an append, its index entries)."""

_PAUSE_S = 0.02

Identity = tuple[int, int]
"""Device and inode."""


def identity(path: str) -> Identity:
    """Which file lies at a path. Raises OSError."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def stays(path: str, is_wrong: Callable[[], bool], clock: Clock | None = None) -> bool:
    """Whether what looks wrong is wrong still when a broker at work has had STEP_S to go on.

    ``path`` is what it would have written to, and ``is_wrong`` looks again. Where nothing was written for that long
    nobody is at work: the first look decides, and costs no time.
    """
    clock = clock or SystemClock()
    started_s = clock.monotonic_s()
    while is_wrong():
        if clock.monotonic_s() - started_s >= STEP_S or not _is_being_written(path, clock):
            return True
        clock.sleep(_PAUSE_S)
    return False


def _is_being_written(path: str, clock: Clock) -> bool:
    try:
        return abs(clock.now_ms() / 1000 - os.stat(path).st_mtime) < STEP_S
    except OSError:
        return True  # gone meanwhile: somebody is at work
