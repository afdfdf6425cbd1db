"""Rules of Kafka's consumers: the order of a poll, what starts a rebalance, nodes that do not answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_tools.admin import AdminClient
from kafka_tools.admin.calls.topic_changes import NewPartitions
from kafka_tools.admin.client import NewTopic
from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clock import ManualClock
from kafka_tools.errors import AuthenticationFailed, ConnectFailed, DeadlineExceeded, Disconnected, NetworkError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.values import TopicPartition
from tests.clients.fake_cluster import NEVER, NODES, FakeCluster
from tests.clients.test_consumer import Broker
from tests.net.virtual import VirtualNetwork, VirtualNode, without_chance

T0 = TopicPartition("t", 0)
Make = Callable[..., Consumer]


@pytest.fixture
def broker(cluster: FakeCluster) -> Broker:
    cluster.topic("t")
    found = Broker(cluster)
    found.write(T0, b"a", b"b", b"c")
    return found


@pytest.fixture
def make(cluster: FakeCluster, clock: ManualClock) -> Make:
    def make(**values: str) -> Consumer:
        settings = {"bootstrap.servers": "one:9092", "group.id": "g", "auto.offset.reset": "earliest"}
        settings |= {key.replace("_", "."): value for key, value in values.items()}
        cluster.config = ClientConfig(settings)
        return Consumer(cluster.config, exchange=cluster, clock=clock)  # type: ignore[arg-type]

    return make


def kinds(cluster: FakeCluster, *left_out: type[Any]) -> list[type[Any]]:
    return [type(request) for _, request, _ in cluster.sent if not isinstance(request, left_out)]


@pytest.mark.req("CONS-7")
def test_poll_joins_finds_positions_commits_fetches_and_fetches_again(
    make: Make, broker: Broker, cluster: FakeCluster, clock: ManualClock
) -> None:
    consumer = make(max_poll_records="2")
    consumer.subscribe(["t"])
    assert len(consumer.poll(5.0)) == 2
    assert kinds(cluster, MetadataRequest) == [
        FindCoordinatorRequest,
        JoinGroupRequest,
        SyncGroupRequest,
        OffsetFetchRequest,
        ListOffsetsRequest,
        FetchRequest,
    ]
    cluster.sent.clear()
    assert len(consumer.poll(5.0)) == 1, "the rest of what was fetched"
    assert kinds(cluster) == [FetchRequest], "the next one, before the records are returned"
    cluster.sent.clear()
    clock.advance(6.0)
    broker.write(T0, b"d")
    assert len(consumer.poll(5.0)) == 1
    assert kinds(cluster)[:2] == [HeartbeatRequest, OffsetCommitRequest], "both are due, before anything is fetched"
    assert broker.committed == {T0: 3}, "what was returned before this poll"


@pytest.mark.req("CONS-7")
def test_coordinator_without_response_within_the_session_is_dead(
    make: Make, broker: Broker, cluster: FakeCluster
) -> None:
    consumer = make(session_timeout_ms="10000")
    consumer.subscribe(["t"])
    assert len(consumer.poll(5.0)) == 3
    cluster.answers[HeartbeatRequest] = lambda *_: NEVER
    cluster.sent.clear()
    cluster.coordinator = NODES[1]
    consumer.poll(9.0)
    assert FindCoordinatorRequest not in kinds(cluster)
    consumer.poll(9.0)
    assert FindCoordinatorRequest in kinds(cluster)
    assert [node.id for node, request, _ in cluster.sent if isinstance(request, JoinGroupRequest)] == [2]


@pytest.mark.req("CONS-38")
def test_coordinator_is_looked_up_until_the_limit(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    code = error_codes.COORDINATOR_NOT_AVAILABLE
    cluster.answers[FindCoordinatorRequest] = lambda *_: FindCoordinatorResponse(
        coordinators=[FindCoordinatorResponse.Coordinator(key="g", error_code=code)]
    )
    consumer = make()
    consumer.subscribe(["t"])
    assert consumer.poll(1.0) == []
    lookups = len(cluster.requests(FindCoordinatorRequest))
    assert 5 <= lookups <= 11, "once in retry.backoff.ms"
    with pytest.raises(DeadlineExceeded):
        consumer.committed([T0], timeout_s=1.0)
    assert len(cluster.requests(FindCoordinatorRequest)) > lookups


@pytest.mark.req("CONS-38")
def test_coordinator_that_cannot_be_reached_is_looked_up_again_after_the_backoff(
    make: Make, broker: Broker, cluster: FakeCluster
) -> None:
    cluster.answers[JoinGroupRequest] = lambda *_: ConnectFailed("cannot connect to one:9092: Connection refused")
    consumer = make()
    consumer.subscribe(["t"])
    assert consumer.poll(1.0) == []
    joins = len(cluster.requests(JoinGroupRequest))
    assert 3 <= joins <= 11
    assert len(cluster.requests(FindCoordinatorRequest)) >= joins
    cluster.answers[JoinGroupRequest] = broker.join
    assert len(consumer.poll(5.0)) == 3


@pytest.mark.req("CONS-40")
def test_offset_fetch_in_progress_is_used_by_the_next_poll(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    broker.committed[T0] = 1
    cluster.answers[OffsetFetchRequest] = lambda *_: NEVER
    consumer = make()
    consumer.subscribe(["t"])
    for _ in range(5):
        assert consumer.poll(0.5) == []
    assert len(cluster.requests(OffsetFetchRequest)) == 1
    cluster.answers[OffsetFetchRequest] = broker.offset_fetch
    assert [record.value for record in consumer.poll(5.0)] == [b"b", b"c"]
    assert len(cluster.requests(OffsetFetchRequest)) == 1


@pytest.mark.req("CONS-40")
def test_offset_fetch_of_an_earlier_generation_is_not_used(make: Make, broker: Broker, cluster: FakeCluster) -> None:
    broker.committed[T0] = 0
    held: list[bool] = []
    cluster.answers[OffsetFetchRequest] = lambda *request: NEVER if held else broker.offset_fetch(*request)
    consumer = make()
    held.append(True)
    consumer.subscribe(["t"])
    assert consumer.poll(1.0) == []
    old = broker.offset_fetch(*cluster.sent[-1]) if isinstance(cluster.sent[-1][1], OffsetFetchRequest) else None
    broker.codes[HeartbeatRequest] = [error_codes.REBALANCE_IN_PROGRESS]
    assert consumer.poll(4.0) == []
    assert broker.generation == 2
    assert len(cluster.requests(OffsetFetchRequest)) == 2, "the new generation asks for itself"
    broker.committed[T0] = 2
    answers = iter([old or broker.offset_fetch(*cluster.sent[-1])])
    held.clear()
    cluster.answers[OffsetFetchRequest] = lambda *request: next(answers, None) or broker.offset_fetch(*request)
    assert [record.value for record in consumer.poll(5.0)] == [b"c"]


@pytest.mark.req("CONS-44")
def test_partitions_assigned_by_hand_do_not_wait_for_metadata_that_is_late(
    make: Make, broker: Broker, cluster: FakeCluster, clock: ManualClock
) -> None:
    consumer = make()
    consumer.assign([T0])
    consumer.seek(T0, 0)
    assert len(consumer.poll(5.0)) == 3
    cluster.answers[MetadataRequest] = lambda *_: NEVER
    consumer._metadata.request_update()
    clock.advance(1.0)
    broker.write(T0, b"d")
    since_s = clock.monotonic_s()
    assert [record.value for record in consumer.poll(5.0)] == [b"d"]
    assert clock.monotonic_s() - since_s < 1.0, "a node is ready, so nothing waits for the update"
    assert len(cluster.requests(MetadataRequest)) == 2


@pytest.mark.req("CONS-44")
def test_poll_waits_for_metadata_while_no_node_is_ready() -> None:
    node = VirtualNode(1, lambda *_: None)
    node.swallows = lambda: True
    network = VirtualNetwork([node])
    with network.in_use(), without_chance():
        consumer = Consumer("kafka1:9092", socket_connection_setup_timeout_ms=500, request_timeout_ms=2000)
        consumer.assign([T0])
        with pytest.raises(NetworkError):
            consumer.poll(5.0)
        assert network.clock.monotonic_s() >= 0.5
        assert node.connections <= 4, "it does not go round and round"
        consumer.close(0.0)


@pytest.mark.req("CONS-46")
@pytest.mark.parametrize("kind", [FetchRequest, ListOffsetsRequest])
def test_failed_login_at_a_leader_is_raised(make: Make, broker: Broker, cluster: FakeCluster, kind: type[Any]) -> None:
    cluster.answers[kind] = lambda *_: AuthenticationFailed("one:9092 refused the login of user 'u'")
    consumer = make()
    consumer.assign([T0])
    consumer.seek_to_beginning()
    with pytest.raises(AuthenticationFailed, match="refused the login"):
        consumer.poll(5.0)


@pytest.mark.req("CONS-46")
@pytest.mark.parametrize("kind", [FetchRequest, ListOffsetsRequest])
def test_leader_that_broke_off_is_asked_again_only_after_a_backoff(
    make: Make, broker: Broker, cluster: FakeCluster, kind: type[Any]
) -> None:
    cluster.topic("u", leader=2)
    other = TopicPartition("u", 0)
    broker.write(other, b"z")
    real = cluster.answers[kind]
    cluster.answers[kind] = lambda node, *rest: (
        Disconnected("one:9092 broke off") if node.id == 1 else real(node, *rest)
    )
    consumer = make()
    consumer.assign([T0, other])
    consumer.seek_to_beginning()
    assert [record.value for record in consumer.poll(5.0)] == [b"z"], "the other leader is read meanwhile"
    cluster.sent.clear()
    assert consumer.poll(1.0) == []
    tries = [request for node, request, _ in cluster.sent if isinstance(request, kind) and node.id == 1]
    assert 3 <= len(tries) <= 11, "once in retry.backoff.ms; the connection waits reconnect.backoff.ms as well"


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedBroker]:
    config = {"group.initial.rebalance.delay.ms": 0, "num.partitions": 1, "auto.create.topics.enable": False}
    with EmbeddedBroker(config=config) as found:
        yield found


@pytest.mark.req("CONS-4")
def test_growing_new_and_deleted_topics_and_members_that_join_or_die_start_a_rebalance(running: EmbeddedBroker) -> None:
    settings = {"group_id": "watched", "metadata_max_age_ms": 100, "heartbeat_interval_ms": 50}
    assigned: list[list[str]] = []

    def after(what: str, expected: list[str], *others: Consumer) -> None:
        """The next rebalance brings ``expected``."""
        for _ in range(600):
            for each in (consumer, *others):
                each.poll(0.02)
            if assigned and assigned[-1] == expected:
                assigned.clear()
                return
        raise AssertionError((what, assigned))

    with AdminClient(running.bootstrap_servers) as admin, Consumer(running.bootstrap_servers, **settings) as consumer:
        admin.create_topics([NewTopic("one", 1, 1)])
        consumer.subscribe(
            ["one", "two"], on_assigned=lambda found: assigned.append([f"{topic}-{n}" for topic, n in sorted(found)])
        )
        after("the first join", ["one-0"])
        admin.create_partitions({"one": NewPartitions(2)})
        after("more partitions", ["one-0", "one-1"])
        admin.create_topics([NewTopic("two", 1, 1)])
        after("a new topic", ["one-0", "one-1", "two-0"])
        admin.delete_topics(["two"])
        after("a topic is gone", ["one-0", "one-1"])
        dying = Consumer(running.bootstrap_servers, **settings)
        dying.subscribe(["one"])
        for _ in range(600):
            dying.poll(0.02)
            consumer.poll(0.02)
            if len(dying.assignment()) == len(consumer.assignment()) == 1:
                break
        assert len(assigned.pop()) == 1, "a member joined"
        dying._background.end()
        dying._exchange.close()  # as a process that is killed: it says nothing
        running.advance(seconds=46)
        after("a member is dead", ["one-0", "one-1"])
