"""kafka-python against the bundled broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from kafka_tools.clients.settings import CODECS

COUNT = 100
READ_TIMEOUT_MS = 30_000

# The library reads its own protocol files in a way that newer Pythons deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def produce(servers: str, topic: str, codec: str = "none") -> list[Any]:
    producer = KafkaProducer(bootstrap_servers=servers, compression_type=None if codec == "none" else codec)
    futures = [
        producer.send(topic, b"value %d" % number * 20, b"key %d" % number, headers=[("number", b"%d" % number)])
        for number in range(COUNT)
    ]
    producer.flush(30)
    places = [future.get(30) for future in futures]
    producer.close()
    return places


def read(consumer: KafkaConsumer, count: int) -> list[Any]:
    records: list[Any] = []
    while len(records) < count:
        found = consumer.poll(timeout_ms=READ_TIMEOUT_MS, max_records=count - len(records))
        assert found, f"only {len(records)} of {count} records came"
        records += [record for partition in found.values() for record in partition]
    return records


@pytest.mark.parametrize("codec", CODECS)
def test_alone_with_every_codec(servers: str, new_topic: Callable[..., str], codec: str) -> None:
    topic = new_topic()
    places = produce(servers, topic, codec)
    assert [place.offset for place in places] == list(range(COUNT))
    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0)])
    records = read(consumer, COUNT)
    consumer.close()
    assert [record.value for record in records] == [b"value %d" % number * 20 for number in range(COUNT)]
    assert list(records[7].headers) == [("number", b"7")]


def test_in_a_group_with_committed_offsets(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    produce(servers, topic)
    settings = {
        "bootstrap_servers": servers,
        "group_id": f"group of {topic}",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
    first = KafkaConsumer(topic, **settings)
    part = read(first, 40)
    assert first.assignment() == {TopicPartition(topic, 0)}
    first.commit()
    first.close()
    second = KafkaConsumer(topic, **settings)
    rest = read(second, COUNT - 40)
    assert [record.offset for record in (*part, *rest)] == list(range(COUNT))
    second.close()
