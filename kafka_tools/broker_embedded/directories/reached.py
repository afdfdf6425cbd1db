"""The end offset of the metadata log, kept apart from it: a start detects that the log has lost its last records.

Kafka does not detect this: it starts a new cluster on an empty metadata log, and every partition is stray. Here two
files next to the directory of the log contain the offset, and they remain if somebody empties that directory:

- An offset checkpoint, written soon after each change, when the log was flushed. A power failure never makes it too
  high.
- The offset immediately after each change, with the id of the boot. It is valid until the machine reboots: the kernel
  has everything that was written before, also after a kill.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.directories.checkpoint_files import read_checkpoint
from kafka_tools.broker_embedded.slices import Slices
from kafka_tools.protocol.enums import CLUSTER_METADATA
from kafka_tools.storage.checkpoints import write_offset_checkpoint
from kafka_tools.storage.log.syncing import NO_DESCRIPTOR, sync_directory
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.directories.local_store import LocalStore
    from kafka_tools.broker_embedded.slices import Work
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)

STATE_END_FILE = "metadata-end-offset-checkpoint"
BOOT_END_FILE = "metadata-end-offset.boot"
_NOTE_BYTES = 100
_STATE = TopicPartition(CLUSTER_METADATA, 0)


def read_state_end(log_dir: str) -> int:
    """The offset that the state in a log directory must reach; 0 if it is not known."""
    synced = read_checkpoint(os.path.join(log_dir, STATE_END_FILE)).get(_STATE, 0)
    try:
        with open(os.path.join(log_dir, BOOT_END_FILE), "rb") as file:
            boot, _, end_offset = file.read(_NOTE_BYTES).partition(b" ")
    except OSError:
        return synced
    written = int(end_offset) if end_offset.isdigit() and boot and boot == _boot_id() else 0
    return max(synced, written)


def _boot_id() -> bytes:
    """The id of this boot of the machine; empty if the system has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read().strip()
    except OSError:
        return b""


def forget_state_end(log_dirs: Sequence[str]) -> None:
    """Remove the end offsets in these directories. Raises OSError."""
    for log_dir in log_dirs:
        for name in (BOOT_END_FILE, STATE_END_FILE):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(log_dir, name))


class StateEnd:
    """Writes both files while the broker runs; the checkpoint, which waits for the disk, on another thread.

    If the files of the state are lost, nothing is written: the paths may belong to something else.
    """

    def __init__(self, log_dir: str, store: LocalStore, timers: Timers, slices: Slices) -> None:
        """``slices``: the slices of the broker, whose threads do the disk operations."""
        self._log_dir = log_dir
        self._store = store
        self._line = Slices(timers, threads=slices)  # separate: no request waits behind it
        self._known = -1
        """The offset in the checkpoint."""
        self._boot = _boot_id()
        self._fd: int | None = None
        self._is_writing = False
        self._failed = False
        self._in_doubt = False
        """Whether an fsync of the log has failed. Later fsyncs then prove nothing about older writes."""

    def changed(self) -> None:
        """Record a change of the state."""
        if self._store.is_lost:
            return
        if self._fd is not None:
            with contextlib.suppress(OSError):  # the recorded offset is then too low, which is harmless
                os.pwrite(self._fd, b"%s %020d" % (self._boot, self._store.end_offset), 0)
        if not self._is_writing and not self._in_doubt:
            self._is_writing = True
            self._line.later(self._keep(), self._kept)

    def write_now(self) -> None:
        """Flush the state to the disk and write the offset, on this thread. Raises OSError."""
        sync_directory(self._log_dir)
        self._write(self._store.forcing(), self._store.end_offset)
        if self._boot:
            path = os.path.join(self._log_dir, BOOT_END_FILE)
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def end(self, *, is_complete: bool) -> None:
        """Called when the store was closed. ``is_complete``: all of it is on disk."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if is_complete:
            try:
                self._forced(self._store.end_offset)
            except OSError as error:
                log.warning("cannot record the end offset of the cluster metadata: %s", error)

    def _forced(self, end_offset: int) -> None:
        """Write the offset up to which the state is on the disk. Raises OSError."""
        if end_offset != self._known and not self._in_doubt and not self._store.is_lost:
            write_offset_checkpoint(os.path.join(self._log_dir, STATE_END_FILE), {_STATE: end_offset})
            self._known = end_offset

    def _keep(self) -> Work[None]:
        if self._store.is_lost:
            return
        end_offset, force = self._store.end_offset, self._store.forcing()
        yield from self._line.durable()  # with --fsync always, this leaves little to flush
        yield from self._line.on_disk(partial(self._write, force, end_offset))

    def _write(self, force: Callable[[], None], end_offset: int) -> None:
        try:
            force()
        except OSError as error:
            self._in_doubt = error.errno not in NO_DESCRIPTOR
            raise
        self._forced(end_offset)

    def _kept(self, _: None, error: BaseException | None) -> None:
        self._is_writing = False
        if error is not None:
            if not self._failed and not self._store.is_lost:  # the check of the directories reports a loss
                log.warning("cannot record the end offset of the cluster metadata: %s", error)
            self._failed = True
            return
        self._failed = False
        if self._store.end_offset != self._known:
            self.changed()
