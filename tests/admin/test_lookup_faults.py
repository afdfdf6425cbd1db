"""Faults on the way: finding out whom to ask goes wrong, for every operation that has to find out."""

from types import SimpleNamespace

import pytest

from kafka_tools.admin import lookups
from kafka_tools.clock import Deadline, ManualClock
from kafka_tools.errors import BrokerError, DeadlineExceeded, NetworkError, WireError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.frames import framed
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.texts.java_hashing import positive_hash
from kafka_tools.values import TopicPartition
from tests.admin.operations import ANY, CONTROLLER, COORDINATOR, LEADER, LOOKUPS, OPERATIONS, run
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.peers import HANG_UP, SILENCE
from tests.net.virtual import Later


def that_ask(*places):
    names = sorted(name for name, operation in OPERATIONS.items() if operation.asks in places)
    return pytest.mark.parametrize("name", names)


def attempt(name, request_class, fault, times=None, timeout_s=30.0, **settings):
    """(error, virtual seconds, cluster) with ``fault`` in the place of the first ``times`` answers to a lookup."""
    cluster = VirtualCluster()
    left = [times]

    def reply(request, version, node):
        if not isinstance(request, request_class) or left[0] == 0:
            return None
        if left[0] is not None:
            left[0] -= 1
        return fault(cluster, request, version)

    cluster.fault = reply
    with cluster.admin(timeout_s, **settings) as admin:
        error = run(name, admin)
    return error, cluster.network.clock.monotonic_s(), cluster


def code(number):
    return lambda cluster, request, version: error_reply(request, version, number)


def topic_code(number):
    def fault(cluster, request, version):
        response = cluster.truth(request, version)
        for topic in response.topics:
            topic.error_code, topic.partitions = number, []
        return response

    return fault


def without_leader(cluster, request, version):
    response = cluster.truth(request, version)
    for topic in response.topics:
        for partition in topic.partitions:
            partition.leader_id, partition.error_code = -1, error_codes.LEADER_NOT_AVAILABLE
    return response


def own(name, cluster):
    return [request for _, _, request, _ in cluster.sent(name)]


@that_ask(COORDINATOR)
def test_a_coordinator_that_nobody_asked_for_is_passed_over(name):
    def with_a_stranger(cluster, request, version):
        response = cluster.truth(request, version)
        Coordinator = type(response).Coordinator
        loading = Coordinator(key="stranger", error_code=error_codes.COORDINATOR_LOAD_IN_PROGRESS)
        response.coordinators.append(loading)
        return response

    error, took_s, cluster = attempt(name, FindCoordinatorRequest, with_a_stranger, 1)
    assert error is None, error
    assert took_s < 0.1
    assert own(name, cluster)


@that_ask(COORDINATOR)
@pytest.mark.parametrize("number", [error_codes.COORDINATOR_NOT_AVAILABLE, error_codes.COORDINATOR_LOAD_IN_PROGRESS])
def test_a_coordinator_that_is_not_there_yet_is_waited_for(name, number):
    error, took_s, cluster = attempt(name, FindCoordinatorRequest, code(number), 3)
    assert error is None, error
    assert took_s < 2.0
    assert own(name, cluster)


@that_ask(COORDINATOR)
def test_a_coordinator_that_never_comes_ends_at_the_deadline_with_the_reason(name):
    error, took_s, cluster = attempt(
        name, FindCoordinatorRequest, code(error_codes.COORDINATOR_NOT_AVAILABLE), timeout_s=7.0
    )
    assert isinstance(error, DeadlineExceeded)
    assert "COORDINATOR_NOT_AVAILABLE" in str(error)
    assert took_s == pytest.approx(7.0, abs=0.01)
    assert not own(name, cluster)


@that_ask(COORDINATOR)
def test_a_coordinator_that_one_may_not_know_is_told_at_once(name):
    error, took_s, cluster = attempt(name, FindCoordinatorRequest, code(error_codes.GROUP_AUTHORIZATION_FAILED))
    assert isinstance(error, BrokerError)
    assert "GROUP_AUTHORIZATION_FAILED" in str(error)
    assert took_s < 0.1
    assert not own(name, cluster)


@that_ask(LEADER)
def test_a_leader_that_is_being_elected_is_waited_for(name):
    error, took_s, cluster = attempt(name, MetadataRequest, without_leader, 3)
    assert error is None, error
    assert took_s < 3.0
    assert own(name, cluster)


@that_ask(LEADER)
def test_a_topic_that_nobody_knows_is_told_after_a_short_grace(name):
    error, took_s, cluster = attempt(name, MetadataRequest, topic_code(error_codes.UNKNOWN_TOPIC_OR_PARTITION))
    assert isinstance(error, BrokerError)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in str(error)
    assert 1.0 <= took_s < 1.1
    assert not own(name, cluster)


@that_ask(LEADER)
def test_a_partition_that_its_topic_does_not_have_is_told_after_a_moment(name):
    def without_partition(cluster, request, version):
        response = cluster.truth(request, version)
        for topic in response.topics:
            topic.partitions[0].partition_index = 7
        return response

    error, took_s, cluster = attempt(name, MetadataRequest, without_partition)
    assert isinstance(error, BrokerError)
    assert "topic t has no partition 0" in str(error)
    assert 0.3 <= took_s < 0.4
    assert not own(name, cluster)


