"""Group configs of Kafka: ``org.apache.kafka.coordinator.group.GroupConfig``."""

from __future__ import annotations

from kafka_tools.config_definitions import Row

TABLE: dict[str, Row] = {
    "consumer.assignment.interval.ms": ("INT", "1000", "[0,...]"),
    "consumer.assignor.offload.enable": ("BOOLEAN", "true", "", "internal"),
    "consumer.heartbeat.interval.ms": ("INT", "5000", "[1,...]"),
    "consumer.session.timeout.ms": ("INT", "45000", "[1,...]"),
    "errors.deadletterqueue.copy.record.enable": ("BOOLEAN", "false", ""),
    "errors.deadletterqueue.topic.name": ("STRING", "", ""),
    "share.assignment.interval.ms": ("INT", "1000", "[0,...]"),
    "share.assignor.offload.enable": ("BOOLEAN", "true", "", "internal"),
    "share.auto.offset.reset": ("STRING", "latest", "[latest, earliest, by_duration:PnDTnHnMn.nS]"),
    "share.delivery.count.limit": ("INT", "5", "[2,...]"),
    "share.heartbeat.interval.ms": ("INT", "5000", "[1,...]"),
    "share.isolation.level": ("STRING", "read_uncommitted", "[read_committed, read_uncommitted]"),
    "share.partition.max.record.locks": ("INT", "2000", "[100,...]"),
    "share.record.lock.duration.ms": ("INT", "30000", "[1000,...]"),
    "share.renew.acknowledge.enable": ("BOOLEAN", "true", ""),
    "share.session.timeout.ms": ("INT", "45000", "[1,...]"),
    "streams.acceptable.recovery.lag": ("LONG", "10000", "[0,...]", "internal"),
    "streams.assignment.interval.ms": ("INT", "1000", "[0,...]"),
    "streams.assignor.name": ("STRING", None, ""),
    "streams.assignor.offload.enable": ("BOOLEAN", "true", "", "internal"),
    "streams.heartbeat.interval.ms": ("INT", "5000", "[1,...]"),
    "streams.initial.rebalance.delay.ms": ("INT", "3000", "[0,...]"),
    "streams.num.standby.replicas": ("INT", "0", "[0,...]"),
    "streams.num.warmup.replicas": ("INT", "2", "[0,...]", "internal"),
    "streams.rack.aware.assignment.tags": ("LIST", "", ""),
    "streams.session.timeout.ms": ("INT", "45000", "[1,...]"),
    "streams.task.offset.interval.ms": ("INT", "60000", "[1,...]", "internal"),
}


def broker_name(name: str) -> str:
    """The broker config that defines a group config's default, if Kafka has it (``GroupConfig.brokerSynonym``)."""
    return "group.streams.assignors" if name == "streams.assignor.name" else f"group.{name}"
