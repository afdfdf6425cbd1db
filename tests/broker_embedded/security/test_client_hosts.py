"""The addresses of clients in Kafka's spelling, which is Java's: to ACLs and in what is told of groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.security.acls import ALLOW, DENY, LITERAL, PREFIXED, AclEntry, Filter
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.values import host_address
from tests.broker_embedded.disk_broker import DiskBroker

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "offsets.topic.num.partitions": "1",
}
SPELLINGS = ("0:0:0:0:0:0:0:1", "::1", "0000:0000:0000:0000:0000:0000:0000:0001")
"""Kafka's own, Python's, and one more, of one address."""
EVERYTHING = Filter(AclResourceType.ANY, None, 1, None, None, AclOperation.ANY, 1)


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    made = DiskBroker(tmp_path, PROPERTIES)
    made.create("t")
    made.connection = Connection("c-2", "PLAINTEXT", "::1")
    return made


def entry(host: str, permission: int, pattern: int = LITERAL, operation: int = AclOperation.ALL) -> AclEntry:
    return AclEntry(AclResourceType.TOPIC, "t", pattern, "User:*", host, operation, permission)


def described(broker: DiskBroker) -> int:
    """The error code of asking for the topic."""
    asked = MetadataRequest(topics=[MetadataRequest.RequestTopic(name="t")])
    return int(broker.call(asked, 5).topics[0].error_code)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("2001:DB8::A0:0042", "2001:db8:0:0:0:0:a0:42"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::10.0.0.1", "0:0:0:0:0:0:a00:1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("*", "*"),
        ("", ""),
        ("no:address", "no:address"),
    ],
)
def test_an_address_is_spelled_as_by_java(text: str, spelled: str) -> None:
    assert host_address(text) == spelled
    assert host_address(spelled) == spelled


@pytest.mark.parametrize("pattern", [LITERAL, PREFIXED])
@pytest.mark.parametrize("host", SPELLINGS)
def test_acls_of_an_ipv6_host_hold_however_it_is_spelled(broker: DiskBroker, host: str, pattern: int) -> None:
    broker.core.acls.create([entry(host, ALLOW, pattern)])
    assert described(broker) == codes.NONE
    broker.core.acls.create([entry("*", ALLOW), entry(host, DENY, pattern)])
    assert described(broker) == codes.TOPIC_AUTHORIZATION_FAILED
    broker.connection = Connection("c-3", "PLAINTEXT", "::2")
    assert described(broker) == codes.NONE


@pytest.mark.parametrize("host", SPELLINGS)
def test_some_resource_is_open_to_an_ipv6_host(tmp_path: Path, host: str) -> None:
    broker = DiskBroker(tmp_path, {"authorizer.class.name": PROPERTIES["authorizer.class.name"]})
    broker.connection = Connection("c-2", "PLAINTEXT", "::1")
    request = InitProducerIdRequest(transactional_id=None)
    assert broker.call(request, 4).error_code == codes.CLUSTER_AUTHORIZATION_FAILED
    broker.core.acls.create([entry(host, ALLOW, operation=AclOperation.WRITE)])
    assert broker.call(request, 4).error_code == codes.NONE


def test_entries_are_told_as_they_were_given_and_go_one_by_one(broker: DiskBroker) -> None:
    entries = [entry(host, DENY) for host in SPELLINGS]
    broker.core.acls.create(entries)
    for host in SPELLINGS:
        assert broker.core.acls.find(EVERYTHING) == sorted(entries)
        assert described(broker) == codes.TOPIC_AUTHORIZATION_FAILED
        whole(broker.core.acls.delete([EVERYTHING._replace(host=host)]))
        entries = [each for each in entries if each.host != host]
    assert described(broker) == codes.NONE


def test_members_of_groups_are_told_with_their_address(broker: DiskBroker) -> None:
    broker.call(FindCoordinatorRequest(key="g"), 1)
    join = JoinGroupRequest(group_id="g", session_timeout_ms=30_000, rebalance_timeout_ms=60_000)
    join.protocol_type = "consumer"
    join.protocols = [join.RequestProtocol(name="range", metadata=b"")]
    broker.send(join, 3)
    broker.advance(5)
    (member,) = broker.call(DescribeGroupsRequest(groups=["g"]), 5).groups[0].members
    assert member.client_host == "/0:0:0:0:0:0:0:1"
    beat = ConsumerGroupHeartbeatRequest(group_id="new", member_id="m", member_epoch=0, rebalance_timeout_ms=60_000)
    beat.subscribed_topic_names, beat.topic_partitions = ["t"], []
    assert broker.call(beat, 1).error_code == codes.NONE
    (member,) = broker.call(ConsumerGroupDescribeRequest(group_ids=["new"]), 1).groups[0].members
    assert member.client_host == "/0:0:0:0:0:0:0:1"