def offline(cluster, request, version):
    """Broker 9, which is gone, has the only copy in sync of every partition."""
    response = cluster.truth(request, version)
    for topic in response.topics:
        for partition in topic.partitions:
            partition.leader_id, partition.error_code = -1, error_codes.LEADER_NOT_AVAILABLE
            partition.replica_nodes = partition.isr_nodes = [9]
    return response


@that_ask(LEADER)
def test_a_partition_that_is_offline_is_waited_for_a_few_seconds(name):
    error, took_s, cluster = attempt(name, MetadataRequest, offline)
    assert isinstance(error, BrokerError)
    assert "LEADER_NOT_AVAILABLE: t-0 is offline: its last in-sync broker 9 is not running" in str(error)
    assert 3.0 <= took_s < 3.1
    assert not own(name, cluster)


@that_ask(COORDINATOR)
def test_a_coordinator_whose_partition_is_offline_is_waited_for_a_few_seconds(name):
    def fault(cluster, request, version):
        if isinstance(request, FindCoordinatorRequest):
            return error_reply(request, version, error_codes.COORDINATOR_NOT_AVAILABLE)
        return offline(cluster, request, version)

    error, took_s, cluster = attempt(name, FindCoordinatorRequest | MetadataRequest, fault)
    assert isinstance(error, BrokerError)
    assert "COORDINATOR_NOT_AVAILABLE: __" in str(error)
    assert "-0 is offline: its last in-sync broker 9 is not running" in str(error)
    assert 3.0 <= took_s < 3.1
    assert not own(name, cluster)


@pytest.mark.parametrize(
    "text, number", [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", 0), ("\U0001f600", 1772899)]
)
def test_groups_find_their_partition_by_the_hash_that_java_makes(text, number):
    assert positive_hash(text) == number


@that_ask(LEADER)
def test_a_topic_that_one_may_not_see_is_told_at_once(name):
    error, took_s, cluster = attempt(name, MetadataRequest, topic_code(error_codes.TOPIC_AUTHORIZATION_FAILED))
    assert isinstance(error, BrokerError)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(error)
    assert took_s < 0.1
    assert not own(name, cluster)


@that_ask(COORDINATOR, CONTROLLER, LEADER)
def test_a_lookup_whose_connection_ends_is_repeated(name):
    error, took_s, _ = attempt(name, LOOKUPS, lambda *_: HANG_UP, 1)
    assert error is None, error
    assert took_s < 2.0


@that_ask(COORDINATOR, CONTROLLER, LEADER)
def test_a_lookup_that_always_fails_is_an_error_in_time(name):
    for fault in (HANG_UP, SILENCE, framed(b"\x00\x00\x00\x02" + b"\xff" * 40)):
        error, took_s, cluster = attempt(name, LOOKUPS, lambda *_, fault=fault: fault, timeout_s=7.0)
        assert isinstance(error, NetworkError | WireError), (fault, error)
        assert took_s <= 7.01
        assert not own(name, cluster)


@that_ask(COORDINATOR, CONTROLLER, LEADER)
def test_a_slow_lookup_is_waited_for_and_its_time_is_part_of_the_call_s(name):
    def slowly(cluster, request, version):
        return Later(3.0, cluster.truth(request, version))

    error, took_s, cluster = attempt(name, LOOKUPS, slowly, 1)
    assert error is None, error
    assert 3.0 <= took_s < 4.0
    limits = [request.timeout_ms for request in own(name, cluster) if hasattr(request, "timeout_ms")]
    assert all(limit <= 27_000 for limit in limits), limits


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_all_requests_of_a_call_share_its_one_deadline(name):
    cluster = VirtualCluster()

    def slowly(request, version, node):
        truth = cluster.truth(request, version)
        return None if truth is None else Later(3.0, truth)

    cluster.fault = slowly
    with cluster.admin(timeout_s=4.0) as admin:
        error = run(name, admin)
    took_s = cluster.network.clock.monotonic_s()
    assert took_s <= 4.01
    if error is not None:
        assert isinstance(error, DeadlineExceeded), error
        assert took_s == pytest.approx(4.0, abs=0.01)


@that_ask(ANY)
def test_a_broker_that_hangs_is_passed_over_for_another(name):
    cluster = VirtualCluster()
    cluster.owner = 2
    cluster.fault = lambda request, version, node: SILENCE if node.id == 1 else None
    with cluster.admin(timeout_s=60, request_timeout_ms=5000) as admin:
        error = run(name, admin)
    assert error is None, error
    assert 5.0 <= cluster.network.clock.monotonic_s() < 7.0
    assert [node for _, node, _, _ in cluster.sent(name)][-1] != 1


def test_the_partitions_of_a_topic_are_walked_through_once_for_all_keys(monkeypatch):
    """Else a question about tens of thousands of partitions takes minutes."""
    walks = []

    class Counted(list):
        def __iter__(self):
            walks.append(1)
            return super().__iter__()

    node = SimpleNamespace(id=1)
    partitions = Counted(SimpleNamespace(partition_index=number, leader_id=1, error_code=0) for number in range(50))
    topic = SimpleNamespace(name="t", error_code=0, partitions=partitions)
    monkeypatch.setattr(lookups, "_topics", lambda *_: [topic])
    cluster = SimpleNamespace(metadata=SimpleNamespace(live_nodes=lambda deadline: [node]))
    keys = [TopicPartition("t", number) for number in range(50)]
    found = lookups.LeaderLookup().find(cluster, keys, Deadline(ManualClock(), 1))
    assert (found.nodes, walks) == (dict.fromkeys(keys, node), [1])
