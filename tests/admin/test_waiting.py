"""When the client asks whom, how long it waits, and what it knows meanwhile; in virtual time."""

from itertools import pairwise

import pytest

from kafka_tools.admin import driver
from kafka_tools.admin.calls.topic_changes import DeleteTopics
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.clock import Deadline
from kafka_tools.errors import (
    AuthenticationFailed,
    BrokerError,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    KafkaToolsError,
)
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafka_tools.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.admin.operations import CONTROLLER, OPERATIONS, run
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.peers import HANG_UP, SILENCE
from tests.net.virtual import Later, without_chance

NEW = [NewTopic("t", 1, 1)]


@pytest.fixture
def cluster():
    return VirtualCluster()


def names(cluster):
    return [type(request).__name__.removesuffix("Request") for _, _, request, _ in cluster.log]


def fail(cluster, request_class, code, times):
    left = [times]

    def fault(request, version, node):
        if not isinstance(request, request_class) or not left[0]:
            return None
        left[0] -= 1
        return error_reply(request, version, code)

    cluster.fault = fault


@pytest.mark.req("AC-7", "AC-8")
def test_a_call_is_tried_again_when_its_pause_is_over_and_not_later(cluster):
    fail(cluster, CreateTopicsRequest, error_codes.NOT_CONTROLLER, 3)
    with cluster.admin(retry_backoff_ms=1000, retry_backoff_max_ms=4000) as admin:
        admin.create_topics(NEW).raise_any()
    times = [at_s for at_s, _, request, _ in cluster.log if isinstance(request, CreateTopicsRequest)]
    pauses = [after - before for before, after in pairwise(times)]
    # 1, 2 and 4 s, give or take 20 %, and some milliseconds for the metadata in between.
    assert all(0.8 * pause <= found <= 1.2 * pause + 0.1 for pause, found in zip((1, 2, 4), pauses, strict=True)), (
        pauses
    )


@pytest.mark.req("NET-9", "AC-17")
def test_known_wrong_metadata_is_asked_for_before_anything_else_is_sent(cluster):
    fail(cluster, CreateTopicsRequest, error_codes.NOT_CONTROLLER, 1)
    with cluster.admin() as admin:
        admin.create_topics(NEW).raise_any()
    assert names(cluster) == ["Metadata", "CreateTopics", "Metadata", "CreateTopics"]
    asked = [request for _, _, request, _ in cluster.log if isinstance(request, MetadataRequest)]
    # No topic is named, so nothing is created although creation is allowed.
    assert all(request.topics == [] and request.allow_auto_topic_creation for request in asked)


@pytest.mark.req("AC-17")
def test_metadata_that_cannot_be_had_keeps_a_call_waiting(cluster):
    fail(cluster, MetadataRequest, error_codes.UNKNOWN_TOPIC_OR_PARTITION, 2)
    with cluster.admin() as admin:
        admin.create_topics(NEW).raise_any()
    assert names(cluster) == ["Metadata", "Metadata", "Metadata", "CreateTopics"]


@pytest.mark.req("AC-5")
def test_a_call_for_any_node_needs_no_metadata_and_others_wait_for_it(cluster):
    with cluster.admin() as admin:
        admin.list_topics()
        assert names(cluster) == ["Metadata"], "the listing itself"
        del cluster.log[:]
        admin.describe_log_dirs([2]).raise_any()
        assert [node for _, node, request, _ in cluster.log if "LogDirs" in type(request).__name__] == [2]
        begun_s = cluster.network.clock.monotonic_s()
        with pytest.raises(KafkaToolsError, match="99"):
            admin.describe_log_dirs([99])[99].get()
        assert cluster.network.clock.monotonic_s() - begun_s < 1.0, "a node that is none fails its key at once"
    slow = VirtualCluster()
    clock = slow.network.clock
    slow.fault = lambda request, version, node: setattr(slow, "owner", 3 if clock.monotonic_s() >= 6 else -1)
    with slow.admin() as admin:
        admin.create_topics(NEW).raise_any()
    assert slow.log[-1][1] == 3
    assert 6.0 <= clock.monotonic_s() < 9.0


def test_a_call_that_finds_no_node_ends_at_its_deadline_with_the_reason(cluster):
    cluster.owner = -1
    with cluster.admin(timeout_s=5.0) as admin:
        error = admin.create_topics(NEW)["t"].error
    assert isinstance(error, DeadlineExceeded)
    # Kafka says "Timed out waiting for a node assignment." of every such call.
    assert str(error) == ("timed out after 5 s: create topics; last: the cluster has no controller at the moment")
    assert cluster.network.clock.monotonic_s() == pytest.approx(5.0, abs=0.01)
    assert names(cluster).count("CreateTopics") == 0


