"""What members and producers owe the brokers while nobody is inside a call, step by step in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.values import TopicPartition
from tests.clients.fake_cluster import NEVER, FakeCluster
from tests.clients.test_consumer import Broker
from tests.clients.test_producer import Log

T0 = TopicPartition("t", 0)
AT_REST = float("inf")


@pytest.fixture
def broker(cluster: FakeCluster) -> Broker:
    cluster.topic("t")
    return Broker(cluster)


@pytest.fixture
def member(cluster: FakeCluster, clock: ManualClock, broker: Broker) -> Callable[..., Consumer]:
    def member(**values: str) -> Consumer:
        """A member that polls until it has its partition."""
        settings = {"bootstrap.servers": "one:9092", "group.id": "g", "enable.auto.commit": "false"}
        exchange: Any = cluster
        config = ClientConfig(settings | {key.replace("_", "."): value for key, value in values.items()})
        consumer = Consumer(config, exchange=exchange, clock=clock)
        consumer.subscribe(["t"])
        while not consumer.assignment():
            consumer.poll(1.0)
        return consumer

    return member


def pass_time(consumer: Consumer | Producer, clock: ManualClock, seconds: float) -> None:
    """What the background thread does in that time."""
    until_s = clock.monotonic_s() + seconds
    while (left_s := until_s - clock.monotonic_s()) > 0:
        clock.advance(min(max(consumer.keep_promises(), 0.001), left_s))
    consumer.keep_promises()


def test_heartbeats_go_on_while_nobody_polls(
    member: Callable[..., Consumer], cluster: FakeCluster, clock: ManualClock
) -> None:
    consumer = member()
    before = len(cluster.requests(HeartbeatRequest))
    pass_time(consumer, clock, 60.0)
    assert 18 <= len(cluster.requests(HeartbeatRequest)) - before <= 21, "one every heartbeat.interval.ms"
    assert not cluster.requests(LeaveGroupRequest)
    assert consumer.keep_promises() > 0


def test_a_rebalance_waits_for_poll_and_heartbeats_go_on(
    member: Callable[..., Consumer], cluster: FakeCluster, clock: ManualClock, broker: Broker
) -> None:
    consumer = member()
    joined = len(cluster.requests(JoinGroupRequest))
    broker.codes[HeartbeatRequest] = [error_codes.REBALANCE_IN_PROGRESS] * 3
    pass_time(consumer, clock, 30.0)
    assert len(cluster.requests(HeartbeatRequest)) >= 9
    assert len(cluster.requests(JoinGroupRequest)) == joined
    consumer.poll(1.0)
    assert len(cluster.requests(JoinGroupRequest)) == joined + 1


def test_a_member_that_is_not_polled_leaves_and_joins_again_at_the_next_poll(
    member: Callable[..., Consumer], cluster: FakeCluster, clock: ManualClock, broker: Broker
) -> None:
    calls: list[tuple[str, list[TopicPartition]]] = []
    consumer = member(max_poll_interval_ms="60000")
    consumer.subscribe(
        ["t"],
        on_assigned=lambda given: calls.append(("assigned", given)),
        on_revoked=lambda taken: calls.append(("revoked", taken)),
    )
    pass_time(consumer, clock, 59.0)
    assert not cluster.requests(LeaveGroupRequest)
    pass_time(consumer, clock, 2.0)
    ((left,),) = [request.members for request in cluster.requests(LeaveGroupRequest)]
    assert left.reason == "consumer poll timeout has expired."
    beats = len(cluster.requests(HeartbeatRequest))
    assert consumer.keep_promises() == AT_REST
    assert len(cluster.requests(HeartbeatRequest)) == beats
    assert calls == [], "listeners are called inside poll"
    with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID") as caught:
        consumer.commit()
    assert "raise max.poll.interval.ms" in str(caught.value.hint)
    assert not cluster.requests(OffsetCommitRequest), "an empty group would accept it"
    consumer.poll(1.0)
    assert [name for name, _ in calls] == ["revoked", "assigned"]


def test_an_error_of_a_heartbeat_is_raised_by_the_next_poll(
    member: Callable[..., Consumer], clock: ManualClock, broker: Broker
) -> None:
    consumer = member()
    broker.codes[HeartbeatRequest] = [error_codes.GROUP_AUTHORIZATION_FAILED]
    pass_time(consumer, clock, 4.0)
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        consumer.poll(1.0)


def test_a_consumer_without_a_group_promises_nothing(cluster: FakeCluster, clock: ManualClock, broker: Broker) -> None:
    exchange: Any = cluster
    consumer = Consumer(ClientConfig({"bootstrap.servers": "one:9092"}), exchange=exchange, clock=clock)
    consumer.assign([T0])
    consumer.poll(1.0)
    assert consumer.keep_promises() == AT_REST


@pytest.fixture
def producer(cluster: FakeCluster, clock: ManualClock) -> Producer:
    cluster.topic("t")
    exchange: Any = cluster
    config = ClientConfig({"bootstrap.servers": "one:9092", "linger.ms": "50"})
    return Producer(config, exchange=exchange, clock=clock, random=Random(1))


def test_records_leave_after_linger_ms_while_nobody_is_inside(
    producer: Producer, cluster: FakeCluster, clock: ManualClock
) -> None:
    log = Log(cluster)
    producer.send("t", b"0").result()
    told: list[object] = []
    producer.send("t", b"1", on_delivery=lambda metadata, _: told.append(metadata))
    pass_time(producer, clock, 0.04)
    assert log.values() == [b"0"]
    pass_time(producer, clock, 0.02)
    assert log.values() == [b"0", b"1"]
    assert len(told) == 1
    pass_time(producer, clock, 1.0)
    assert producer.keep_promises() == AT_REST


def test_failed_batches_are_retried_while_nobody_is_inside(
    producer: Producer, cluster: FakeCluster, clock: ManualClock
) -> None:
    log = Log(cluster)
    log.codes = [error_codes.NOT_ENOUGH_REPLICAS] * 3
    producer.send("t", b"1")
    pass_time(producer, clock, 10.0)
    assert log.values() == [b"1"]
    assert len(cluster.requests(ProduceRequest)) == 4


def test_without_a_leader_a_producer_does_not_spin(
    producer: Producer, cluster: FakeCluster, clock: ManualClock
) -> None:
    Log(cluster)
    producer.send("t", b"0").result()
    cluster.leaders[T0] = -1
    producer._metadata.request_update()
    producer.send("t", b"1")
    turns = 0
    until_s = clock.monotonic_s() + 10.0
    while clock.monotonic_s() < until_s:
        turns += 1
        clock.advance(producer.keep_promises())
    assert turns < 500


def test_a_callback_that_fails_in_the_background_fails_the_next_poll(
    producer: Producer, cluster: FakeCluster, clock: ManualClock
) -> None:
    Log(cluster)

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    producer.send("t", b"1", on_delivery=fail)
    pass_time(producer, clock, 1.0)
    producer.send("t", b"2")
    with pytest.raises(ZeroDivisionError):
        producer.poll()
    producer.close()


def test_records_that_are_never_answered_fail_while_nobody_is_inside(
    producer: Producer, cluster: FakeCluster, clock: ManualClock
) -> None:
    Log(cluster)
    producer.send("t", b"0").result()
    cluster.leaders[T0] = -1
    cluster.answers[ProduceRequest] = lambda *_: NEVER
    producer._metadata.request_update()
    pass_time(producer, clock, 1.0)
    delivery = producer.send("t", b"1", partition=0)
    pass_time(producer, clock, 125.0)
    assert delivery.done
    assert "has passed since batch creation" in str(delivery.error)
