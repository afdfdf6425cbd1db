"""Every operation against the bundled broker, as itself and as Kafka 2.2: state read back after each change."""

import pytest

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST
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
from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.errors import AlreadyExists, InputError, InvalidRequest, NotFound, UnsupportedVersion
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import ZERO_UUID, TopicPartition


@pytest.fixture(scope="module", params=[None, "2.2"], ids=["newest", "as 2.2"])
def broker(request):
    with EmbeddedBroker(release=request.param) as running:
        running.impersonates = request.param
        yield running


@pytest.fixture
def warned():
    return []


@pytest.fixture
def admin(broker, warned):
    with AdminClient(ClientConfig.load(broker.bootstrap_servers), timeout_s=60, warn=warned.append) as client:
        yield client


def test_topics(broker, admin):
    new = broker.impersonates is None
    made = admin.create_topics([NewTopic("t", 2, 1, None, {"retention.ms": "60000"}), NewTopic("bad name", 1, 1)])
    assert isinstance(made.failures()["bad name"], InvalidRequest)
    assert (made["t"].get().topic_id != ZERO_UUID) == new
    assert isinstance(admin.create_topics([NewTopic("t", 1, 1)])["t"].error, AlreadyExists)
    default = admin.create_topics([NewTopic("d")], validate_only=True)["d"]
    assert (default.error is None) == new
    assert isinstance(default.error, UnsupportedVersion) != new
    assert [topic.name for topic in admin.list_topics()] == ["t"]
    admin.create_partitions({"t": NewPartitions(3)}).raise_any()
    described = admin.describe_topics(["t", "none"])
    assert [partition.partition for partition in described["t"].get().partitions] == [0, 1, 2]
    assert isinstance(described["none"].error, NotFound)
    assert admin.describe_topics(["t"], page_size=1)["t"] == described["t"]
    gone = admin.delete_topics(["t", "none"])
    assert list(gone.failures()) == ["none"]
    assert admin.list_topics() == []


@pytest.mark.req("AC-26")
def test_contradictory_new_topics_are_refused_before_anything_is_sent(admin):
    with pytest.raises(InputError, match=r"twice with different settings"):
        admin.create_topics([NewTopic("x", 1, 1), NewTopic("x", 2, 1)])
    with pytest.raises(InputError, match=r"replica assignment"):
        admin.create_topics([NewTopic("x", 1, 1, [[1]])])
    assert admin.list_topics() == []


@pytest.mark.req("CFG-29", "CFG-43")
def test_single_settings_change_and_the_others_stay(broker, admin, warned):
    admin.create_topics([NewTopic("c", 1, 1, None, {"retention.ms": "60000", "flush.ms": "5000"})]).raise_any()
    topic = ConfigResource("topic", "c")
    changes = [
        ConfigChange("segment.bytes", "set", "2000000"),
        ConfigChange("retention.ms", "delete"),
        ConfigChange("cleanup.policy", "append", "compact"),
    ]

    def own():
        entries = admin.describe_configs([topic])[topic].get()
        return {entry.name: entry.value for entry in entries if entry.source == "DYNAMIC_TOPIC_CONFIG"}

    admin.alter_configs_incremental({topic: changes}, validate_only=True).raise_any()
    assert own() == {"retention.ms": "60000", "flush.ms": "5000"}
    admin.alter_configs_incremental({topic: changes}).raise_any()
    assert own() == {"segment.bytes": "2000000", "flush.ms": "5000", "cleanup.policy": "delete,compact"}
    admin.alter_configs_incremental({topic: [ConfigChange("cleanup.policy", "subtract", "delete")]}).raise_any()
    assert own()["cleanup.policy"] == "compact"
    assert bool(warned) == (broker.impersonates is not None)
    assert all("read, changed and written back as a whole" in line for line in warned)
    admin.replace_configs({topic: {"flush.ms": "7000"}}).raise_any()
    assert own() == {"flush.ms": "7000"}
    admin.delete_topics(["c"]).raise_any()


@pytest.mark.req("QT-16")
def test_client_quotas_and_what_applies(broker, admin):
    alice = quota_entity({"client-id": None, "user": "alice"})
    everybody = quota_entity({"user": None})
    if broker.impersonates is not None:
        with pytest.raises(UnsupportedVersion) as caught:
            admin.describe_client_quotas()
        assert "ZooKeeper" in caught.value.hint
        return
    admin.alter_client_quotas({alice: {"producer_byte_rate": 10.0}}, validate_only=True).raise_any()
    assert admin.describe_client_quotas() == {}
    changes = {alice: {"producer_byte_rate": 10.0}, everybody: {"producer_byte_rate": 5.0, "consumer_byte_rate": 6.0}}
    admin.alter_client_quotas(changes).raise_any()
    assert admin.describe_client_quotas([QuotaFilter("user", EXACT, "alice")]) == {alice: {"producer_byte_rate": 10.0}}
    applied = admin.describe_quotas("alice", "app")
    assert [(name, quota.value, quota.source_text) for name, quota in applied.items()] == [
        ("producer_byte_rate", 10.0, "Default client of user"),
        ("consumer_byte_rate", 6.0, "Default user"),
    ]
    admin.alter_client_quotas({alice: {"producer_byte_rate": float("nan")}}).raise_any()
    admin.alter_client_quotas({everybody: {"producer_byte_rate": None, "consumer_byte_rate": None}}).raise_any()
    assert admin.describe_client_quotas() == {}


