"""Requests that cannot be written are explained: which value, why, and from which release on it can be told."""

import pytest

from kafka_tools.admin.client import AdminClient
from kafka_tools.errors import BrokerError, DecodeError, EncodeError, UnsupportedVersion
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.session import ClientSession
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.describe_quorum import DescribeQuorumRequest
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.releases import first_with
from tests.admin.virtual_cluster import VirtualCluster

Topic = CreateTopicsRequest.CreatableTopic


def refused(request, version):
    session = ClientSession(client_id="c", peer="kafka1:9092 (id 1)")
    with pytest.raises(EncodeError) as caught:
        session.send(request, version)
    assert not session.outgoing()
    assert not session.in_flight
    return caught.value


def test_a_field_that_the_version_lacks_is_told_with_the_release_that_has_it():
    error = refused(ListGroupsRequest(states_filter=["Empty"]), 2)
    assert str(error) == (
        "cannot send 'states filter' to kafka1:9092 (id 1): it supports ListGroups up to v2, which has no states_filter"
    )
    assert error.hint == "brokers of Kafka 2.6 and later support ListGroups v4"


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        (
            Topic(name="t", num_partitions=2**40),
            "num partitions (topics[0].num_partitions): expected an INT32, not 1099511627776",
        ),
        (Topic(name="x" * 40_000), "name (topics[0].name): is longer than 32767 bytes"),
        (Topic(name=None), "name (topics[0].name): must not be null in this version"),
    ],
)
def test_a_value_that_no_version_can_carry_is_told_with_its_reason(topic, text):
    error = refused(CreateTopicsRequest(topics=[topic]), 4)
    assert str(error) == f"CreateTopics: {text}"


def test_releases_that_brought_a_version():
    assert first_with(ListGroupsRequest.API_KEY, 4) == "2.6"
    assert first_with(DescribeQuorumRequest.API_KEY, 0) == "4.0"  # of brokers beside ZooKeeper; KRaft's had it before
    assert first_with(DescribeQuorumRequest.API_KEY, 0, kraft=True) == "3.3"
    assert first_with(DescribeQuorumRequest.API_KEY, 2, kraft=True) == "3.9"
    assert first_with(ListGroupsRequest.API_KEY, 4, kraft=True) == "3.3"
    assert first_with(ListGroupsRequest.API_KEY, 5, kraft=True) == "3.8"
    assert first_with(DescribeUserScramCredentialsRequest.API_KEY, 0) == "2.7"
    assert first_with(DescribeUserScramCredentialsRequest.API_KEY, 0, kraft=True) == "3.5"
    assert first_with(ListGroupsRequest.API_KEY, 99) is None


def test_a_broker_that_is_too_old_is_told_with_the_release_that_is_not():
    with VirtualCluster(release="2.2").admin() as admin:
        with pytest.raises(UnsupportedVersion, match="needs ListGroups v4; kafka1:9092") as caught:
            admin.list_groups(["Empty"])
    assert caught.value.hint == "brokers of Kafka 2.6 and later support ListGroups v4"


@pytest.mark.parametrize(
    "ranges, request_class, hint",
    [
        ({}, DescribeQuorumRequest, "brokers of Kafka 3.3 and later support DescribeQuorum v0 in KRaft mode"),
        ({}, ListConfigResourcesRequest, "brokers of Kafka 3.7 and later support ListConfigResources v0 in KRaft mode"),
        ({}, DescribeUserScramCredentialsRequest, "brokers of Kafka 2.7 and later"),
        ({55: (0, 1)}, DescribeUserScramCredentialsRequest, "brokers of Kafka 3.5 and later"),
        ({55: (0, 1)}, ListConfigResourcesRequest, "brokers of Kafka 3.7 and later"),
    ],
)
def test_zookeeper_or_the_release_is_blamed_whichever_it_is(ranges, request_class, hint):
    with pytest.raises(UnsupportedVersion) as caught:
        NodeVersions(ranges, "kafka1:9092").require(request_class, 0, "this")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(hint)
    assert ("without ZooKeeper" in caught.value.hint) == ("KRaft" in hint)


def test_an_answer_that_cannot_be_read_names_its_node_and_request():
    session = ClientSession(client_id="c", peer="kafka1:9092 (id 1)")
    sent = session.send(ListGroupsRequest(), 4)
    payload = sent.correlation_id.to_bytes(4, "big") + b"\xff" * 20
    session.stage = "ready"
    with pytest.raises(DecodeError, match=r"^cannot read the response of kafka1:9092 \(id 1\) to ListGroups: ") as got:
        session.receive(len(payload).to_bytes(4, "big") + payload, lambda sent, response: None)
    assert got.value.position is not None


def test_a_controller_that_was_taken_for_a_broker_is_told_so():
    with VirtualCluster(without=(3, 19)).admin() as admin:
        with pytest.raises(
            UnsupportedVersion, match="kafka1:9092 is a controller and does not support Metadata"
        ) as caught:
            admin.list_topics()
    assert caught.value.hint == "give the address of a broker; use --bootstrap-controller for controllers"


def test_a_broker_that_was_taken_for_a_controller_is_told_so():
    cluster = VirtualCluster()
    cluster.fault = lambda request, version, node: error_reply(request, version, error_codes.MISMATCHED_ENDPOINT_TYPE)
    config = ClientConfig({"bootstrap.controllers": cluster.bootstrap})
    with cluster.network.in_use(), AdminClient(config, timeout_s=5) as admin:
        with pytest.raises(BrokerError, match="MISMATCHED_ENDPOINT_TYPE") as caught:
            admin.describe_quorum()
    assert "give addresses of brokers to --bootstrap-server" in caught.value.hint
