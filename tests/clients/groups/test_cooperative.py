"""Cooperative rebalances of the classic protocol (KIP-429): members keep what nobody else gets."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.groups.consumer_protocol import decode_subscription
from kafka_tools.clients.groups.membership import ConsumerMembership, State
from kafka_tools.clients.groups.sticky import sticky_claim
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.heartbeat import HeartbeatResponse
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupResponse
from kafka_tools.values import TopicPartition
from tests.clients.groups.test_membership import assignment, joined

T0 = TopicPartition("t", 0)


def settled(*assignors: str) -> ConsumerMembership:
    membership = ConsumerMembership(ConsumerSettings(group_id="g", assignors=assignors))
    membership.subscribe(["t"])
    membership.next_request(0.0)
    membership.on_response(joined(leader="other", protocol=assignors[0]), 0.0)
    membership.next_request(0.0)
    membership.on_response(SyncGroupResponse(assignment=assignment("t", 0)), 0.0)
    assert membership.state is State.STABLE
    return membership


def offered(membership: ConsumerMembership) -> dict[str, Any]:
    membership.request_rejoin("test")
    request = membership.next_request(1.0)
    assert isinstance(request, JoinGroupRequest)
    return {each.name: decode_subscription(each.metadata) for each in request.protocols}


def test_cooperative_member_says_what_it_keeps_and_an_eager_one_does_not() -> None:
    kept = offered(settled("cooperative-sticky"))["cooperative-sticky"]
    assert [(each.topic, each.partitions) for each in kept.owned_partitions] == [("t", [0])]
    assert (kept.generation_id, kept.user_data) == (1, b"\0\0\0\1")
    mixed = offered(settled("sticky", "cooperative-sticky"))
    assert mixed["cooperative-sticky"].owned_partitions == []
    assert sticky_claim(mixed["sticky"].user_data) == ((T0,), 1)


@pytest.mark.parametrize(
    ("strategy", "cooperative"),
    [(("cooperative-sticky",), True), (("range", "cooperative-sticky"), False), (("sticky",), False)],
)
def test_group_is_cooperative_if_every_assignor_is(strategy: tuple[str, ...], cooperative: bool) -> None:
    assert ConsumerSettings(assignors=strategy).is_cooperative is cooperative


def test_two_members_share_partitions_that_the_first_never_stops_to_read() -> None:
    settings = {
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "partition_assignment_strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        "heartbeat_interval_ms": 50,
    }
    told: list[tuple[str, list[int]]] = []
    seen: list[bytes | None] = []

    def record(what: str, partitions: list[TopicPartition]) -> None:
        told.append((what, sorted(each.partition for each in partitions)))

    def until_assigned(consumers: dict[Consumer, int]) -> None:
        for _ in range(600):
            for consumer in consumers:
                seen.extend(each.value for each in consumer.poll(0.02))
            if all(len(consumer.assignment()) == count for consumer, count in consumers.items()):
                return
        raise AssertionError(told)

    config = {"group.initial.rebalance.delay.ms": 0, "num.partitions": 4}
    with EmbeddedBroker(config=config) as broker, Producer(broker.bootstrap_servers) as producer:
        for number in range(4):
            producer.send("t", b"%d" % number, partition=number).result()
        with Consumer(broker.bootstrap_servers, **settings) as one:
            one.subscribe(
                ["t"],
                on_assigned=lambda each: record("assigned", each),
                on_revoked=lambda each: record("revoked", each),
            )
            until_assigned({one: 4})
            while len(seen) < 4:
                until_assigned({one: 4})
            with Consumer(broker.bootstrap_servers, **settings) as other:
                other.subscribe(["t"], on_assigned=lambda each: record("other", each))
                until_assigned({one: 2, other: 2})
                kept = {each.partition for each in one.assignment()}
                assert all(other.position(each) == 1 for each in other.assignment()), "committed before it was revoked"
            until_assigned({one: 4})
            lost = sorted(set(range(4)) - kept)
        mine = [each for each in told if each[0] != "other"]
        assert mine[:2] == [("assigned", [0, 1, 2, 3]), ("revoked", lost)]
        assert ("other", lost) in told
        assert mine[-2:] == [("assigned", lost), ("revoked", [0, 1, 2, 3])]
        assert sorted(seen, key=str) == [b"0", b"1", b"2", b"3"], "each record once"


def test_member_that_was_put_out_loses_its_partitions() -> None:
    membership = settled("cooperative-sticky")
    membership.next_request(5.0)
    membership.on_response(HeartbeatResponse(error_code=error_codes.UNKNOWN_MEMBER_ID), 5.0)
    assert not membership.is_member
    assert offered(membership)["cooperative-sticky"].owned_partitions == []
