"""confluent-kafka (librdkafka) against the bundled broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kafka_tools.clients.consumer import Consumer as OurConsumer
from kafka_tools.clients.settings import CODECS
from kafka_tools.net.config import ClientConfig

COUNT = 200
READ_TIMEOUT_S = 30.0


def produce(servers: str, topic: str, codec: str = "none", **settings: Any) -> list[tuple[int, int]]:
    """Write COUNT records; their (partition, offset) in order of acknowledgement."""
    producer = Producer({"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 5, **settings})
    places: list[tuple[int, int]] = []
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        if error is not None:
            errors.append(error)
        else:
            places.append((message.partition(), message.offset()))

    for number in range(COUNT):
        headers = [("number", b"%d" % number), ("none", None)]
        producer.produce(topic, b"value %d" % number * 20, b"key %d" % number, on_delivery=delivered, headers=headers)
    assert producer.flush(READ_TIMEOUT_S) == 0
    assert not errors
    return places


def read(consumer: Consumer, count: int) -> list[Any]:
    messages: list[Any] = []
    while len(messages) < count:
        found = consumer.consume(count - len(messages), READ_TIMEOUT_S)
        assert found, f"only {len(messages)} of {count} records came"
        for message in found:
            assert message.error() is None
            messages.append(message)
    return messages


@pytest.mark.parametrize("codec", CODECS)
def test_alone_with_every_codec(servers: str, new_topic: Callable[..., str], codec: str) -> None:
    topic = new_topic()
    places = produce(servers, topic, codec)
    assert places == [(0, offset) for offset in range(COUNT)]
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    messages = read(consumer, COUNT)
    consumer.close()
    assert [message.value() for message in messages] == [b"value %d" % number * 20 for number in range(COUNT)]
    assert [message.key() for message in messages] == [b"key %d" % number for number in range(COUNT)]
    assert messages[7].headers() == [("number", b"7"), ("none", None)]


def test_idempotent_producer(servers: str, new_topic: Callable[..., str]) -> None:
    assert len(produce(servers, new_topic(3), "lz4", **{"enable.idempotence": True})) == COUNT


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(servers: str, new_topic: Callable[..., str], acks: str) -> None:
    topic = new_topic()
    produce(servers, topic, acks=acks)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    assert len(read(consumer, COUNT)) == COUNT
    consumer.close()


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_group_of_two_shares_the_partitions(servers: str, new_topic: Callable[..., str], strategy: str) -> None:
    topic = new_topic(4)
    settings = {
        "bootstrap.servers": servers,
        "group.id": f"group of {topic}",
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": strategy,
        "enable.auto.commit": False,
    }
    first, second = Consumer(settings), Consumer(settings)
    try:
        for consumer in (first, second):
            consumer.subscribe([topic])
        _until(lambda: len(first.assignment()) == len(second.assignment()) == 2, first, second)
        owned = {each.partition for consumer in (first, second) for each in consumer.assignment()}
        assert owned == {0, 1, 2, 3}
    finally:
        first.close()
        second.close()


def test_group_of_librdkafka_and_ours_shares_the_partitions(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic(4)
    settings = {"bootstrap.servers": servers, "group.id": f"group of {topic}", "auto.offset.reset": "earliest"}
    for first in ("theirs", "ours"):  # whoever comes first leads the group and assigns
        theirs = Consumer({**settings, "partition.assignment.strategy": "range"})
        ours = OurConsumer(ClientConfig({**settings, "heartbeat.interval.ms": "100"}))
        try:
            if first == "theirs":
                theirs.subscribe([topic])
                _until(lambda each=theirs: len(each.assignment()) == 4, theirs)
                ours.subscribe([topic])
            else:
                ours.subscribe([topic])
                _until(lambda each=ours: len(each.assignment()) == 4, ours)
                theirs.subscribe([topic])
            _until(lambda a=theirs, b=ours: len(a.assignment()) == len(b.assignment()) == 2, theirs, ours)
            owned = [each.partition for each in (*theirs.assignment(), *ours.assignment())]
            assert sorted(owned) == [0, 1, 2, 3]
        finally:
            theirs.close()
            ours.close()


def _until(condition: Callable[[], bool], *consumers: Consumer | OurConsumer) -> None:
    """Poll until it holds; nothing is in the topic, so nothing is lost."""
    expired = threading.Event()
    timer = threading.Timer(60.0, expired.set)
    timer.start()
    try:
        while not condition():
            assert not expired.is_set(), "the group did not settle within 60 s"
            for consumer in consumers:
                assert not consumer.poll(0.05)
    finally:
        timer.cancel()


def test_group_goes_on_from_its_committed_offsets(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    produce(servers, topic)
    settings = {
        "bootstrap.servers": servers,
        "group.id": f"group of {topic}",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    first = Consumer(settings)
    first.subscribe([topic])
    part = read(first, 50)
    first.commit(message=part[-1], asynchronous=False)
    first.close()
    second = Consumer(settings)
    second.subscribe([topic])
    rest = read(second, COUNT - 50)
    assert [message.offset() for message in rest] == list(range(50, COUNT))
    (committed,) = second.committed([TopicPartition(topic, 0)])
    assert committed.offset == 50
    second.close()


def test_offsets_by_time_and_watermarks(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    producer = Producer({"bootstrap.servers": servers})
    for number in range(10):
        producer.produce(topic, b"x", timestamp=1_000_000 + number * 100)
    assert producer.flush(READ_TIMEOUT_S) == 0
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "unused"})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), READ_TIMEOUT_S) == (0, 10)
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, 1_000_250)], READ_TIMEOUT_S)
    assert found.offset == 3
    consumer.close()


def test_transactions_with_offsets_and_a_fenced_producer(servers: str, new_topic: Callable[..., str]) -> None:
    source, sink = new_topic(), new_topic()
    producer = Producer({"bootstrap.servers": servers, "transactional.id": sink, "log_level": 0})
    producer.init_transactions(READ_TIMEOUT_S)
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": sink, "auto.offset.reset": "earliest", "enable.auto.commit": False,
         "isolation.level": "read_committed"}
    )  # fmt: skip
    consumer.subscribe([source])
    for commit in (True, False, True):
        producer.begin_transaction()
        for number in range(3):
            producer.produce(source, b"%d-%d" % (commit, number))
        producer.flush(READ_TIMEOUT_S)
        (producer.commit_transaction if commit else producer.abort_transaction)(READ_TIMEOUT_S)
    values: list[bytes] = []
    deadline = time.monotonic() + READ_TIMEOUT_S
    while len(values) < 6 and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append(message.value())
    assert values == [b"1-0", b"1-1", b"1-2"] * 2
    producer.begin_transaction()
    producer.produce(sink, b"sum")
    positions = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), READ_TIMEOUT_S)
    producer.commit_transaction(READ_TIMEOUT_S)
    (committed,) = consumer.committed(consumer.assignment(), READ_TIMEOUT_S)
    assert committed.offset == positions[0].offset
    consumer.close()
    successor = Producer({"bootstrap.servers": servers, "transactional.id": sink, "log_level": 0})
    successor.init_transactions(READ_TIMEOUT_S)
    with pytest.raises(KafkaException) as fenced:
        producer.begin_transaction()
        producer.produce(source, b"late")
        producer.flush(READ_TIMEOUT_S)
        producer.commit_transaction(READ_TIMEOUT_S)
    assert fenced.value.args[0].fatal()


def modern(servers: str, group: str, **settings: Any) -> Consumer:
    """A consumer of the consumer protocol."""
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
            **settings,
        }
    )


def parts(*consumers: Consumer) -> list[set[int]]:
    """The partitions that each has."""
    return [{each.partition for each in consumer.assignment()} for consumer in consumers]


def test_members_of_the_consumer_protocol_share_partitions_and_keep_their_place(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=4)
    first, second = modern(servers, topic), modern(servers, topic)
    first.subscribe([topic])
    _until(lambda: parts(first) == [{0, 1, 2, 3}], first)
    second.subscribe([topic])
    _until(lambda: [len(each) for each in parts(first, second)] == [2, 2], first, second)
    assert set.union(*parts(first, second)) == {0, 1, 2, 3}
    first.close()
    _until(lambda: parts(second) == [{0, 1, 2, 3}], second)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(40):
        producer.produce(topic, str(number).encode(), partition=number % 4)
    assert producer.flush(READ_TIMEOUT_S) == 0
    assert len(read(second, 40)) == 40
    second.commit(asynchronous=False)
    second.close()
    third = modern(servers, topic, **{"group.instance.id": "static"})
    third.subscribe([topic])
    _until(lambda: parts(third) == [{0, 1, 2, 3}], third)
    committed = third.committed([TopicPartition(topic, number) for number in range(4)], READ_TIMEOUT_S)
    assert [each.offset for each in committed] == [10] * 4
    third.close()
