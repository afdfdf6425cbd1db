"""Configs: what may be set, what is then described. The texts were taken from a Kafka broker."""

from __future__ import annotations

import logging
import tracemalloc
from typing import Any

import pytest

from kafka_tools.broker_embedded.configs.store import BROKER, CLIENT_METRICS, GROUP, TOPIC, check_properties
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.config_definitions import group as group_table
from kafka_tools.config_definitions import topic as topic_table
from kafka_tools.errors import ConfigError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.alter_configs import AlterConfigsRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord
from tests.broker_embedded.memory_broker import MemoryBroker

SET, DELETE, APPEND, SUBTRACT = range(4)
LOGGER = 8
OK, BAD_REQUEST, BAD_CONFIG = error_codes.NONE, error_codes.INVALID_REQUEST, error_codes.INVALID_CONFIG


@pytest.fixture
def broker() -> MemoryBroker:
    broker = MemoryBroker({"log.retention.hours": "72"})
    broker.create_topic("t1")
    return broker


def alter(
    broker: MemoryBroker, kind: int, name: str, *changes: tuple[int, str, str | None], validate_only: bool = False
) -> tuple[int, str | None]:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    resource = Resource(resource_type=kind, resource_name=name)
    resource.configs = [
        Resource.AlterableConfig(name=key, config_operation=operation, value=value) for operation, key, value in changes
    ]
    response = broker.call(IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only))
    (result,) = response.responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result.error_code, result.error_message


def describe(
    broker: MemoryBroker, kind: int, name: str, keys: list[str] | None = None, version: int | None = None
) -> dict[str, Any]:
    resource = DescribeConfigsRequest.Resource(resource_type=kind, resource_name=name, configuration_keys=keys)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=version != 0)
    (result,) = broker.call(request, version).results
    assert result.error_code == OK, result.error_message
    return {entry.name: entry for entry in result.configs}


def synonyms(entry: Any) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


REPLICA_LIST = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
THROTTLED = "leader.replication.throttled.replicas"
RESET_RULE = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
PREFIX_ONLY = "These security configs can be dynamically updated only per-listener using the listener prefix: "
NOT_AS_DEFAULT = "Cannot update these configs at default cluster level, broker id must be specified: "

