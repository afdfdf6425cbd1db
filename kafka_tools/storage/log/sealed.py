"""Segments that take no more appends, on their way to the disk: oldest first, so that a recovery point can follow."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.storage.log.syncing import NO_DESCRIPTOR, sync_directory, sync_file

if TYPE_CHECKING:
    from kafka_tools.storage.log.segment import LogSegment


class SealedSegments:
    """The sealed segments of one log that are not known to be on the disk. ``sync`` may be called on any thread."""

    def __init__(self, directory: str, epochs_path: str) -> None:
        self._directory = directory
        self._epochs_path = epochs_path
        self._waiting: list[tuple[LogSegment, int]] = []  # few: and an empty deque takes 0.7 KB in each log
        self._syncing = threading.Lock()
        self._failure: OSError | None = None

    def add(self, segment: LogSegment, end_offset: int) -> None:
        """``end_offset``: the offset after the segment."""
        self._waiting.append((segment, end_offset))

    def sync(self, is_gone: Callable[[LogSegment], bool]) -> int:
        """Force them to the disk; returns the offset below which everything is there then, -1 if nothing was to do.

        Raises OSError, and the same one from then on: another attempt could succeed although something is lost (but
        not where there was only no descriptor). Files that are missing are passed over where the segment ``is_gone``:
        deleted, or replaced.
        """
        synced_to = -1
        with self._syncing:
            if self._failure is not None:
                raise self._failure
            while self._waiting:
                segment, end_offset = self._waiting[0]
                try:
                    self._force(segment)
                except OSError as error:
                    if not (isinstance(error, FileNotFoundError) and is_gone(segment)):
                        self._failure = None if error.errno in NO_DESCRIPTOR else error
                        raise
                synced_to = end_offset
                del self._waiting[0]
        return synced_to

    def _force(self, segment: LogSegment) -> None:
        segment.sync()
        with contextlib.suppress(FileNotFoundError):
            sync_file(self._epochs_path)  # a start reads it for what lies below the recovery point
        sync_directory(self._directory)
