"""Throttle times are Kafka's: a seeded part of ``quota_comparison``, and both brokers under the same load."""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.records.build import build_batch
from kafka_tools.values import parse_address
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.java_programs import Lines
from tests.against_kafka.quota_comparison import Round
from tests.broker_embedded.wire_client import WireClient


@pytest.mark.req("QT-22", "QT-23", "QT-25", "QT-26", "QT-31")
def test_delays_of_random_use_under_limits_of_all_levels_are_kafkas(tmp_path: Path) -> None:
    delays, differences = 0, []
    with Lines.start("Quotas", tmp_path) as kafka:
        for seed in range(25):
            played = Round(kafka, seed)
            differences += [f"seed {seed}, {told}" for told in played.play()]
            delays += played.delays
    assert differences == []
    assert delays > 300


class Told(NamedTuple):
    """What a broker said to one request, and how long the whole load had taken by then."""

    delay_ms: int
    said: Any
    by_ms: float


class Load:
    """The same requests of one client id to one broker. Each has a connection of its own: throttled ones are muted."""

    def __init__(self, address: str, client_id: str) -> None:
        self.address = address
        self.client_id = client_id
        self.topic = f"quotas-{client_id}"
        self.began_s = time.monotonic()

    @contextmanager
    def client(self, client_id: str = "admin") -> Iterator[WireClient]:
        with WireClient(self.address, client_id=client_id) as client:
            yield client

    def ask(self, request: Request, version: int) -> Any:
        with self.client(self.client_id) as client:
            return client.call(request, version)

    def told(self, delay_ms: int, said: Any = None) -> Told:
        return Told(delay_ms, said, (time.monotonic() - self.began_s) * 1000)

    def limit(self, key: str, limit: float, *, user: str | None) -> None:
        """For the client id, alone or of a user, and for another one by which can be seen that it holds by now."""
        Entry = AlterClientQuotasRequest.EntryData
        entries = []
        probe = f"probe-{key}-{uuid.uuid4().hex[:8]}"
        for name in (self.client_id, probe):
            entity = [Entry.EntityData(entity_type="client-id", entity_name=name)]
            if user is not None:
                entity.append(Entry.EntityData(entity_type="user", entity_name=user or None))
            op = Entry.OpData(key=key, value=limit)
            probed = Entry.OpData(key="producer_byte_rate", value=1)
            entries.append(Entry(entity=entity, ops=[op if name == self.client_id else probed]))
        with self.client() as client:
            done = client.call(AlterClientQuotasRequest(entries=entries), 1)
            assert not any(entry.error_code for entry in done.entries), done
        while True:
            with self.client(probe) as client:
                if client.call(self.produced(50), 9).throttle_time_ms:
                    break
        self.began_s = time.monotonic()

    def produced(self, size: int) -> ProduceRequest:
        TopicData = ProduceRequest.TopicProduceData
        batch = build_batch([(1_700_000_000_000, None, b"x" * size, ())])
        data = TopicData(name=self.topic, partition_data=[TopicData.PartitionProduceData(index=0, records=batch)])
        return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])

    def produce(self, size: int) -> Told:
        answer = self.ask(self.produced(size), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
        return self.told(answer.throttle_time_ms)

    def fetch(self) -> Told:
        """Two batches: of a third one Kafka would send the beginning."""
        Topic = FetchRequest.Topic
        size = 2 * len(self.produced(4_000).topic_data[0].partition_data[0].records or b"")
        wanted = Topic(topic=self.topic, partitions=[Topic.Partition(partition_max_bytes=size)])
        answer = self.ask(FetchRequest(topics=[wanted], max_wait_ms=0, max_bytes=1 << 20), 12)
        sizes = [len(part.records or b"") for topic in answer.responses for part in topic.partitions]
        return self.told(answer.throttle_time_ms, sizes)

    def create(self, name: str, partitions: int, version: int) -> Told:
        topic = CreateTopicsRequest.CreatableTopic(
            name=f"{self.topic}-{name}", num_partitions=partitions, replication_factor=1
        )
        with self.client(self.client_id if name else "admin") as client:
            answer = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), version)
        return self.told(answer.throttle_time_ms, answer.topics[0].error_code)

    def run(self) -> list[Told]:
        topic = CreateTopicsRequest.CreatableTopic(name=self.topic, num_partitions=1, replication_factor=1)
        with self.client() as client:
            client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
            while client.call(self.produced(4_000), 9).responses[0].partition_responses[0].error_code:
                pass  # it has no leader yet
            for _ in range(4):
                client.call(self.produced(4_000), 9)
        self.limit("producer_byte_rate", 1_000, user=None)
        told = [self.produce(30_000), self.produce(30_000), self.produce(100)]
        self.limit("consumer_byte_rate", 1_000, user="ANONYMOUS")
        told += [self.fetch(), self.fetch(), self.fetch()]
        self.limit("controller_mutation_rate", 1, user="")
        told += [self.create("a", 40, 7), self.create("b", 1, 7), self.create("c", 2, 5), self.create("d", 1, 7)]
        return told


