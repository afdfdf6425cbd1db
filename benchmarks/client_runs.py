"""One run of one client library: ``benchmarks.clients`` starts it in the environment of that library.

``python client_runs.py LIBRARY ACTION JSON`` prints a line of JSON. Times of producing and consuming are CPU and wall
seconds from the first call to the last acknowledgement or record, without the start of the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

BATCH_BYTES, LINGER_MS, BUFFER_BYTES = 65_536, 5, 32 * 1024 * 1024
AT_REST_S = 10.0
MANY = 10_000
"""Records of one call of ``send_many``."""


def values(size: int, count: int) -> list[bytes]:
    """Texts that compress as log lines do, a thousand different ones."""
    chooser = random.Random(7)
    words = [bytes(chooser.choices(b"abcdefghijklmnopqrstuvwxyz", k=chooser.randrange(3, 9))) for _ in range(500)]
    pool = [b" ".join(chooser.choices(words, k=size // 4))[:size].ljust(size, b".") for _ in range(1000)]
    return [pool[number % 1000] for number in range(count)]


class Meter:
    """CPU and wall time of a block."""

    def __enter__(self) -> Meter:
        self.wall_s, self.cpu_s = -time.perf_counter(), -time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall_s += time.perf_counter()
        self.cpu_s += time.process_time()


class Ours:
    """This package. ``how``: the call that moves records."""

    def __init__(self, servers: str, how: str) -> None:
        self.servers, self.how = servers, how

    def producer(self, codec: str, **settings: Any) -> Any:
        from kafka_tools.clients import Producer

        return Producer(
            self.servers,
            linger_ms=LINGER_MS,
            batch_size=BATCH_BYTES,
            buffer_memory=BUFFER_BYTES,
            compression_type=codec,
            **settings,
        )

    def produce(self, producer: Any, topic: str, records: list[bytes]) -> None:
        if self.how == "send_many":
            for start in range(0, len(records), MANY):
                producer.send_many(topic, records[start : start + MANY])
        else:
            for value in records:
                producer.send(topic, value)
        producer.flush()

    def fill(self, producer: Any, topic: str, records: Iterator[bytes]) -> int:
        count = 0
        with contextlib.suppress(Exception):  # the buffer is full
            for count, value in enumerate(records):  # noqa: B007 - the last one is the result
                producer.send(topic, value)
        return count

    def close(self, client: Any) -> None:
        client.close()

    def consumer(self) -> Any:
        from kafka_tools.clients import Consumer

        return Consumer(self.servers, max_partition_fetch_bytes=1_048_576)

    def consume(self, consumer: Any, topic: str, partitions: int, count: int) -> int:
        from kafka_tools.values import TopicPartition

        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        consumer.seek_to_beginning()
        found = 0
        while found < count:
            if self.how == "poll_columns":
                found += sum(len(columns.offsets) for columns in consumer.poll_columns(30.0))
            else:
                found += len(consumer.poll(30.0))
        return found


class Confluent:
    """confluent-kafka (librdkafka)."""

    def __init__(self, servers: str, how: str) -> None:
        self.servers = servers

    def producer(self, codec: str, **settings: Any) -> Any:
        from confluent_kafka import Producer

        return Producer(
            {
                "bootstrap.servers": self.servers,
                "linger.ms": LINGER_MS,
                "batch.size": BATCH_BYTES,
                "queue.buffering.max.kbytes": BUFFER_BYTES // 1024,
                "queue.buffering.max.messages": 10_000_000,
                "compression.type": codec,
                "enable.idempotence": True,
            }
        )

    def produce(self, producer: Any, topic: str, records: list[bytes]) -> None:
        for value in records:
            while True:
                try:
                    producer.produce(topic, value)
                    break
                except BufferError:
                    producer.poll(0.01)
        producer.flush()

    def fill(self, producer: Any, topic: str, records: Iterator[bytes]) -> int:
        count = 0
        with contextlib.suppress(BufferError):  # the buffer is full
            for count, value in enumerate(records):  # noqa: B007 - the last one is the result
                producer.produce(topic, value)
        return count

    def close(self, client: Any) -> None:
        client.flush() if hasattr(client, "produce") else client.close()

    def consumer(self) -> Any:
        from confluent_kafka import Consumer

        return Consumer({"bootstrap.servers": self.servers, "group.id": "unused", "enable.auto.commit": False})

    def consume(self, consumer: Any, topic: str, partitions: int, count: int) -> int:
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        found = 0
        while found < count:
            for message in consumer.consume(500, 30.0):
                if message.value() is not None:
                    found += 1
        return found


class KafkaPython:
    """kafka-python."""

    def __init__(self, servers: str, how: str) -> None:
        self.servers = servers

    def producer(self, codec: str, **settings: Any) -> Any:
        from kafka import KafkaProducer

        return KafkaProducer(
            bootstrap_servers=self.servers,
            linger_ms=LINGER_MS,
            batch_size=BATCH_BYTES,
            compression_type=None if codec == "none" else codec,
            acks="all",
        )

    def produce(self, producer: Any, topic: str, records: list[bytes]) -> None:
        for value in records:
            producer.send(topic, value)
        producer.flush()

    def close(self, client: Any) -> None:
        client.close()

    def consumer(self) -> Any:
        from kafka import KafkaConsumer

        return KafkaConsumer(bootstrap_servers=self.servers, group_id=None, enable_auto_commit=False)

    def consume(self, consumer: Any, topic: str, partitions: int, count: int) -> int:
        from kafka import TopicPartition

        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        consumer.seek_to_beginning()
        found = 0
        while found < count:
            found += sum(map(len, consumer.poll(30_000, max_records=500).values()))
        return found


class AioKafka:
    """aiokafka, in a loop of its own."""

    def __init__(self, servers: str, how: str) -> None:
        self.servers = servers
        self.loop = asyncio.new_event_loop()

    def producer(self, codec: str, **settings: Any) -> Any:
        from aiokafka import AIOKafkaProducer

        async def start() -> Any:
            producer = AIOKafkaProducer(
                bootstrap_servers=self.servers,
                linger_ms=LINGER_MS,
                max_batch_size=BATCH_BYTES,
                compression_type=None if codec == "none" else codec,
                acks="all",
                enable_idempotence=True,
            )
            await producer.start()
            return producer

        return self.loop.run_until_complete(start())

    def produce(self, producer: Any, topic: str, records: list[bytes]) -> None:
        async def send() -> None:
            for value in records:
                await producer.send(topic, value)
            await producer.flush()

        self.loop.run_until_complete(send())

    def close(self, client: Any) -> None:
        self.loop.run_until_complete(client.stop())

    def consumer(self) -> Any:
        from aiokafka import AIOKafkaConsumer

        async def start() -> Any:
            consumer = AIOKafkaConsumer(bootstrap_servers=self.servers, enable_auto_commit=False)
            await consumer.start()
            return consumer

        return self.loop.run_until_complete(start())

    def consume(self, consumer: Any, topic: str, partitions: int, count: int) -> int:
        from aiokafka import TopicPartition

        async def read() -> int:
            consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
            await consumer.seek_to_beginning()
            found = 0
            while found < count:
                got = await consumer.getmany(timeout_ms=30_000, max_records=500)
                found += sum(map(len, got.values()))
            return found

        return self.loop.run_until_complete(read())

    def rest(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))


LIBRARIES: dict[str, Callable[[str, str], Any]] = {
    "kafka_tools": Ours,
    "confluent": Confluent,
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
}


def produce(library: Any, given: dict[str, Any]) -> dict[str, float]:
    records = values(given["size"], given["count"])
    producer = library.producer(given["codec"])
    library.produce(producer, given["topic"], records[:100])
    with Meter() as meter:
        library.produce(producer, given["topic"], records)
    with Meter() as closing:
        library.close(producer)
    return {"wall_s": meter.wall_s, "cpu_s": meter.cpu_s, "close_ms": closing.wall_s * 1000}


def consume(library: Any, given: dict[str, Any]) -> dict[str, float]:
    consumer = library.consumer()
    library.consume(consumer, given["topic"], given["partitions"], 1)  # imports, connections
    with Meter() as meter:
        library.consume(consumer, given["topic"], given["partitions"], given["count"])
    with Meter() as closing:
        library.close(consumer)
    return {"wall_s": meter.wall_s, "cpu_s": meter.cpu_s, "close_ms": closing.wall_s * 1000}


def rest(library: Any, given: dict[str, Any]) -> dict[str, float]:
    """CPU of a producer and of a consumer that have been used, and of which nothing is wanted."""
    found = {}
    producer = library.producer("none")
    library.produce(producer, given["topic"], [b"1"])
    found["producer_ms"] = _cpu_at_rest_ms(library)
    library.close(producer)
    consumer = library.consumer()
    library.consume(consumer, given["topic"], 1, 1)
    found["consumer_ms"] = _cpu_at_rest_ms(library)
    library.close(consumer)
    return found


def _cpu_at_rest_ms(library: Any) -> float:
    sleep = getattr(library, "rest", time.sleep)
    sleep(1.0)
    with Meter() as meter:
        sleep(AT_REST_S)
    return meter.cpu_s * 1000


def fill(library: Any, given: dict[str, Any]) -> dict[str, float]:
    """Memory with a full buffer: the broker is stopped after the first record, when this program says so."""
    size = given["size"]
    producer = library.producer("none", max_block_ms=1000)
    library.produce(producer, given["topic"], [b"first"])
    print("stop the broker", flush=True)
    sys.stdin.readline()
    before = _resident_bytes()
    count = library.fill(producer, given["topic"], (b"%08d" % n * (size // 8) for n in range(2 * BUFFER_BYTES // size)))
    grown = _resident_bytes() - before
    print(json.dumps({"count": count, "grown_bytes": grown, "peak_bytes": _peak_bytes()}), flush=True)
    sys.stdin.readline()  # the parent ends this process
    return {}


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


ACTIONS: dict[str, Callable[[Any, dict[str, Any]], dict[str, float]]] = {
    "produce": produce,
    "consume": consume,
    "rest": rest,
    "fill": fill,
}


def lines() -> Iterator[str]:
    """The result of this run."""
    name, action, text = sys.argv[1:]
    given = json.loads(text)
    library = LIBRARIES[name](given["servers"], given.get("how", ""))
    yield json.dumps(ACTIONS[action](library, given))


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
