"""The partitions this broker leads: each a log on disk, its leader epoch, and who is told of appends.

One replica: what is in the log is committed, so the high watermark is the log end offset. Retention,
checkpoints and the removal of deleted files run here on timers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.data_dirs import (
    DELETE_SUFFIX,
    STRAY_SUFFIX,
    DataDirs,
    remove_directory,
    retire_directory,
)
from kafka_tools.broker_embedded.dispatch import refuse
from kafka_tools.broker_embedded.incoming import Limits
from kafka_tools.errors import CorruptIndex, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.storage.log import LogConfig, PartitionLog
from kafka_tools.storage.snapshots import read_partition_metadata, write_partition_metadata
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    import uuid

    from kafka_tools.broker_embedded.core import Core

log = logging.getLogger(__name__)

_CHECKPOINT_MS = 60_000
_NEVER_MS = 2**63 - 1
_METADATA_FILE = "partition.metadata"


class Partition:
    """A partition led here. ``appended_bytes`` counts what was ever appended since the start."""

    __slots__ = ("appended_bytes", "id", "leader_epoch", "limits", "log", "log_dir", "topic_id")

    def __init__(
        self, id: TopicPartition, topic_id: uuid.UUID, log: PartitionLog, log_dir: str, leader_epoch: int
    ) -> None:
        self.id = id
        self.topic_id = topic_id
        self.log = log
        self.log_dir = log_dir
        self.leader_epoch = leader_epoch
        self.appended_bytes = 0
        self.limits = Limits()

    @property
    def high_watermark(self) -> int:
        return self.log.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        return self.log.last_stable_offset

    def end_for(self, isolation_level: int) -> int:
        """The first offset a consumer may not read: 1 is read committed."""
        return self.log.last_stable_offset if isolation_level == 1 else self.log.log_end_offset


class Logs:
    """Every partition by topic and number; opens, makes, and deletes their logs."""

    def __init__(self, core: Core, dirs: DataDirs) -> None:
        self._core = core
        self.dirs = dirs
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._load: dict[str, int] = {}

    def partition(self, topic: str, partition: int) -> Partition | None:
        return self._partitions.get((topic, partition))

    def led(self, topic: str, number: int, current_leader_epoch: int = -1) -> Partition:
        """The partition, if the client's idea of its leader epoch (-1: none) is right.

        BrokerError: UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, KAFKA_STORAGE_ERROR.
        """
        partition = self._partitions.get((topic, number))
        if partition is None:
            raise refuse(error_codes.UNKNOWN_TOPIC_OR_PARTITION)
        if current_leader_epoch >= 0 and current_leader_epoch != partition.leader_epoch:
            older = current_leader_epoch < partition.leader_epoch
            raise refuse(error_codes.FENCED_LEADER_EPOCH if older else error_codes.UNKNOWN_LEADER_EPOCH)
        if partition.log.offline:
            raise refuse(error_codes.KAFKA_STORAGE_ERROR)
        return partition

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def open_all(self) -> None:
        """Open the log of every partition of the cluster; directories of no topic are set aside.

        Raises LogError or OSError for a log that cannot be opened.
        """
        places: dict[str, str] = {}
        cluster = self._core.cluster
        for log_dir, name in self.dirs.partition_dirs():
            if name.startswith("__cluster_metadata-"):
                continue
            path = os.path.join(log_dir, name)
            if name.endswith(DELETE_SUFFIX):
                remove_directory(path)
                continue
            topic_name, _, number_text = name.rpartition("-")
            topic = cluster.topics.get(topic_name)
            topic_id = _read_topic_id(path)
            number = int(number_text) if number_text.isdigit() else -1
            if topic is not None and number in topic.partitions and topic_id in (topic.id, None):
                if topic_id is None:
                    _write_topic_id(path, topic.id)
                places[name] = log_dir
            elif topic_id in cluster.removed_ids:
                remove_directory(path)
            elif not name.endswith(STRAY_SUFFIX):
                log.warning("%s belongs to no topic; renaming it", path)
                retire_directory(path, state="stray")
        for topic in cluster.topics.values():
            for number in topic.partitions:
                self.open(topic.name, number, places.get(f"{topic.name}-{number}"))

    def open(self, topic_name: str, number: int, log_dir: str | None = None) -> Partition:
        """Open the log of a partition that the cluster has; without ``log_dir`` it is new."""
        topic = self._core.cluster.topics[topic_name]
        id = TopicPartition(topic_name, number)
        is_new = log_dir is None
        if log_dir is None:
            log_dir = self.dirs.emptiest(self._load)
        path = os.path.join(log_dir, str(id))
        opened = PartitionLog.open(
            path,
            self.log_config(topic_name),
            self._core.clock,
            clean=is_new or self.dirs.clean[log_dir],
            recovery_point=self.dirs.recovery_points[log_dir].get(id, 0),
            log_start_offset=0 if is_new else self.dirs.log_starts[log_dir].get(id, 0),
        )
        if is_new:
            _write_topic_id(path, topic.id)
        partition = Partition(id, topic.id, opened, log_dir, topic.partitions[number].leader_epoch)
        opened.epochs.begin(partition.leader_epoch, opened.log_end_offset)
        partition.limits = self._limits(topic_name)
        self._partitions[id] = partition
        self._load[log_dir] = self._load.get(log_dir, 0) + 1
        return partition

    def delete(self, topic_name: str, numbers: list[int]) -> None:
        """Close and rename the directories of a deleted topic; the files go a little later."""
        for number in numbers:
            id = TopicPartition(topic_name, number)
            partition = self._partitions.pop(id, None)
            if partition is None:
                continue
            self._load[partition.log_dir] -= 1
            partition.log.close(clean=False)
            path = retire_directory(partition.log.directory)
            delay_ms = self._core.configs.broker.integer("log.segment.delete.delay.ms")
            self._core.timers.call_later(delay_ms, lambda path=path: remove_directory(path))  # type: ignore[misc]
            self._core.purgatory.wake(id)

    def log_config(self, topic_name: str) -> LogConfig:
        """What the topic's configs mean for its logs."""
        configs = self._core.configs.topic(topic_name)
        policy = configs.get("cleanup.policy")
        assert isinstance(policy, list)
        return LogConfig(
            segment_bytes=configs.integer("segment.bytes"),
            segment_ms=configs.integer("segment.ms"),
            segment_jitter_ms=configs.integer("segment.jitter.ms"),
            segment_index_bytes=configs.integer("segment.index.bytes"),
            index_interval_bytes=configs.integer("index.interval.bytes"),
            flush_messages=configs.integer("flush.messages"),
            flush_ms=configs.integer("flush.ms"),
            retention_ms=configs.integer("retention.ms"),
            retention_bytes=configs.integer("retention.bytes"),
            delete="delete" in policy,
            preallocate=bool(configs.get("preallocate")),
        )

    def configs_changed(self, topic_name: str | None) -> None:
        """Take new configs into the logs of one topic, or of all."""
        for partition in self._partitions.values():
            if topic_name is None or partition.id.topic == topic_name:
                partition.log.config = self.log_config(partition.id.topic)
                partition.limits = self._limits(partition.id.topic)

    def _limits(self, topic_name: str) -> Limits:
        configs = self._core.configs.topic(topic_name)
        policy = configs.get("cleanup.policy")
        assert isinstance(policy, list)
        return Limits(
            max_batch_bytes=configs.integer("max.message.bytes"),
            segment_bytes=configs.integer("segment.bytes"),
            codec=str(configs.get("compression.type")),
            log_append_time=configs.get("message.timestamp.type") == "LogAppendTime",
            before_max_ms=configs.integer("message.timestamp.before.max.ms"),
            after_max_ms=configs.integer("message.timestamp.after.max.ms"),
            needs_keys="compact" in policy,
        )

    # Work on timers

    def start_timers(self) -> None:
        timers, broker = self._core.timers, self._core.configs.broker

        def retention() -> None:
            self.enforce_retention()
            timers.call_later(broker.integer("log.retention.check.interval.ms"), retention)

        def checkpoints() -> None:
            self.write_checkpoints()
            timers.call_later(_CHECKPOINT_MS, checkpoints)

        def syncs() -> None:
            self.sync_due()
            timers.call_later(sync_every_ms, syncs)

        sync_every_ms = broker.integer("log.flush.scheduler.interval.ms")
        if sync_every_ms < _NEVER_MS:
            timers.call_later(sync_every_ms, syncs)
        timers.call_later(min(30_000, broker.integer("log.retention.check.interval.ms")), retention)
        timers.call_later(_CHECKPOINT_MS, checkpoints)

    def sync_due(self) -> None:
        """Force the logs to the disk whose flush.ms has passed (on log.flush.scheduler.interval.ms, as in Kafka)."""
        for partition in self._partitions.values():
            try:
                partition.log.sync_if_due()
            except OSError as error:
                log.error("syncing %s failed, it is offline now: %s", partition.id, error)

    def enforce_retention(self) -> None:
        """Delete what every topic's retention has given up, and forget producers that fell silent."""
        broker = self._core.configs.broker
        expired_ms = self._core.clock.now_ms() - broker.integer("producer.id.expiration.ms")
        delay_ms = broker.integer("log.segment.delete.delay.ms")
        for partition in list(self._partitions.values()):
            try:
                partition.log.producers.expire(expired_ms)
                if partition.log.enforce_retention():
                    log.info("%s: retention moved the log start to %d", partition.id, partition.log.log_start_offset)
            except (LogError, OSError) as error:
                log.error("retention of %s failed: %s", partition.id, error)
            if partition.log.has_retired:
                self._core.timers.call_later(delay_ms, partition.log.remove_retired)

    def write_checkpoints(self) -> None:
        """Write where each log starts and what is known to be on the disk; flush buffered index entries."""
        for path in self.dirs.paths:
            here = [partition for partition in self._partitions.values() if partition.log_dir == path]
            for partition in here:
                partition.log.flush()
            self.dirs.write_checkpoints(
                path,
                {partition.id: partition.log.recovery_point for partition in here},
                {partition.id: partition.log.log_start_offset for partition in here},
                {partition.id: partition.high_watermark for partition in here},
            )

    def log_starts_changed(self, partition: Partition) -> None:
        """Keep a moved log start offset before it is acknowledged."""
        here = [other for other in self._partitions.values() if other.log_dir == partition.log_dir]
        self.dirs.write_log_starts(partition.log_dir, {other.id: other.log.log_start_offset for other in here})

    def close(self, *, clean: bool) -> None:
        """Close every log; ``clean`` also completes them and writes the checkpoints."""
        for partition in self._partitions.values():
            partition.log.close(clean=clean)
        if clean:
            self.write_checkpoints()


def _read_topic_id(path: str) -> uuid.UUID | None:
    try:
        return read_partition_metadata(os.path.join(path, _METADATA_FILE))
    except (FileNotFoundError, CorruptIndex):
        return None  # a crash came between making the directory and this file


def _write_topic_id(path: str, topic_id: uuid.UUID) -> None:
    write_partition_metadata(os.path.join(path, _METADATA_FILE), topic_id)
