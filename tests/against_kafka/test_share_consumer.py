"""Our share consumer in a share group of real Kafka: who gets which record, after each kind of acknowledgement."""

from __future__ import annotations

import pytest

from kafka_tools.clients.producer import Producer
from kafka_tools.clients.sharing.consumer import ShareConsumer
from kafka_tools.clients.sharing.held_records import AcknowledgeType, SharedRecord
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import done, fresh, ours

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


@pytest.fixture
def topic(kafka_new: RealKafka) -> str:
    name = fresh("shared")
    done(ours(kafka_new, "topics", "--create", "--topic", name, "--partitions", 2))
    return name


def written(kafka: RealKafka, topic: str, count: int) -> set[bytes]:
    values = {b"%d" % number for number in range(count)}
    with Producer(kafka.bootstrap_servers) as producer:
        for value in sorted(values):
            producer.send(topic, value, partition=len(value) % 2)
    return values


def from_the_start(kafka: RealKafka, topic: str) -> str:
    group = fresh("share")
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    done(ours(kafka, "share-groups", *reset))
    return group


def until(consumer: ShareConsumer, count: int) -> list[SharedRecord]:
    """The first ``count`` records, with no pause in which one could be missing."""
    found: list[SharedRecord] = []
    for _ in range(60):
        found += consumer.poll(1.0)
        if len(found) >= count:
            return found
    raise AssertionError(f"{len(found)} of {count} records came")


def test_two_implicit_members_share_a_partition_and_nothing_comes_twice(kafka_new: RealKafka, topic: str) -> None:
    group = from_the_start(kafka_new, topic)
    values = written(kafka_new, topic, 200)
    found: list[bytes | None] = []
    settings = {"group_id": group, "max_poll_records": 10, "share_acquire_mode": "record_limit"}
    with (
        ShareConsumer(kafka_new.bootstrap_servers, **settings) as one,
        ShareConsumer(kafka_new.bootstrap_servers, **settings) as other,
    ):
        for consumer in (one, other):
            consumer.subscribe([topic])
        for _ in range(200):
            for consumer in (one, other):
                records = consumer.poll(0.3)
                assert len(records) <= 10
                found += [record.value for record in records]
            if len(found) >= len(values):
                break
        assert all(error is None for consumer in (one, other) for error in consumer.commit().values())
        assert one.acquisition_lock_timeout_ms == 30_000
    assert sorted(found, key=str) == sorted(values, key=str)


def test_explicit_acknowledgements_decide_what_comes_again(kafka_new: RealKafka, topic: str) -> None:
    group = from_the_start(kafka_new, topic)
    with Producer(kafka_new.bootstrap_servers) as producer:
        for value in (b"accept", b"release", b"reject", b"renew"):
            producer.send(topic, value, partition=0)
    told: list[tuple[set[int], object]] = []
    with ShareConsumer(
        kafka_new.bootstrap_servers,
        group_id=group,
        share_acknowledgement_mode="explicit",
        on_acknowledged=lambda offsets, error: told.append((set().union(*offsets.values()), error)),
    ) as consumer:
        consumer.subscribe([topic])
        first = {record.value: record for record in until(consumer, 4)}
        assert {record.delivery_count for record in first.values()} == {1}
        for value, kind in ((b"accept", ACCEPT), (b"release", RELEASE), (b"reject", REJECT), (b"renew", RENEW)):
            consumer.acknowledge(first[value], kind)
        assert list(consumer.commit().values()) == [None]
        assert told == [({0, 1, 2, 3}, None)]
        again: dict[bytes | None, int] = {}
        while len(again) < 2:
            for record in until(consumer, 1):
                again[record.value] = record.delivery_count
                consumer.acknowledge(record)
        assert again == {b"renew": 1, b"release": 2}, "renewed is the same delivery with a longer lock"
        with Producer(kafka_new.bootstrap_servers) as producer:
            producer.send(topic, b"left", partition=1)
        assert [record.value for record in until(consumer, 1)] == [b"left"]
    with ShareConsumer(kafka_new.bootstrap_servers, group_id=group) as other:
        other.subscribe([topic])
        found = until(other, 1)
        assert [(record.value, record.delivery_count) for record in found] == [(b"left", 2)], "close released it"
