"""Producers and consumers while things go wrong at random: every record arrives once and in order.

``KAFKA_TOOLS_FAULT_SEEDS=100`` runs as many seeds as it says; a failure names its seed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Collection

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.faults.vocabulary import Faults
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.net.config import ClientConfig

SEEDS = int(os.environ.get("KAFKA_TOOLS_FAULT_SEEDS", "2"))
COUNT = 150
APIS = ("produce", "fetch", "metadata", "find_coordinator", "join_group", "sync_group", "offset_commit", "offset_fetch")
ERRORS = {
    "produce": ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "KAFKA_STORAGE_ERROR", "REQUEST_TIMED_OUT"),
    "fetch": ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_LEADER_EPOCH", "KAFKA_STORAGE_ERROR", "FETCH_SESSION_ID_NOT_FOUND"),
    "metadata": ("LEADER_NOT_AVAILABLE",),
    "find_coordinator": ("COORDINATOR_NOT_AVAILABLE",),
    "join_group": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "sync_group": ("REBALANCE_IN_PROGRESS", "NOT_COORDINATOR"),
    "offset_commit": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "offset_fetch": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
}
SESSION = {"session.timeout.ms": "2000", "heartbeat.interval.ms": "300"}
"""A member whose join was lost is waited for as long as its session lasts."""
OF_PARTITIONS = ("produce", "fetch", "metadata")
NOT_FOR_LIBRDKAFKA = {("offset_fetch", "NOT_COORDINATOR")}
"""It never asks for committed offsets again after this error (librdkafka issue 5586)."""


def something_goes_wrong(
    faults: Faults, chance: random.Random, topic: str, never: Collection[tuple[str, str]] = ()
) -> None:
    api = chance.choice(APIS)
    skip = chance.randrange(3)
    kind = chance.randrange(5)
    if kind == 0:
        error = chance.choice([error for error in ERRORS[api] if (api, error) not in never])
        part = api in OF_PARTITIONS and error != "FETCH_SESSION_ID_NOT_FOUND"
        faults.error(api, error, skip=skip, **({"topic": topic} if part else {}))
    elif kind == 1:
        faults.disconnect(api, skip=skip, served=chance.random() < 0.5)
    elif kind == 2:
        faults.short_write(api, skip=skip, bytes=chance.choice([0, 2, 6, None]))
    elif kind == 3:
        faults.delay(api, chance.choice([5, 50]), times=1, skip=skip, served=chance.random() < 0.5)
    else:
        faults.error(api, ERRORS[api][0], skip=skip, served=True)


def ours(address: str, topic: str, meanwhile: Callable[[], None]) -> list[bytes | None]:
    settings = {"bootstrap.servers": address, "retry.backoff.ms": "5", "retry.backoff.max.ms": "20", "linger.ms": "0"}
    settings |= {"reconnect.backoff.ms": "5", "reconnect.backoff.max.ms": "20", "enable.idempotence": "true"}
    producer = Producer(ClientConfig({**settings, "batch.size": "100"}))
    for number in range(COUNT):
        producer.send(topic, b"%d" % number, partition=0)
        if number % 10 == 0:
            meanwhile()
            producer.poll(0)
    producer.close(120)
    consumer = Consumer(
        ClientConfig(
            {**settings, "group.id": topic, "auto.offset.reset": "earliest", "max.poll.records": "20", **SESSION}
        )
    )
    consumer.subscribe([topic])
    found: list[bytes | None] = []
    while len(found) < COUNT:
        meanwhile()
        records = consumer.poll(60.0)
        assert records, f"{len(found)} of {COUNT} records are there"
        found += [record.value for record in records]
    consumer.close()
    return found


def librdkafkas(address: str, topic: str, meanwhile: Callable[[], None]) -> list[bytes | None]:
    import confluent_kafka

    settings = {"bootstrap.servers": address, "retry.backoff.ms": 5, "reconnect.backoff.ms": 5}
    settings |= {"reconnect.backoff.max.ms": 20, "log_level": 0}
    # A subscribed topic whose metadata was an error is looked at again that late, five minutes unless it is said.
    settings["topic.metadata.refresh.interval.ms"] = 500
    producer = confluent_kafka.Producer(
        {**settings, "enable.idempotence": True, "linger.ms": 0, "batch.num.messages": 9}
    )
    failed = []
    for number in range(COUNT):
        producer.produce(topic, b"%d" % number, partition=0, on_delivery=lambda error, _: failed.append(error))
        if number % 10 == 0:
            meanwhile()
            producer.poll(0)
    assert producer.flush(120) == 0 and set(failed) == {None}
    consumer = confluent_kafka.Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest", **SESSION})
    consumer.subscribe([topic])
    found: list[bytes | None] = []
    while len(found) < COUNT:
        if len(found) % 10 == 0:
            meanwhile()
        message = consumer.poll(60)
        assert message is not None, f"{len(found)} of {COUNT} records are there"
        if message.error() is None:
            found.append(message.value())
    consumer.close()
    return found


@pytest.mark.parametrize("client", [ours, librdkafkas])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_record_arrives_once_and_in_order(client: Callable[..., list[bytes | None]], seed: int) -> None:
    chance = random.Random(seed)
    with EmbeddedBroker(config={"group.min.session.timeout.ms": 1000}) as broker:
        topic = f"t{seed}"
        never = NOT_FOR_LIBRDKAFKA if client is librdkafkas else ()
        found = client(
            broker.bootstrap_servers, topic, lambda: something_goes_wrong(broker.faults, chance, topic, never)
        )
        assert found == [b"%d" % number for number in range(COUNT)]
