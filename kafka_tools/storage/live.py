"""Reading files that a broker is writing: indexes are opened before their log, and what looks wrong is read again.

A broker appends to the log first and to the log's indexes, snapshots and checkpoints later. So these are opened, and
their ends fixed, before the log is: everything that they name is in it. ``identity`` tells whether the log is still the
one that lay there before its indexes were opened: compaction puts another one in its place, log first. For what a
broker writes in two steps ``stays`` looks again until it has had the time for the second one.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable

from kafka_tools.clock import Clock, SystemClock
from kafka_tools.storage.names import LOCK
from kafka_tools.storage.opening import open_file

STEP_S = 0.3
"""Longest time that a broker is taken to need between two steps of one change (an append, its index entries)."""

_PAUSE_S = 0.02

_LOCK_STRUCT = struct.Struct("hhqqi4x")  # Linux's struct flock, 64 bits: type, whence, start, length, process

Identity = tuple[int, int]
"""Device and inode."""


def identity(path: str) -> Identity:
    """Which file lies at a path. Raises OSError."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def still_wrong(path: str, is_wrong: Callable[[], bool], clock: Clock | None = None) -> bool:
    """Whether a problem is still there after a running broker has had STEP_S to continue.

    ``path`` is the file that the broker would have written to, and ``is_wrong`` checks again. If nothing was written to
    it for that long, no broker is running: the first check decides, without a delay.
    """
    clock = clock or SystemClock()
    started_s = clock.monotonic_s()
    while is_wrong():
        if clock.monotonic_s() - started_s >= STEP_S or not _is_being_written(path, clock):
            return True
        clock.sleep(_PAUSE_S)
    return False


def is_served(log_dir: str) -> bool:
    """Whether a broker has the log directory open: it holds a lock on the file ``.lock`` in it.

    Asks and takes no lock: a broker that starts meanwhile is not disturbed. False where it cannot be told: for a copy,
    over some network file systems, on systems other than Linux.
    """
    path = os.path.join(log_dir, LOCK)
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    try:
        if identity(path) in _open_here():
            return True  # by this process; to open the file a second time and close it would give up its lock
        with open_file(path) as file:
            found = fcntl.fcntl(file, fcntl.F_GETLK, _LOCK_STRUCT.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except OSError:
        return False
    return int(_LOCK_STRUCT.unpack(found)[0]) != fcntl.F_UNLCK


def _open_here() -> set[Identity]:
    """The files that this process has open. Raises OSError."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            status = os.fstat(int(name))
        except OSError:
            continue  # closed since it was listed, as that of the listing is
        found.add((status.st_dev, status.st_ino))
    return found


def _is_being_written(path: str, clock: Clock) -> bool:
    try:
        return abs(clock.now_ms() / 1000 - os.stat(path).st_mtime) < STEP_S
    except OSError:
        return True  # gone meanwhile: somebody is at work
