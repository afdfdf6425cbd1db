"""Decides when to write a snapshot of the cluster metadata, and when to delete the log before one (KIP-630).

The broker writes a snapshot after ``metadata.log.max.record.bytes.between.snapshots``, and, if anything changed, after
``metadata.log.max.snapshot.interval.ms`` (0: never). Sources: ``SnapshotGenerator``, ``KafkaRaftLog.maybeClean`` of
Kafka. Unlike Kafka, a new segment begins with a snapshot that was written after so many bytes, or because
``metadata.max.retention.bytes`` is exceeded. Otherwise the limits would only apply from ``metadata.log.segment.bytes``
on, which is ten times as much, and a start after a crash would have to check such a segment completely.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.slices import Slices
from kafka_tools.errors import LogError
from kafka_tools.storage.log.replacement import remove_retired

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.directories.local_store import LocalStore
    from kafka_tools.broker_embedded.slices import Work
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)

_CHECK_MS = 60_000
"""How often Kafka's controller looks for snapshots to delete."""
_DELETE_DELAY_MS = 60_000
"""The delay before renamed files are deleted: Kafka's for internal topics."""


class Shortening:
    """Writes snapshots in separate slices, so that no request waits for them."""

    def __init__(
        self, store: LocalStore, journal: Journal, configs: ConfigStore, timers: Timers, slices: Slices
    ) -> None:
        """``slices``: the slices of the broker, whose threads do the disk operations."""
        self._store = store
        self._journal = journal
        self._timers = timers
        self._line = Slices(timers, threads=slices)
        integer = configs.broker.integer
        self._most_bytes = integer("metadata.log.max.record.bytes.between.snapshots")
        self._interval_s = integer("metadata.log.max.snapshot.interval.ms") / 1000
        self._retention_bytes = integer("metadata.max.retention.bytes")
        self._retention_ms = integer("metadata.max.retention.ms")
        for_tests = configs.broker.get("internal.metadata.log.segment.bytes")
        store.set_segments(
            segment_bytes=for_tests if isinstance(for_tests, int) else integer("metadata.log.segment.bytes"),
            segment_ms=integer("metadata.log.segment.ms"),
        )
        self._last_s = timers.clock.monotonic_s()
        """When the last snapshot, or the broker, was started."""
        self._busy = False
        self._failed = False
        """Whether the last snapshot failed. The next regular check tries again."""

    def start(self) -> None:
        """Check after each change and every minute. Called after the state is replayed."""
        self._journal.on_committed.append(self._committed)
        self._look()

    def _look(self) -> None:
        """The check of every minute, until the files are lost."""
        if self._store.is_lost:
            return
        self._failed = False
        if not self._begin_if_due() and not self._busy:
            self._busy = True
            self._line.later(self._shorten(), self._ended)
        self._timers.call_later(_CHECK_MS, self._look)

    def _committed(self) -> None:
        if not self._busy and not self._failed:
            self._begin_if_due()

    def _begin_if_due(self) -> bool:
        """Start a snapshot if one is due; returns whether it was started."""
        since_bytes, now_s = self._store.bytes_since_snapshot, self._timers.clock.monotonic_s()
        if self._busy or not since_bytes or self._store.is_lost:
            return False
        if since_bytes < self._most_bytes and not 0 < self._interval_s <= now_s - self._last_s:
            return False
        self._busy, self._last_s = True, now_s
        self._line.later(self._write(), self._ended)
        return True

    def _write(self) -> Work[None]:
        store, began_s = self._store, self._timers.clock.monotonic_s()
        end_offset = self._journal.end_offset
        is_large = store.bytes_since_snapshot >= self._most_bytes or 0 <= self._retention_bytes < store.size_bytes
        yield from store.write_snapshot(self._journal.image(), self._line, begin_segment=is_large)
        took_s = self._timers.clock.monotonic_s() - began_s
        log.info("wrote a snapshot of the cluster metadata at offset %d in %.1f s", end_offset, took_s)
        yield from self._shorten()

    def _shorten(self) -> Work[None]:
        yield
        if self._store.is_lost:
            return
        self._store.shorten(retention_bytes=self._retention_bytes, retention_ms=self._retention_ms)
        retired = self._store.take_retired()
        if retired:

            def remove() -> None:
                self._line.later(self._remove(retired), _removed)

            self._timers.call_later(_DELETE_DELAY_MS, remove)

    def _remove(self, paths: list[str]) -> Work[None]:
        for path in paths:
            yield from self._line.on_disk(partial(remove_retired, [path]))

    def _ended(self, _: None, error: BaseException | None) -> None:
        self._busy = False
        if error is None:
            return
        self._failed = True
        expected = isinstance(error, OSError | LogError)
        text = "cannot write a snapshot of the cluster metadata or shorten its log, trying again in a minute: %s"
        log.error(text, error, exc_info=None if expected else error)


def _removed(_: None, error: BaseException | None) -> None:
    if error is not None:
        log.error("unneeded files of the cluster metadata stay until the next start: %s", error)