def test_scram_credentials(broker, admin):
    both = [ScramUpsertion("s", "SCRAM-SHA-256", "pw"), ScramUpsertion("s", "SCRAM-SHA-512", "pw", 8192)]
    if broker.impersonates is not None:
        assert isinstance(admin.alter_user_scram_credentials(both)["s"].error, UnsupportedVersion)
        return
    admin.alter_user_scram_credentials(both).raise_any()
    infos = [ScramCredentialInfo("SCRAM-SHA-256", 4096), ScramCredentialInfo("SCRAM-SHA-512", 8192)]
    found = admin.describe_user_scram_credentials(["s", "nobody"])
    assert sorted(found["s"].get()) == infos
    assert isinstance(found["nobody"].error, NotFound)
    admin.alter_user_scram_credentials([ScramDeletion("s", "SCRAM-SHA-256")]).raise_any()
    assert admin.describe_user_scram_credentials().succeeded() == {"s": infos[1:]}
    admin.alter_user_scram_credentials([ScramDeletion("s", "SCRAM-SHA-512")]).raise_any()


@pytest.mark.req("SC-10")
def test_scram_changes_that_no_broker_takes_are_refused_before_anything_is_sent(admin):
    for change, message in [
        (ScramUpsertion("s", "SCRAM-SHA-256", "pw", 4095), r"less than the minimum 4096"),
        (ScramUpsertion("s", "SCRAM-SHA-1", "pw"), r"unknown SCRAM mechanism"),
        (ScramUpsertion("s", "SCRAM-SHA-256", ""), r"password is empty"),
        (ScramUpsertion("s", "SCRAM-SHA-256", "pw\udcfc"), r"password is not UTF-8 text"),
        (ScramUpsertion("", "SCRAM-SHA-256", "pw"), r"needs a user name"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            admin.alter_user_scram_credentials([change])
        assert "pw" not in str(caught.value) + repr(change)


@pytest.mark.req("AC-45", "AC-46", "AC-47")
def test_offsets_and_groups(broker, admin):
    first, second = TopicPartition("o", 0), TopicPartition("o", 1)
    admin.create_topics([NewTopic("o", 2, 1)]).raise_any()
    listed = admin.list_offsets({first: LATEST, second: EARLIEST, TopicPartition("o", 7): LATEST})
    assert [offset.offset for offset in listed.succeeded().values()] == [0, 0]
    assert isinstance(listed[TopicPartition("o", 7)].error, NotFound)
    assert admin.delete_records({first: -1}).raise_any().succeeded() == {first: 0}
    admin.alter_group_offsets("g", {first: 5, second: CommittedOffset(7, "note")}).raise_any()
    admin.alter_group_offsets("h", {first: 6}).raise_any()
    assert [group.group_id for group in admin.list_groups().complete()] == ["g", "h"]
    found = admin.list_groups_offsets({"g": None, "h": [first, second], "none": None}).raise_any().succeeded()
    assert found["g"].succeeded() == {first: CommittedOffset(5), second: CommittedOffset(7, "note")}
    assert found["h"].succeeded() == {first: CommittedOffset(6), second: None}
    assert found["none"].succeeded() == {}
    described = admin.describe_groups(["g", "none"])
    assert described["g"].get().is_simple
    assert isinstance(described["none"].error, NotFound)
    with pytest.raises(InputError, match=r"negative"):
        admin.alter_group_offsets("g", {first: -1})
    if broker.impersonates is None:
        admin.delete_group_offsets("g", [first]).raise_any()
        assert list(admin.list_group_offsets("g")) == [second]
    else:
        with pytest.raises(UnsupportedVersion, match=r"OffsetDelete"):
            admin.delete_group_offsets("g", [first])
    assert list(admin.delete_groups(["g", "h", "none"]).failures()) == ["none"]
    assert admin.list_groups() == []
    admin.delete_topics(["o"]).raise_any()


@pytest.mark.req("AC-32")
def test_group_without_an_id_fails_alone(admin):
    outcomes = admin.describe_groups([None, "none"])
    with pytest.raises(InvalidRequest, match=r"INVALID_GROUP_ID: The given group id 'null' cannot be represented"):
        outcomes[None].get()
    assert isinstance(outcomes["none"].error, NotFound)


def test_cluster(admin):
    cluster = admin.describe_cluster()
    assert cluster.controller in cluster.nodes
    assert list(admin.api_versions().raise_any()) == list(cluster.nodes)


def test_broker_that_the_cluster_does_not_have(admin):
    resource = ConfigResource("broker", "99")
    with pytest.raises(InvalidRequest, match=r"no live broker 99; live brokers: 1"):
        admin.describe_configs([resource])[resource].get()
    with pytest.raises(InputError, match=r"invalid broker id 'x'"):
        admin.describe_configs([ConfigResource("broker", "x")])
    with pytest.raises(InputError, match=r"invalid type 'planet'"):
        admin.describe_configs([ConfigResource("planet", "x")]).raise_any()
