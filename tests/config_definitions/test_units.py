"""Values of configs with a unit: which configs count in which, what resolves to what, and what stays as it is typed."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_tools.config_definitions import broker, client_metrics, dynamic, group, topic
from kafka_tools.config_definitions.units import far_below_default, resolved, unit_of
from kafka_tools.config_definitions.values import parse
from kafka_tools.config_definitions.zookeeper import tables
from kafka_tools.errors import ConfigError

NUMBERS = ("SHORT", "INT", "LONG", "DOUBLE")
OF_NOTHING = (
    *("batches", "cache.slots", "codec", "connections", "connections.per.ip", "creation.rate", "factor", "fetchers"),
    *(
        "id",
        "isr",
        "jitter",
        "level",
        "recovery.lag",
        "limit",
        "locks",
        "messages",
        "num",
        "partitions",
        "ratio",
        "replicas",
    ),
    *("requests", "samples", "segments", "sessions", "snapshot", "tasks", "threads", "version", "backlog.size"),
    *(
        "per.data.dir",
        "group.max.size",
        "consumer.max.size",
        "share.max.size",
        "streams.max.size",
        "pool.size",
        "count",
    ),
)
"""The ends of names that count neither time nor bytes."""


@pytest.mark.parametrize(
    ("kind", "name", "text", "number"),
    [
        ("topics", "retention.ms", "7d", "604800000"),
        ("topics", "retention.ms", "7 days", "604800000"),
        ("topics", "retention.ms", " 36h ", "129600000"),
        ("topics", "retention.ms", "1.5d", "129600000"),
        ("topics", "retention.ms", "2w", "1209600000"),
        ("topics", "retention.ms", "500ms", "500"),
        ("topics", "segment.bytes", "10MB", "10000000"),
        ("topics", "segment.bytes", "10MiB", "10485760"),
        ("topics", "segment.bytes", "10 mib", "10485760"),
        ("topics", "segment.bytes", "1.5KiB", "1536"),
        ("topics", "segment.bytes", "2kB", "2000"),
        ("topics", "retention.bytes", "1TiB", str(1 << 40)),
        ("topics", "retention.bytes", "8388607TiB", str(8388607 << 40)),
        ("topics", "message.timestamp.difference.max.ms", "1h", "3600000"),
        ("brokers", "log.retention.hours", "7d", "168"),
        ("brokers", "log.retention.minutes", "1.5h", "90"),
        ("brokers", "log.cleaner.dedupe.buffer.size", "128MiB", str(128 << 20)),
        ("brokers", "log.cleaner.io.max.bytes.per.second", "10MB/s", "10000000"),
        ("brokers", "leader.replication.throttled.rate", "50MB", "50000000"),
        ("brokers", "listener.name.internal.connections.max.reauth.ms", "1h", "3600000"),
        ("groups", "consumer.session.timeout.ms", "45s", "45000"),
        ("client-metrics", "interval.ms", "1m", "60000"),
        ("users", "producer_byte_rate", "10MB", "10000000"),
        ("clients", "consumer_byte_rate", "1.0005kB/s", "1000.5"),
    ],
)
def test_a_unit_is_resolved(kind: str, name: str, text: str, number: str) -> None:
    assert resolved(kind, name, text) == number


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("topics", "retention.ms", "604800000"),
        ("topics", "retention.ms", "-1"),
        ("topics", "retention.ms", "soon"),
        ("topics", "retention.ms", ""),
        ("topics", "cleanup.policy", "7d"),
        ("topics", "compression.type", "7d"),
        ("topics", "min.insync.replicas", "7d"),
        ("topics", "min.cleanable.dirty.ratio", "1d"),
        ("topics", "flush.messages", "10k"),
        ("topics", "no.such.ms", "7d"),
        ("brokers", "my.plugin.ms", "7d"),
        ("brokers", "log.cleaner.io.max.bytes.per.second", "7d"),
        ("brokers", "log.cleaner.io.max.bytes.per.second", "1.7976931348623157E308"),
        ("brokers", "max.connection.creation.rate", "10MB"),
        ("broker-loggers", "retention.ms", "7d"),
        ("users", "producer_byte_rate", "7d"),
        ("users", "producer_byte_rate", "1e6"),
        ("users", "request_percentage", "10MB"),
        ("users", "controller_mutation_rate", "10MB"),
        ("ips", "connection_creation_rate", "10MB"),
        ("users", "leader.replication.throttled.rate", "10MB"),
    ],
)
def test_anything_else_is_passed_on_as_it_is_typed(kind: str, name: str, text: str) -> None:
    assert resolved(kind, name, text) is None


@pytest.mark.parametrize(
    ("kind", "name", "text", "said"),
    [
        ("topics", "retention.ms", "7x", "LONG: invalid unit of time 'x': expected ms, s, m, h, d or w"),
        ("topics", "retention.ms", "7M", "ambiguous unit 'M', minutes or months: write m for minutes"),
        ("topics", "retention.ms", "10MB", "invalid unit of time 'MB'"),
        ("topics", "retention.ms", "1.5ms", "1.5ms is not a whole number of ms"),
        ("topics", "retention.ms", "-7d", "and not a number with one unit, such as 7d"),
        ("topics", "retention.ms", "1d12h", "and not a number with one unit, such as 7d"),
        ("topics", "retention.ms", "99999999999999w", "exceeds the maximum of 9223372036854775807 ms"),
        ("topics", "segment.bytes", "10GB", "INT: 10GB exceeds the maximum of 2147483647 bytes"),
        (
            "topics",
            "segment.bytes",
            "10M",
            "invalid unit of bytes 'M': expected kB, MB, GB, TB (powers of 1000) or KiB",
        ),
        ("topics", "segment.bytes", "10Mb", "invalid unit of bytes 'Mb'"),
        ("topics", "segment.bytes", "10MB/s", "invalid unit of bytes 'MB/s'"),
        ("topics", "segment.bytes", "7d", "invalid unit of bytes 'd'"),
        ("topics", "segment.bytes", "0x10", "and not a number with one unit, such as 10MiB"),
        ("brokers", "log.retention.hours", "90m", "90m is not a whole number of hours"),
        ("users", "producer_byte_rate", "10Mbit", "invalid unit of bytes per second 'Mbit'"),
    ],
)
def test_what_looks_like_a_number_with_a_unit_and_is_none_is_said(kind: str, name: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolved(kind, name, text)
    assert str(refused.value).startswith(f"Invalid value {text} for configuration {name}: Not a number of type ")
    assert said in str(refused.value)


def test_every_config_that_is_a_number_counts_in_a_unit_or_is_known_to_count_none() -> None:
    older = [(name, row) for table in (tables.TOPIC, tables.BROKER) for name, rows in table.items()
             for row in rows.values() if row is not None]  # fmt: skip
    newest = (topic.TABLE, broker.TABLE, group.TABLE, client_metrics.TABLE, dynamic.THROTTLES)
    rows = [*older, *(item for table in newest for item in table.items())]
    unknown = {
        name for name, row in rows if row[0] in NUMBERS and unit_of(name) is None and not name.endswith(OF_NOTHING)
    }
    assert not unknown
    wrong = {name for name, _row in rows if unit_of(name) is not None and name.endswith(OF_NOTHING)}
    assert wrong <= {"metadata.log.max.record.bytes.between.snapshots"}


@given(st.text("0123456789+-.eEdDfFkKMmiBhswxX _", max_size=12))
@example("7d")
@example("0x1p3")
def test_what_kafka_takes_for_a_number_is_never_changed(text: str) -> None:
    for kind, name, type_ in (
        ("topics", "retention.ms", "LONG"),
        ("topics", "segment.bytes", "INT"),
        ("brokers", "log.cleaner.io.max.bytes.per.second", "DOUBLE"),
    ):
        try:
            parse(name, type_, text)
        except ConfigError:
            continue
        assert resolved(kind, name, text) is None


@pytest.mark.parametrize(
    ("kind", "name", "text", "default"),
    [
        ("topics", "retention.ms", "8", "604800000 ms"),
        ("topics", "retention.ms", " 999 ", "604800000 ms"),
        ("topics", "segment.bytes", "512", "1073741824 bytes"),
        ("topics", "max.message.bytes", "10", "1048588 bytes"),
        ("topics", "retention.bytes", "10", "no limit"),
        ("brokers", "log.retention.ms", "8", "604800000 ms"),
        ("brokers", "log.roll.ms", "8", "604800000 ms"),
        ("users", "producer_byte_rate", "10", "no limit"),
        ("brokers", "leader.replication.throttled.rate", "10", "no limit"),
    ],
)
def test_a_number_far_below_the_default_may_lack_its_unit(kind: str, name: str, text: str, default: str) -> None:
    assert far_below_default(kind, name, text) == default


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("topics", "retention.ms", "1000"),
        ("topics", "retention.ms", "1"),
        ("topics", "retention.ms", "8d"),
        ("topics", "retention.ms", "8ms"),
        ("topics", "retention.ms", "0"),
        ("topics", "retention.ms", "-1"),
        ("topics", "retention.bytes", "1024"),
        ("topics", "flush.ms", "1"),
        ("topics", "max.compaction.lag.ms", "1"),
        ("topics", "file.delete.delay.ms", "1"),
        ("topics", "flush.messages", "1"),
        ("topics", "max.message.bytes", "100"),
        ("brokers", "log.retention.hours", "1"),
        ("brokers", "log.cleaner.backoff.ms", "1"),
        ("groups", "consumer.session.timeout.ms", "45"),
        ("users", "request_percentage", "1"),
        ("ips", "connection_creation_rate", "1"),
        ("topics", "retention.ms", "x"),
    ],
)
def test_what_people_set_on_purpose_is_not_taken_for_a_missing_unit(kind: str, name: str, text: str) -> None:
    assert far_below_default(kind, name, text) is None
