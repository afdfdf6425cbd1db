"""Consumers with group.protocol=consumer in groups of the bundled broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_tools.broker_embedded.broker import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.group import OffsetAndMetadata
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.subscription import SubscriptionPattern
from kafka_tools.errors import BrokerError, InputError
from kafka_tools.values import TopicPartition

SETTINGS = {"group_protocol": "consumer", "auto_offset_reset": "earliest"}
QUICK = {
    "group.consumer.min.heartbeat.interval.ms": 50,
    "group.consumer.heartbeat.interval.ms": 50,
    "group.consumer.min.session.timeout.ms": 1000,
    "num.partitions": 4,
}


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=QUICK) as found:
        yield found


def write(broker: EmbeddedBroker, topic: str, *values: bytes) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, partition=number % 4)


def until_assigned(consumers: dict[Consumer, int], records: int = 0) -> None:
    """Poll until each consumer has as many partitions, and all together got as many records."""
    found = 0
    for _ in range(600):
        found += sum(len(consumer.poll(0.05)) for consumer in consumers)
        if all(len(consumer.assignment()) == count for consumer, count in consumers.items()) and found == records:
            return
    raise AssertionError([consumer.assignment() for consumer in consumers])


def values(consumer: Consumer, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    for _ in range(100):
        found += [record.value for record in consumer.poll(1.0)]
        if len(found) >= count:
            return sorted(found, key=str)
    raise AssertionError(found)


def test_second_member_gets_its_share_and_the_listeners_are_told(broker: EmbeddedBroker) -> None:
    write(broker, "shared", b"a", b"b", b"c", b"d")
    told: list[tuple[str, int]] = []
    with Consumer(broker.bootstrap_servers, group_id="pair", **SETTINGS) as one:
        one.subscribe(
            ["shared"],
            on_assigned=lambda partitions: told.append(("assigned", len(partitions))),
            on_revoked=lambda partitions: told.append(("revoked", len(partitions))),
        )
        assert values(one, 4) == [b"a", b"b", b"c", b"d"]
        one.pause(one.assignment()[:1])
        with Consumer(broker.bootstrap_servers, group_id="pair", **SETTINGS) as other:
            other.subscribe(["shared"])
            until_assigned({one: 2, other: 2})
            assert not set(one.assignment()) & set(other.assignment())
            assert all(other.position(each) == 1 for each in other.assignment()), "committed before it was revoked"
        until_assigned({one: 4})
    assert told == [("assigned", 4), ("revoked", 2), ("assigned", 0), ("assigned", 2), ("revoked", 4)]


def test_pattern_that_the_broker_matches(broker: EmbeddedBroker) -> None:
    for topic, value in (("re-a", b"1"), ("re-b", b"2"), ("re-c", b"3")):
        write(broker, topic, value)
    with Consumer(broker.bootstrap_servers, group_id="by-regex", **SETTINGS) as consumer:
        consumer.subscribe(SubscriptionPattern("re-[ab]"))
        assert values(consumer, 2) == [b"1", b"2"], "topics that the metadata of the consumer did not have"
        assert consumer.subscription() == ("re-a", "re-b")
        consumer.subscribe(["re-c"])
        assert values(consumer, 1) == [b"3"]


def test_pattern_of_the_broker_needs_the_new_protocol_and_a_valid_expression(broker: EmbeddedBroker) -> None:
    with Consumer(broker.bootstrap_servers, group_id="classic") as consumer:
        with pytest.raises(InputError, match=r"it needs group\.id and group\.protocol=consumer"):
            consumer.subscribe(SubscriptionPattern("a"))
    with Consumer(broker.bootstrap_servers, group_id="wrong", **SETTINGS) as consumer:
        consumer.subscribe(SubscriptionPattern("("))
        for _ in range(2):
            with pytest.raises(BrokerError, match="INVALID_REGULAR_EXPRESSION"):
                consumer.poll(5.0)


def test_commits_and_committed_offsets(broker: EmbeddedBroker) -> None:
    write(broker, "commits", b"a", b"b")
    partition = TopicPartition("commits", 0)
    settings = {**SETTINGS, "enable_auto_commit": False}
    with Consumer(broker.bootstrap_servers, group_id="commits", **settings) as consumer:
        consumer.subscribe(["commits"])
        assert len(values(consumer, 2)) == 2
        consumer.commit()
        consumer.commit({partition: OffsetAndMetadata(0, metadata="x")})
        assert consumer.committed([partition, TopicPartition("commits", 3)]) == {
            partition: OffsetAndMetadata(0, metadata="x"),
            TopicPartition("commits", 3): OffsetAndMetadata(0, leader_epoch=0),
        }
    with Consumer(broker.bootstrap_servers, group_id="commits", **settings) as consumer:
        consumer.subscribe(["commits"])
        assert values(consumer, 1) == [b"a"]


def test_static_member_that_comes_back_keeps_its_partitions(broker: EmbeddedBroker) -> None:
    write(broker, "static", b"a")
    settings = {**SETTINGS, "group_id": "static", "group_instance_id": "i"}
    with Consumer(broker.bootstrap_servers, group_id="static", **SETTINGS) as other:
        other.subscribe(["static"])
        with Consumer(broker.bootstrap_servers, **settings) as one:
            one.subscribe(["static"])
            until_assigned({one: 2, other: 2}, records=1)
            mine = set(one.assignment())
            with Consumer(broker.bootstrap_servers, **settings) as second:
                second.subscribe(["static"])
                with pytest.raises(BrokerError, match="UNRELEASED_INSTANCE_ID"):
                    second.poll(5.0)
        for _ in range(20):
            other.poll(0.05)
        assert len(other.assignment()) == 2, "nobody gets the partitions of a static member that left for a while"
        with Consumer(broker.bootstrap_servers, **settings) as back:
            back.subscribe(["static"])
            until_assigned({back: 2})
            assert set(back.assignment()) == mine


def test_member_that_a_broker_forgot_loses_its_partitions_and_joins_again(broker: EmbeddedBroker) -> None:
    write(broker, "lost", b"a")
    lost: list[int] = []
    with Consumer(broker.bootstrap_servers, group_id="lost", **SETTINGS) as consumer:
        consumer.subscribe(["lost"], on_lost=lambda partitions: lost.append(len(partitions)))
        assert values(consumer, 1) == [b"a"]
        consumer.commit()
        for _ in range(100):
            broker.advance(seconds=60)  # unless a heartbeat comes first
            assert consumer.poll(0.05) == []
            if lost:
                break
        write(broker, "lost", b"b")
        assert values(consumer, 1) == [b"b"]
    assert lost[0] == 4