@pytest.mark.req("AC-6")
def test_a_lookup_that_cannot_go_on_fails_the_call_at_once(cluster):
    class Refused:
        def is_patient(self, key):
            return True

        def find(self, cluster, keys, deadline):
            raise AuthenticationFailed("wrong password")

    call = DeleteTopics()
    call.lookup = Refused()
    with cluster.admin() as admin:
        with pytest.raises(AuthenticationFailed, match="wrong password"):
            driver.run(call, ["a", "b"], admin.cluster, admin.deadline(30))
    assert cluster.network.clock.monotonic_s() == 0.0
    assert cluster.log == []


@pytest.mark.req("AC-40")
def test_a_list_of_brokers_that_is_empty_is_asked_for_again(cluster):
    left = [2]

    def fault(request, version, node):
        if isinstance(request, DescribeClusterRequest) and left[0]:
            left[0] -= 1
            return DescribeClusterResponse(cluster_id="virtual", controller_id=-1)
        return None

    cluster.fault = fault
    with cluster.admin() as admin:
        assert [group.group_id for group in admin.list_groups().complete()] == ["g"]
    assert names(cluster).count("ListGroups") == 3
    left[0] = 1000
    with cluster.admin(timeout_s=4.0) as admin:
        with pytest.raises(DeadlineExceeded, match="Metadata fetch failed due to missing broker list"):
            admin.list_groups()
        assert admin.describe_cluster().cluster_id == "virtual", "a cluster has an id without brokers, too"


def test_a_listing_whose_brokers_are_not_told_is_one_error(cluster):
    fail(cluster, DescribeClusterRequest, error_codes.CLUSTER_AUTHORIZATION_FAILED, 1000)
    with cluster.admin() as admin, pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED") as caught:
        admin.list_groups()
    # Kafka's text is "Failed to find brokers to send ListGroups", without the reason.
    assert caught.value.hint == "cannot ask brokers: the list of brokers is unknown"
    assert names(cluster).count("ListGroups") == 0


@pytest.mark.req("AM-9")
def test_connections_ask_for_no_metadata_of_their_own(cluster):
    cluster.fault = lambda request, version, node: HANG_UP
    with cluster.network.in_use(), cluster.admin() as admin:
        exchange = admin.cluster.exchange
        deadline = Deadline(cluster.network.clock, 30.0)
        node = exchange.bootstrap(deadline)
        for _ in range(5):
            with pytest.raises(Disconnected):
                exchange.call(node, ListGroupsRequest(), deadline)
    assert names(cluster) == ["ListGroups"] * 5


@pytest.mark.req("NET-5")
def test_a_throttled_connection_is_waited_for_as_long_as_the_broker_said(cluster):
    def fault(request, version, node):
        response = cluster.truth(request, version)
        response.throttle_time_ms = 3000
        return response

    cluster.fault = fault
    with cluster.admin() as admin:
        admin.list_topics()
        admin.list_topics()
    first, second = (at_s for at_s, _, _, _ in cluster.log)
    assert second - first == pytest.approx(3.0, abs=0.01)


@pytest.mark.req("NET-5", "NET-7")
def test_the_pause_between_connections_grows_with_failures_and_starts_anew_after_success():
    cluster = VirtualCluster(size=1)
    node, clock = cluster.nodes[0], cluster.network.clock
    tried = []

    def refuses():
        tried.append(clock.monotonic_s())
        return clock.monotonic_s() < 6.5

    node.refuses = refuses
    settings = {"reconnect_backoff_ms": 1000, "reconnect_backoff_max_ms": 10_000}
    with without_chance(), cluster.admin(timeout_s=60, **settings) as admin:
        exchange = admin.cluster.exchange
        deadline = Deadline(clock, 60.0)
        while True:
            try:
                found = exchange.bootstrap(deadline)
                break
            except ConnectFailed:
                continue
        pauses = [after - before for before, after in pairwise(tried)]
        assert [round(pause, 1) for pause in pauses] == [1.0, 2.0, 4.0]
        cluster.fault = lambda request, version, node: HANG_UP
        del tried[:]
        for _ in range(2):
            with pytest.raises(Disconnected):
                exchange.call(found, ListGroupsRequest(), deadline)
        started = clock.monotonic_s()
        with pytest.raises(Disconnected):
            exchange.call(found, ListGroupsRequest(), deadline)
        assert clock.monotonic_s() - started < 1.3, "as after a first failure"


def test_what_is_pending_when_the_client_closes_fails(cluster):
    cluster.fault = lambda request, version, node: SILENCE
    with cluster.admin() as admin:
        exchange = admin.cluster.exchange
        deadline = Deadline(cluster.network.clock, 30.0)
        node = exchange.bootstrap(deadline)
        pending = exchange.send(node, ListGroupsRequest(), deadline)
        admin.close()
    assert pending.done
    assert "the client was closed" in str(pending.error)


