"""What releases with ZooKeeper take. ``tests/against_kafka/test_zookeeper_values.py`` asks the releases themselves."""

from __future__ import annotations

import pytest

from kafka_tools.config_definitions.zookeeper import releases as releases
from kafka_tools.config_definitions.zookeeper import tables as tables
from kafka_tools.config_definitions.zookeeper.releases import RELEASES, Kind, check_value, names_in, row_of
from kafka_tools.errors import InputError, KafkaToolsError


def takes(release: str, kind: Kind, name: str, value: str) -> bool:
    try:
        check_value([release], kind, name, value)
    except KafkaToolsError:
        return False
    return True


def span(kind: Kind, name: str, value: str) -> str:
    """The releases that take it, as they stand in messages."""
    return releases.releases_text([each for each in RELEASES if takes(each, kind, name, value)])


@pytest.mark.parametrize(
    "kind, name, value, taken_by",
    [
        ("topic", "compression.type", "zstd", "Kafka 2.1 to 3.9"),
        ("topic", "retention.ms", "-5", "Kafka 1.1 to 2.1"),
        ("topic", "retention.ms", "-1", "Kafka 1.1 to 3.9"),
        ("topic", "segment.ms", "0", "Kafka 1.1"),
        ("topic", "segment.index.bytes", "2", "Kafka 1.1 to 3.2"),
        ("topic", "segment.bytes", "14", "Kafka 1.1 to 3.9"),
        ("topic", "segment.bytes", "13", "Kafka "),
        ("topic", "message.format.version", "2.2.2", "Kafka 2.2 to 3.9"),
        ("topic", "message.format.version", "0.10.2.1", "Kafka 1.1 to 3.9"),
        ("topic", "remote.storage.enable", "false", "Kafka 3.0 to 3.9"),
        ("topic", "cleanup.policy", "", "Kafka 2.0 to 3.9"),
        ("topic", "remote.log.copy.disable", "false", "Kafka 3.9"),
        ("topic", "remote.log.copy.disable", "TRUE", "Kafka "),
        ("topic", "remote.log.delete.on.disable", "true", "Kafka "),
        ("topic", "leader.replication.throttled.replicas", "*,x", "Kafka "),
        ("topic", "leader.replication.throttled.replicas", "0:1,,1:2", "Kafka "),
        ("topic", "leader.replication.throttled.replicas", "0:99999999999", "Kafka "),
        ("topic", "leader.replication.throttled.replicas", "*", "Kafka 1.1 to 3.9"),
        ("topic", "leader.replication.throttled.replicas", "0:1,1:2", "Kafka 1.1 to 3.9"),
        ("client", "controller_mutation_rate", "1.5", "Kafka 2.7 to 3.9"),
        ("client", "producer_byte_rate", "1.5", "Kafka "),
        ("client", "SCRAM-SHA-256", "x", "Kafka "),
        ("ip", "connection_creation_rate", "1", "Kafka 2.8 to 3.9"),
        ("ip", "connection_creation_rate", "1.5", "Kafka "),
        ("broker", "leader.replication.throttled.rate", "1", "Kafka 1.1 to 3.9"),
        ("broker", "log.cleaner.threads", "1", "Kafka 2.0 to 3.9"),
        ("broker", "max.connections.per.ip", "1", "Kafka 2.1 to 3.9"),
        ("broker", "log.cleaner.min.cleanable.ratio", "7", "Kafka "),
        ("broker", "num.io.threads", "1000", "Kafka 2.0 to 3.9"),
        ("broker", "max.connections", "1", "Kafka 2.0 to 3.9"),
        ("broker", "max.connections", "0", "Kafka 2.0 to 2.2"),
        ("broker", "listener.name.a.max.connections", "0", "Kafka 2.0 to 2.2"),
        ("broker", "max.connections.per.ip", "0", "Kafka "),
        ("broker", "max.connections.per.ip.overrides", "10.0.0.1:5,::1:7", "Kafka 2.1 to 3.9"),
        ("broker", "max.connections.per.ip.overrides", "", "Kafka 2.1 to 3.9"),
        ("broker", "max.connections.per.ip.overrides", "10.0.0.1", "Kafka "),
        ("broker", "max.connections.per.ip.overrides", "a.host:5", "Kafka "),
        ("broker", "log.retention.ms", "-1", "Kafka 2.0 to 3.9"),
        ("broker", "log.retention.ms", "0", "Kafka "),
        ("broker", "log.cleaner.threads", "0", "Kafka "),
        ("broker", "log.cleaner.dedupe.buffer.size", "1048576", "Kafka "),
        ("broker", "log.cleaner.dedupe.buffer.size", "1048577", "Kafka 2.0 to 3.9"),
        ("broker", "listeners", "PLAINTEXT://:9092", "Kafka "),
        ("broker", "num.io.threads", "2147483647", "Kafka "),
        ("broker", "ssl.keystore.location", "/x", "Kafka "),
        ("broker", "listener.name.a.ssl.keystore.location", "/x", "Kafka 2.0 to 3.9"),
        ("broker", "listener.name.a.ssl.keystore.password", "x", "Kafka "),
        ("broker", "listener.name.a.plain.sasl.jaas.config", "x", "Kafka "),
        ("broker", "principal.builder.class", "com.example.Ours", "Kafka "),
        ("broker", "of.a.plugin", "1", "Kafka 2.0 to 3.9"),
        ("all brokers", "leader.replication.throttled.rate", "1", "Kafka 2.0 to 3.9"),
        ("all brokers", "listeners", "PLAINTEXT://:9", "Kafka "),
        ("all brokers", "listener.name.a.max.connections", "1", "Kafka 2.3 to 3.9"),
        ("all brokers", "listener.name.a.ssl.client.auth", "none", "Kafka "),
    ],
)  # fmt: skip
def test_releases_differ(kind: Kind, name: str, value: str, taken_by: str) -> None:
    assert span(kind, name, value) == taken_by


