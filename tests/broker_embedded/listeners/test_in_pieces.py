"""Requests of all sizes from several clients at once, in pieces and ahead: what is stored is what was sent."""

from __future__ import annotations

import random
import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol.frames import FrameReader, framed
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.values import parse_address
from tests.broker_embedded.disk_broker import fetch_request
from tests.broker_embedded.listeners.test_tls import Folder
from tests.broker_embedded.wire_client import WireClient

CLIENTS = 4
SIZES = (1, 10, 500, 512, 8000, 8192, 31_000, 32_768, 33_000, 40_000, 65_000, 73_000, 73_728, 100_000, 200_000, 300_000)
PIECES = (1, 3, 4, 100, 512, 5000, 32_768, 70_000, 300_000)


class Client:
    """One that has all of its requests ready: produced values, fetches that wait for more, questions."""

    def __init__(self, connected: socket.socket, rng: random.Random, partition: int) -> None:
        self.rng, self.partition, self.socket = rng, partition, connected
        self.values: list[bytes] = []
        self.wanted: list[int | None] = []
        """Of each answer the offset that is expected, if one is."""
        self.left = bytearray()
        self.answers: list[bytes] = []
        self._reader = FrameReader()
        self._piece = b""
        connected.setblocking(False)
        for number in range(60):
            self._add(number, rng.random())

    def _add(self, number: int, chance: float) -> None:
        self.wanted.append(None)
        if chance < 0.1:
            wait_ms = self.rng.choice((0, 5, 20))
            request = fetch_request("t", len(self.values), partition=self.partition, max_wait_ms=wait_ms, max_bytes=1)
            self.left += framed(encode_request(request, 11, number, "test"))
        elif chance < 0.2:
            self.left += framed(encode_request(MetadataRequest(topics=[]), 9, number, "c" * self.rng.choice((1, 600))))
        else:
            value = self.rng.randbytes(max(1, self.rng.choice(SIZES) - self.rng.choice((0, 90, 200))))
            self.wanted[-1] = len(self.values)
            self.values.append(value)
            Topic = ProduceRequest.TopicProduceData
            batch = build_batch([(int(time.time() * 1000), None, value, ())])
            data = Topic.PartitionProduceData(index=self.partition, records=batch)
            request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[Topic(name="t", partition_data=[data])])
            self.left += framed(encode_request(request, 9, number, "test"))

    @property
    def is_done(self) -> bool:
        return len(self.answers) == len(self.wanted)

    def go_on(self) -> None:
        """Send a piece and take what has come, as far as that goes."""
        waits = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
        self._piece = self._piece or bytes(self.left[: self.rng.choice(PIECES)])
        try:
            if self._piece:
                sent = self.socket.send(self._piece)
                del self.left[:sent]
                self._piece = b""
        except waits:
            pass
        try:
            came = self.socket.recv(65536)
            assert came, "the broker has closed the connection"
            self.answers += self._reader.feed(came)
        except waits:
            pass

    def check(self) -> None:
        for number, (wanted, answer) in enumerate(zip(self.wanted, self.answers, strict=True)):
            assert int.from_bytes(answer[:4], "big") == number
            if wanted is not None:
                (part,) = decode_response(ProduceResponse, 9, answer)[1].responses[0].partition_responses
                assert (part.error_code, part.base_offset) == (0, wanted)


def stored(broker: EmbeddedBroker, partition: int) -> Iterator[bytes | None]:
    with WireClient(broker.bootstrap_servers) as client:
        offset = 0
        while True:
            request = fetch_request("t", offset, partition=partition, max_wait_ms=0)
            found = client.call(request, 11).responses[0].partitions[0].records
            if not found:
                return
            for batch in batches(bytes(found)):
                assert batch.crc_ok()
                yield from (record.value for record in batch.records())
                offset = batch.last_offset + 1


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_what_is_sent_in_pieces_and_ahead_is_stored_as_it_was_sent(tmp_path: Path, protocol: str, seed: int) -> None:
    folder = Folder(tmp_path)
    settings = folder.settings(queued_max_request_bytes="400000", socket_request_max_bytes="400000")
    listeners = ["PLAINTEXT://127.0.0.1:0", "OTHER://localhost:0"]
    settings["listener.security.protocol.map"] = f"PLAINTEXT:PLAINTEXT,OTHER:{protocol}"
    settings["inter.broker.listener.name"] = "PLAINTEXT"
    with EmbeddedBroker(listeners=listeners, config=settings) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=CLIENTS, replication_factor=1)
            assert client.call(CreateTopicsRequest(topics=[topic]), 2).topics[0].error_code == 0
        clients = []
        for number in range(CLIENTS):
            connected = socket.create_connection(parse_address(broker._bound[1].split("//")[1]))
            if protocol == "SSL":
                connected = folder.client().wrap_socket(connected, server_hostname="localhost")
            clients.append(Client(connected, random.Random(f"{seed} {number}"), number))
        end_s = time.monotonic() + 60
        while waiting := [client for client in clients if not client.is_done]:
            assert time.monotonic() < end_s, "not all is answered"
            if not any(client.left for client in waiting):
                select.select([client.socket for client in waiting], [], [], 0.01)
            for client in waiting:
                client.go_on()
        for client in clients:
            with closing(client.socket):
                client.check()
                assert list(stored(broker, client.partition)) == client.values