REFUSED = [
    (TOPIC, "t1", SET, "nope", "1", BAD_CONFIG, "Unknown topic config name: nope"),
    (TOPIC, "t1", SET, "retention.ms", "abc", BAD_CONFIG,
     "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
    (TOPIC, "t1", SET, "retention.ms", "-2", BAD_CONFIG,
     "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
    (TOPIC, "t1", SET, "retention.ms", "9" * 20, BAD_CONFIG,
     f"Invalid value {'9' * 20} for configuration retention.ms: Not a number of type LONG"),
    (TOPIC, "t1", SET, "retention.ms", "1_000", BAD_CONFIG,
     "Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"),
    (TOPIC, "t1", SET, "segment.bytes", "1", BAD_CONFIG,
     "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576"),
    (TOPIC, "t1", SET, "segment.bytes", "99999999999", BAD_CONFIG,
     "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT"),
    (TOPIC, "t1", SET, "preallocate", "yes", BAD_CONFIG,
     "Invalid value yes for configuration preallocate: Expected value to be either true or false"),
    (TOPIC, "t1", SET, "min.cleanable.dirty.ratio", "2", BAD_CONFIG,
     "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
    (TOPIC, "t1", SET, "cleanup.policy", "foo", BAD_CONFIG,
     "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"),
    (TOPIC, "t1", SET, "cleanup.policy", "delete,,compact", BAD_CONFIG,
     "Configuration 'cleanup.policy' values must not be empty."),
    (TOPIC, "t1", SET, "compression.type", "brotli", BAD_CONFIG,
     "Invalid value brotli for configuration compression.type: "
     "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
    (TOPIC, "t1", SET, "compression.gzip.level", "10", BAD_CONFIG,
     "Invalid value 10 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"),
    (TOPIC, "t1", SET, THROTTLED, "1:2,*", BAD_CONFIG,
     f"Invalid value [1:2, *] for configuration {THROTTLED}: {THROTTLED} must be the literal '*' "
     f"or a list of replicas in the following format: {REPLICA_LIST}"),
    (TOPIC, "t1", SET, "remote.storage.enable", "true", BAD_CONFIG,
     "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."),
    (TOPIC, "t1", APPEND, "retention.ms", "5", BAD_CONFIG,
     "Can't APPEND to key retention.ms because its type is not LIST."),
    (TOPIC, "t1", SUBTRACT, "nope", "5", BAD_CONFIG, "Can't SUBTRACT to key nope because its type is not LIST."),
    (TOPIC, "t1", SET, "retention.ms", None, BAD_REQUEST, "Null value not supported for : retention.ms"),
    (TOPIC, "t1", 9, "retention.ms", "1", BAD_REQUEST, "Unknown operations type 9"),
    (TOPIC, "nosuch", SET, "retention.ms", "5", error_codes.UNKNOWN_TOPIC_OR_PARTITION,
     "The topic 'nosuch' does not exist."),
    (TOPIC, "", SET, "retention.ms", "5", BAD_REQUEST, "Default topic resources are not allowed."),
    (TOPIC, "bad/name", SET, "retention.ms", "5", error_codes.INVALID_TOPIC_EXCEPTION,
     "Topic name is invalid: 'bad/name' contains one or more characters other than "
     "ASCII alphanumerics, '.', '_' and '-'"),
    (BROKER, "1", SET, "num.partitions", "3", BAD_REQUEST, "Cannot update these configs dynamically: [num.partitions]"),
    (BROKER, "1", SET, "log.retention.hours", "5", BAD_REQUEST,
     "Cannot update these configs dynamically: [log.retention.hours]"),
    (BROKER, "1", SET, "log.retention.ms", "x", BAD_REQUEST,
     "Invalid value x for configuration log.retention.ms: Not a number of type LONG"),
    (BROKER, "", SET, "follower.replication.throttled.rate", "-1", BAD_REQUEST,
     "Invalid value -1 for configuration follower.replication.throttled.rate: Value must be at least 0"),
    (BROKER, "", SET, "ssl.keystore.password", "secret", BAD_REQUEST, PREFIX_ONLY + "[ssl.keystore.password]"),
    (BROKER, "", SET, "listener.name.plaintext.ssl.keystore.password", "secret", BAD_REQUEST,
     NOT_AS_DEFAULT + "[listener.name.plaintext.ssl.keystore.password]"),
    (BROKER, "", SET, "listeners", "PLAINTEXT://localhost:1", BAD_REQUEST, NOT_AS_DEFAULT + "[listeners]"),
    (BROKER, "1", APPEND, "log.retention.ms", "5", BAD_CONFIG,
     "Config value append is not allowed for config key: log.retention.ms"),
    (BROKER, "1", APPEND, "unknown2", "5", BAD_CONFIG, "Unknown config name: unknown2"),
    (BROKER, "1", APPEND, "listener.name.plaintext.ssl.cipher.suites", "x", BAD_CONFIG,
     "Unknown config name: listener.name.plaintext.ssl.cipher.suites"),
    (BROKER, "1", SET, "num.io.threads", "0", BAD_REQUEST,
     "Invalid value 0 for configuration num.io.threads: Value must be at least 1"),
    (BROKER, "1", SET, "num.io.threads", "100", BAD_REQUEST,
     "Dynamic thread count update validation failed for num.io.threads=100, "
     "value should not be greater than double the current value 8"),
    (BROKER, "", SET, "max.connections", "0", BAD_REQUEST,
     "Invalid value org.apache.kafka.common.config.ConfigException: Invalid max.connections 0 "
     "for configuration Invalid dynamic configuration"),
    (BROKER, "1", SET, "max.connections", "0", BAD_REQUEST,
     "Invalid value org.apache.kafka.common.config.ConfigException: Invalid max.connections 0 "
     "for configuration Invalid dynamic configuration"),
    (BROKER, "1", SET, "listener.name.plaintext.max.connections", "0", BAD_REQUEST,
     "Invalid value org.apache.kafka.common.config.ConfigException: Invalid max.connections 0 "
     "for configuration Invalid dynamic configuration"),
    (BROKER, "", SET, "max.connection.creation.rate", "0", BAD_REQUEST,
     "Invalid value org.apache.kafka.common.config.ConfigException: Invalid max.connection.creation.rate 0 "
     "for configuration Invalid dynamic configuration"),
    (BROKER, "", SET, "max.connections.per.ip.overrides", "a:1,x", BAD_REQUEST,
     "Error parsing configuration property 'max.connections.per.ip.overrides': 'x' is not host:connections"),
    (LOGGER, "1", SET, "nope", "DEBUG", BAD_CONFIG, "Logger nope does not exist!"),
    (LOGGER, "1", SET, "root", "LOUD", BAD_CONFIG,
     "Cannot set the log level of root to LOUD as it is not a supported log level. "
     "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"),
    (LOGGER, "1", DELETE, "root", None, BAD_REQUEST, "Removing the log level of the root logger is not allowed"),
    (LOGGER, "1", APPEND, "root", "INFO", BAD_REQUEST,
     "APPEND operation is not allowed for the BROKER_LOGGER resource"),
    (LOGGER, "x", SET, "root", "INFO", BAD_REQUEST, "Node id must be an integer, but it is: x"),
    (LOGGER, "2", SET, "root", "INFO", BAD_REQUEST, "Unexpected node id. Expected 1, but received 2"),
    (BROKER, "2", SET, "log.retention.ms", "1", BAD_REQUEST, "Unexpected broker id, expected 1, but received 2"),
    (BROKER, "x", 9, "log.retention.ms", "1", BAD_REQUEST, "Node id must be an integer, but it is: x"),
    (BROKER, "x", SET, "log.retention.ms", "1", BAD_REQUEST, "Node id must be an integer, but it is: x"),
    (BROKER, "+-1", SET, "log.retention.ms", "1", BAD_REQUEST, "Node id must be an integer, but it is: +-1"),
    (LOGGER, "2147483648", SET, "root", "INFO", BAD_REQUEST, "Node id must be an integer, but it is: 2147483648"),
    (LOGGER, "+02", SET, "root", "INFO", BAD_REQUEST, "Unexpected node id. Expected 1, but received 2"),
    (GROUP, "g1", SET, "nope", "1", BAD_CONFIG, "Unknown group config name: nope"),
    (GROUP, "", SET, "consumer.session.timeout.ms", "50000", BAD_REQUEST, "Default group resources are not allowed."),
    (GROUP, "g1", SET, "consumer.session.timeout.ms", "1", BAD_CONFIG,
     "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."),
    (GROUP, "g1", SET, "consumer.heartbeat.interval.ms", "50000", BAD_CONFIG,
     "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive."),
    (GROUP, "g1", SET, "share.record.lock.duration.ms", "100000", BAD_CONFIG,
     "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive."),
    (GROUP, "g1", SET, "streams.num.standby.replicas", "5", BAD_CONFIG,
     "streams.num.standby.replicas must be less than or equal to 2"),
    (GROUP, "g1", SET, "streams.assignor.name", "nope", BAD_CONFIG,
     "streams.assignor.name 'nope' is not a registered task assignor. Registered assignors are: [sticky]."),
    (GROUP, "g1", SET, "errors.deadletterqueue.topic.name", "__letters", BAD_CONFIG,
     "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"),
    (GROUP, "g1", SET, "share.auto.offset.reset", "by_duration:x", BAD_CONFIG,
     "Invalid value by_duration:x for configuration share.auto.offset.reset: "
     f"Invalid value `by_duration:x` for configuration share.auto.offset.reset. {RESET_RULE}"),
    (CLIENT_METRICS, "m1", SET, "nope", "1", BAD_REQUEST, "Unknown client metrics configuration: nope"),
    (CLIENT_METRICS, "", SET, "metrics", "a", BAD_REQUEST, "Subscription name can't be empty"),
    (CLIENT_METRICS, "m1", SET, "interval.ms", "5", BAD_REQUEST,
     "Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)"),
    (CLIENT_METRICS, "m1", SET, "match", "client_id=a.*,foo=b", BAD_CONFIG, "Illegal client matching pattern: foo=b"),
    (CLIENT_METRICS, "m1", SET, "match", "client_id=(", BAD_CONFIG, "Illegal client matching pattern: client_id=("),
    (CLIENT_METRICS, "m1", SET, "match", "client_id=", BAD_CONFIG, "Illegal client matching pattern: client_id="),
    (CLIENT_METRICS, "m1", APPEND, "metrics", "c", BAD_CONFIG,
     "Can't APPEND to key metrics because its type is not LIST."),
    (64, "x", SET, "a", "b", BAD_REQUEST, "Unknown resource type 64"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "operation", "key", "value", "code", "message"), REFUSED)
def test_a_refused_change_has_kafkas_code_and_text_and_changes_nothing(
    broker: MemoryBroker, kind: int, name: str, operation: int, key: str, value: str | None, code: int, message: str
) -> None:
    before = list(broker.store.records)
    assert alter(broker, kind, name, (operation, key, value)) == (code, message)
    assert broker.store.records == before


@pytest.mark.parametrize(
    "pattern", ["(" * 10_000, "a{99999999999}", "a{" + "9" * 5000 + "}"], ids=["deep", "many", "digits"]
)
def test_a_pattern_that_is_too_much_is_refused_as_a_wrong_one(broker: MemoryBroker, pattern: str) -> None:
    refused = (BAD_CONFIG, f"Illegal client matching pattern: client_id={pattern}")
    assert alter(broker, CLIENT_METRICS, "m1", (SET, "match", f"client_id={pattern}")) == refused


ONLY_WITH_OVERRIDES = (
    "requirement failed: max.connections.per.ip can be set to zero only if "
    "max.connections.per.ip.overrides property is set."
)
TOGETHER = [
    ("max.connections.per.ip", "0", ONLY_WITH_OVERRIDES),
    ("log.roll.ms", "0", "requirement failed: log.roll.ms must be greater than or equal to 1"),
    ("log.roll.ms", "-1", "requirement failed: log.roll.ms must be greater than or equal to 1"),
    ("log.roll.jitter.ms", "-1", "requirement failed: log.roll.jitter.ms must be greater than or equal to 0"),
    ("log.retention.ms", "0",
     "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
    ("log.cleaner.threads", "0", "requirement failed: Log cleaner threads should be at least 1"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["", "1"])
@pytest.mark.parametrize(("key", "value", "message"), TOGETHER)
def test_what_a_broker_would_not_start_with_is_refused_while_it_runs(
    broker: MemoryBroker, name: str, key: str, value: str, message: str
) -> None:
    before = list(broker.store.records)
    assert alter(broker, BROKER, name, (SET, key, value)) == (BAD_REQUEST, message)
    assert broker.store.records == before


def test_all_that_would_be_in_force_counts(broker: MemoryBroker) -> None:
    per_ip, overrides = "max.connections.per.ip", "max.connections.per.ip.overrides"
    assert alter(broker, BROKER, "", (SET, overrides, "127.0.0.1:5")) == (OK, None)
    assert alter(broker, BROKER, "", (SET, per_ip, "0")) == (OK, None)
    assert alter(broker, BROKER, "", (DELETE, overrides, None)) == (BAD_REQUEST, ONLY_WITH_OVERRIDES)
    assert alter(broker, BROKER, "1", (SET, overrides, "")) == (BAD_REQUEST, ONLY_WITH_OVERRIDES)
    assert alter(broker, BROKER, "1", (SET, per_ip, "7")) == (OK, None)
    assert alter(broker, BROKER, "", (DELETE, overrides, None)) == (OK, None)
    assert alter(broker, BROKER, "1", (DELETE, per_ip, None)) == (BAD_REQUEST, ONLY_WITH_OVERRIDES)
    assert alter(broker, BROKER, "", (DELETE, per_ip, None)) == (OK, None)


def test_the_threads_that_would_be_in_force_count(broker: MemoryBroker) -> None:
    threads, refused = "num.io.threads", "Dynamic thread count update validation failed for num.io.threads="
    for name, value in (("", "8"), ("1", "16"), ("1", "32")):
        assert alter(broker, BROKER, name, (SET, threads, value)) == (OK, None)
    assert alter(broker, BROKER, "", (SET, "log.retention.ms", "100000")) == (OK, None)
    too_few = (BAD_REQUEST, f"{refused}8, value should be at least half the current value 32")
    assert alter(broker, BROKER, "1", (DELETE, threads, None)) == too_few
    assert alter(broker, BROKER, "1", (SET, threads, "8")) == too_few
    assert alter(broker, BROKER, "", (SET, threads, "100")) == (OK, None)
    too_many = (BAD_REQUEST, f"{refused}100, value should not be greater than double the current value 32")
    assert alter(broker, BROKER, "1", (DELETE, threads, None)) == too_many
    assert alter(broker, BROKER, "", (SET, threads, "20")) == (OK, None)
    assert alter(broker, BROKER, "1", (DELETE, threads, None)) == (OK, None)


def test_the_cleaners_threads_that_would_be_in_force_count(broker: MemoryBroker) -> None:
    threads, refused = (
        "log.cleaner.threads",
        "Log cleaner threads cannot be reduced to less than half the current value 4",
    )
    for name, value in (("1", "2"), ("1", "4"), ("", "1")):
        assert alter(broker, BROKER, name, (SET, threads, value)) == (OK, None)
    assert alter(broker, BROKER, "1", (DELETE, threads, None)) == (BAD_REQUEST, refused)
    assert alter(broker, BROKER, "1", (SET, threads, "2")) == (OK, None)
    assert alter(broker, BROKER, "1", (DELETE, threads, None)) == (OK, None)


def test_what_an_earlier_version_took_is_left_out_at_the_start(
    broker: MemoryBroker, caplog: pytest.LogCaptureFixture
) -> None:
    taken = [
        ("", "log.roll.ms", "0"),
        ("1", "log.roll.ms", "-1"),
        ("", "log.retention.ms", "0"),
        ("", "max.connections.per.ip", "0"),
        ("", "log.retention.bytes", "5"),
    ]
    for name, key, value in taken:
        broker.core.journal.commit([ConfigRecord(resource_type=BROKER, resource_name=name, name=key, value=value)])
    broker.restart()
    configs = broker.core.configs
    assert configs.topic("t1").get("segment.ms") == 168 * 3_600_000
    assert configs.topic("t1").get("retention.ms") == 72 * 3_600_000
    assert configs.broker.integer("max.connections.per.ip") == 2**31 - 1
    assert dict(configs.dynamic(BROKER, "")) == {"log.retention.bytes": "5", "min.insync.replicas": "1"}
    told = [record.getMessage() for record in caplog.records]
    assert "removing log.roll.ms=-1, which was set while the broker ran: " + TOGETHER[1][2][20:] in told
    assert len(told) == 4
    caplog.clear()
    broker.restart()
    assert not caplog.records


ACCEPTED = [
    (TOPIC, "t1", SET, "retention.ms", " 5000 "),
    (TOPIC, "t1", DELETE, "nope", None),
    (TOPIC, "t1", SET, "cleanup.policy", ""),
    (TOPIC, "t1", SET, "min.cleanable.dirty.ratio", "1e-1"),
    (TOPIC, "t1", SET, "internal.segment.bytes", "1000"),
    (TOPIC, "t1", SET, THROTTLED, "*"),
    (BROKER, "1", SET, "unknown.custom", "v"),
    (BROKER, "1", DELETE, "num.partitions", None),
    (BROKER, "1", SET, "num.io.threads", "16"),
    (BROKER, "1", SET, "listener.name.plaintext.ssl.keystore.password", "secret"),
    (BROKER, "", SET, "listener.name.plaintext.max.connections", "5"),
    (GROUP, "g1", SET, "share.auto.offset.reset", "by_duration:PT1H30M"),
    (CLIENT_METRICS, "m1", SET, "match", "client_id=a.*,client_software_name=x"),
]


@pytest.mark.parametrize(("kind", "name", "operation", "key", "value"), ACCEPTED)
def test_what_kafka_accepts_is_accepted(
    broker: MemoryBroker, kind: int, name: str, operation: int, key: str, value: str | None
) -> None:
    assert alter(broker, kind, name, (operation, key, value)) == (OK, None)


def test_two_changes_of_one_config_are_refused(broker: MemoryBroker) -> None:
    error = alter(broker, TOPIC, "t1", (SET, "retention.ms", "1"), (DELETE, "retention.ms", None))
    assert error == (BAD_REQUEST, "Error due to duplicate config keys")


def test_configs_that_contradict_each_other_are_refused(broker: MemoryBroker) -> None:
    error = alter(broker, TOPIC, "t1", (SET, "min.compaction.lag.ms", "10"), (SET, "max.compaction.lag.ms", "5"))
    text = "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"
    assert error == (BAD_CONFIG, text)


@pytest.mark.req("CFG-34")
def test_a_resource_named_twice_is_refused_both_times_and_the_others_are_done(broker: MemoryBroker) -> None:
    broker.create_topic("t2")
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = Resource.AlterableConfig(name="retention.ms", config_operation=SET, value="7")
    resources = [Resource(resource_type=TOPIC, resource_name=name, configs=[config]) for name in ("t1", "t2", "t1")]
    responses = broker.call(IncrementalAlterConfigsRequest(resources=resources)).responses
    twice = (BAD_REQUEST, "Each resource must appear at most once.")
    assert [(r.error_code, r.error_message) for r in responses] == [twice, (OK, None), twice]
    assert broker.core.configs.topic("t1").get("retention.ms") == 72 * 3_600_000
    assert broker.core.configs.topic("t2").get("retention.ms") == 7


def test_validate_only_checks_and_changes_nothing(broker: MemoryBroker) -> None:
    assert alter(broker, TOPIC, "t1", (SET, "retention.ms", "7"), validate_only=True) == (OK, None)
    assert alter(broker, TOPIC, "t1", (SET, "retention.ms", "x"), validate_only=True)[0] == BAD_CONFIG
    assert broker.core.configs.topic("t1").get("retention.ms") == 72 * 3_600_000


def test_append_and_subtract_start_from_the_default(broker: MemoryBroker) -> None:
    assert alter(broker, TOPIC, "t1", (APPEND, "cleanup.policy", "compact")) == (OK, None)
    assert broker.core.configs.topic("t1").get("cleanup.policy") == ["delete", "compact"]
    assert alter(broker, TOPIC, "t1", (SUBTRACT, "cleanup.policy", "delete")) == (OK, None)
    assert broker.core.configs.topic("t1").get("cleanup.policy") == ["compact"]
    assert alter(broker, BROKER, "1", (APPEND, "log.cleanup.policy", "compact")) == (OK, None)
    assert broker.core.configs.broker.get("log.cleanup.policy") == ["delete", "compact"]


def test_a_comma_at_the_end_of_what_is_appended_or_subtracted_is_passed_over(broker: MemoryBroker) -> None:
    assert alter(broker, TOPIC, "t1", (APPEND, "cleanup.policy", "compact,")) == (OK, None)
    assert broker.core.configs.dynamic(TOPIC, "t1")["cleanup.policy"] == "delete,compact"
    assert alter(broker, TOPIC, "t1", (SUBTRACT, "cleanup.policy", "delete,,")) == (OK, None)
    assert broker.core.configs.dynamic(TOPIC, "t1")["cleanup.policy"] == "compact"
    empty = (BAD_CONFIG, "Configuration 'cleanup.policy' values must not be empty.")
    assert alter(broker, TOPIC, "t1", (APPEND, "cleanup.policy", "")) == empty
    assert alter(broker, TOPIC, "t1", (APPEND, "cleanup.policy", ",delete")) == empty
    assert alter(broker, TOPIC, "t1", (APPEND, "cleanup.policy", ",")) == (OK, None)


def test_what_is_appended_makes_no_value_that_is_longer_than_a_string_may_be(broker: MemoryBroker) -> None:
    half = ",".join(f"{number:05}:1" for number in range(2500))
    assert alter(broker, TOPIC, "t1", (SET, THROTTLED, half)) == (OK, None)
    assert alter(broker, TOPIC, "t1", (APPEND, THROTTLED, half.replace(":1", ":2"))) == (
        BAD_CONFIG,
        "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.",
    )
    assert describe(broker, TOPIC, "t1", [THROTTLED])[THROTTLED].value == half


def test_the_old_alter_replaces_everything_that_was_set(broker: MemoryBroker) -> None:
    alter(broker, TOPIC, "t1", (SET, "retention.ms", "7"), (SET, "segment.bytes", "2000000"))
    Resource = AlterConfigsRequest.Resource
    config = Resource.AlterableConfig(name="segment.bytes", value="3000000")
    resource = Resource(resource_type=TOPIC, resource_name="t1", configs=[config])
    (result,) = broker.call(AlterConfigsRequest(resources=[resource])).responses
    assert result.error_code == OK
    assert dict(broker.core.configs.dynamic(TOPIC, "t1")) == {"segment.bytes": "3000000"}


def test_what_was_set_survives_a_restart_and_ends_with_the_topic(broker: MemoryBroker) -> None:
    alter(broker, TOPIC, "t1", (SET, "retention.ms", "7"))
    alter(broker, BROKER, "", (SET, "log.segment.bytes", "2000000"))
    broker.restart()
    assert broker.core.configs.topic("t1").get("retention.ms") == 7
    assert broker.core.configs.topic("t1").get("segment.bytes") == 2_000_000
    broker.delete_topic("t1")
    broker.create_topic("t1")
    assert broker.core.configs.topic("t1").get("retention.ms") == 72 * 3_600_000


def test_a_topic_follows_the_brokers_configs(broker: MemoryBroker) -> None:
    topic = broker.core.configs.topic("t1")
    assert topic.get("retention.ms") == 72 * 3_600_000
    alter(broker, BROKER, "", (SET, "log.retention.ms", "200000"))
    assert topic.get("retention.ms") == 200_000
    alter(broker, BROKER, "1", (SET, "log.retention.ms", "100000"))
    assert topic.get("retention.ms") == 100_000
    alter(broker, BROKER, "1", (DELETE, "log.retention.ms", None))
    assert topic.get("retention.ms") == 200_000


@pytest.mark.req("CFG-35", "CFG-37")
def test_a_described_topic_names_source_and_synonyms_as_kafka_does(broker: MemoryBroker) -> None:
    alter(broker, TOPIC, "t1", (SET, "retention.ms", "5000"), (SET, "preallocate", "TRUE"))
    alter(broker, BROKER, "1", (SET, "log.retention.ms", "100000"))
    alter(broker, BROKER, "", (SET, "log.retention.ms", "200000"))
    entries = describe(broker, TOPIC, "t1")
    assert "internal.segment.bytes" not in entries
    retention = entries["retention.ms"]
    assert (retention.value, retention.config_source, retention.config_type) == ("5000", 1, 5)
    assert synonyms(retention) == [
        ("retention.ms", "5000", 1),
        ("log.retention.ms", "100000", 2),
        ("log.retention.ms", "200000", 3),
        ("log.retention.hours", "72", 4),
        ("log.retention.hours", "168", 5),
    ]
    assert synonyms(entries["preallocate"]) == [("preallocate", "true", 1), ("log.preallocate", "false", 5)]
    assert synonyms(entries["segment.ms"]) == []  # only log.roll.hours has a default
    assert (entries["segment.ms"].value, entries["segment.ms"].config_source) == ("604800000", 5)
    assert (entries["cleanup.policy"].value, entries["cleanup.policy"].config_type) == ("delete", 7)
    assert entries["min.cleanable.dirty.ratio"].value == "0.5"


def test_a_described_broker_tells_static_dynamic_and_read_only(broker: MemoryBroker) -> None:
    alter(broker, BROKER, "1", (SET, "log.retention.ms", "100000"), (SET, "unknown.custom", "v"))
    alter(broker, BROKER, "1", (SET, "leader.replication.throttled.rate", "100"))
    alter(broker, BROKER, "", (SET, "num.network.threads", "4"))
    entries = describe(broker, BROKER, "1")
    hours = entries["log.retention.hours"]
    assert (hours.value, hours.config_source, hours.read_only) == ("168", 4, True)  # hidden by log.retention.ms
    assert synonyms(hours) == [("log.retention.hours", "72", 4), ("log.retention.hours", "168", 5)]
    assert (entries["log.retention.ms"].value, entries["log.retention.ms"].read_only) == ("100000", False)
    assert (entries["node.id"].value, entries["node.id"].config_source) == ("1", 4)
    assert synonyms(entries["broker.id"]) == [("broker.id", "1", 4), ("broker.id", "-1", 5)]
    custom = entries["unknown.custom"]
    assert (custom.value, custom.is_sensitive, custom.read_only, custom.config_type) == (None, True, True, 0)
    throttle = entries["leader.replication.throttled.rate"]
    assert (throttle.value, throttle.read_only, synonyms(throttle)) == ("100", False, [(throttle.name, "100", 2)])
    assert "log.initial.task.delay.ms" not in entries  # internal
    assert [(e.name, e.value, e.config_source) for e in describe(broker, BROKER, "").values()] == [
        ("min.insync.replicas", "1", 3),  # which eligible leader replicas set for the cluster
        ("num.network.threads", "4", 3),
    ]


@pytest.mark.req("CFG-36")
def test_sensitive_values_are_never_described(broker: MemoryBroker) -> None:
    name = "listener.name.plaintext.ssl.keystore.password"
    alter(broker, BROKER, "1", (SET, name, "hunter2"))
    entry = describe(broker, BROKER, "1")[name]
    assert (entry.value, entry.is_sensitive, synonyms(entry)) == (None, True, [(name, None, 2)])


def test_described_groups_and_client_metrics_show_defaults_too(broker: MemoryBroker) -> None:
    alter(broker, GROUP, "g1", (SET, "consumer.session.timeout.ms", "50000"))
    alter(broker, CLIENT_METRICS, "m1", (SET, "interval.ms", "1000"))
    group = describe(broker, GROUP, "g1")
    assert group.keys() == {name for name, row in group_table.TABLE.items() if len(row) == 3}
    assert synonyms(group["consumer.session.timeout.ms"]) == [
        ("consumer.session.timeout.ms", "50000", 8),
        ("group.consumer.session.timeout.ms", "45000", 5),
    ]
    assert synonyms(group["share.auto.offset.reset"]) == [("share.auto.offset.reset", "latest", 5)]
    metrics = describe(broker, CLIENT_METRICS, "m1")
    assert [(e.name, e.value, e.config_source) for e in metrics.values()] == [
        ("interval.ms", "1000", 7),
        ("match", "", 5),
        ("metrics", "", 5),
    ]


def test_a_description_can_be_narrowed_and_version_0_tells_defaults(broker: MemoryBroker) -> None:
    alter(broker, TOPIC, "t1", (SET, "retention.ms", "5"))
    entries = describe(broker, TOPIC, "t1", ["retention.ms", "segment.bytes", "nope"], version=0)
    assert [(name, entry.is_default) for name, entry in entries.items()] == [
        ("retention.ms", False),
        ("segment.bytes", True),
    ]
    assert describe(broker, TOPIC, "t1", []).keys() == {
        name for name, row in topic_table.TABLE.items() if len(row) == 3
    }


@pytest.mark.parametrize("name", ["+1", "01", "\u0661"])
def test_a_broker_is_meant_by_its_number_however_java_reads_it(broker: MemoryBroker, name: str) -> None:
    asked = DescribeConfigsRequest.Resource(resource_type=BROKER, resource_name=name, configuration_keys=["node.id"])
    (result,) = broker.call(DescribeConfigsRequest(resources=[asked])).results
    assert (result.error_code, [each.value for each in result.configs]) == (OK, ["1"])


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "nosuch", error_codes.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "", error_codes.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"),
        (GROUP, "", BAD_REQUEST, "Group name must not be empty"),
        (CLIENT_METRICS, "", BAD_REQUEST, "Client metrics subscription name must not be empty"),
        (BROKER, "2", BAD_REQUEST, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", BAD_REQUEST, "Broker id must be an integer, but it is: x"),
        (BROKER, "-2147483649", BAD_REQUEST, "Broker id must be an integer, but it is: -2147483649"),
        (LOGGER, "", BAD_REQUEST, "Broker id must not be empty"),
        (LOGGER, "2", BAD_REQUEST, "Unexpected broker id, expected 1 but received 2"),
    ],
)
def test_what_cannot_be_described_has_its_own_error(
    broker: MemoryBroker, kind: int, name: str, code: int, message: str | None
) -> None:
    resources = [
        DescribeConfigsRequest.Resource(resource_type=kind, resource_name=name, configuration_keys=None),
        DescribeConfigsRequest.Resource(resource_type=TOPIC, resource_name="t1", configuration_keys=["retention.ms"]),
    ]
    bad, good = broker.call(DescribeConfigsRequest(resources=resources)).results
    assert (bad.error_code, bad.error_message, bad.configs) == (code, message, [])
    assert (good.error_code, len(good.configs)) == (OK, 1)


def test_log_levels_change_while_the_broker_runs(broker: MemoryBroker) -> None:
    name = "kafka_tools.broker_embedded.coordinators.groups"
    logger = logging.getLogger(name)
    before = logging.getLogger("kafka_tools").level, logger.level
    kept = list(broker.store.records)
    try:
        assert alter(broker, LOGGER, "1", (SET, "root", "ERROR"), (SET, name, "TRACE")) == (OK, None)
        assert alter(broker, LOGGER, "1", (SET, name, "FATAL"), validate_only=True) == (OK, None)
        entries = describe(broker, LOGGER, "1")
        assert (entries["root"].value, entries[name].value) == ("ERROR", "TRACE")
        assert (entries[name].config_source, entries[name].read_only, entries[name].synonyms) == (6, False, [])
        assert logger.isEnabledFor(5)
        assert alter(broker, LOGGER, "1", (DELETE, name, None)) == (OK, None)
        assert describe(broker, LOGGER, "1", [name])[name].value == "ERROR"
        assert broker.store.records == kept  # levels are not kept
    finally:
        logging.getLogger("kafka_tools").setLevel(before[0])
        logger.setLevel(before[1])


def test_resources_are_listed_by_type(broker: MemoryBroker) -> None:
    alter(broker, GROUP, "g1", (SET, "consumer.session.timeout.ms", "50000"))
    alter(broker, CLIENT_METRICS, "m1", (SET, "interval.ms", "1000"))

    def listed(version: int, *types: int) -> list[tuple[int, str]]:
        response = broker.call(ListConfigResourcesRequest(resource_types=list(types)), version)
        return [(found.resource_type, found.resource_name) for found in response.config_resources]

    assert listed(0) == [(CLIENT_METRICS, "m1")]
    assert listed(1, GROUP, TOPIC) == [(GROUP, "g1"), (TOPIC, "t1")]
    assert listed(1) == [(TOPIC, "t1"), (BROKER, "1"), (8, "1"), (CLIENT_METRICS, "m1"), (GROUP, "g1")]
    refused = broker.call(ListConfigResourcesRequest(resource_types=[TOPIC, 7]))
    assert (refused.error_code, refused.config_resources) == (error_codes.UNSUPPORTED_VERSION, [])


def test_listeners_cannot_change_while_the_broker_runs(broker: MemoryBroker) -> None:
    code, message = alter(broker, BROKER, "1", (SET, "listeners", "PLAINTEXT://localhost:1"))
    assert (code, message is not None and "restart" in message) == (BAD_REQUEST, True)


def test_server_properties_are_checked_by_the_same_rules() -> None:
    check_properties({"num.io.threads": "4", "my.own": "x", "listener.name.a.max.connections": "5"})
    with pytest.raises(ConfigError, match=r"Invalid value 0 for configuration num\.io\.threads"):
        check_properties({"num.io.threads": "0"})


def test_an_answer_about_many_topics_takes_little_more_memory_than_its_bytes(broker: MemoryBroker) -> None:
    """Most topics have most values in common: they are told of once, until they are bytes."""
    names = [f"many-{number}" for number in range(500)]
    for name in names:
        broker.create_topic(name)
    Resource = DescribeConfigsRequest.Resource
    resources = [Resource(resource_type=TOPIC, resource_name=name, configuration_keys=None) for name in names]
    frame = encode_request(DescribeConfigsRequest(resources=resources, include_synonyms=True), 4, 1, "client")
    sizes: list[int] = []

    def take(payload: Any) -> None:
        sizes.append(sum(len(part) for part in ((payload,) if isinstance(payload, bytes) else payload)))

    def describe_all() -> None:
        broker.dispatcher.handle_frame(Connection("test", "PLAINTEXT", "127.0.0.1"), frame, take)
        broker.step()

    describe_all()
    tracemalloc.start()
    try:
        describe_all()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(sizes) == 2 and sizes[0] > 1_000_000
    assert peak_bytes < 3 * sizes[0]