def test_the_error_names_the_releases_that_refuse() -> None:
    with pytest.raises(InputError) as caught:
        check_value(RELEASES, "topic", "max.compaction.lag.ms", "5")
    assert str(caught.value) == "Unknown topic config name: max.compaction.lag.ms (Kafka 1.1 to 2.2)"
    with pytest.raises(InputError) as caught:
        check_value(["2.1", "2.8"], "topic", "flush.ms", "x")
    assert str(caught.value).endswith("Not a number of type LONG (Kafka 2.1, 2.8)")


@pytest.mark.parametrize("release", RELEASES)
def test_every_default_is_right_in_its_release(release: str) -> None:
    for kind in ("topic", "client", "user", "ip", "broker"):
        for name in releases._TABLES[kind]:
            row = row_of(release, kind, name)
            if row is not None and row[1] and kind != "broker":
                assert takes(release, kind, name, row[1]), (name, row)
    assert not names_in("STATIC", release) & {name for name in tables.BROKER if row_of(release, "broker", name)}
    assert names_in("PER_BROKER", release) <= {name for name in tables.BROKER if row_of(release, "broker", name)}


def test_local_retention_that_brokers_cannot_load_is_refused() -> None:
    values = {"local.retention.ms": "1000", "retention.ms": "999"}
    with pytest.raises(InputError, match=r"local.retention.ms \(1000\) must not be more than retention.ms \(999\)"):
        releases.check_together(["3.0", "3.9"], values, judged=True)
    releases.check_together(["3.0"], values | {"retention.ms": "1000"}, judged=True)
    releases.check_together(["3.6", "3.9"], values, judged=True)


@pytest.mark.parametrize("name", ["num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir"])
def test_threads_that_a_start_makes_at_once_are_bounded(name: str) -> None:
    """``python -m tests.against_kafka.zookeeper_values starts 3.9.2`` saw a broker not start with 2147483647."""
    for release in ("2.2", "3.9"):
        check_value([release], "broker", name, "1000")
        with pytest.raises(InputError, match="this many threads"):
            check_value([release], "broker", name, "2147483647")
