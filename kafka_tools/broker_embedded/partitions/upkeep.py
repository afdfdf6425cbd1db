"""Periodic work on the partitions of a broker: syncs, retention, checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.slices import whole
from kafka_tools.errors import LogError
from kafka_tools.storage.log.replacement import remove_retired

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
    from kafka_tools.broker_embedded.partitions.partition import Partition
    from kafka_tools.broker_embedded.slices import Slices, Work
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.values import TopicPartition

log = logging.getLogger(__name__)

_CHECKPOINT_MS = 60_000
_NEVER_MS = 2**63 - 1


def _enforced(_: None, error: BaseException | None) -> None:
    if error is not None:
        log.error("retention stumbled, it goes on later: %s", error, exc_info=error)


def _checkpointed(_: object, error: BaseException | None) -> None:
    if error is not None:
        log.error("checkpoints could not be written, it is tried again", exc_info=error)


class Upkeep:
    """The regular work; each kind is on the timers again before it begins, so that what fails is tried again."""

    def __init__(
        self,
        dirs: DataDirs,
        partitions: Collection[Partition],
        configs: ConfigStore,
        timers: Timers,
        slices: Slices,
    ) -> None:
        """``partitions``: those that are served, which change."""
        self._slices = slices
        self._dirs = dirs
        self._partitions = partitions
        self._configs = configs
        self._timers = timers
        self._checkpointed = {
            path: {*dirs.recovery_points[path], *dirs.log_starts[path], *dirs.high_watermarks[path]}
            for path in dirs.paths
        }
        """The partitions that the checkpoint files of each directory may name, but for those in ``_before``."""
        self._before: dict[str, set[TopicPartition]] = {path: set() for path in dirs.paths}
        """The same of files that are being replaced."""
        self._behind: set[str] = set()
        """The directories whose checkpoints could not be written the last time."""

    def forget_checkpoints(self, id: TopicPartition, log_dir: str) -> None:
        """See that no checkpoint of a directory tells offsets of a partition that is not there (any more)."""
        if id in self._checkpointed[log_dir] or id in self._before[log_dir]:
            whole(self._checkpoint(log_dir))

    def start_timers(self) -> None:
        timers, broker = self._timers, self._configs.broker

        # Each is on the timers again before it begins: what fails once is tried again.
        def retention() -> None:
            timers.call_later(broker.integer("log.retention.check.interval.ms"), retention)
            self._slices.later(self.enforce_retention(), _enforced)

        def checkpoints() -> None:
            timers.call_later(_CHECKPOINT_MS, checkpoints)
            self._slices.later(self.write_checkpoints(), _checkpointed)

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
        """Force the logs to the disk whose flush.ms has passed (on log.flush.scheduler.interval.ms, as in Kafka)."""
        for partition in self._partitions:
            try:
                partition.log.sync_if_due()
            except OSError as error:
                log.error("syncing %s failed, it is offline now: %s", partition.id, error)

    def enforce_retention(self) -> Work[None]:
        """Delete what every topic's retention has given up, and forget producers that fell silent."""
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
            if not partition.log.config.compact and self._shorten(partition):  # the cleaner sees to those
                shortened[partition.log_dir] = partition
            self.delete_retired(partition)
        for partition in shortened.values():
            self._keep_log_starts(partition)

    def enforce_retention_of(self, partition: Partition) -> None:
        """The same for one partition, between two rounds of its compaction."""
        if self._shorten(partition):
            self._keep_log_starts(partition)
        self.delete_retired(partition)

    def _shorten(self, partition: Partition) -> bool:
        try:
            if not partition.log.enforce_retention():
                return False
        except (LogError, OSError) as error:
            log.error("retention of %s failed: %s", partition.id, error)
            return False
        log.info("%s: retention moved the log start to %d", partition.id, partition.log.log_start_offset)
        return True

    def _keep_log_starts(self, partition: Partition) -> None:
        try:
            self.log_starts_changed(partition)
        except OSError as error:  # the next checkpoint has it
            log.warning("where the logs of %s start cannot be written: %s", partition.log_dir, error)

    def delete_retired(self, partition: Partition) -> None:
        """See that the files of segments that were replaced or dropped go after ``file.delete.delay.ms``."""
        if paths := partition.log.take_retired():
            self._timers.call_later(partition.log.config.file_delete_delay_ms, lambda: remove_retired(paths))

    def write_checkpoints(self) -> Work[set[str]]:
        """Write where each log starts and what is known to be on the disk; flush buffered index entries. In slices.

        Returns the directories in which that failed: they keep their old files, and it is tried again.
        """
        failed = set()
        for path in self._dirs.paths:
            try:
                for partition in self._in(path):
                    yield
                    if not partition.log.closed:
                        partition.log.flush()
                yield from self._checkpoint(path)
            except OSError as error:
                failed.add(path)
                if path not in self._behind:
                    log.error("the checkpoints of %s cannot be written, it is tried again: %s", path, error)
            else:
                if path in self._behind:
                    log.info("the checkpoints of %s are written again", path)
        self._behind = failed
        return failed

    def _in(self, path: str) -> list[Partition]:
        return [partition for partition in self._partitions if partition.log_dir == path]

    def _checkpoint(self, path: str) -> Work[None]:
        """Replace the files of a directory, each by what is so when it is written."""
        self._before[path] |= self._checkpointed[path]
        self._checkpointed[path] = set()
        self._write(path, self._dirs.write_recovery_points, lambda partition: partition.log.recovery_point)
        yield
        self._write(path, self._dirs.write_log_starts, lambda partition: partition.log.log_start_offset)
        yield
        self._write(path, self._dirs.write_high_watermarks, lambda partition: partition.high_watermark)
        self._before[path].clear()

    def _write(
        self, path: str, write: Callable[[str, dict[TopicPartition, int]], None], offset_of: Callable[[Partition], int]
    ) -> None:
        offsets = {partition.id: offset_of(partition) for partition in self._in(path)}
        self._checkpointed[path].update(offsets)
        write(path, offsets)

    def log_starts_changed(self, partition: Partition) -> None:
        """Keep a moved log start offset before it is acknowledged. Raises OSError."""
        self._write(partition.log_dir, self._dirs.write_log_starts, lambda other: other.log.log_start_offset)
