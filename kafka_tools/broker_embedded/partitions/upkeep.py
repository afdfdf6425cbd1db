"""Periodic work on the partitions of a broker: fsyncs, retention, checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.partitions.partition import Partition
from kafka_tools.errors import LogError
from kafka_tools.storage.log.replacement import remove_retired
from kafka_tools.storage.names import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
    from kafka_tools.broker_embedded.slices import Slices, Work
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.values import TopicPartition

log = logging.getLogger(__name__)

_CHECKPOINT_MS = 60_000
_NEVER_MS = 2**63 - 1
_FILES_OF_SEGMENT = 5


_OFFSET_OF: dict[str, Callable[[Partition], int]] = {
    RECOVERY_POINTS: lambda partition: partition.log.recovery_point,
    LOG_STARTS: lambda partition: partition.log.log_start_offset,
    HIGH_WATERMARKS: lambda partition: partition.high_watermark,
}
"""Name of a checkpoint file -> the offset of a partition that it contains."""


class Upkeep:
    """The periodic work, and the checkpoints, which another thread writes."""

    def __init__(
        self,
        dirs: DataDirs,
        partitions: Collection[Partition],
        offline: Mapping[TopicPartition, str],
        configs: ConfigStore,
        timers: Timers,
        slices: Slices,
    ) -> None:
        """``partitions``: a live view of the served ones. ``offline``: the log directories of offline ones."""
        self._slices = slices
        self._dirs = dirs
        self._partitions = partitions
        self._offline = offline
        self._configs = configs
        self._timers = timers
        self._behind: set[str] = set()
        """The directories whose last checkpoint failed."""
        self._unflushed: set[TopicPartition] = set()
        """The partitions whose last flush of index entries failed."""

    def forget_checkpoints(self, id: TopicPartition, log_dir: str) -> Work[None]:
        """Remove a partition that does not exist from the checkpoints of a directory.

        Raises OSError.
        """
        for name in _OFFSET_OF:
            if self._dirs.checkpoints[log_dir, name].may_name(id):
                yield from self._write(log_dir, name)

    def start_timers(self) -> None:
        timers, broker = self._timers, self._configs.broker

        # Each task sets its timer again when it is done, also after an error, so that a slow disk delays it.
        def retention() -> None:
            self._slices.later(self.enforce_retention(), enforced)

        def enforced(_: None, error: BaseException | None) -> None:
            timers.call_later(broker.integer("log.retention.check.interval.ms"), retention)
            if error is not None:
                log.error("retention failed, trying again later: %s", error, exc_info=error)

        def checkpoints() -> None:
            self._slices.later(self.write_checkpoints(), checkpointed)

        def checkpointed(_: object, error: BaseException | None) -> None:
            timers.call_later(_CHECKPOINT_MS, checkpoints)
            if error is not None:
                log.error("cannot write checkpoints, trying again", exc_info=error)

        def syncs() -> None:
            timers.call_later(sync_every_ms, syncs)
            self.sync_due()

        sync_every_ms = broker.integer("log.flush.scheduler.interval.ms")
        if sync_every_ms < _NEVER_MS:
            timers.call_later(sync_every_ms, syncs)
        first_ms = broker.integer("log.initial.task.delay.ms")
        timers.call_later(min(first_ms, broker.integer("log.retention.check.interval.ms")), retention)
        timers.call_later(_CHECKPOINT_MS, checkpoints)

    def sync_due(self) -> None:
        """Fsync the logs whose flush.ms has passed (every log.flush.scheduler.interval.ms, as in Kafka)."""
        for partition in self._partitions:
            try:
                partition.log.sync_if_due()
            except OSError as error:
                log.error("cannot sync %s, it is offline now: %s", partition.id, error)

    def enforce_retention(self) -> Work[None]:
        """Apply the retention of every topic, and remove expired producer ids."""
        broker = self._configs.broker
        expired_ms = self._timers.clock.now_ms() - broker.integer("producer.id.expiration.ms")
        shortened: dict[str, Partition] = {}
        for partition in list(self._partitions):
            yield
            if partition.log.closed:  # its topic was deleted meanwhile
                continue
            for _ in partition.log.producers.expire(expired_ms):
                yield
            if partition.log.closed:
                continue
            if not partition.log.config.compact and self._shorten(partition):  # the cleaner handles compacted ones
                shortened[partition.log_dir] = partition
            self.delete_retired(partition)
        for partition in shortened.values():
            yield from self._keep_log_starts(partition)

    def enforce_retention_of(self, partition: Partition) -> Work[None]:
        """Apply the retention of one partition, between two rounds of compaction."""
        if partition.log.closed:
            return
        if self._shorten(partition):
            yield from self._keep_log_starts(partition)
        self.delete_retired(partition)

    def _shorten(self, partition: Partition) -> bool:
        try:
            if not partition.log.enforce_retention():
                return False
        except (LogError, OSError) as error:
            log.error("cannot apply retention to %s: %s", partition.id, error)
            return False
        log.info("%s: retention moved the log start to %d", partition.id, partition.log.log_start_offset)
        return True

    def _keep_log_starts(self, partition: Partition) -> Work[None]:
        try:
            yield from self.log_starts_changed(partition)
        except OSError as error:  # the next checkpoint will contain it
            log.warning("cannot write the log start offsets of %s: %s", partition.log_dir, error)

    def delete_retired(self, partition: Partition) -> None:
        """Delete the files of replaced and removed segments after ``file.delete.delay.ms``."""
        if paths := partition.log.take_retired():

            def remove() -> None:
                self._slices.begin(self._remove(paths), _removed)

            self._timers.call_later(partition.log.config.file_delete_delay_ms, remove)

    def _remove(self, paths: list[str]) -> Work[None]:
        """Remove files on another thread, because freeing a gigabyte takes a tenth of a second."""
        for at in range(0, len(paths), _FILES_OF_SEGMENT):
            yield from self._slices.on_disk(partial(remove_retired, paths[at : at + _FILES_OF_SEGMENT]))
            yield

    def write_checkpoints(self) -> Work[set[str]]:
        """Write all checkpoint files in slices, and flush buffered index entries.

        Returns the directories in which a write failed: they keep their old files, and it is retried later.
        """
        yield from self._flush()
        failed = set()
        for path in self._dirs.live:
            try:
                for name in _OFFSET_OF:
                    yield from self._write(path, name)
            except OSError as error:
                failed.add(path)
                if not self._dirs.refused(path, error) and path not in self._behind:
                    log.error("cannot write the checkpoints of %s, trying again: %s", path, error)
            else:
                if path in self._behind:
                    log.info("the checkpoints of %s are written again", path)
        self._behind = failed
        return failed

    def _flush(self) -> Work[None]:
        """Write buffered index entries. After an error, the entries of a partition stay in memory."""
        unflushed = set()
        for partition in list(self._partitions):
            yield
            if partition.log.closed:
                continue
            try:
                partition.log.flush()
            except OSError as error:
                unflushed.add(partition.id)
                if partition.id not in self._unflushed:
                    log.warning(
                        "cannot write index entries of %s, keeping them in memory and trying again: %s",
                        partition.id,
                        error,
                    )
        self._unflushed = unflushed

    def _in(self, path: str) -> list[Partition]:
        return [partition for partition in self._partitions if partition.log_dir == path]

    def _write(self, path: str, name: str) -> Work[None]:
        """Replace one checkpoint file of a directory with the current offsets. Raises OSError."""
        file, offset_of = self._dirs.checkpoints[path, name], _OFFSET_OF[name]
        partitions = self._in(path)
        number = file.begin({partition.id for partition in partitions} | self._offline.keys())
        at_start = file.at_start
        offsets = {id: at_start[id] for id, at in self._offline.items() if at == path and id in at_start}
        for partition in partitions:
            yield
            offsets[partition.id] = offset_of(partition)
        yield from file.end(number, offsets, self._slices)
        if self._dirs.unsynced is not None:
            self._dirs.unsynced.named(path)

    def log_starts_changed(self, partition: Partition) -> Work[None]:
        """Write a changed log start offset before it is acknowledged. Raises OSError."""
        return self._write(partition.log_dir, LOG_STARTS)


def _removed(_: None, error: BaseException | None) -> None:
    if error is not None:
        log.error("cannot delete files of removed segments before the next start: %s", error)
