"""ACLs of the bundled broker: the rules of Kafka's StandardAuthorizer, and the three requests that manage entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.security import networks
from kafka_tools.broker_embedded.security.acls import ALLOW, DENY, LITERAL, MATCH, PREFIXED, AclEntry, Filter
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.errors import ConfigError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.create_acls import CreateAclsRequest
from kafka_tools.protocol.messages.delete_acls import DeleteAclsRequest
from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.broker_embedded.disk_broker import DiskBroker

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin;User:CN=ops,O=x",
}
TOPIC, GROUP, CLUSTER, ALL = 2, 3, 4, 2


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    return DiskBroker(tmp_path, PROPERTIES)


def as_user(principal: str) -> Connection:
    connection = Connection("c-2", "PLAINTEXT", "10.0.0.1")
    connection.principal = principal
    return connection


def entry(name: str, operation: str = "READ", permission: int = ALLOW, **fields: Any) -> AclEntry:
    values = {
        "resource_type": TOPIC, "resource_name": name, "pattern_type": LITERAL, "principal": "User:a", "host": "*",
        "operation": AclOperation.numbers[operation], "permission_type": permission,
    }  # fmt: skip
    return AclEntry(**{**values, **fields})


def anything(**fields: Any) -> Filter:
    values = {"resource_type": 1, "resource_name": None, "pattern_type": 1, "principal": None, "host": None,
              "operation": 1, "permission_type": 1}  # fmt: skip
    return Filter(**{**values, **fields})


def may(broker: DiskBroker, operation: str, name: str, principal: str = "User:a", host: str = "10.0.0.1") -> bool:
    return broker.core.acls.authorize(principal, host, AclOperation.numbers[operation], TOPIC, name)


@pytest.mark.parametrize(
    ("entries", "operation", "name", "allowed"),
    [
        ([], "READ", "t", False),
        ([entry("t")], "READ", "t", True),
        ([entry("t")], "WRITE", "t", False),
        ([entry("t")], "READ", "t2", False),
        ([entry("*")], "READ", "t2", True),
        ([entry("te", pattern_type=PREFIXED)], "READ", "test", True),
        ([entry("te", pattern_type=PREFIXED)], "READ", "t", False),
        ([entry("t", "ALL")], "ALTER_CONFIGS", "t", True),
        ([entry("t"), entry("t", "ALL", DENY)], "READ", "t", False),
        ([entry("t"), entry("*", "READ", DENY, principal="User:*")], "READ", "t", False),
        ([entry("t"), entry("", "READ", DENY, resource_name="t", pattern_type=PREFIXED)], "READ", "t", False),
        ([entry("t"), entry("t", "READ", DENY, host="10.0.0.2")], "READ", "t", True),
        ([entry("t", host="10.0.0.2")], "READ", "t", False),
        ([entry("t", principal="User:*")], "READ", "t", True),
        ([entry("t", principal="User:b")], "READ", "t", False),
        ([entry("t", "WRITE")], "DESCRIBE", "t", True),
        ([entry("t", "DELETE")], "DESCRIBE", "t", True),
        ([entry("t", "CREATE")], "DESCRIBE", "t", False),
        ([entry("t", "ALTER_CONFIGS")], "DESCRIBE_CONFIGS", "t", True),
        ([entry("t", "DESCRIBE"), entry("t", "READ", DENY)], "DESCRIBE", "t", True),
        ([entry("t", "READ"), entry("t", "DESCRIBE", DENY)], "DESCRIBE", "t", False),
    ],
)
def test_a_denial_wins_over_allowances_and_reading_implies_describing(
    broker: DiskBroker, entries: list[AclEntry], operation: str, name: str, allowed: bool
) -> None:
    assert broker.core.acls.create(entries) == [None] * len(entries)
    assert may(broker, operation, name) is allowed


def test_super_users_may_everything(broker: DiskBroker) -> None:
    broker.core.acls.create([entry("t", "ALL", DENY, principal="User:*")])
    assert may(broker, "READ", "t", "User:admin")
    assert may(broker, "READ", "t", "User:CN=ops,O=x")
    assert not may(broker, "READ", "t", "User:ops")


def test_resources_without_entries_are_open_only_where_the_broker_says_so(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path, {**PROPERTIES, "allow.everyone.if.no.acl.found": "true"})
    assert may(broker, "READ", "t")
    broker.core.acls.create([entry("t", principal="User:b")])
    assert not may(broker, "READ", "t")
    assert may(broker, "READ", "t2")


def test_entries_survive_a_crash(broker: DiskBroker) -> None:
    broker.core.acls.create([entry("t"), entry("p", pattern_type=PREFIXED)])
    whole(broker.core.acls.delete([anything(resource_name="t")]))
    broker.restart(kill=True)
    assert broker.core.acls.find(anything()) == [entry("p", pattern_type=PREFIXED)]
    assert may(broker, "READ", "px")
    assert not may(broker, "READ", "t")


def test_match_finds_every_pattern_that_applies(broker: DiskBroker) -> None:
    applying = [entry("*"), entry("te", pattern_type=PREFIXED), entry("test")]
    broker.core.acls.create([*applying, entry("other"), entry("tex", pattern_type=PREFIXED)])
    assert broker.core.acls.find(anything(resource_name="test", pattern_type=MATCH)) == applying
    assert broker.core.acls.find(anything(resource_name="test", pattern_type=PREFIXED)) == []


@pytest.mark.req("ACL-1", "ACL-2", "ACL-3", "ACL-4")
@pytest.mark.parametrize("version", range(4))
def test_requests_create_describe_and_delete(broker: DiskBroker, version: int) -> None:
    admin = as_user("User:admin")
    Creation = CreateAclsRequest.AclCreation
    good = {"resource_type": TOPIC, "resource_name": "t", "principal": "User:a", "host": "*", "operation": 3,
            "permission_type": ALLOW}  # fmt: skip
    creations = [
        Creation(**good), Creation(**{**good, "resource_type": CLUSTER}), Creation(**{**good, "operation": 1}),
        Creation(**{**good, "principal": "a"}), Creation(**good), Creation(**{**good, "resource_name": ""}),
    ]  # fmt: skip
    created = broker.send(CreateAclsRequest(creations=creations), version, admin).response.results
    bad = codes.INVALID_REQUEST
    assert [result.error_code for result in created] == [0, bad, bad, bad, 0, bad]
    assert created[1].error_message == "The only valid name for the CLUSTER resource is kafka-cluster"

    def described() -> list[tuple[str, list[str]]]:
        request = DescribeAclsRequest(
            resource_type_filter=1, resource_name_filter=None, principal_filter=None, host_filter=None, operation=1,
            permission_type=1,
        )  # fmt: skip
        found = broker.send(request, version, admin).response
        assert found.error_code == 0
        return [(resource.resource_name, [acl.principal for acl in resource.acls]) for resource in found.resources]

    assert described() == [("t", ["User:a"])]
    wanted = {"resource_type_filter": TOPIC, "resource_name_filter": "t", "principal_filter": None,
              "host_filter": None, "operation": 1, "permission_type": 1}  # fmt: skip
    WireFilter = DeleteAclsRequest.Filter
    request = DeleteAclsRequest(filters=[WireFilter(**wanted), WireFilter(**{**wanted, "operation": 99})])
    first, second = broker.send(request, version, admin).response.filter_results
    assert (first.error_code, first.error_message) == (0, None)
    assert [(acl.resource_name, acl.error_message) for acl in first.matching_acls] == [("t", None)]
    assert (second.error_code, second.matching_acls) == (bad, [])
    assert described() == []


@pytest.mark.req("ACL-1")
@pytest.mark.parametrize(
    "chosen",
    [
        {"resource_type_filter": TOPIC}, {"resource_name_filter": "t"}, {"principal_filter": "User:a"},
        {"host_filter": "10.0.0.1"}, {"operation": 3}, {"permission_type": ALLOW}, {"pattern_type_filter": 4},
    ],
    ids=lambda chosen: next(iter(chosen)),
)  # fmt: skip
def test_each_part_of_a_filter_leaves_out_what_differs_in_it(broker: DiskBroker, chosen: dict[str, Any]) -> None:
    admin = as_user("User:admin")
    Creation = CreateAclsRequest.AclCreation
    matches = {"resource_type": TOPIC, "resource_name": "t", "principal": "User:a", "host": "10.0.0.1", "operation": 3,
               "permission_type": ALLOW, "resource_pattern_type": 4}  # fmt: skip
    differs = {"resource_type": GROUP, "resource_name": "g", "principal": "User:b", "host": "10.0.0.2", "operation": 8,
               "permission_type": DENY, "resource_pattern_type": 3}  # fmt: skip
    request = CreateAclsRequest(creations=[Creation(**matches), Creation(**differs)])
    assert [each.error_code for each in broker.send(request, 3, admin).response.results] == [0, 0]
    everything = {"resource_type_filter": 1, "resource_name_filter": None, "principal_filter": None,
                  "host_filter": None, "operation": 1, "permission_type": 1, "pattern_type_filter": 1}  # fmt: skip

    def principals(**chosen: Any) -> list[str]:
        found = broker.send(DescribeAclsRequest(**{**everything, **chosen}), 3, admin).response
        return sorted(acl.principal for resource in found.resources for acl in resource.acls)

    assert principals() == ["User:a", "User:b"]
    assert principals(**chosen) == ["User:a"]


@pytest.mark.parametrize(
    ("network", "host", "is_in"),
    [
        ("10.0.0.0/8", "10.200.3.4", True), ("10.0.0.0/8", "11.0.0.1", False), ("10.1.2.3/16", "10.1.255.255", True),
        ("10.0.0.1/32", "10.0.0.1", True), ("0.0.0.0/0", "192.168.1.1", True), ("0.0.0.0/0", "0:0:0:0:0:0:0:1", False),
        ("2001:db8::/32", "2001:db8:0:0:0:0:0:7", True), ("2001:db8::/32", "2001:db9:0:0:0:0:0:7", False),
        ("2001:db8::/32", "10.0.0.1", False), ("::/0", "10.0.0.1", False), ("::/0", "0:0:0:0:0:0:0:1", True),
        ("[2001:db8::]/32", "2001:db8:0:0:0:0:0:7", True), ("010.0.0.0/8", "10.0.0.1", True),
    ],
)  # fmt: skip
def test_a_host_may_be_a_network(broker: DiskBroker, network: str, host: str, is_in: bool) -> None:
    acls = broker.core.acls
    assert acls.create([entry("t", host=network)]) == [None]
    asked = ("User:a", host, 3, TOPIC, "t")
    assert acls.authorize(*asked) is acls.authorize_somewhere(*asked[:4]) is is_in
    acls.create([entry("t", permission=DENY, host=network), entry("t", host="*")])
    assert acls.authorize(*asked) is not is_in, "a denial wins"


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("", "Host pattern cannot be null or empty"),
        ("10.0.0.0/33", "Invalid CIDR notation '10.0.0.0/33': "),
        ("10.0.0.0/255.0.0.0", "Invalid CIDR notation '10.0.0.0/255.0.0.0': "),
        ("a/8", "Invalid CIDR notation 'a/8': "),
        ("::ffff:10.0.0.0/104", "Invalid CIDR notation '::ffff:10.0.0.0/104': "),
    ],
)
def test_hosts_that_kafka_refuses(broker: DiskBroker, host: str, message: str) -> None:
    (error,) = broker.core.acls.create([entry("t", host=host)])
    assert error is not None
    assert (error.code.code, str(error.broker_message)[: len(message)]) == (codes.INVALID_REQUEST, message)


def test_networks_are_read_when_they_are_added_and_not_for_each_question(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    acls = broker.core.acls
    acls.create([entry("t", host=f"10.{number}.0.0/16") for number in range(20)])
    monkeypatch.setattr(networks, "parsed", None)
    assert acls.authorize("User:a", "10.7.0.1", 3, TOPIC, "t")
    assert acls.authorize_somewhere("User:a", "10.7.0.1", 3, TOPIC)


@pytest.mark.parametrize(("release", "code"), [("4.3", codes.UNSUPPORTED_VERSION), (None, codes.NONE)])
def test_networks_take_a_cluster_at_the_level_that_knows_them(tmp_path: Path, release: str | None, code: int) -> None:
    opened = DiskBroker(tmp_path, PROPERTIES, release=release)
    creation = CreateAclsRequest.AclCreation(
        resource_type=TOPIC,
        resource_name="t",
        principal="User:a",
        host="10.0.0.0/8",
        operation=3,
        permission_type=ALLOW,
    )
    (result,) = opened.send(CreateAclsRequest(creations=[creation]), 3, as_user("User:admin")).response.results
    assert result.error_code == code
    opened.core.close()


def test_networks_take_the_level_that_knows_them(broker: DiskBroker) -> None:
    (error,) = broker.core.acls.create([entry("t", host="10.0.0.0/8")], takes_networks=False)
    assert error is not None
    assert error.code.code == codes.UNSUPPORTED_VERSION


def test_what_is_denied_can_be_seen_in_the_log(broker: DiskBroker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", "kafka_tools.broker_embedded.security.acls"):
        assert not may(broker, "WRITE", "t")
        assert may(broker, "WRITE", "t", "User:admin")
    (line,) = caplog.messages
    assert line == "Principal = User:a is Denied operation = WRITE from host = 10.0.0.1 on resource = TOPIC:LITERAL:t"


@pytest.mark.req("ACL-5")
@pytest.mark.parametrize(("version", "shown"), [(0, []), (1, [4]), (2, [4]), (3, [4])])
def test_the_pattern_type_came_with_version_1(broker: DiskBroker, version: int, shown: list[int]) -> None:
    """A client of version 0 knows literal names only, and is not shown others as if they were."""
    admin = as_user("User:admin")
    creation = CreateAclsRequest.AclCreation(
        resource_type=TOPIC, resource_name="pre", resource_pattern_type=PREFIXED, principal="User:a", host="*",
        operation=3, permission_type=ALLOW,
    )  # fmt: skip
    created = broker.send(CreateAclsRequest(creations=[creation]), 1, admin).response
    assert [result.error_code for result in created.results] == [codes.NONE]
    request = DescribeAclsRequest(
        resource_type_filter=1, resource_name_filter=None, principal_filter=None, host_filter=None, operation=1,
        permission_type=1,
    )  # fmt: skip
    if version:
        request.pattern_type_filter = 1
    found = broker.send(request, version, admin).response
    assert [resource.pattern_type for resource in found.resources] == shown


def test_managing_entries_needs_rights_on_the_cluster(broker: DiskBroker) -> None:
    request = DescribeAclsRequest(operation=1, permission_type=1, resource_type_filter=1)
    denied = broker.send(request, 3, as_user("User:a")).response
    assert denied.error_code == codes.CLUSTER_AUTHORIZATION_FAILED
    broker.core.acls.create([entry("kafka-cluster", "DESCRIBE", resource_type=CLUSTER)])
    assert broker.send(request, 3, as_user("User:a")).response.error_code == 0
    creation = CreateAclsRequest.AclCreation(resource_type=TOPIC, resource_name="t")
    (result,) = broker.send(CreateAclsRequest(creations=[creation]), 3, as_user("User:a")).response.results
    assert result.error_code == codes.CLUSTER_AUTHORIZATION_FAILED


def test_topics_that_may_not_be_described_are_not_listed(broker: DiskBroker) -> None:
    connection, broker.connection = broker.connection, as_user("User:admin")
    broker.create("seen")
    broker.create("hidden")
    broker.connection = connection
    broker.core.acls.create([entry("seen")])
    listed = broker.send(MetadataRequest(topics=None), 12, as_user("User:a")).response.topics
    assert [topic.name for topic in listed] == ["seen"]
    assert broker.send(ListGroupsRequest(), 4, as_user("User:a")).response.groups == []


def test_topics_that_may_not_be_described_end_every_page(broker: DiskBroker) -> None:
    connection, broker.connection = broker.connection, as_user("User:admin")
    broker.create("seen", 2)
    broker.connection = connection
    broker.core.acls.create([entry("seen")])
    Topic = DescribeTopicPartitionsRequest.TopicRequest
    topics = [Topic(name=name) for name in ("zzz", "seen", "absent")]
    request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=1)
    answer = broker.send(request, 0, as_user("User:a")).response
    refused = codes.TOPIC_AUTHORIZATION_FAILED
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("seen", codes.NONE),
        ("absent", refused),
        ("zzz", refused),
    ]
    assert (answer.next_cursor.topic_name, answer.next_cursor.partition_index) == ("seen", 1)


def test_authorizers_of_others_are_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot run Java code here: com\.example\.Mine"):
        DiskBroker(tmp_path, {"authorizer.class.name": "com.example.Mine"})


def test_a_blank_that_java_does_not_cut_belongs_to_a_super_users_name(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path, {**PROPERTIES, "super.users": " User:\u00a0root\u00a0\t;"})
    broker.core.acls.create([entry("t", "ALL", DENY, principal="User:*")])
    assert [may(broker, "READ", "t", f"User:{name}") for name in ("\u00a0root\u00a0", "root")] == [True, False]


def test_a_super_user_that_is_no_principal_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"super\.users: .* principalType:principalName but got alice"):
        DiskBroker(tmp_path, {**PROPERTIES, "super.users": "User:admin; alice"})
    DiskBroker(tmp_path, {"super.users": "alice"})  # nobody asks


@pytest.mark.parametrize(
    ("entries", "allowed"),
    [
        ([], False),
        ([entry("not there yet", "WRITE")], True),
        ([entry("pre", "WRITE", pattern_type=PREFIXED)], True),
        ([entry("t", "ALL")], True),
        ([entry("t", "READ")], False),
        ([entry("t", "WRITE", principal="User:b")], False),
        ([entry("t", "WRITE", host="10.0.0.2")], False),
        ([entry("t", "WRITE"), entry("t", "WRITE", DENY)], False),
        ([entry("t", "WRITE"), entry("*", "WRITE", DENY)], False),
        ([entry("test", "WRITE"), entry("te", "WRITE", DENY, pattern_type=PREFIXED)], False),
        ([entry("t", "WRITE"), entry("te", "WRITE", DENY, pattern_type=PREFIXED)], True),
        ([entry("te", "WRITE", pattern_type=PREFIXED), entry("test", "ALL", DENY, pattern_type=PREFIXED)], True),
        ([entry("*", "WRITE"), entry("t", "WRITE", DENY)], True),
    ],
)
def test_whether_some_resource_is_open(broker: DiskBroker, entries: list[AclEntry], allowed: bool) -> None:
    """An idempotent producer needs WRITE on some topic, be it there or not (KIP-679)."""
    assert broker.core.acls.create(entries) == [None] * len(entries)
    connection = as_user("User:a")
    response = broker.send(InitProducerIdRequest(transactional_id=None), 4, connection).response
    assert (response.error_code == codes.NONE) == allowed
    assert response.error_code in (codes.NONE, codes.CLUSTER_AUTHORIZATION_FAILED)
