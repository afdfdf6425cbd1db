"""Flushes segments without further appends to the disk, oldest first, so that the recovery point can advance."""

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
        self._waiting: list[tuple[LogSegment, int]] = []  # short: an empty deque takes 0.7 KB per log
        self._syncing = threading.Lock()
        self._failure: OSError | None = None

    def add(self, segment: LogSegment, end_offset: int) -> None:
        """Add a sealed segment. ``end_offset``: the offset after it."""
        self._waiting.append((segment, end_offset))

    def sync(self, is_gone: Callable[[LogSegment], bool]) -> int:
        """Flush the segments to the disk. Returns the offset below which all is on the disk, -1 without segments.

        Raises OSError, and the same one from then on, because another attempt could succeed although data is lost. If
        only a descriptor was missing, it can be called again. Ignores missing files if the segment ``is_gone``: deleted
        or replaced.
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
            sync_file(self._epochs_path)  # a start relies on it below the recovery point
        sync_directory(self._directory)
