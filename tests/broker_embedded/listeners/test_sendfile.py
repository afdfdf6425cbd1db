"""Large ranges of a log go from its file to the socket without passing through this process."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.listeners.sending import READ_BYTES, Outgoing
from kafka_tools.errors import LogError
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.build import build_batch
from kafka_tools.storage.log.file_range import FileRange, OpenFile
from tests.broker_embedded.disk_broker import fetch_request
from tests.broker_embedded.wire_client import WireClient

pytestmark = pytest.mark.skipif(not hasattr(os, "sendfile"), reason="the system has no sendfile")
MIB = 1024 * 1024
BATCHES = 10


class Counted:
    """What ``os.sendfile`` and ``os.pread`` gave, while it is used."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent_bytes = self.read_bytes = 0
        send, read = os.sendfile, os.pread

        def sendfile(*given: Any) -> int:
            sent = send(*given)
            self.sent_bytes += sent
            return sent

        def pread(*given: Any) -> bytes:
            data = read(*given)
            self.read_bytes += len(data)
            return data

        monkeypatch.setattr(os, "sendfile", sendfile)
        monkeypatch.setattr(os, "pread", pread)


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        with WireClient(running.bootstrap_servers) as client:
            topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
            assert client.call(CreateTopicsRequest(topics=[topic]), 2).topics[0].error_code == 0
            for seed in range(BATCHES):
                batch = build_batch([(1_700_000_000_000, None, random.Random(seed).randbytes(1_000_000), ())])
                Data = ProduceRequest.TopicProduceData
                data = Data(name="t", partition_data=[Data.PartitionProduceData(index=0, records=batch)])
                client.call(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), 9)
        yield running


def stored(broker: EmbeddedBroker) -> bytes:
    def read(core: Any) -> bytes:
        return Path(core.partitions.led("t", 0).log.active.path).read_bytes()

    return broker.call(read)


def all_of_it() -> FetchRequest:
    return fetch_request("t", 0, max_wait_ms=0, max_bytes=100 * MIB)


def receive(client: WireClient, most: int) -> bytes:
    data = client._socket.recv(most)
    assert data, "the broker has closed the connection"
    return data


def records(client: WireClient, request: FetchRequest) -> bytes:
    return bytes(client.receive_response(request, 11)[1].responses[0].partitions[0].records)


@pytest.mark.req("DESIGN-3", "FS-9")
def test_what_is_fetched_is_hardly_read(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = stored(broker)
    counted = Counted(monkeypatch)
    with WireClient(broker.bootstrap_servers) as client:
        for _ in range(3):
            client.send(all_of_it(), 11)
            assert records(client, all_of_it()) == expected
    assert counted.sent_bytes > 0.9 * 3 * len(expected)
    assert counted.sent_bytes + counted.read_bytes < 1.2 * 3 * len(expected)


def test_a_client_that_takes_its_time_gets_all_of_it_and_others_are_served(broker: EmbeddedBroker) -> None:
    expected = stored(broker)
    request = all_of_it()
    with WireClient(broker.bootstrap_servers) as slow, WireClient(broker.bootstrap_servers) as other:
        slow._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
        slow.send(request, 11)
        got = bytearray()
        while len(got) < 2 * MIB:
            got += receive(slow, 50_000)
            if len(got) % 7 == 0:
                assert other.call(MetadataRequest(topics=[]), 9).brokers
        while len(got) < len(expected):
            got += receive(slow, MIB)
        assert int.from_bytes(got[:4], "big") + 4 - len(got) < 100
        assert expected[-1000:-100] in bytes(got[-2000:])


def test_a_topic_that_is_deleted_meanwhile_is_still_sent_whole(broker: EmbeddedBroker) -> None:
    expected = stored(broker)
    request = all_of_it()
    with WireClient(broker.bootstrap_servers) as slow, WireClient(broker.bootstrap_servers) as other:
        slow._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
        slow.send(request, 11)
        first = receive(slow, 1000)
        assert other.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 3).responses[0].error_code == 0
        broker.advance(61)  # and its files are gone
        size = int.from_bytes(first[:4], "big") + 4
        got = bytearray(first)
        while len(got) < size:
            got += receive(slow, MIB)
        assert expected in bytes(got)


def test_a_file_that_became_shorter_ends_the_connection(broker: EmbeddedBroker) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        client._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
        client.send(all_of_it(), 11)
        client._socket.recv(1000)

        def truncate(core: Any) -> None:
            os.truncate(core.partitions.led("t", 0).log.active.path, MIB)

        broker.call(truncate)
        end_s = time.monotonic() + 60
        with pytest.raises(ConnectionError):
            while time.monotonic() < end_s:
                if not client._socket.recv(MIB):
                    raise ConnectionError


def test_a_socket_that_takes_nothing_is_waited_for_with_little_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "file"
    data = random.Random(1).randbytes(4 * MIB)
    path.write_bytes(data)
    here, there = socket.socketpair()
    here.setblocking(False)
    outgoing = Outgoing()
    outgoing.add([b"before", FileRange(OpenFile(str(path)), 0, len(data)), b"after"])
    got = bytearray()
    sent = outgoing.piece()
    assert sent[4:] == b"before"
    pieces = []
    while outgoing and isinstance(outgoing[0], FileRange):
        if not outgoing.send_file(here.fileno()) and outgoing and isinstance(outgoing[0], FileRange):
            # What the transport would hold until the socket takes more:
            while len(got) + len(b"".join(pieces)) < len(data) - len(outgoing[0]):
                got += there.recv(MIB)
            pieces.append(outgoing.piece(READ_BYTES))
            assert len(pieces[-1]) <= READ_BYTES
            here.setblocking(True)
            here.sendall(pieces.pop())
            here.setblocking(False)
    while len(got) < len(data):
        got += there.recv(MIB)
    assert bytes(got) == data
    assert outgoing.piece() == b"after"
    here.close()
    there.close()


def test_a_range_beyond_the_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    here, there = socket.socketpair()
    part = FileRange(OpenFile(str(path)), 100, 10)
    with pytest.raises(LogError, match="ends at 100, before the end of the range to read"):
        part.send(here.fileno(), 10)
    here.close()
    there.close()
