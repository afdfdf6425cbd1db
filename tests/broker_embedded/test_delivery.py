"""How often records are delivered (4.6 of Kafka's design): librdkafka on the bundled broker, when things go wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_tools.broker_embedded import EmbeddedBroker

_WAIT_S = 60


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


def values(broker: EmbeddedBroker, topic: str) -> list[bytes | None]:
    """What a reader of committed records finds in partition 0."""
    reader = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "any", "enable.partition.eof": True})
    reader.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := reader.poll(_WAIT_S)) is not None and message.error() is None:
        found.append(message.value())
    reader.close()
    return found


def sent(broker: EmbeddedBroker, topic: str, **config: object) -> tuple[list[bytes | None], bool]:
    """What is in a topic after one record whose first answer was lost, and whether the producer thinks it is."""
    with broker.faults.disconnect("produce", served=True) as lost:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **config})
        told: list[bool] = []
        producer.produce(topic, b"one", partition=0, on_delivery=lambda error, message: told.append(error is None))
        assert producer.flush(_WAIT_S) == 0 and lost.hits == 1
    return values(broker, topic), told[0]


@pytest.mark.req("DESIGN-10")
def test_a_producer_delivers_at_least_once_at_most_once_or_exactly_once(broker: EmbeddedBroker) -> None:
    assert sent(broker, "tries-again") == ([b"one", b"one"], True)
    assert sent(broker, "tries-once", retries=0) == ([b"one"], False)
    assert sent(broker, "idempotent", **{"enable.idempotence": True}) == ([b"one"], True)


@pytest.mark.req("DESIGN-10")
@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("process, then commit", [b"a", b"b", b"b", b"c"]),
        ("commit, then process", [b"a", b"c"]),
        ("in one transaction", [b"a", b"b", b"c"]),
    ],
)
def test_a_consumer_that_ends_at_the_second_record_and_is_started_again(
    broker: EmbeddedBroker, order: str, expected: list[bytes]
) -> None:
    """At least once, at most once, exactly once: by when its offset is kept, and with what it is kept together."""
    source = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in (b"a", b"b", b"c"):
        source.produce("from", value, partition=0)
    assert source.flush(_WAIT_S) == 0
    run(broker, order, ends_at=1)
    run(broker, order)
    assert values(broker, "to") == expected


def run(broker: EmbeddedBroker, order: str, *, ends_at: int | None = None) -> None:
    """Copy what is left of ``from`` to ``to``; ``ends_at``: the offset at which it dies between its two steps."""
    server = {"bootstrap.servers": broker.bootstrap_servers}
    consumer = Consumer({**server, "group.id": "copy", "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    at = TopicPartition("from", 0)
    (committed,) = consumer.committed([at], _WAIT_S)
    consumer.assign([TopicPartition("from", 0, max(committed.offset, 0))])
    transactional = order == "in one transaction"
    producer = Producer({**server, "transactional.id": "copy"} if transactional else server)
    if transactional:
        producer.init_transactions(_WAIT_S)
    while (message := consumer.poll(_WAIT_S)) is not None:
        assert message.error() is None
        dies = message.offset() == ends_at
        done = [TopicPartition("from", 0, message.offset() + 1)]
        if transactional:
            producer.begin_transaction()
        if order == "commit, then process":
            consumer.commit(offsets=done, asynchronous=False)
            if dies:
                break
        producer.produce("to", message.value(), partition=0)
        assert producer.flush(_WAIT_S) == 0
        if dies:
            break
        if transactional:
            producer.send_offsets_to_transaction(done, consumer.consumer_group_metadata(), _WAIT_S)
            producer.commit_transaction(_WAIT_S)
        elif order == "process, then commit":
            consumer.commit(offsets=done, asynchronous=False)
        if message.offset() == 2:
            break
    consumer.close()
