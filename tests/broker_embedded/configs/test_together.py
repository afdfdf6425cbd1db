"""Values of server.properties that do not fit one another: the broker does not start with them, as Kafka does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.together import check_together
from kafka_tools.errors import ConfigError

WRONG: list[tuple[Mapping[str, str], str]] = [
    (
        {"group.consumer.session.timeout.ms": "6000"},
        "group.consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
    ),
    (
        {"group.share.heartbeat.interval.ms": "20000"},
        "group.share.heartbeat.interval.ms must be less than or equal to group.share.max.heartbeat.interval.ms",
    ),
    (
        {"group.streams.min.session.timeout.ms": "70000"},
        "group.streams.max.session.timeout.ms must be greater than or equal to group.streams.min.session.timeout.ms",
    ),
    (
        {"group.consumer.max.heartbeat.interval.ms": "50000", "group.consumer.heartbeat.interval.ms": "45000"},
        "group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms",
    ),
    (
        {"group.streams.num.standby.replicas": "3"},
        "group.streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
    ),
    ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
    ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
    ({"log.retention.minutes": "0"}, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
    ({"log.cleaner.threads": "0"}, "Log cleaner threads should be at least 1"),
    ({"log.cleaner.threads": "128"}, "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
    (
        {"queued.max.request.bytes": "1000"},
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    ),
    (
        {"max.connections.per.ip": "0"},
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    ),
    (
        {"connections.max.idle.ms": "100"},
        "connection.failed.authentication.delay.ms=100 should always be less than connections.max.idle.ms=100 to "
        "prevent failed authentication responses from timing out",
    ),
    (
        {"group.consumer.assignors": "uniform,com.example.Sticky"},
        "group.consumer.assignors: cannot find class com.example.Sticky",
    ),
    (
        {"group.consumer.assignors": "range,org.apache.kafka.coordinator.group.assignor.RangeAssignor"},
        "group.consumer.assignors: org.apache.kafka.coordinator.group.assignor.RangeAssignor is the assignor range, "
        "which is already in the list",
    ),
    (
        {"remote.log.storage.system.enable": "true"},
        "remote.log.storage.system.enable=true: this broker does not support tiered storage; remove the setting",
    ),
]


@pytest.mark.parametrize(("properties", "text"), WRONG, ids=lambda value: next(iter(value)) if value else None)
def test_values_that_do_not_fit_one_another(properties: Mapping[str, str], text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_together(properties)
    assert str(raised.value).startswith(text)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"group.consumer.session.timeout.ms": "6000", "group.consumer.min.session.timeout.ms": "6000"},
        {"log.retention.ms": "-1", "log.retention.hours": "0"},
        {"log.retention.hours": "-1"},
        {"queued.max.request.bytes": "104857600"},
        {"connections.max.idle.ms": "-1"},
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"},
        {"group.consumer.assignors": "org.apache.kafka.coordinator.group.assignor.UniformAssignor,range"},
    ],
    ids=str,
)
def test_values_that_fit(properties: Mapping[str, str]) -> None:
    check_together(properties)


def test_a_broker_does_not_start_with_them_and_leaves_nothing(tmp_path: Path) -> None:
    broker = EmbeddedBroker(data_dir=tmp_path / "data", config={"log.cleaner.threads": "128"})
    with pytest.raises(ConfigError, match="at least 1MB per cleaner thread"):
        broker.start()
    broker = EmbeddedBroker(data_dir=tmp_path / "data")
    broker.start()
    broker.stop()