@pytest.mark.req("QT-27", "QT-28")
def test_both_brokers_hold_the_same_load_back_for_as_long(kafka_new: RealKafka) -> None:
    client_id = f"load-{uuid.uuid4().hex[:8]}"
    theirs = Load(kafka_new.bootstrap_servers, client_id).run()
    with EmbeddedBroker() as broker:
        ours = Load(broker.bootstrap_servers, client_id).run()
    assert [told.said for told in ours] == [told.said for told in theirs]
    assert [told.delay_ms > 0 for told in ours] == [told.delay_ms > 0 for told in theirs]
    refused = codes.THROTTLING_QUOTA_EXCEEDED
    assert [told.said for told in ours[-4:]] == [0, refused, 0, refused]
    for mine, other in zip(ours, theirs, strict=True):
        # Delays become shorter by the time that has passed, which is each broker's own.
        assert abs(mine.delay_ms - other.delay_ms) <= mine.by_ms + other.by_ms + 1, (mine, other)


RATE, COME = 2, 26


class Arrivals:
    """Connections that come all at once from an address of their own, which may make so many a second."""

    def __init__(self, address: str) -> None:
        self._address = parse_address(address)
        part = uuid.uuid4().int
        self._from, self._probe = (f"127.{77 + place}.{part % 250}.{part // 250 % 250 + 1}" for place in (0, 1))
        Entry = AlterClientQuotasRequest.EntryData
        entries = [
            Entry(
                entity=[Entry.EntityData(entity_type="ip", entity_name=name)],
                ops=[Entry.OpData(key="connection_creation_rate", value=rate)],
            )
            for name, rate in ((self._from, RATE), (self._probe, 1))
        ]
        with WireClient(address) as client:
            done = client.call(AlterClientQuotasRequest(entries=entries), 1)
        assert not any(entry.error_code for entry in done.entries), done
        while self._closed(self._connected(self._probe)) is None:
            pass  # until it holds

    def _connected(self, source: str) -> tuple[socket.socket, float]:
        began_s = time.monotonic()
        connected = socket.create_connection(self._address, 30, source_address=(source, 0))
        payload = encode_request(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3, 1, "a")
        connected.sendall(len(payload).to_bytes(4, "big") + payload)
        return connected, began_s

    def _closed(self, opened: tuple[socket.socket, float]) -> float | None:
        """After how many milliseconds it was closed; None if it was served."""
        connected, began_s = opened
        with connected:
            try:
                served = connected.recv(1)
            except ConnectionError:
                served = b""
        return None if served else (time.monotonic() - began_s) * 1000

    def run(self) -> tuple[list[float | None], float]:
        """What became of each, and how many milliseconds it took for all to come."""
        began_s = time.monotonic()
        opened = [self._connected(self._from) for _ in range(COME)]
        came_ms = (time.monotonic() - began_s) * 1000
        return [self._closed(each) for each in reversed(opened)], came_ms


def test_both_brokers_let_as_many_connections_of_an_address_in_and_close_others_as_late(kafka_new: RealKafka) -> None:
    theirs, theirs_ms = Arrivals(kafka_new.bootstrap_servers).run()
    with EmbeddedBroker() as broker:
        ours, ours_ms = Arrivals(broker.bootstrap_servers).run()
    if theirs_ms < 400 and ours_ms < 400:  # on a machine that is slower than the rate each lets other ones in
        assert [each is None for each in ours] == [each is None for each in theirs]
        assert ours.count(None) == RATE * 10
    late, late_there = (max(each for each in told if each is not None) for told in (ours, theirs))
    assert abs(late - late_there) <= theirs_ms + ours_ms + 250, (ours, theirs)


WINDOWS = {"quota.window.num": "3", "quota.window.size.seconds": "1"}
LATE_MS = 1_000
"""By so much one of the brokers may be later than the other; without a line all would be let in a second earlier."""


def test_both_brokers_let_in_those_who_come_too_early_to_a_listener_one_after_the_other(
    real_kafka: Callable[[Setup], RealKafka],
) -> None:
    config = WINDOWS | {"listener.name.plaintext.max.connection.creation.rate": str(RATE)}
    kafka = real_kafka(Setup(NEWEST, properties=tuple(config.items())))
    theirs, theirs_ms = served_after(kafka.bootstrap_servers)
    with EmbeddedBroker(config=config) as broker:
        ours, ours_ms = served_after(broker.bootstrap_servers)
    assert ours == sorted(ours)
    assert theirs == sorted(theirs)
    assert ours[-1] > LATE_MS * 3
    assert abs(ours[-1] - theirs[-1]) <= theirs_ms + ours_ms + LATE_MS, (ours, theirs)


def served_after(address: str) -> tuple[list[float], float]:
    """When connections that come all at once are served, in ms, in the order they came; and how long all took to come.

    Before them nobody comes for longer than the windows reach back.
    """
    time.sleep(4)
    payload = encode_request(ApiVersionsRequest(), 0, 1, "a")
    began_s = time.monotonic()
    opened = []
    for _ in range(COME - RATE * 5):
        connected = socket.create_connection(parse_address(address), 60)
        connected.sendall(len(payload).to_bytes(4, "big") + payload)
        opened.append(connected)
    came_ms = (time.monotonic() - began_s) * 1000
    served = []
    for connected in opened:
        with connected:
            assert connected.recv(1)
            served.append((time.monotonic() - began_s) * 1000)
    return served, came_ms
