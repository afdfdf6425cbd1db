"""A node that Kafka 4.4 or later runs is asked whether it is the one that is meant; no older one pays for that."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kafka_tools import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients import Consumer, Producer
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.session import WrongNode
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.messages.metadata import MetadataResponse
from kafka_tools.values import Node, TopicPartition
from tests.net.peers import ScriptedNode, all_versions

BEFORE_4_4, SINCE_4_4 = all_versions({18: (0, 4)}), all_versions({18: (0, 5)})
Brokers = list[ScriptedNode]


def deadline() -> Deadline:
    return Deadline(SystemClock(), 30.0)


@pytest.fixture
def cluster() -> Iterator[Callable[..., tuple[Brokers, Exchange, ClusterMetadata]]]:
    """``cluster(*versions, **settings)``: nodes 1, 2, ... of cluster "c", and a client that knows them."""
    with ExitStack() as stack:

        def start(*versions: dict[int, tuple[int, int]], **settings: str) -> tuple[Brokers, Exchange, ClusterMetadata]:
            nodes: Brokers = []

            def answer(request: object, version: int, state: object) -> object:
                Broker = MetadataResponse.ResponseBroker
                rows = [Broker(node_id=each.node.id, host=each.node.host, port=each.node.port) for each in nodes]
                return MetadataResponse(brokers=rows, controller_id=1, cluster_id="c")

            for number, each in enumerate(versions, 1):
                nodes.append(stack.enter_context(ScriptedNode(answer, versions=each, node_id=number)))
            values = {"bootstrap.servers": nodes[0].bootstrap, **settings}
            client = stack.enter_context(Exchange(ClientConfig(values), rng=random.Random(1)))
            metadata = ClusterMetadata(client)
            metadata.refresh(deadline())
            for node in list(metadata.nodes.values()):
                client.connected(node, deadline())
            return nodes, client, metadata

        yield start


def asked(node: ScriptedNode) -> list[tuple[int, str | None, int]]:
    """(version, cluster id, node id) of each ApiVersions request that a node got."""
    requests = [(request, version) for request, version in node.requests if isinstance(request, ApiVersionsRequest)]
    return [(version, request.cluster_id, request.node_id) for request, version in requests]


def test_nodes_before_4_4_are_asked_once_on_each_connection(cluster) -> None:
    nodes, _, _ = cluster(BEFORE_4_4, BEFORE_4_4, BEFORE_4_4)
    assert [asked(node) for node in nodes] == [[(4, None, -1)]] * 3


def test_nodes_since_4_4_are_told_whom_the_client_means_and_asked_once(cluster) -> None:
    nodes, _, _ = cluster(SINCE_4_4, SINCE_4_4)
    assert [asked(node) for node in nodes] == [[(4, None, -1)], [(5, "c", 2)]]  # the first as a bootstrap server


def test_a_cluster_that_is_being_upgraded_pays_for_one_connection_at_most(cluster) -> None:
    nodes, client, metadata = cluster(SINCE_4_4, BEFORE_4_4, SINCE_4_4)
    # Until then each node that had told its versions was new; from now on those are told that are known to listen.
    assert [asked(node) for node in nodes] == [[(4, None, -1)], [(5, "c", 2), (0, None, -1)], [(4, None, -1)]]
    client.call(metadata.nodes[1], metadata.request(), deadline())
    for node in metadata.nodes.values():
        client.wait([client.send(node, metadata.request(), deadline(), channel="another")])
    assert [asked(node)[-1] for node in nodes] == [(5, "c", 1), (4, None, -1), (5, "c", 3)]


@pytest.mark.parametrize(
    "settings", [{"metadata.cluster.check.enable": "false"}, {"metadata.recovery.strategy": "none"}]
)
def test_users_can_do_without_the_check(cluster, settings: dict[str, str]) -> None:
    nodes, _, _ = cluster(SINCE_4_4, SINCE_4_4, **settings)
    assert [asked(node) for node in nodes] == [[(4, None, -1)], [(4, None, -1)]]


def test_a_node_that_is_another_one_makes_the_client_begin_again(cluster) -> None:
    nodes, client, metadata = cluster(SINCE_4_4, SINCE_4_4)
    metadata.nodes[9] = moved = Node(9, "localhost", nodes[1].port)

    def refuse(request: object, version: int, state: object) -> object:
        return ApiVersionsResponse(error_code=error_codes.REBOOTSTRAP_REQUIRED)

    refuse.versions_too = True  # type: ignore[attr-defined]
    nodes[1].answer = refuse
    with pytest.raises(WrongNode, match=r"localhost:\d+ \(id 9\) is not node 9 of cluster c"):
        client.connected(moved, deadline())
    assert (metadata.nodes, metadata.update_wanted, client.cluster_check.cluster_id) == ({}, True, None)
    metadata.refresh(deadline())
    assert sorted(metadata.nodes) == [1, 2]


def test_a_client_that_begins_again_doubts_no_node(cluster) -> None:
    _, _, metadata = cluster(SINCE_4_4, SINCE_4_4)
    doubted = metadata.any_node(deadline())
    metadata.doubt()
    assert metadata.any_node(deadline()).port != doubted.port
    metadata.begin_again()
    metadata.refresh(deadline())
    assert metadata.any_node(deadline()).port == doubted.port


def test_a_broker_that_says_so_in_metadata_makes_the_client_begin_again(cluster) -> None:
    nodes, _, metadata = cluster(SINCE_4_4, SINCE_4_4)
    good = nodes[0].answer
    answers = [MetadataResponse(error_code=error_codes.REBOOTSTRAP_REQUIRED)]
    nodes[0].answer = lambda *asked: answers.pop() if answers else good(*asked)
    metadata.refresh(deadline())
    assert sorted(metadata.nodes) == [1, 2]
    assert answers == []


def test_clients_that_live_long_find_the_cluster_that_took_the_place_of_theirs() -> None:
    """Producer, consumer and admin client, whose broker's address becomes that of a broker of another cluster."""
    settings = {"reconnect.backoff.ms": "1", "reconnect.backoff.max.ms": "5"}
    with ExitStack() as stack:
        first = stack.enter_context(EmbeddedBroker())
        servers = {"bootstrap.servers": first.bootstrap_servers, **settings}
        admin = stack.enter_context(AdminClient(servers))
        producer = stack.enter_context(Producer(servers))
        consumer = stack.enter_context(Consumer(servers | {"auto.offset.reset": "earliest"}))
        consumer.assign([TopicPartition("orders", 0)])

        def passes(value: bytes, count: int) -> str:
            """The cluster through which records went: more than before, since the consumer goes on at its offset."""
            deliveries = [producer.send("orders", value) for _ in range(count)]
            producer.flush(30.0)
            assert all(delivery.result() is not None for delivery in deliveries)
            read: list[bytes | None] = []
            while value not in read:
                read += [record.value for record in consumer.poll(1.0)]
            return admin.describe_cluster().cluster_id

        assert passes(b"one", 1) == first.cluster_id
        first.stop()
        second = stack.enter_context(EmbeddedBroker(listeners=[f"PLAINTEXT://{first.bootstrap_servers}"]))
        assert passes(b"two", 2) == second.cluster_id != first.cluster_id
