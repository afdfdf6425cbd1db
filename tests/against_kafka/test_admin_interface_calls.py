"""What the admin client gained with Kafka's whole interface, on real Kafka of each age."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from kafka_tools.admin.client import AdminClient, NewTopic, ReplicaPlace
from kafka_tools.errors import BrokerError, NotFound, UnsupportedVersion
from kafka_tools.net.broker_errors import has_code
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition
from tests.against_kafka.harness import RealKafka, eventually

OLD_AND_NEW = ["kafka_new", "kafka_39_zk", "kafka_28", "kafka_22", "kafka_11"]
_numbers = itertools.count()


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[AdminClient]:
    with AdminClient(ClientConfig.load(kafka.bootstrap_servers), timeout_s=60) as client:
        yield client


@pytest.fixture
def topic(admin: AdminClient) -> Iterator[str]:
    """A topic of one partition that no other test had: brokers delete in their own time."""
    name = f"admin-interface-{next(_numbers)}"

    def is_known() -> None:
        outcome = admin.describe_topics([name])[name]
        assert outcome.error is None
        assert outcome.get().partitions[0].leader is not None

    admin.create_topics([NewTopic(name, 1, 1)]).raise_any()
    eventually(is_known)
    yield name
    admin.delete_topics([name]).raise_any()


def over(names: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kafka", names, indirect=True)


@over(OLD_AND_NEW)
def test_authorized_operations(kafka: RealKafka, admin: AdminClient, topic: str) -> None:
    """Everything is allowed on these clusters; brokers before 2.3 cannot tell."""
    if kafka.release.startswith(("1.", "2.2")):
        with pytest.raises(UnsupportedVersion, match="asking for the authorized operations of the cluster"):
            admin.describe_cluster(include_authorized_operations=True)
        with pytest.raises(UnsupportedVersion, match="asking for the authorized operations of topics"):
            admin.describe_topics([topic], include_authorized_operations=True).raise_any()
        return
    cluster = admin.describe_cluster(include_authorized_operations=True).authorized_operations
    assert cluster is not None
    assert {"ALTER", "CREATE", "CLUSTER_ACTION"} <= set(cluster)
    operations = admin.describe_topics([topic], include_authorized_operations=True)[topic].get().authorized_operations
    assert operations is not None
    assert {"READ", "WRITE", "DELETE", "DESCRIBE"} <= set(operations)
    assert admin.describe_cluster().authorized_operations is None


@over(OLD_AND_NEW)
def test_replicas_are_found_in_their_directories(kafka: RealKafka, admin: AdminClient, topic: str) -> None:
    """A broker knows of a leader a moment before it has made the replica's directory."""
    broker = admin.nodes()[0].id
    here, nowhere = ReplicaPlace(topic, 0, broker), ReplicaPlace("no-such-topic", 0, broker)

    def are_found() -> None:
        found = admin.describe_replica_log_dirs([here, nowhere]).raise_any().succeeded()
        assert found[here].current in [str(path) for path in kafka.log_dirs]
        assert (found[here].current_lag, found[here].future) == (0, None)
        assert found[nowhere] == (None, None, None, None)

    eventually(are_found)


@over(OLD_AND_NEW)
def test_groups_by_protocol_type_and_of_the_classic_protocol(admin: AdminClient, topic: str) -> None:
    group = "admin-interface-group"
    admin.alter_group_offsets(group, {TopicPartition(topic, 0): 0}).raise_any()
    try:
        assert group in [item.group_id for item in admin.list_groups(protocol_types=["", "consumer"])]
        assert group not in [item.group_id for item in admin.list_groups(protocol_types=["connect"])]
        described = admin.describe_classic_groups([group, "no-such-group"])
        assert (described[group].get().state, described[group].get().type) == ("Empty", "classic")
        assert isinstance(described["no-such-group"].error, NotFound)
        assert admin.remove_members(group, None) == {}
    finally:
        admin.delete_groups([group]).raise_any()


@over(OLD_AND_NEW)
def test_a_transaction_is_terminated_by_its_id(admin: AdminClient) -> None:
    first = admin.fence_producers(["admin-interface-txn"])["admin-interface-txn"].get()
    admin.terminate_transaction("admin-interface-txn")
    second = admin.fence_producers(["admin-interface-txn"])["admin-interface-txn"].get()
    assert second[0] == first[0]
    assert second[1] >= first[1] + 2


@over(["kafka_new", "kafka_39_zk", "kafka_22"])
def test_streams_groups(kafka: RealKafka, admin: AdminClient) -> None:
    error = admin.describe_streams_groups(["no-such-group"])["no-such-group"].error
    if kafka.release.startswith("4."):
        assert isinstance(error, NotFound) or has_code(error, error_codes.UNSUPPORTED_VERSION), error
    else:
        assert isinstance(error, UnsupportedVersion)
        assert error.hint == "brokers of Kafka 4.2 and later support StreamsGroupDescribe v0"


@over(["kafka_39_zk", "kafka_22"])
def test_what_a_release_lacks_is_told_with_the_release_that_has_it(kafka: RealKafka, admin: AdminClient) -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        admin.unregister_broker(99)
    wanted = "brokers of Kafka 3.3 and later support UnregisterBroker v0 in KRaft mode (without ZooKeeper)"
    assert caught.value.hint == wanted


@over(["kafka_new", "kafka_39_zk", "kafka_28", "kafka_22"])
def test_every_partition_that_was_asked_for_is_told(admin: AdminClient, topic: str) -> None:
    """Nothing is left out of these answers, so that what is missing from one is known to be wrong."""
    partition, group = TopicPartition(topic, 0), "admin-interface-offsets"
    outcomes = admin.elect_leaders([partition])
    assert outcomes[partition].error is None or has_code(outcomes[partition].error, error_codes.ELECTION_NOT_NEEDED)
    other = TopicPartition("no-such-topic", 3)
    committed = admin.list_group_offsets(group, [partition, other])
    assert {key: outcome.get() for key, outcome in committed.items()} == {partition: None, other: None}


def test_brokers_and_controllers_are_told_apart(kafka_new: RealKafka) -> None:
    taken_for_controller = ClientConfig({"bootstrap.controllers": kafka_new.bootstrap_servers})
    with AdminClient(taken_for_controller, timeout_s=60) as admin:
        with pytest.raises(BrokerError, match="MISMATCHED_ENDPOINT_TYPE") as mismatched:
            admin.describe_quorum()
    assert "give addresses of brokers to --bootstrap-server" in str(mismatched.value.hint)
    taken_for_broker = ClientConfig({"bootstrap.servers": kafka_new.bootstrap_controllers})
    with AdminClient(taken_for_broker, timeout_s=60) as admin:
        with pytest.raises(UnsupportedVersion, match="is a controller and does not support Metadata"):
            admin.list_topics()
