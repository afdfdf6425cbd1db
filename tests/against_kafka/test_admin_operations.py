"""ACLs, tokens, reassignments, elections, log directories, transactions, features and the quorum on real Kafka."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from kafka_tools.admin.client import (
    AclBinding,
    AclFilter,
    AdminClient,
    FeatureUpdate,
    MemberIdentity,
    NewTopic,
    Principal,
    ReplicaPlace,
)
from kafka_tools.errors import KafkaToolsError, NotFound, UnsupportedVersion
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import TopicPartition
from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST

OLD_AND_NEW = ["kafka_new", "kafka_39_zk", "kafka_28", "kafka_22", "kafka_11"]
MASTER_KEY = (("delegation.token.secret.key", "token-secret-key"), ("delegation.token.master.key", "token-secret-key"))
KRAFT_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ZK_AUTHORIZER = "kafka.security.auth.SimpleAclAuthorizer"


def settled(check: Callable[[], object]) -> None:
    """Until ``check`` works: a broker learns of a change shortly after the controller has answered."""

    def attempt() -> None:
        try:
            check()
        except KafkaToolsError as error:
            raise AssertionError(str(error)) from error

    eventually(attempt)


def require(condition: object) -> None:
    assert condition


def connect(kafka: RealKafka, **properties: str) -> AdminClient:
    return AdminClient(ClientConfig.load(kafka.bootstrap_servers, properties=properties), timeout_s=60)


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[AdminClient]:
    with connect(kafka) as client:
        yield client


def over(names: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kafka", names, indirect=True)


@pytest.fixture(scope="module")
def guarded_43(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    """Kafka with an authorizer and delegation tokens; anonymous is a super user."""
    settings = (
        ("authorizer.class.name", KRAFT_AUTHORIZER),
        ("super.users", "User:ANONYMOUS;User:admin"),
        *MASTER_KEY,
    )
    return real_kafka(Setup(NEWEST, listeners=("PLAINTEXT", "SASL_PLAINTEXT"), properties=settings))


@pytest.fixture(scope="module")
def guarded_22(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    """The same on 2.2.2."""
    settings = (
        ("authorizer.class.name", ZK_AUTHORIZER),
        ("super.users", "User:ANONYMOUS;User:admin"),
        *MASTER_KEY,
    )
    return real_kafka(Setup("2.2.2", listeners=("PLAINTEXT", "SASL_PLAINTEXT"), properties=settings))


@pytest.mark.req("ACL-1", "ACL-2", "ACL-3")
@over(["guarded_43", "guarded_22"])
def test_acls(admin: AdminClient) -> None:
    literal = AclBinding("TOPIC", "orders", "LITERAL", "User:alice", "*", "READ", "ALLOW")
    prefixed = AclBinding("GROUP", "app-", "PREFIXED", "User:bob", "127.0.0.1", "ALL", "DENY")
    nonsense = AclBinding("TOPIC", "", "LITERAL", "User:alice", "*", "READ", "ALLOW")
    made = admin.create_acls([literal, nonsense, prefixed])
    assert list(made.failures()) == [nonsense]
    settled(lambda: require(admin.describe_acls() == sorted([literal, prefixed])))
    assert admin.describe_acls(AclFilter("GROUP", "app-1", "MATCH")) == [prefixed]
    assert admin.describe_acls(AclFilter(principal="User:alice")) == [literal]
    nobody = AclFilter(principal="User:nobody")
    gone = admin.delete_acls([AclFilter("TOPIC"), nobody]).raise_any().succeeded()
    assert [binding for binding, outcome in gone[AclFilter("TOPIC")] if outcome.error is None] == [literal]
    assert gone[nobody] == []
    admin.delete_acls([AclFilter()]).raise_any()
    settled(lambda: require(admin.describe_acls() == []))


@pytest.mark.req("ACL-6")
@over(["kafka_new", "kafka_22"])
def test_acls_without_an_authorizer(admin: AdminClient) -> None:
    with pytest.raises(KafkaToolsError, match=r"SECURITY_DISABLED"):
        admin.describe_acls()


@pytest.mark.req("DT-1", "DT-2", "DT-3", "DT-4", "DT-5", "DT-6", "DT-11", "DT-12")
@pytest.mark.parametrize("cluster", ["guarded_43", "guarded_22"])
def test_delegation_tokens_from_birth_to_end(request: pytest.FixtureRequest, cluster: str) -> None:
    kafka: RealKafka = request.getfixturevalue(cluster)
    address = kafka.bootstrap("SASL_PLAINTEXT")
    login = kafka.client_properties("SASL_PLAINTEXT", "admin")
    with AdminClient(ClientConfig.load(address, properties=login), timeout_s=60) as admin:
        token = admin.create_delegation_token([Principal("User", "renewer")], max_lifetime_ms=3_600_000)
        assert token.owner == Principal("User", "admin")
        assert token.max_ms - token.issued_ms == 3_600_000
        assert token.hmac_text not in repr(token)
        settled(lambda: require(token.token_id in [each.token_id for each in admin.describe_delegation_tokens()]))
        [found] = [each for each in admin.describe_delegation_tokens() if each.token_id == token.token_id]
        assert (found.hmac, found.renewers) == (token.hmac, token.renewers)
        assert admin.describe_delegation_tokens([Principal("User", "nobody")]) == []
        assert admin.renew_delegation_token(token.hmac, 60_000) <= token.max_ms
        jaas = f'ScramLoginModule required username="{token.token_id}" password="{token.hmac_text}" tokenauth="true";'
        by_token = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": f"org.apache.kafka.common.security.scram.{jaas}",
        }

        def logs_in() -> None:
            with AdminClient(ClientConfig.load(address, properties=by_token), timeout_s=30) as other:
                assert other.describe_cluster().cluster_id

        settled(logs_in)
        admin.expire_delegation_token(token.hmac)
        settled(lambda: require(token.token_id not in [t.token_id for t in admin.describe_delegation_tokens()]))
        with pytest.raises(NotFound, match=r"DELEGATION_TOKEN_NOT_FOUND"):
            admin.renew_delegation_token(token.hmac)


@over(["kafka_new"])
def test_tokens_where_they_are_not_allowed(admin: AdminClient) -> None:
    with pytest.raises(KafkaToolsError, match=r"DELEGATION_TOKEN"):
        admin.create_delegation_token()


def test_reassignments_and_elections_on_three_brokers(kafka_new_three: RealKafka) -> None:
    ids = kafka_new_three.node_ids
    partition = TopicPartition("admin-move", 0)
    with connect(kafka_new_three) as admin:
        admin.create_topics([NewTopic("admin-move", assignment=[[ids[0], ids[1]]])]).raise_any()
        settled(lambda: admin.describe_topics(["admin-move"]).raise_any())
        unknown = TopicPartition("admin-none", 0)
        outcomes = admin.alter_partition_reassignments({partition: [ids[1], ids[2]], unknown: [ids[0]]})
        assert list(outcomes.failures()) == [unknown]

        def has_moved() -> None:
            assert admin.list_partition_reassignments([partition]) == {}
            [found] = admin.describe_topics(["admin-move"])["admin-move"].get().partitions
            assert (found.replicas, set(found.isr)) == ((ids[1], ids[2]), {ids[1], ids[2]})

        settled(has_moved)
        with pytest.raises(KafkaToolsError, match=r"NO_REASSIGNMENT_IN_PROGRESS"):
            admin.alter_partition_reassignments({partition: None}).raise_any()
        admin.alter_partition_reassignments({partition: [ids[2], ids[1]]}).raise_any()

        def order_has_changed() -> None:
            [found] = admin.describe_topics(["admin-move"])["admin-move"].get().partitions
            assert found.replicas == (ids[2], ids[1])

        settled(order_has_changed)
        outcomes_of_election = admin.elect_leaders([partition, unknown])
        assert list(outcomes_of_election) == [partition, unknown]
        assert outcomes_of_election[unknown].error is not None

        def preferred_leads() -> None:
            [found] = admin.describe_topics(["admin-move"])["admin-move"].get().partitions
            assert found.leader == ids[2]

        settled(preferred_leads)
        again = admin.elect_leaders([partition])
        assert "ELECTION_NOT_NEEDED" in str(again[partition].error)
        admin.elect_leaders()
        admin.delete_topics(["admin-move"]).raise_any()


@over(["kafka_22", "kafka_11"])
def test_reassignments_need_kafka_2_4(admin: AdminClient) -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        admin.list_partition_reassignments()
    assert caught.value.hint is not None and "--zookeeper" in caught.value.hint


@pytest.mark.req("LD-1", "LD-2")
@over(OLD_AND_NEW)
def test_log_dirs(kafka: RealKafka, admin: AdminClient) -> None:
    partition = TopicPartition("admin-dirs", 0)
    admin.create_topics([NewTopic("admin-dirs", 1, 1)]).raise_any()
    [broker] = kafka.node_ids

    def is_there() -> None:
        [path] = [str(path) for path in kafka.log_dirs]
        dirs = admin.describe_log_dirs().raise_any().succeeded()[broker]
        assert [os.path.realpath(name) for name in dirs] == [os.path.realpath(path)]
        [found] = dirs.values()
        info = found.get().replicas.get(partition)
        assert info is not None
        assert (info.size_bytes, info.offset_lag, info.is_future) == (0, 0, False)
        assert (found.get().total_bytes is not None) == (kafka.release >= "3.3")

    settled(is_there)
    limited = admin.describe_log_dirs([broker], [partition]).raise_any().succeeded()[broker]
    assert [list(found.get().replicas) for found in limited.values()] == [[partition]]
    place = ReplicaPlace("admin-dirs", 0, broker)
    outcome = admin.alter_replica_log_dirs({place: "/no/such/dir"})[place]
    assert "LOG_DIR_NOT_FOUND" in str(outcome.error)
    admin.alter_replica_log_dirs({place: next(iter(limited))}).raise_any()
    admin.delete_topics(["admin-dirs"]).raise_any()


@pytest.mark.req("PROTO-20")
@over(["kafka_new", "kafka_39_zk"])
def test_transactions(admin: AdminClient) -> None:
    """Whose coordinators Kafka knows by type 1."""
    partition = TopicPartition("admin-txn", 0)
    admin.create_topics([NewTopic("admin-txn", 1, 1)]).raise_any()
    producer_id, _ = admin.fence_producers(["admin-txn-id"]).raise_any().succeeded()["admin-txn-id"]
    _, second_epoch = admin.fence_producers(["admin-txn-id"]).raise_any().succeeded()["admin-txn-id"]
    assert second_epoch > 0
    found = [each for listed in admin.list_transactions().raise_any().succeeded().values() for each in listed]
    mine = next(each for each in found if each.transactional_id == "admin-txn-id")
    assert (mine.producer_id, mine.state) == (producer_id, "Empty")
    described = admin.describe_transactions(["admin-txn-id", "admin-none"])
    state = described["admin-txn-id"].get()
    assert (state.state, state.producer_id, state.partitions) == ("Empty", producer_id, ())
    assert "TRANSACTIONAL_ID_NOT_FOUND" in str(described["admin-none"].error)
    assert admin.describe_producers([partition]).raise_any().succeeded() == {partition: []}
    assert list(admin.list_transactions(["Ongoing"]).raise_any().succeeded().values()) == [[]]
    admin.delete_topics(["admin-txn"]).raise_any()


def test_features_and_quorum(kafka_new: RealKafka) -> None:
    with connect(kafka_new) as admin:
        features = admin.describe_features()
        assert "metadata.version" in features.finalized
        assert features.epoch is not None
        low, high = features.supported["metadata.version"]
        assert low <= features.finalized["metadata.version"][1] <= high
        outcome = admin.update_features({"metadata.version": FeatureUpdate(high + 1)}, validate_only=True)
        assert outcome["metadata.version"].error is not None
        quorum = admin.describe_quorum()
        assert quorum.leader_id in [voter.replica_id for voter in quorum.voters]
        assert quorum.high_watermark > 0
        with pytest.raises(KafkaToolsError):
            admin.unregister_broker(99)
    controllers = ClientConfig.load(None, kafka_new.bootstrap_controllers)
    with AdminClient(controllers, timeout_s=60) as admin:
        assert admin.describe_quorum().leader_id == quorum.leader_id


@over(["kafka_39_zk", "kafka_22"])
def test_zookeeper_clusters_have_no_quorum(admin: AdminClient) -> None:
    with pytest.raises(KafkaToolsError) as caught:
        admin.describe_quorum()
    assert "quorum" in str(caught.value)


def test_share_group_offsets(kafka_new: RealKafka) -> None:
    partition = TopicPartition("admin-share", 0)
    with connect(kafka_new) as admin:
        admin.create_topics([NewTopic("admin-share", 1, 1)]).raise_any()
        assert isinstance(admin.describe_share_groups(["admin-none"])["admin-none"].error, NotFound)
        settled(lambda: admin.alter_share_group_offsets("admin-share-g", {partition: 0}).raise_any())
        described = admin.describe_share_groups(["admin-share-g"])["admin-share-g"].get()
        assert (described.type, described.state, described.members) == ("share", "Empty", ())

        def has_offset() -> None:
            found = admin.list_share_group_offsets({"admin-share-g": None}).raise_any().succeeded()["admin-share-g"]
            offset = found[partition].get()
            assert offset is not None
            assert offset.start_offset == 0

        settled(has_offset)
        assert [group.type for group in admin.list_groups(types=["share"]).complete()] == ["share"]
        admin.delete_share_group_offsets("admin-share-g", ["admin-share"]).raise_any()
        admin.delete_groups(["admin-share-g"]).raise_any()
        admin.delete_topics(["admin-share"]).raise_any()


@over(["kafka_new", "kafka_39_zk", "kafka_22"])
def test_members_are_described_and_removed(kafka: RealKafka, admin: AdminClient) -> None:
    from kafka_tools.clients.consumer import Consumer

    topic, group = "admin-members", "admin-members-g"
    admin.create_topics([NewTopic(topic, 2, 1)]).raise_any()
    settled(lambda: admin.describe_topics([topic]).raise_any())
    with Consumer(ClientConfig.load(kafka.bootstrap_servers, properties={"group.id": group})) as consumer:
        consumer.subscribe([topic])

        def is_member() -> None:
            consumer.poll(0.5)
            [member] = admin.describe_groups([group])[group].get().members
            assert member.assignment == (TopicPartition(topic, 0), TopicPartition(topic, 1))

        settled(is_member)
        described = admin.describe_groups([group])[group].get()
        assert (described.state, described.protocol_type) == ("Stable", "consumer")
        with pytest.raises(KafkaToolsError, match=r"NON_EMPTY_GROUP"):
            admin.delete_groups([group]).raise_any()
        [member] = described.members
        nobody = MemberIdentity("nobody")
        if kafka.release >= "2.4":
            outcomes = admin.remove_members(group, [MemberIdentity(member.member_id), nobody])
            assert list(outcomes.failures()) == [nobody]
        else:
            admin.remove_members(group, [MemberIdentity(member.member_id)]).raise_any()
            assert list(admin.remove_members(group, [nobody]).failures()) == [nobody]
        settled(lambda: require(admin.describe_groups([group])[group].get().members == ()))
    admin.delete_groups([group])
    admin.delete_topics([topic]).raise_any()
