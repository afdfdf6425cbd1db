"""Writes the ``.snapshot`` files of one log, on another thread if there are many producers.

A start reads the newest snapshot and the batches after it. A late or missing snapshot only makes that start slower.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection

from kafka_tools.storage.producer_files import packed_snapshot, put_snapshot, remove_snapshots, write_snapshot
from kafka_tools.storage.producer_state import ProducerEntry, ProducerStates

log = logging.getLogger(__name__)

FEW = 1000
"""The maximum number of producers to write immediately, which takes some milliseconds."""

_Kept = tuple[int, dict[int, ProducerEntry]]


class ProducerSnapshots:
    """Writes the snapshots of the log in ``directory``."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        """Protects the replacement of a file, and the fields below."""
        self._waiting: _Kept | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def write_soon(self, offset: int, producers: ProducerStates, bases: Collection[int]) -> None:
        """Write the producers at ``offset``. Remove the snapshots at all other offsets except ``bases``.

        Many producers are written on another thread: failures are logged, and of several waiting snapshots only the
        newest is written. Raises OSError.
        """
        if len(producers.entries) <= FEW:
            write_snapshot(self._directory, offset, producers, bases)
            return
        remove_snapshots(self._directory, {*bases, offset})
        with self._lock:
            self._waiting = offset, producers.keep()
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name=f"snapshot {self._directory}", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Write nothing more, because the directory may soon belong to another log."""
        with self._lock:
            self._closed = True
            self._waiting = None

    def wait(self) -> None:
        """Wait until no snapshot waits to be written."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                kept, self._waiting = self._waiting, None
                if kept is None:
                    self._thread = None
                    return
            offset, entries = kept
            data = packed_snapshot(entries)
            with self._lock:
                if self._closed:
                    continue
                try:
                    put_snapshot(self._directory, offset, data)
                except OSError as error:
                    log.warning(
                        "cannot write the producer snapshot at offset %d, so the next start reads the log instead: %s",
                        offset,
                        error,
                    )
