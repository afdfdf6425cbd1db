"""Settings of producers and consumers: Kafka's defaults, and contradictions named."""

from __future__ import annotations

import pytest

from kafka_tools.clients.settings import ConsumerSettings, ProducerSettings
from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig


def producer(**values: str) -> ProducerSettings:
    return ProducerSettings.load(ClientConfig({key.replace("_", "."): value for key, value in values.items()}))


def consumer(**values: str) -> ConsumerSettings:
    return ConsumerSettings.load(ClientConfig({key.replace("_", "."): value for key, value in values.items()}))


def test_producer_defaults_are_those_of_kafka_4() -> None:
    assert producer() == ProducerSettings()
    assert producer().idempotent
    assert producer().acks == -1


def test_consumer_defaults_are_those_of_kafka_4() -> None:
    assert consumer() == ConsumerSettings()


@pytest.mark.parametrize("values", [{"acks": "1"}, {"retries": "0"}, {"max_in_flight_requests_per_connection": "6"}])
def test_idempotence_gives_way_to_explicit_settings_but_not_to_both(values: dict[str, str]) -> None:
    assert not producer(**values).idempotent
    with pytest.raises(ConfigError, match=r"enable\.idempotence: true is impossible because"):
        producer(enable_idempotence="true", **values)


def test_delivery_timeout_covers_linger_and_request() -> None:
    with pytest.raises(ConfigError, match=r"delivery\.timeout\.ms: 100 is less than linger\.ms \+ request"):
        producer(delivery_timeout_ms="100")
    assert producer(linger_ms="200000").delivery_timeout_ms == 230_000


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"acks": "2"}, "invalid acks '2': expected one of all, -1, 0, 1"),
        ({"batch_size": "x"}, r"batch\.size 'x': expected a whole number"),
        ({"batch_size": "16_384"}, r"batch\.size '16_384': expected a whole number"),
        ({"linger_ms": "-1"}, r"linger\.ms -1: expected 0"),
        ({"compression_type": "zip"}, r"invalid compression\.type 'zip': expected one of none, gzip"),
        (
            {"compression_type": "gzip", "compression_gzip_level": "10"},
            r"compression\.gzip\.level 10: expected 1 to 9",
        ),
    ],
)
def test_bad_producer_setting_is_named(values: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        producer(**values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"auto_offset_reset": "sometimes"},
            r"invalid auto\.offset\.reset 'sometimes': expected one of earliest, latest, none",
        ),
        ({"auto_offset_reset": "by_duration:1h"}, "'1h': expected an ISO 8601 duration"),
        ({"isolation_level": "dirty"}, r"invalid isolation\.level 'dirty': expected one of read_committed"),
        ({"group_protocol": "raft"}, "invalid group.protocol 'raft': expected one of classic, consumer"),
        ({"partition_assignment_strategy": "mine"}, "'mine': expected one of"),
        ({"heartbeat_interval_ms": "50000"}, r"heartbeat\.interval\.ms: 50000 must be below session\.timeout\.ms"),
    ],
)
def test_bad_consumer_setting_is_named(values: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        consumer(**values)


@pytest.mark.req("CONS-25")
def test_empty_assignor_list_has_kafkas_text() -> None:
    with pytest.raises(ConfigError, match="Must configure at least one partition assigner class name to "):
        consumer(partition_assignment_strategy="")


def test_reset_by_duration_reads_iso_8601() -> None:
    settings = consumer(auto_offset_reset="by_duration:P1DT2H3M4.5S")
    assert (settings.auto_offset_reset, settings.reset_duration_ms) == ("by_duration", 93_784_500)


def test_java_assignor_classes_are_understood() -> None:
    name = "org.apache.kafka.clients.consumer.RoundRobinAssignor"
    assert consumer(partition_assignment_strategy=name).assignors == ("roundrobin",)


def test_codec_level_goes_with_its_codec() -> None:
    assert producer(compression_type="zstd", compression_zstd_level="7").compression_level == 7
    assert producer(compression_type="gzip", compression_gzip_level="-1").compression_level is None
    assert producer(compression_type="none", compression_zstd_level="7").compression_level is None


def test_new_protocol_excludes_the_settings_that_the_coordinator_decides() -> None:
    # KIP-848: as ConsumerConfig.checkUnsupportedConfigsPostProcess
    found = consumer(group_protocol="CONSUMER", group_remote_assignor="range")
    assert (found.is_new_protocol, found.remote_assignor) == (True, "range")
    with pytest.raises(
        ConfigError,
        match=r"^heartbeat\.interval\.ms, session\.timeout\.ms cannot be set when group\.protocol=CONSUMER$",
    ):
        consumer(group_protocol="consumer", session_timeout_ms="10000", heartbeat_interval_ms="3000")
    with pytest.raises(ConfigError, match=r"partition\.assignment\.strategy cannot be set when"):
        consumer(group_protocol="consumer", partition_assignment_strategy="range")
    with pytest.raises(ConfigError, match=r"group\.remote\.assignor cannot be set when group\.protocol=CLASSIC"):
        consumer(group_remote_assignor="uniform")