ABOUT_CONTROLLERS = (
    "describe_quorum",
    "add_voter",
    "remove_voter",
    "describe_features",
    "create_acls",
    "describe_acls",
)
CONTROLLERS_SERVE = sorted(
    name for name, operation in OPERATIONS.items() if operation.asks == CONTROLLER or name in ABOUT_CONTROLLERS
)


@pytest.mark.parametrize("name", CONTROLLERS_SERVE)
def test_with_bootstrap_controllers_the_active_one_is_asked(name):
    """KIP-919: brokers need not be up for what controllers do themselves."""
    cluster = VirtualCluster()
    cluster.owner = 2
    config = ClientConfig({"bootstrap.controllers": cluster.bootstrap})
    with cluster.network.in_use(), AdminClient(config, timeout_s=30.0) as admin:
        assert run(name, admin) is None
    asked = [request for _, _, request, _ in cluster.log if isinstance(request, DescribeClusterRequest)]
    assert asked and all(request.endpoint_type == 2 for request in asked)
    assert not any(isinstance(request, MetadataRequest) for _, _, request, _ in cluster.log)
    assert {node for _, node, _, _ in cluster.sent(name)} == {2}


@pytest.mark.parametrize("name", ["add_voter", "remove_voter"])
def test_a_change_of_voters_follows_the_leader_of_the_quorum(name):
    """A controller that no longer leads says NOT_LEADER_OR_FOLLOWER to what its Raft layer serves."""
    cluster = VirtualCluster()

    def fault(request, version, node):
        if not cluster.is_own(name, request) or node.id != 1:
            return None
        cluster.owner = 2
        return error_reply(request, version, error_codes.NOT_LEADER_OR_FOLLOWER)

    cluster.fault = fault
    config = ClientConfig({"bootstrap.controllers": cluster.bootstrap})
    with cluster.network.in_use(), AdminClient(config, timeout_s=30.0) as admin:
        assert run(name, admin) is None
    assert [node for _, node, _, _ in cluster.sent(name)] == [1, 2]


def test_topics_are_described_in_the_middle_of_an_upgrade():
    """The broker that has pages goes after the first one, in the middle of a topic; the others know Metadata only."""
    cluster = VirtualCluster()
    for node in cluster.nodes[1:]:
        del node.versions[DescribeTopicPartitionsRequest.API_KEY]

    def fault(request, version, node):
        if not isinstance(request, DescribeTopicPartitionsRequest):
            return None
        if request.cursor is not None:
            node.refuses = lambda: True
            return HANG_UP
        page = cluster.truth(request, version)
        page.topics[1].partitions[0].replica_nodes = [9]
        page.next_cursor = DescribeTopicPartitionsResponse.Cursor(topic_name="u", partition_index=1)
        return page

    cluster.fault = fault
    with cluster.admin() as admin:
        described = admin.describe_topics(["t", "u"]).raise_any().succeeded()
    assert [[part.replicas for part in topic.partitions] for topic in described.values()] == [[(1,)], [(1,)]]
    assert names(cluster).count("DescribeTopicPartitions") == 2


@pytest.mark.parametrize("timeout_s", [20.0, 60.0])
def test_a_broker_that_takes_all_its_time_is_waited_for(timeout_s):
    """What it then tells of the parts that are done must not be lost, nor asked for twice."""
    cluster = VirtualCluster()

    def fault(request, version, node):
        if not isinstance(request, CreateTopicsRequest):
            return None
        response = error_reply(request, version, error_codes.NONE)
        response.topics[1].error_code = error_codes.REQUEST_TIMED_OUT
        return Later(request.timeout_ms / 1000 + 0.5, response)

    cluster.fault = fault
    with cluster.admin(timeout_s=timeout_s, request_timeout_ms=30_000) as admin:
        created = admin.create_topics([NewTopic("t", 1, 1), NewTopic("u", 1, 1)])
    assert created["t"].error is None
    assert "REQUEST_TIMED_OUT" in str(created["u"].error)
    assert names(cluster).count("CreateTopics") == 1
    assert cluster.network.clock.monotonic_s() < 30.0


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("create_topics", error_codes.NOT_CONTROLLER),
        ("list_offsets", error_codes.NOT_LEADER_OR_FOLLOWER),
        ("delete_groups", error_codes.NOT_COORDINATOR),
    ],
)
def test_a_node_that_knows_no_better_is_not_asked_for_ever(name, code):
    """A broker that is cut off from the controller tells of a cluster that is no more."""
    cluster = VirtualCluster()

    def fault(request, version, node):
        if node.id != 1:
            return None
        if cluster.is_own(name, request):
            return error_reply(request, version, code)
        cluster.owner = 1
        told = cluster.truth(request, version)
        cluster.owner = 2
        return told

    cluster.owner = 2
    cluster.fault = fault
    with cluster.admin() as admin:
        assert run(name, admin) is None
    assert [node for _, node, _, _ in cluster.sent(name)] == [1, 1, 1, 2]
    assert cluster.network.clock.monotonic_s() < 2.0
