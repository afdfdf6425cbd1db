"""When a client asks the cluster again, and what it keeps of an answer."""

import pytest

from kafka_tools.clock import Deadline, ManualClock
from kafka_tools.errors import AuthenticationFailed, ConnectFailed
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.versions import ClusterCheck
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.values import Node

A, B = Node(1, "a", 1), Node(2, "b", 2)
BOOTSTRAP = Node(-1, "boot", 9)


class FakeExchange:
    """Answers Metadata from ``nodes``; nothing is connected unless a test says so.

    Not the bundled broker: which node is asked is what is tested, and that none is connected by it.
    """

    def __init__(self, clock, **settings):
        values = {"bootstrap.servers": "boot:9", "retry.backoff.ms": "100", "metadata.max.age.ms": "60000"}
        self.config = ClientConfig(values | settings)
        self.clock = clock
        self.nodes = [A, B]
        self.controller = 1
        self.asked = 0
        self.bootstraps = 0
        self.connectable = set()
        self.cluster_check = ClusterCheck(True)
        self.bootstrap_error = None
        self.error = None

    def is_suspect(self, node):
        return False

    def is_connected(self, node):
        return False

    def bootstrap(self, deadline):
        self.bootstraps += 1
        if self.bootstrap_error is not None:
            raise self.bootstrap_error
        return BOOTSTRAP

    def connected(self, node, deadline):
        if node not in self.connectable:
            raise ConnectFailed(f"cannot connect to {node}")

    def call(self, node, request, deadline):
        self.asked += 1
        if self.error is not None:
            raise self.error
        Broker = MetadataResponse.ResponseBroker
        brokers = [Broker(node_id=item.id, host=item.host, port=item.port) for item in self.nodes]
        return MetadataResponse(brokers=brokers, controller_id=self.controller, cluster_id="c")


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def exchange(clock):
    return FakeExchange(clock)


@pytest.fixture
def metadata(exchange):
    return ClusterMetadata(exchange)


@pytest.fixture
def deadline(clock):
    return Deadline(clock, 1000)


@pytest.mark.req("AM-3", "AM-6")
def test_known_cluster_is_not_asked_again_until_it_is_too_old(exchange, metadata, clock, deadline):
    assert metadata.live_nodes(deadline) == [A, B]
    clock.advance(59.9)
    metadata.live_nodes(deadline)
    assert exchange.asked == 1
    clock.advance(0.2)
    metadata.live_nodes(deadline)
    assert exchange.asked == 2


@pytest.mark.req("AM-2", "AM-3", "AC-20")
def test_requested_update_waits_for_the_backoff_since_the_last_attempt(exchange, metadata, clock, deadline):
    metadata.live_nodes(deadline)
    metadata.request_update()
    before = clock.monotonic_s()
    metadata.live_nodes(deadline)
    assert exchange.asked == 2
    assert clock.monotonic_s() - before == pytest.approx(0.1)
    clock.advance(1)
    metadata.request_update()
    before = clock.monotonic_s()
    metadata.live_nodes(deadline)
    assert exchange.asked == 3
    assert clock.monotonic_s() == before


@pytest.mark.req("AM-4", "AM-5")
def test_failed_fetch_counts_as_an_attempt_and_authentication_is_told(exchange, metadata, clock, deadline):
    exchange.error = AuthenticationFailed("no")
    before = clock.monotonic_s()
    with pytest.raises(AuthenticationFailed):
        metadata.live_nodes(deadline)
    assert clock.monotonic_s() == before
    exchange.error = None
    assert metadata.live_nodes(deadline) == [A, B]
    assert clock.monotonic_s() - before == pytest.approx(0.1)


@pytest.mark.req("AM-6")
def test_answer_without_nodes_changes_nothing(exchange, metadata, deadline):
    metadata.live_nodes(deadline)
    exchange.nodes, exchange.controller = [], -1
    metadata.request_update()
    assert metadata.live_nodes(deadline) == [A, B]
    assert metadata.controller(deadline) == A


@pytest.mark.req("AM-8")
def test_cleared_controller_is_asked_for_and_the_nodes_stay(exchange, metadata, deadline):
    assert metadata.controller(deadline) == A
    exchange.controller = 2
    assert metadata.controller(deadline) == A
    metadata.clear_controller()
    assert metadata.nodes == {1: A, 2: B}
    assert metadata.controller(deadline) == B


@pytest.mark.req("AM-7")
def test_bootstrap_addresses_are_no_nodes_of_the_cluster(metadata, deadline):
    assert metadata.any_node(deadline) == BOOTSTRAP
    assert BOOTSTRAP not in metadata.live_nodes(deadline)


def test_known_nodes_help_when_the_bootstrap_servers_are_gone(exchange, metadata, deadline):
    metadata.live_nodes(deadline)
    exchange.bootstrap_error = ConnectFailed("cannot connect to boot:9")
    with pytest.raises(ConnectFailed, match=r"boot:9"):
        metadata.any_node(deadline)
    exchange.connectable = {B}
    assert metadata.any_node(deadline) == B


def test_unknown_node_id_asks_once_more(exchange, metadata, deadline):
    metadata.live_nodes(deadline)
    exchange.nodes = [A, B, Node(3, "c", 3)]
    assert metadata.node(3, deadline) == Node(3, "c", 3)
    assert metadata.node(9, deadline) is None


def test_call_for_any_node_passes_over_those_that_fail_and_ends_at_the_bootstrap_servers(exchange, metadata, deadline):
    metadata.live_nodes(deadline)
    asked = []

    def call(node, request, deadline):
        asked.append(node)
        if node != BOOTSTRAP:
            raise ConnectFailed(f"cannot connect to {node}")
        return MetadataResponse(brokers=[], controller_id=1)

    exchange.call = call
    metadata.call_any(MetadataRequest(topics=[]), deadline)
    assert asked == [A, B, BOOTSTRAP]


def test_connected_nodes_are_asked_before_others(exchange, metadata, deadline):
    metadata.live_nodes(deadline)
    asked = []
    exchange.is_connected = lambda node: node == B
    exchange.call = lambda node, request, deadline: asked.append(node)
    metadata.call_any(MetadataRequest(topics=[]), deadline)
    assert asked == [B]
