"""Loads the indexes of a segment, and rebuilds invalid ones from the log."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.errors import CorruptBatch, CorruptIndex, LogError
from kafka_tools.storage.log.segment import LogSegment
from kafka_tools.storage.producer_files import (
    aborted_entry,
    check_aborted,
    note_batch,
    read_snapshot,
    replace_aborted,
    snapshots,
)
from kafka_tools.storage.producer_state import ProducerStates

if TYPE_CHECKING:
    from kafka_tools.storage.log.reading import ReadableLog

log = logging.getLogger(__name__)


def load_indexes(opened: ReadableLog, segment: LogSegment, aborted: AbortedAnew, interval_bytes: int) -> None:
    """Load the indexes of a segment. Rebuild them if they are invalid.

    Raises CorruptBatch for damage in the last segment. In other segments the indexes end at the damage, and readers get
    an error there.
    """
    try:
        segment.load_indexes()
        check_aborted(segment.transaction_index_path, segment.base_offset)
        return
    except CorruptIndex as error:
        log.warning("%s: rebuilding the indexes of segment %d: %s", opened.name, segment.base_offset, error)
    for rebuild in (
        aborted.write,
        partial(rebuild_indexes, interval_bytes=interval_bytes),
    ):  # if a start is killed in between, the next one does both again
        try:
            rebuild(segment)
        except CorruptBatch as error:
            if segment is opened.segments[-1]:
                raise
            log.error("%s: a segment is damaged, serving it up to the damage: %s", opened.name, error)
            segment.seal()


def rebuild_indexes(segment: LogSegment, interval_bytes: int) -> None:
    """Rebuild .index and .timeindex from the log."""
    segment.reset_indexes(at_once=True)
    for position, view in segment.walk():
        segment.note(view, position, interval_bytes)
    segment.seal()


class AbortedAnew:
    """Rebuilds transaction indexes from a log, segment by segment in order.

    If an operator deletes the indexes of a segment, all of them are rebuilt, as in Kafka.
    """

    def __init__(self, opened: ReadableLog) -> None:
        self._opened = opened
        self._producers = ProducerStates()
        self._at = opened.segments[0].base_offset
        """The offset up to which the producers are known."""

    def write(self, segment: LogSegment) -> None:
        """Replace the .txnindex of a segment. Raises OSError, and CorruptBatch for an unreadable log."""
        self._begin_with_snapshot(segment.base_offset)
        segments, entries = self._opened.segments, []
        ends = [*(each.base_offset for each in segments[1:]), None]
        for each, end in zip(segments[: segments.index(segment) + 1], ends, strict=False):
            if end is not None and end <= self._at:
                continue
            for _, view in each.walk_headers():
                if view.base_offset < self._at:
                    continue
                with suppress(CorruptBatch):  # reported when the producers are rebuilt
                    finished = note_batch(view, self._producers)
                    if each is segment and finished and not finished.committed:
                        entries.append(aborted_entry(finished))
            self._at = self._at if end is None else end
        replace_aborted(segment.transaction_index_path, entries)

    def _begin_with_snapshot(self, offset: int) -> None:
        """Load the newest snapshot up to an offset, if it is newer than the known producers."""
        for at, path in reversed(snapshots(self._opened.directory)):
            if self._at < at <= offset:
                producers = ProducerStates()
                try:
                    read_snapshot(path, producers)
                except LogError:  # reported when the producers are rebuilt
                    continue
                self._producers, self._at = producers, at
                return
