"""aiokafka against the bundled broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from kafka_tools.clients.settings import CODECS

COUNT = 100
TIMEOUT_S = 60.0


async def produce(servers: str, topic: str, codec: str = "none", **settings: Any) -> list[Any]:
    compression = None if codec == "none" else codec
    producer = AIOKafkaProducer(bootstrap_servers=servers, compression_type=compression, **settings)
    await producer.start()
    try:
        waiting = [
            await producer.send(
                topic, b"value %d" % number * 20, b"key %d" % number, headers=[("number", b"%d" % number)]
            )
            for number in range(COUNT)
        ]
        return [await each for each in waiting]
    finally:
        await producer.stop()


async def read(consumer: AIOKafkaConsumer, count: int) -> list[Any]:
    return [await consumer.getone() for _ in range(count)]


@pytest.mark.parametrize("codec", CODECS)
def test_alone_with_every_codec(servers: str, new_topic: Callable[..., str], codec: str) -> None:
    topic = new_topic()

    async def scenario() -> None:
        places = await produce(servers, topic, codec)
        assert [place.offset for place in places] == list(range(COUNT))
        consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
        await consumer.start()
        try:
            consumer.assign([TopicPartition(topic, 0)])
            records = await read(consumer, COUNT)
        finally:
            await consumer.stop()
        assert [record.value for record in records] == [b"value %d" % number * 20 for number in range(COUNT)]
        assert list(records[7].headers) == [("number", b"7")]

    asyncio.run(asyncio.wait_for(scenario(), TIMEOUT_S))


def test_idempotent_producer_and_group(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    async def scenario() -> None:
        await produce(servers, topic, enable_idempotence=True)
        offsets = []
        for count in (30, COUNT - 30):
            consumer = AIOKafkaConsumer(
                topic,
                bootstrap_servers=servers,
                group_id=f"group of {topic}",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
            await consumer.start()
            try:
                offsets += [record.offset for record in await read(consumer, count)]
                await consumer.commit({TopicPartition(topic, 0): offsets[-1] + 1})
            finally:
                await consumer.stop()
        assert offsets == list(range(COUNT))

    asyncio.run(asyncio.wait_for(scenario(), TIMEOUT_S))
