"""Reads files that a broker is writing: indexes are opened before their log, and apparent damage is read again.

A broker appends to the log first, and to its indexes, snapshots and checkpoints later. So these are opened before the
log, and their ends are fixed then: the log contains everything that they refer to. ``identity`` shows whether the log
is still the file that was there before its indexes were opened, because compaction replaces the log first. For a change
that a broker writes in two steps, ``still_wrong`` checks again until there was time for the second step.
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
"""The longest time that a broker is expected to need between two steps of one change (an append, its index entries)."""

_PAUSE_S = 0.02

_LOCK_STRUCT = struct.Struct("hhqqi4x")  # Linux's struct flock, 64 bits: type, whence, start, length, process

Identity = tuple[int, int]
"""Device and inode."""


def identity(path: str) -> Identity:
    """The identity of the file at a path. Raises OSError."""
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

    Takes no lock, so that it does not disturb a broker that starts meanwhile. False if the lock cannot be seen: for a
    copy, over some network file systems, on systems other than Linux.
    """
    path = os.path.join(log_dir, LOCK)
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    try:
        if identity(path) in _open_here():
            return True  # by this process; opening the file a second time and closing it would release its lock
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
            continue  # closed since it was listed, as the descriptor of the listing is
        found.add((status.st_dev, status.st_ino))
    return found


def _is_being_written(path: str, clock: Clock) -> bool:
    try:
        return abs(clock.now_ms() / 1000 - os.stat(path).st_mtime) < STEP_S
    except OSError:
        return True  # removed meanwhile: a broker is running
