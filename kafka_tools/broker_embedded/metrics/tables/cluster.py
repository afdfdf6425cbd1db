"""Beans of the controller, of the metadata log, and of the process."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kafka_tools import KAFKA_RELEASE
from kafka_tools.broker_embedded.metrics.tables.bean import Beans, gauges, named, never

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core

_CONTROLLER = "kafka.controller:type=KafkaController"
_SERVER = "kafka.server:type="
_ACTIVE, _RUNNING = 30, 3
"""Kafka's numbers of the states of a registered broker, and of a broker process."""
_IO = {
    "rchar": "linux-disk-rchar",
    "wchar": "linux-disk-wchar",
    "syscr": "linux-disk-syscr",
    "syscw": "linux-disk-syscw",
    "read_bytes": "linux-disk-read-bytes",
    "write_bytes": "linux-disk-write-bytes",
    "cancelled_write_bytes": "linux-disk-cancelled-write-bytes",
}
"""A line of Linux's /proc/self/io -> Kafka's name."""
_FEATURES = {
    "eligible.leader.replicas.version": "eligibleLeaderReplicasVersion",
    "group.version": "groupVersion",
    "kraft.version": "kraftVersion",
    "metadata.version": "metadataVersion",
    "share.version": "shareVersion",
    "streams.version": "streamsVersion",
    "transaction.version": "transactionVersion",
}


def controller_beans(core: Core) -> Beans:
    """KafkaController: this broker is the controller of its cluster."""
    topics = core.cluster.topics.values()
    known = sum(len(topic.partitions) for topic in topics)
    online = sum(1 for partition in core.partitions if not partition.log.offline)
    end = core.journal.end_offset
    last_ms = getattr(core.store, "last_ms", -1)
    yield from gauges(
        _CONTROLLER,
        {
            "ActiveControllerCount": 1,
            "ActiveBrokerCount": len(core.cluster.brokers),
            "FencedBrokerCount": 0,
            "ControlledShutdownBrokerCount": 0,
            "GlobalTopicCount": len(topics),
            "GlobalPartitionCount": known,
            "OfflinePartitionsCount": known - online,
            "PreferredReplicaImbalanceCount": 0,
            "MetadataErrorCount": 0,
            "NewActiveControllersCount": 1,
            "IgnoredStaticVoters": 0,
            "LastAppliedRecordOffset": end - 1,
            "LastCommittedRecordOffset": end - 1,
            "LastAppliedRecordTimestamp": last_ms,
            "LastAppliedRecordLagMs": 0,
        },
    )
    yield from gauges(_CONTROLLER, {"BrokerRegistrationState": _ACTIVE}, broker=core.node_id)
    for name in ("UncleanLeaderElectionsPerSec", "ElectionFromEligibleLeaderReplicasPerSec"):
        yield named("kafka.controller:type=ControllerStats", name), never("elections")


def metadata_beans(core: Core) -> Beans:
    """The state of the metadata log, and the levels of features."""
    end, last_ms = core.journal.end_offset, getattr(core.store, "last_ms", -1)
    features = core.features.finalized
    yield f"{_SERVER}broker-metadata-metrics", {
        "last-applied-record-offset": end - 1,
        "last-applied-record-timestamp": last_ms,
        "last-applied-record-lag-ms": 0,
        "metadata-load-error-count": 0,
        "metadata-apply-error-count": 0,
        "ignored-static-voters": 0,
    }  # fmt: skip
    yield f"{_SERVER}raft-metrics", {
        "current-state": "leader",
        "current-leader": core.node_id,
        "high-watermark": end,
        "log-end-offset": end,
        "number-of-voters": 1,
        "number-of-observers": 0,
        "number-unknown-voter-connections": 0,
        "uncommitted-voter-change": 0,
    }  # fmt: skip
    loader = f"{_SERVER}MetadataLoader"
    levels = {"CurrentControllerId": core.node_id, "CurrentMetadataVersion": features.get("metadata.version", 0)}
    yield from gauges(loader, levels)
    for name, level in features.items():
        yield from gauges(loader, {"FinalizedLevel": level}, featureName=_FEATURES.get(name, name))
    for name, (low, high) in core.features.supported.items():
        tag = name.replace(".", "-")
        yield (
            f"{_SERVER}node-metrics,feature-name={tag}",
            {"minimum-supported-level": low, "maximum-supported-level": high},
        )


def process_beans(core: Core) -> Beans:
    """The state of the process. The broker and the controller are one process, as in Kafka's combined mode."""
    for kind in ("KafkaServer", "ControllerServer"):
        yield from gauges(f"{_SERVER}{kind}", {"ClusterId": core.cluster.cluster_id})
        yield from gauges(f"{_SERVER}{kind}", _bytes_of_disk())
    yield from gauges(f"{_SERVER}KafkaServer", {"BrokerState": _RUNNING})
    started_ms = core.counts.started_ms
    yield (
        f"{_SERVER}app-info,id={core.node_id}",
        {"Version": core.release or KAFKA_RELEASE, "StartTimeMs": started_ms},
    )
    yield f"{_SERVER}app-info", {"version": core.release or KAFKA_RELEASE, "start-time-ms": started_ms}


def _bytes_of_disk() -> dict[str, int]:
    """What the process read and wrote since its start; empty without Linux's /proc."""
    found = {}
    with suppress(OSError, ValueError), open("/proc/self/io", encoding="ascii") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name in _IO:
                found[_IO[name]] = int(value)
    return found
