"""One partition that this broker leads: its log, its leader epoch, and settings from its topic's configs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.partitions.produce_rules import Limits
from kafka_tools.protocol.enums import CODECS, TIMESTAMP_TYPES, Codec, TimestampType
from kafka_tools.storage.log.partition_log import LogConfig, PartitionLog
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    import uuid

    from kafka_tools.broker_embedded.configs.store import View
    from kafka_tools.broker_embedded.metrics.topic_counts import TopicCounts

_LEVELS = {
    "gzip": "compression.gzip.level",
    "lz4": "compression.lz4.level",
    "zstd": "compression.zstd.level",
}
_FAST_LZ4 = ("lz4", 9)


class Partition:
    """A partition that this broker leads. ``appended_bytes`` counts the bytes appended since the start.

    ``counts``: the counters of its topic, from the first append on.
    ``kept_whole``: the log is not compacted now, because a reader is reading it from its start and needs tombstones.
    ``looked_to``: the log end offset at the last check of the disk (``disk_watch``).
    """

    __slots__ = (
        "appended_bytes",
        "counts",
        "id",
        "kept_whole",
        "leader_epoch",
        "limits",
        "log",
        "log_dir",
        "looked_to",
        "topic_id",
    )

    def __init__(
        self,
        id: TopicPartition,
        topic_id: uuid.UUID,
        log: PartitionLog,
        log_dir: str,
        leader_epoch: int,
        limits: Limits,
    ) -> None:
        self.id = id
        self.topic_id = topic_id
        self.log = log
        self.log_dir = log_dir
        self.leader_epoch = leader_epoch
        self.appended_bytes = 0
        self.counts: TopicCounts | None = None
        self.kept_whole = False
        self.looked_to = 0
        self.limits = limits

    @property
    def high_watermark(self) -> int:
        return self.log.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        return self.log.last_stable_offset

    def end_for(self, isolation_level: int) -> int:
        """The first offset that a consumer may not read. Isolation level 1 is read_committed."""
        return self.log.last_stable_offset if isolation_level == 1 else self.log.log_end_offset


def log_config(configs: View) -> LogConfig:
    """The settings of a topic's logs."""
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
        compact="compact" in policy,
        min_cleanable_dirty_ratio=configs.number("min.cleanable.dirty.ratio"),
        min_compaction_lag_ms=configs.integer("min.compaction.lag.ms"),
        max_compaction_lag_ms=configs.integer("max.compaction.lag.ms"),
        delete_retention_ms=configs.integer("delete.retention.ms"),
        file_delete_delay_ms=configs.integer("file.delete.delay.ms"),
        preallocate=bool(configs.get("preallocate")),
    )


def limits(configs: View) -> Limits:
    """The limits of produced batches from a topic's configs."""
    policy = configs.get("cleanup.policy")
    assert isinstance(policy, list)
    codec = str(configs.get("compression.type"))
    return Limits(
        max_batch_bytes=configs.integer("max.message.bytes"),
        max_record_bytes=configs.integer("max.decompressed.message.bytes"),
        segment_bytes=configs.integer("segment.bytes"),
        codec=_codec(codec),
        level=_level(codec, configs),
        log_append_time=configs.get("message.timestamp.type") == TIMESTAMP_TYPES[TimestampType.LOG_APPEND_TIME],
        before_max_ms=configs.integer("message.timestamp.before.max.ms"),
        after_max_ms=configs.integer("message.timestamp.after.max.ms"),
        needs_keys="compact" in policy,
    )


def _codec(compression_type: str) -> int | None:
    if compression_type == "producer":
        return None
    return Codec.NONE if compression_type == "uncompressed" else CODECS.index(compression_type)


def _level(codec: str, configs: View) -> int | None:
    """The compression level of a topic's codec; None for the default, which for lz4 is the fast compressor."""
    name = _LEVELS.get(codec)
    if name is None:
        return None
    level = configs.integer(name)
    return None if (codec, level) == _FAST_LZ4 else level
