"""The admin client on real Kafka 1.1.1 to 4.3.1: every call does what it says, by what the cluster then tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST, MAX_TIMESTAMP
from kafka_tools.admin.calls.quotas import EXACT, QuotaFilter
from kafka_tools.admin.client import (
    AdminClient,
    CommittedOffset,
    ConfigChange,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ScramCredentialInfo,
    ScramDeletion,
    ScramUpsertion,
    quota_entity,
)
from kafka_tools.errors import AlreadyExists, InvalidRequest, KafkaToolsError, NotFound, UnsupportedVersion
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import ZERO_UUID, TopicPartition
from tests.against_kafka.harness import RealKafka, eventually

ALL = ["kafka_new", "kafka_39", "kafka_39_zk", "kafka_28", "kafka_22", "kafka_11"]
SINCE_24 = ["kafka_new", "kafka_39", "kafka_39_zk", "kafka_28"]


class Warned(list[str]):
    """What the client warned of."""


@pytest.fixture
def warned() -> Warned:
    return Warned()


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def admin(kafka: RealKafka, warned: Warned) -> Iterator[AdminClient]:
    config = ClientConfig.load(kafka.bootstrap_servers)
    with AdminClient(config, timeout_s=60, warn=warned.append) as client:
        yield client


def settled(check: Callable[[], object]) -> None:
    """Until ``check`` works: a broker learns of a change shortly after the controller has answered."""

    def attempt() -> None:
        try:
            check()
        except KafkaToolsError as error:
            raise AssertionError(str(error)) from error

    eventually(attempt)


def over(names: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kafka", names, indirect=True)


@over(ALL)
def test_topics_are_created_described_grown_and_deleted(kafka: RealKafka, admin: AdminClient) -> None:
    made = admin.create_topics(
        [
            NewTopic("admin-a", 2, 1, None, {"retention.ms": "60000"}),
            NewTopic("admin-b", assignment=[[admin.nodes()[0].id]]),
            NewTopic("no such name", 1, 1),
        ]
    )
    assert list(made.failures()) == ["no such name"]
    assert isinstance(made["no such name"].error, InvalidRequest)
    assert isinstance(admin.create_topics([NewTopic("admin-a", 1, 1)])["admin-a"].error, AlreadyExists)
    settled(lambda: admin.describe_topics(["admin-a", "admin-b"]).raise_any())
    described = admin.describe_topics(["admin-b", "admin-a", "admin-none"])
    topic = described["admin-a"].get()
    assert [partition.partition for partition in topic.partitions] == [0, 1]
    assert isinstance(described["admin-none"].error, NotFound)
    assert {"admin-a", "admin-b"} <= {listing.name for listing in admin.list_topics()}

    admin.create_partitions({"admin-a": NewPartitions(4)}).raise_any()
    settled(lambda: _require(len(admin.describe_topics(["admin-a"])["admin-a"].get().partitions) == 4))
    with pytest.raises(KafkaToolsError, match=r"INVALID_PARTITIONS"):
        admin.create_partitions({"admin-a": NewPartitions(1)}).raise_any()
    if kafka.release >= "2.8":
        assert topic.topic_id != ZERO_UUID
    if kafka.release >= "3.1":
        assert admin.describe_topics([topic.topic_id])[topic.topic_id].get().name == "admin-a"
    gone = admin.delete_topics(["admin-a", "admin-b", "admin-none"])
    assert list(gone.failures()) == ["admin-none"]
    settled(lambda: _require("admin-a" not in {listing.name for listing in admin.list_topics()}))


def _require(condition: bool) -> None:
    assert condition


@over(ALL)
def test_defaults_of_new_topics_need_kafka_2_4(kafka: RealKafka, admin: AdminClient) -> None:
    outcome = admin.create_topics([NewTopic("admin-defaults")], validate_only=True)["admin-defaults"]
    if kafka.release >= "2.4":
        assert outcome.error is None
    else:
        assert isinstance(outcome.error, UnsupportedVersion)
        assert outcome.error.hint is not None and "--partitions" in outcome.error.hint
    assert "admin-defaults" not in {listing.name for listing in admin.list_topics()}


@over(["kafka_new", "kafka_39"])
def test_pages_of_partitions_put_together_are_the_whole(admin: AdminClient) -> None:
    admin.create_topics([NewTopic("admin-p1", 5, 1), NewTopic("admin-p2", 3, 1)]).raise_any()
    names = ["admin-p2", "admin-p1"]
    settled(lambda: admin.describe_topics(names).raise_any())
    whole = admin.describe_topics(names).raise_any().succeeded()
    assert admin.describe_topics(names, page_size=2).raise_any().succeeded() == whole
    assert [len(topic.partitions) for topic in whole.values()] == [3, 5]
    admin.delete_topics(names).raise_any()


@over(ALL)
def test_configs_change_by_single_settings(kafka: RealKafka, admin: AdminClient, warned: Warned) -> None:
    admin.create_topics([NewTopic("admin-c", 1, 1, None, {"retention.ms": "60000", "flush.ms": "5000"})]).raise_any()
    topic = ConfigResource("topic", "admin-c")
    settled(lambda: admin.describe_configs([topic]).raise_any())
    changes = [
        ConfigChange("segment.bytes", "set", "2000000"),
        ConfigChange("retention.ms", "delete"),
        ConfigChange("cleanup.policy", "append", "compact"),
    ]
    admin.alter_configs_incremental({topic: changes}, validate_only=True).raise_any()
    admin.alter_configs_incremental({topic: changes}).raise_any()
    wanted = {"segment.bytes": "2000000", "cleanup.policy": "delete,compact", "flush.ms": "5000"}

    def is_changed() -> None:
        entries = admin.describe_configs([topic])[topic].get()
        assert {e.name: e.value for e in entries if e.source == "DYNAMIC_TOPIC_CONFIG"} == wanted

    settled(is_changed)
    bad = admin.alter_configs_incremental({topic: [ConfigChange("no.such.setting", "set", "1")]})
    assert isinstance(bad[topic].error, KafkaToolsError)
    assert bool(warned) == (kafka.release < "2.3")
    is_changed()
    admin.delete_topics(["admin-c"]).raise_any()


@over(ALL)
def test_broker_settings_come_from_that_broker(kafka: RealKafka, admin: AdminClient) -> None:
    broker = ConfigResource("broker", str(admin.nodes()[0].id))
    entries = {entry.name: entry for entry in admin.describe_configs([broker], include_synonyms=True)[broker].get()}
    assert entries["log.dirs"].is_read_only
    admin.alter_configs_incremental({broker: [ConfigChange("log.cleaner.threads", "set", "2")]}).raise_any()

    def is_changed() -> None:
        entry = next(
            entry
            for entry in admin.describe_configs({broker: ["log.cleaner.threads"]}, include_synonyms=True)[broker].get()
        )
        assert (entry.value, entry.source) == ("2", "DYNAMIC_BROKER_CONFIG")
        assert [synonym.source for synonym in entry.synonyms] == ["DYNAMIC_BROKER_CONFIG", "DEFAULT_CONFIG"]

    settled(is_changed)
    admin.alter_configs_incremental({broker: [ConfigChange("log.cleaner.threads", "delete")]}).raise_any()
    absent = ConfigResource("broker", "99")
    with pytest.raises(InvalidRequest, match=r"no live broker 99"):
        admin.describe_configs([absent])[absent].get()
    logger = ConfigResource("broker-logger", broker.name)
    outcome = admin.describe_configs([logger])[logger]
    if kafka.release < "2.4":
        assert isinstance(outcome.error, UnsupportedVersion)
    else:
        assert outcome.error is None


@over(ALL)
def test_client_quotas(kafka: RealKafka, admin: AdminClient) -> None:
    entity = quota_entity({"client-id": None, "user": "admin-q"})
    if kafka.release < "2.6":
        with pytest.raises(UnsupportedVersion) as caught:
            admin.describe_client_quotas()
        assert caught.value.hint is not None and "ZooKeeper" in caught.value.hint
        return
    admin.alter_client_quotas({entity: {"producer_byte_rate": 1000.0}}, validate_only=True).raise_any()
    assert admin.describe_client_quotas([QuotaFilter("user", EXACT, "admin-q")]) == {}
    admin.alter_client_quotas({entity: {"producer_byte_rate": 1000.0, "request_percentage": 12.5}}).raise_any()
    settled(
        lambda: _require(
            admin.describe_client_quotas([QuotaFilter("user", EXACT, "admin-q")])
            == {entity: {"producer_byte_rate": 1000.0, "request_percentage": 12.5}}
        )
    )
    applied = admin.describe_quotas("admin-q", "any")["request_percentage"]
    assert (applied.value, applied.source_text) == (12.5, "Default client of user")
    removed: dict[str, float | None] = {"producer_byte_rate": None, "request_percentage": float("nan")}
    admin.alter_client_quotas({entity: removed}).raise_any()
    settled(lambda: _require(admin.describe_client_quotas([QuotaFilter("user", EXACT, "admin-q")]) == {}))
    bad = admin.alter_client_quotas({entity: {"no_such_quota": 1.0}})
    assert isinstance(bad[entity].error, InvalidRequest)


@over(ALL)
def test_scram_credentials_of_several_mechanisms(kafka: RealKafka, admin: AdminClient) -> None:
    both = [
        ScramUpsertion("admin-s", "SCRAM-SHA-256", "pw"),
        ScramUpsertion("admin-s", "SCRAM-SHA-512", "pw", 8192),
        ScramDeletion("admin-nobody", "SCRAM-SHA-256"),
    ]
    outcomes = admin.alter_user_scram_credentials(both)
    if kafka.release < "2.7":
        assert all(isinstance(outcome.error, UnsupportedVersion) for outcome in outcomes.values())
        return
    assert list(outcomes.failures()) == ["admin-nobody"]
    infos = [ScramCredentialInfo("SCRAM-SHA-256", 4096), ScramCredentialInfo("SCRAM-SHA-512", 8192)]

    def is_stored() -> None:
        found = admin.describe_user_scram_credentials(["admin-s", "admin-nobody"])
        assert sorted(found["admin-s"].get()) == infos
        assert isinstance(found["admin-nobody"].error, NotFound)

    settled(is_stored)
    admin.alter_user_scram_credentials([ScramDeletion("admin-s", "SCRAM-SHA-256")]).raise_any()
    settled(lambda: _require(admin.describe_user_scram_credentials()["admin-s"].get() == infos[1:]))
    admin.alter_user_scram_credentials([ScramDeletion("admin-s", "SCRAM-SHA-512")]).raise_any()


@over(ALL)
def test_offsets_and_groups(kafka: RealKafka, admin: AdminClient) -> None:
    first, second = TopicPartition("admin-o", 0), TopicPartition("admin-o", 1)
    admin.create_topics([NewTopic("admin-o", 2, 1)]).raise_any()
    offsets = admin.list_offsets({first: LATEST, second: EARLIEST}).raise_any().succeeded()
    assert [offset.offset for offset in offsets.values()] == [0, 0]
    largest = admin.list_offsets({first: MAX_TIMESTAMP, second: LATEST})
    assert largest[second].error is None
    assert (largest[first].error is None) == (kafka.release >= "3.0")
    assert admin.delete_records({first: 0}).raise_any().succeeded() == {first: 0}
    with pytest.raises(KafkaToolsError, match=r"OFFSET_OUT_OF_RANGE"):
        admin.delete_records({first: 5}).raise_any()

    admin.alter_group_offsets("admin-g", {first: 5, second: CommittedOffset(7, "note")}).raise_any()
    admin.alter_group_offsets("admin-h", {first: 6}).raise_any()
    assert {"admin-g", "admin-h"} <= {group.group_id for group in admin.list_groups().complete()}
    found = admin.list_groups_offsets({"admin-g": None, "admin-h": [first, second]}).raise_any().succeeded()
    assert found["admin-g"].succeeded() == {first: CommittedOffset(5), second: CommittedOffset(7, "note")}
    assert found["admin-h"].succeeded() == {first: CommittedOffset(6), second: None}
    described = admin.describe_groups(["admin-g", "admin-none"])
    assert (described["admin-g"].get().state, described["admin-g"].get().members) == ("Empty", ())
    assert isinstance(described["admin-none"].error, NotFound)
    if kafka.release >= "2.4":
        admin.delete_group_offsets("admin-g", [first]).raise_any()
        assert list(admin.list_group_offsets("admin-g")) == [second]
    else:
        with pytest.raises(UnsupportedVersion, match=r"OffsetDelete"):
            admin.delete_group_offsets("admin-g", [first])
    gone = admin.delete_groups(["admin-g", "admin-h", "admin-none"])
    assert list(gone.failures()) == ["admin-none"]
    admin.delete_topics(["admin-o"]).raise_any()


@over(ALL)
def test_cluster_and_versions(kafka: RealKafka, admin: AdminClient) -> None:
    cluster = admin.describe_cluster()
    assert cluster.cluster_id
    assert [node.id for node in cluster.nodes] == kafka.node_ids
    assert cluster.controller in cluster.nodes
    [ranges] = admin.api_versions().raise_any().succeeded().values()
    assert ranges[18][0] == 0
    if kafka.release >= "4":
        assert admin.describe_cluster(include_fenced_brokers=True).fenced == frozenset()
    else:
        with pytest.raises(UnsupportedVersion, match=r"fenced"):
            admin.describe_cluster(include_fenced_brokers=True)


def test_controllers_answer_for_the_cluster(kafka_new: RealKafka) -> None:
    with AdminClient(ClientConfig.load(None, kafka_new.bootstrap_controllers), timeout_s=60) as admin:
        cluster = admin.describe_cluster()
        assert [node.address for node in cluster.nodes] == [kafka_new.bootstrap_controllers]
        resource = ConfigResource("broker", "")
        admin.alter_configs_incremental({resource: [ConfigChange("message.max.bytes", "set", "1000013")]}).raise_any()
        admin.alter_configs_incremental({resource: [ConfigChange("message.max.bytes", "delete")]}).raise_any()


def test_calls_follow_leaders_and_coordinators_of_three_brokers(kafka_new_three: RealKafka) -> None:
    with AdminClient(ClientConfig.load(kafka_new_three.bootstrap_servers), timeout_s=60) as admin:
        admin.create_topics([NewTopic("admin-three", 6, 3)]).raise_any()
        partitions = [TopicPartition("admin-three", number) for number in range(6)]
        assert len(admin.delete_records(dict.fromkeys(partitions, 0)).raise_any()) == 6
        group_ids = [f"admin-three-{number}" for number in range(6)]
        for group_id in group_ids:
            admin.alter_group_offsets(group_id, {partitions[0]: 1}).raise_any()
        assert set(group_ids) <= {group.group_id for group in admin.list_groups().complete()}
        coordinators = {group.get().coordinator for group in admin.describe_groups(group_ids).values()}
        assert len(coordinators) > 1
        admin.delete_groups(group_ids).raise_any()
        admin.delete_topics(["admin-three"]).raise_any()
