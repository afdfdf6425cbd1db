"""Beans of partitions and their logs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.metrics.tables.bean import Beans, gauges, named, never
from kafka_tools.protocol.enums import CLUSTER_METADATA

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.storage.log.partition_log import PartitionLog
    from kafka_tools.storage.producer_state import ProducerEntry

MOST_PARTITIONS = 2000
"""The maximum number of partitions with beans of their own. The totals contain all."""
_REPLICAS = "kafka.server:type=ReplicaManager"


def replica_beans(core: Core) -> Beans:
    """ReplicaManager: this broker leads every partition and is its only replica."""
    online = sum(1 for partition in core.partitions if not partition.log.offline)
    known = sum(len(topic.partitions) for topic in core.cluster.topics.values())
    late_ms = core.clock.now_ms() - core.configs.broker.integer("transaction.max.timeout.ms") - 300_000
    late = sum(
        any(entry.transaction_start >= 0 and entry.last_timestamp < late_ms for entry in _producers(partition.log))
        for partition in core.partitions
    )
    yield from gauges(
        _REPLICAS,
        {
            "PartitionCount": known,
            "LeaderCount": online,
            "OfflineReplicaCount": known - online,
            "UnderReplicatedPartitions": 0,
            "UnderMinIsrPartitionCount": 0,
            "AtMinIsrPartitionCount": online,
            "ReassigningPartitions": 0,
            "ProducerIdCount": sum(len(partition.log.producers.entries) for partition in core.partitions),
            "PartitionsWithLateTransactionsCount": late,
        },
    )
    for name, event in (("IsrExpandsPerSec", "expands"), ("IsrShrinksPerSec", "shrinks")):
        yield named(_REPLICAS, name), never(event)
    yield named(_REPLICAS, "FailedIsrUpdatesPerSec"), never("failedUpdates")


def partition_beans(core: Core) -> Beans:
    """Partition and Log of each partition."""
    for partition in islice(core.partitions, MOST_PARTITIONS):
        topic, number, log = *partition.id, partition.log
        yield from gauges(
            "kafka.cluster:type=Partition",
            {
                "InSyncReplicasCount": 1,
                "ReplicasCount": 1,
                "UnderReplicated": 0,
                "UnderMinIsr": 0,
                "AtMinIsr": 1,
                "LastStableOffsetLag": partition.high_watermark - partition.last_stable_offset,
            },
            topic=topic,
            partition=number,
        )
        yield from _log(topic, number, log, log.config.retention_bytes)
    store = getattr(core.store, "log", None)
    if store is not None:
        yield from _log(CLUSTER_METADATA, 0, store, -1)


def _log(topic: str, number: int, log: PartitionLog, retention_bytes: int) -> Beans:
    size_bytes = log.size_bytes
    yield from gauges(
        "kafka.log:type=Log",
        {
            "LogStartOffset": log.log_start_offset,
            "LogEndOffset": log.log_end_offset,
            "NumLogSegments": len(log.segments),
            "Size": size_bytes,
            "RetentionSizeInPercent": size_bytes * 100 // retention_bytes if retention_bytes > 0 else 0,
        },
        topic=topic,
        partition=number,
    )


def directory_beans(core: Core) -> Beans:
    """LogManager and LogCleanerManager: the log directories."""
    dirs = core.dirs
    offline = [path for path in dirs.paths if path not in dirs.live]
    kind = "kafka.log:type=LogManager"
    yield from gauges(kind, {"OfflineLogDirectoryCount": len(offline), "CordonedLogDirectoryCount": 0})
    uncleanable = core.partitions.cleaner.uncleanable()
    for path in dirs.paths:
        yield from gauges(
            kind, {"LogDirectoryOffline": int(path in offline), "LogDirectoryCordoned": 0}, logDirectory=path
        )
        there = [partition for partition in uncleanable if partition.log_dir == path]
        yield from gauges(
            "kafka.log:type=LogCleanerManager",
            {
                "uncleanable-partitions-count": len(there),
                "uncleanable-bytes": sum(partition.log.size_bytes for partition in there),
            },
            logDirectory=path,
        )


def _producers(log: PartitionLog) -> Sequence[ProducerEntry]:
    return list(log.producers.entries.values())
