"""The partitions that this broker leads: opens, creates and deletes their logs.

There is one replica: all records of a log are committed, so the high watermark is the log end offset. ``upkeep`` does
the periodic work on the logs.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.directories.data_dirs import DataDirs, remove_directory, retire_directory
from kafka_tools.broker_embedded.partitions.appendable import Appendable
from kafka_tools.broker_embedded.partitions.compaction import LogCleaner
from kafka_tools.broker_embedded.partitions.located import Located, locate
from kafka_tools.broker_embedded.partitions.partition import Partition, limits, log_config
from kafka_tools.broker_embedded.partitions.upkeep import Upkeep
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, whole
from kafka_tools.errors import LogError
from kafka_tools.protocol import error_codes
from kafka_tools.storage.log.partition_log import FOR_WANT_OF_ROOM, LogConfig, PartitionLog
from kafka_tools.storage.log.replacement import remove_retired
from kafka_tools.storage.names import HIGH_WATERMARKS, LOG_STARTS, PARTITION_METADATA, RECOVERY_POINTS
from kafka_tools.storage.snapshots import write_partition_metadata
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    import uuid

    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.configs.store import ConfigStore, View
    from kafka_tools.broker_embedded.partitions.produce_rules import Limits
    from kafka_tools.broker_embedded.purgatory import Purgatory
    from kafka_tools.broker_embedded.slices import Slices
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)

_LARGE_BYTES = 64 * 1024 * 1024
OF_THE_DISK = FOR_WANT_OF_ROOM | {errno.EROFS}
"""Errors of the disk instead of the log: there is no room, or the file system is read-only."""


class Partitions:
    """Every partition by topic and number; opens, creates and deletes their logs."""

    def __init__(
        self,
        dirs: DataDirs,
        cluster: Cluster,
        configs: ConfigStore,
        timers: Timers,
        slices: Slices,
        purgatory: Purgatory,
    ) -> None:
        self.dirs = dirs
        self._cluster = cluster
        self._configs = configs
        self._timers = timers
        self._slices = slices
        self._purgatory = purgatory
        self._partitions: dict[tuple[str, int], Partition] = {}
        self.appendable = Appendable(cluster, self._partitions)
        self._load: dict[str, int] = {}
        self._located = Located()
        self.offline: dict[TopicPartition, str] = {}
        """The partitions that could not be opened, and their log directories."""
        self.upkeep = Upkeep(dirs, self._partitions.values(), self.offline, configs, timers, slices)
        self.cleaner = LogCleaner(
            dirs.paths, self._partitions.values(), configs, timers, slices, self.upkeep.enforce_retention_of
        )
        configs.on_topic_changed.append(self.configs_changed)
        configs.on_broker_changed.append(lambda: self.configs_changed(None))

    def get(self, topic: str, number: int) -> Partition | None:
        return self._partitions.get((topic, number))

    def led(self, topic: str, number: int, current_leader_epoch: int = -1) -> Partition:
        """The partition, if ``current_leader_epoch`` (-1: unknown to the client) is right.

        BrokerError: UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, KAFKA_STORAGE_ERROR.
        """
        partition = self._partitions.get((topic, number))
        if partition is None:
            is_offline = (topic, number) in self.offline
            raise error_for(error_codes.KAFKA_STORAGE_ERROR if is_offline else error_codes.UNKNOWN_TOPIC_OR_PARTITION)
        if current_leader_epoch != -1 and current_leader_epoch != partition.leader_epoch:
            older = current_leader_epoch < partition.leader_epoch
            raise error_for(error_codes.FENCED_LEADER_EPOCH if older else error_codes.UNKNOWN_LEADER_EPOCH)
        if partition.log.offline and not partition.log.waits_for_room:
            raise error_for(error_codes.KAFKA_STORAGE_ERROR)
        return partition

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def locate(self) -> None:
        """Find the directories of the cluster's partitions, before any change. Raises LogError (``locate``)."""
        self._located = locate(self.dirs, self._cluster)

    def open_all(self) -> None:
        """Open the log of every located partition, and set aside directories that belong to no topic.

        A log that cannot be read is offline, and the others are served. Raises OSError if a disk has no room.
        """
        located, self._located = self._located, Located()
        removed = self._cluster.removed_ids
        self._cluster.forget_removed(removed.keys() - located.put_aside(removed))
        for id, problem in located.unreadable.items():
            self._take_offline(id, located.places[id], problem)
        settings: dict[str, tuple[LogConfig, Limits]] = {}
        for id, log_dir in located.places.items():
            if id.topic not in settings:
                configs = self._configs.topic(id.topic)
                settings[id.topic] = log_config(configs), limits(configs)
            if id in located.unnamed:
                _write_topic_id(os.path.join(log_dir, str(id)), self._cluster.topics[id.topic].id)
            if id not in located.unreadable:
                try:
                    self._open(id, log_dir, *settings[id.topic])
                except (LogError, OSError) as error:
                    if isinstance(error, OSError) and error.errno in OF_THE_DISK:
                        raise
                    self._take_offline(id, log_dir, error)
        for topic in self._cluster.topics.values():
            missing = [
                number for number in topic.partitions if TopicPartition(topic.name, number) not in located.places
            ]
            for number in missing:
                self._warn_of_missing(TopicPartition(topic.name, number))
            self.add(whole(self.make(topic.name, topic.id, missing, self._configs.topic(topic.name))))

    def _take_offline(self, id: TopicPartition, log_dir: str, error: Exception) -> None:
        """Leave a partition that cannot be read unchanged; the others are served."""
        self.offline[id] = log_dir
        self._load[log_dir] = self._load.get(log_dir, 0) + 1
        log.error(
            "%s is offline: %s. Its directory %s stays unchanged: restore it from a copy and restart the broker, "
            "or move it away, and the partition starts again without records",
            id, error, os.path.join(log_dir, str(id)),
        )  # fmt: skip

    def _warn_of_missing(self, id: TopicPartition) -> None:
        checkpoints = (self.dirs.checkpoints[path, HIGH_WATERMARKS].at_start for path in self.dirs.paths)
        ends = [offsets[id] for offsets in checkpoints if id in offsets]
        known = f", which had offsets up to {ends[0] - 1} at the last checkpoint" if ends and ends[0] else ""
        log.warning(
            "%s: the directory of this partition is missing%s; the partition starts again without records", id, known
        )

    def _open(self, id: TopicPartition, log_dir: str, config: LogConfig, produced: Limits) -> None:
        """Open the log of a partition whose directory exists."""
        topic = self._cluster.topics[id.topic]
        path = os.path.join(log_dir, str(id))
        leader_epoch = topic.partitions[id.partition].leader_epoch
        known_start = self.dirs.checkpoints[log_dir, LOG_STARTS].at_start.get(id)
        log_start = known_start or 0
        recovery_point = self.dirs.checkpoints[log_dir, RECOVERY_POINTS].at_start.get(id, 0)
        begins_later = any(name.endswith(".log.deleted") for name in os.listdir(path))  # than the checkpoint says
        opened = PartitionLog.open(
            path,
            config,
            self._timers.clock,
            clean=self.dirs.clean[log_dir],
            recovery_point=recovery_point,
            log_start_offset=known_start,
            cleaned_to=self.cleaner.cleaned_to(id, log_dir) or 0,
            unsynced=self.dirs.unsynced,
        )
        first = opened.segments[0].base_offset
        if first > log_start and known_start is not None and not begins_later:
            log.warning(
                "%s: offsets %d to %d are missing: the last checkpoint contains them, but the first segment in "
                "%s begins after them",
                id, log_start, first - 1, path,
            )  # fmt: skip
        if known_start is None and opened.log_start_offset > first:
            log.warning(
                "%s: no checkpoint contains the log start offset; using %d from its leader epochs",
                id, opened.log_start_offset,
            )  # fmt: skip
        known_end = max(recovery_point, self.dirs.checkpoints[log_dir, HIGH_WATERMARKS].at_start.get(id, 0))
        if opened.log_end_offset < known_end:
            log.warning(
                "%s: offsets %d to %d are missing: the last checkpoint contains them, but the log in %s ends "
                "before them",
                id, opened.log_end_offset, known_end - 1, path,
            )  # fmt: skip
        opened.epochs.begin(leader_epoch, opened.log_end_offset)
        self._load[log_dir] = self._load.get(log_dir, 0) + 1
        self.add([Partition(id, topic.id, opened, log_dir, leader_epoch, produced)])

    def make(self, topic: str, topic_id: uuid.UUID, numbers: Iterable[int], configs: View) -> Work[list[Partition]]:
        """Create directories and empty logs of new partitions before the cluster has them. Then ``add`` or ``unmake``.

        Creates all or none: an error (LogError or OSError) leaves no directory. Never uses an existing directory,
        because on a case-insensitive file system it may belong to another topic.
        """
        made: list[Partition] = []
        try:
            for number in numbers:
                yield
                id = TopicPartition(topic, number)
                log_dir = self.dirs.emptiest(self._load)
                self._load[log_dir] = self._load.get(log_dir, 0) + 1
                try:
                    # forget offsets of a deleted partition of the same name
                    yield from self.upkeep.forget_checkpoints(id, log_dir)
                    yield from self.cleaner.forget(id, log_dir)
                    made.append(self._make(id, topic_id, configs, log_dir))
                except BaseException:
                    self._load[log_dir] -= 1
                    raise
        except Exception:
            yield from self.unmake(made)
            raise
        return made

    def _make(self, id: TopicPartition, topic_id: uuid.UUID, configs: View, log_dir: str) -> Partition:
        path = os.path.join(log_dir, str(id))
        os.mkdir(path)
        try:
            write_partition_metadata(os.path.join(path, PARTITION_METADATA), topic_id)
            unsynced = self.dirs.unsynced
            opened = PartitionLog.open(path, log_config(configs), self._timers.clock, clean=True, unsynced=unsynced)
            if unsynced is not None:
                unsynced.replaced(os.path.join(path, PARTITION_METADATA))
                unsynced.named(log_dir)
        except BaseException:
            remove_directory(path)
            raise
        info = self._cluster.partition(*id)
        leader_epoch = info.leader_epoch if info is not None else 0
        opened.epochs.begin(leader_epoch, 0)
        return Partition(id, topic_id, opened, log_dir, leader_epoch, limits(configs))

    def add(self, made: Iterable[Partition]) -> None:
        """Serve partitions that the cluster has."""
        self.appendable.forget()
        self._partitions.update((partition.id, partition) for partition in made)

    def unmake(self, made: Iterable[Partition]) -> Work[None]:
        """Remove partitions that were created but are not added to the cluster."""
        for partition in made:
            self._load[partition.log_dir] -= 1
            partition.log.close(clean=False)
            remove_directory(partition.log.directory)
            yield

    def take_out(self, topic_name: str, numbers: Collection[int]) -> list[Partition]:
        """Stop serving the partitions of a deleted topic; ``delete`` follows."""
        self.appendable.forget()
        for number in numbers:
            log_dir = self.offline.pop(TopicPartition(topic_name, number), None)
            if log_dir is not None:
                self._load[log_dir] -= 1
                self._retire(os.path.join(log_dir, f"{topic_name}-{number}"), log_dir)
        found = (self._partitions.pop((topic_name, number), None) for number in numbers)
        return [partition for partition in found if partition is not None]

    def delete(self, deleted: Sequence[Partition]) -> Work[bool]:
        """Close deleted partitions and rename their directories; delete files later. Returns whether all were renamed.

        The next start removes a directory that cannot be renamed.
        """
        retired: list[str] = []
        for partition in deleted:
            self._load[partition.log_dir] -= 1
            partition.log.close(clean=False)
            self._purgatory.wake(partition.id)
            if partition.log.lost:
                continue  # its path may have other files now; the next start deletes the partition
            retired += self._retire(partition.log.directory, partition.log_dir)
            yield

        def remove() -> None:
            self._slices.begin(self._remove(retired), _removed)

        self._timers.call_later(self._configs.broker.integer("log.segment.delete.delay.ms"), remove)
        return len(retired) == len(deleted)

    def _retire(self, path: str, log_dir: str) -> list[str]:
        """Rename the directory of a deleted partition. Returns its new path, or nothing after an error."""
        try:
            retired = retire_directory(path)
        except OSError as error:
            log.error("cannot delete %s of a deleted topic before the next start: %s", path, error)
            return []
        if self.dirs.unsynced is not None:
            self.dirs.unsynced.named(log_dir)
        return [retired]

    def _remove(self, paths: list[str]) -> Work[None]:
        """Remove on another thread, large files one by one: freeing a gigabyte takes a tenth of a second."""
        for path in paths:
            for file in _large_files(path):
                yield from self._slices.on_disk(partial(remove_retired, [file]))
            yield from self._slices.on_disk(partial(remove_directory, path))
            yield

    def configs_changed(self, topic_name: str | None) -> None:
        """Apply new configs to the logs of one topic, or of all."""
        taken: dict[str, tuple[LogConfig, Limits]] = {}
        for partition in self._partitions.values():
            topic = partition.id.topic
            if topic_name in (None, topic):
                if topic not in taken:
                    configs = self._configs.topic(topic)
                    taken[topic] = log_config(configs), limits(configs)
                partition.log.config, partition.limits = taken[topic]

    def start_timers(self) -> None:
        """Start the timers of retention, compaction, checkpoints and fsyncs."""
        self.upkeep.start_timers()
        self.cleaner.start_timers()

    def close(self, *, clean: bool) -> set[str]:
        """Close every log; ``clean`` also completes them and writes the checkpoints.

        Returns the directories in which a write failed: the next start has to check their logs.
        """
        unfinished = set()
        for partition in self._partitions.values():
            if not partition.log.close(clean=clean):
                unfinished.add(partition.log_dir)
        # The end of an unreadable log may be damaged, unless its directory was closed cleanly before.
        unfinished |= {log_dir for log_dir in self.offline.values() if not self.dirs.clean[log_dir]}
        return unfinished | whole(self.upkeep.write_checkpoints()) if clean else unfinished


def _removed(_: None, error: BaseException | None) -> None:
    if error is not None:
        log.error("cannot delete files of deleted topics before the next start: %s", error)


def _large_files(directory: str) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(directory) if entry.stat().st_size > _LARGE_BYTES]
    except OSError:
        return []  # removing the directory reports the error


def _write_topic_id(path: str, topic_id: uuid.UUID) -> None:
    write_partition_metadata(os.path.join(path, PARTITION_METADATA), topic_id)
