"""The rules of the wire, seen from a raw socket: order of replies, frame limits, versions, acks, error codes."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.errors import UnsupportedVersion
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.frames import framed
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.protocol.releases import max_versions
from kafka_tools.protocol.schema import Request
from kafka_tools.records.build import build_batch
from kafka_tools.values import parse_address


class Wire:
    """One raw connection; frames go out and come back as they are."""

    def __init__(self, broker: EmbeddedBroker, port: int | None = None) -> None:
        host, own_port = parse_address(broker.bootstrap_servers)
        self.socket = socket.create_connection((host, port or own_port), timeout=30)

    def send(self, request: Request, version: int, correlation_id: int) -> None:
        self.socket.sendall(framed(encode_request(request, version, correlation_id, "raw")))

    def receive(self) -> bytes:
        """The next frame's payload; b"" when the broker closed the connection."""
        (length,) = struct.unpack(">i", self._exactly(4) or b"\0\0\0\0")
        return self._exactly(length)

    def call(self, request: Request, version: int) -> Any:
        self.send(request, version, 5)
        correlation_id, response = decode_response(registry.api(request.API_KEY).response, version, self.receive())
        assert correlation_id == 5
        return response

    def closed(self) -> bool:
        with contextlib.suppress(ConnectionResetError):
            return self.socket.recv(1) == b""
        return True

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                return b""
            data += part
        return data


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config={"socket.request.max.bytes": "100000"}) as running:
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        Wire(running).call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 4)
        yield running


@pytest.fixture
def wire(broker: EmbeddedBroker) -> Iterator[Wire]:
    connection = Wire(broker)
    with connection.socket:
        yield connection


def produce(acks: int) -> ProduceRequest:
    Topic = ProduceRequest.TopicProduceData
    partition = Topic.PartitionProduceData(index=0, records=build_batch([(1_700_000_000_000, None, b"v", ())]))
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[Topic(name="t", partition_data=[partition])])


def waiting_fetch(max_wait_ms: int) -> FetchRequest:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=10**6, partition_max_bytes=1000)
    topics = [FetchRequest.Topic(topic="t", partitions=[partition])]
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1000, session_epoch=-1, topics=topics)


@pytest.mark.req("PROTO-4")
def test_replies_keep_the_order_of_the_requests_even_behind_one_that_waits(wire: Wire) -> None:
    fetch = waiting_fetch(300)
    base = wire.call(produce(1), 8).responses[0].partition_responses[0].base_offset
    fetch.topics[0].partitions[0].fetch_offset = base + 1  # the log's end: nothing to read yet
    wire.send(fetch, 11, 1)
    wire.send(ApiVersionsRequest(), 2, 2)
    wire.send(MetadataRequest(topics=[]), 8, 3)
    assert [struct.unpack_from(">i", wire.receive())[0] for _ in range(3)] == [1, 2, 3]


@pytest.mark.req("PROTO-5")
@pytest.mark.parametrize("length", [100_001, 2**31 - 1, -1])
def test_a_request_above_the_size_limit_closes_the_connection(wire: Wire, length: int) -> None:
    wire.socket.sendall(struct.pack(">i", length) + b"x" * 64)
    assert wire.closed()


@pytest.mark.req("PROTO-1")
def test_no_handshake_is_needed_and_a_request_may_come_byte_by_byte(wire: Wire) -> None:
    for byte in framed(encode_request(ApiVersionsRequest(), 0, 9, None)):
        wire.socket.sendall(bytes([byte]))
    assert decode_response(ApiVersionsResponse, 0, wire.receive())[0] == 9


@pytest.mark.req("PROTO-6", "PROTO-18")
def test_produce_with_acks_0_gets_no_response_and_the_next_request_does(wire: Wire) -> None:
    wire.send(produce(0), 8, 1)
    wire.send(ApiVersionsRequest(), 0, 2)
    assert struct.unpack_from(">i", wire.receive())[0] == 2


@pytest.mark.req("PROTO-18")
@pytest.mark.parametrize(("acks", "code"), [(1, 0), (-1, 0), (2, 21), (-2, 21)])
def test_acks_are_0_1_and_minus_1_and_anything_else_is_invalid(wire: Wire, acks: int, code: int) -> None:
    response: ProduceResponse = wire.call(produce(acks), 8)
    assert response.responses[0].partition_responses[0].error_code == code


@pytest.mark.req("PROTO-19")
def test_the_append_time_of_a_topic_with_create_time_is_minus_1(wire: Wire) -> None:
    assert wire.call(produce(1), 8).responses[0].partition_responses[0].log_append_time_ms == -1


@pytest.mark.req("PROTO-8")
def test_api_versions_in_an_unknown_version_is_answered_in_v0_with_its_range(wire: Wire) -> None:
    wire.socket.sendall(framed(struct.pack(">hhih", 18, 99, 4, -1)))
    correlation_id, response = decode_response(ApiVersionsResponse, 0, wire.receive())
    assert (correlation_id, response.error_code) == (4, error_codes.UNSUPPORTED_VERSION)
    assert [(key.api_key, key.min_version) for key in response.api_keys] == [(18, 0)]
    named = ApiVersionsRequest(client_software_name="raw", client_software_version="1.0")
    assert wire.call(named, 3).error_code == 0
    assert wire.call(ApiVersionsRequest(), 3).error_code == error_codes.INVALID_REQUEST  # KIP-511: it must be named


@pytest.mark.req("PROTO-8")
@pytest.mark.parametrize(("key", "version"), [(3, 99), (3, -1), (999, 0)])
def test_any_other_api_in_a_version_not_served_closes_the_connection(wire: Wire, key: int, version: int) -> None:
    wire.socket.sendall(framed(struct.pack(">hhih", key, version, 1, -1) + b"\0" * 8))
    assert wire.closed()


def test_garbage_closes_its_connection_and_no_other(broker: EmbeddedBroker, wire: Wire) -> None:
    other = Wire(broker)
    with other.socket:
        other.socket.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"\xff" * 200)
        assert other.closed()
    assert wire.call(ApiVersionsRequest(), 0).error_code == 0


@pytest.mark.req("PROTO-20")
@pytest.mark.parametrize(
    ("kind", "code"),
    [(0, 0), (1, 0), (9, error_codes.INVALID_REQUEST)],
)
def test_coordinator_type_0_is_a_group_and_1_a_transaction_and_an_unknown_type_is_refused(
    wire: Wire, kind: int, code: int
) -> None:
    deadline = time.monotonic() + 30
    while True:
        response = wire.call(FindCoordinatorRequest(key="g", key_type=kind), 2)
        if response.error_code != error_codes.COORDINATOR_NOT_AVAILABLE or time.monotonic() > deadline:
            break
    assert response.error_code == code


@pytest.mark.req("PROTO-20")
@pytest.mark.parametrize(("kind", "topic"), [(0, "__consumer_offsets"), (1, "__transaction_state")])
def test_each_type_of_coordinator_has_its_own_topic(kind: int, topic: str) -> None:
    with EmbeddedBroker() as fresh:
        asking = Wire(fresh)
        with asking.socket:
            asking.call(FindCoordinatorRequest(key="g", key_type=kind), 2)
        assert fresh.call(lambda core: [each.name for each in core.cluster.topics.values()]) == [topic]


@pytest.mark.req("PROTO-7")
def test_the_client_uses_the_highest_version_that_both_sides_speak() -> None:
    with EmbeddedBroker(release="2.2") as old:
        exchange = Exchange(ClientConfig.load(bootstrap_servers=old.bootstrap_servers))
        deadline = Deadline(SystemClock(), 30)
        node = exchange.bootstrap(deadline)
        versions = exchange.node_versions(node, deadline).ranges
        assert versions[3] == max_versions("2.2")[3] == (0, 7)
        assert exchange.call(node, MetadataRequest(topics=[]), deadline).cluster_id
        with pytest.raises(UnsupportedVersion, match="ConsumerGroupHeartbeat"):
            exchange.call(node, ConsumerGroupHeartbeatRequest(group_id="g"), deadline)
        exchange.close()


@pytest.mark.req("PROTO-21")
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_both_isolation_levels_read_what_no_transaction_holds_back(wire: Wire, isolation_level: int) -> None:
    base = wire.call(produce(1), 8).responses[0].partition_responses[0].base_offset
    fetch = waiting_fetch(0)
    fetch.isolation_level = isolation_level
    fetch.topics[0].partitions[0].fetch_offset = base
    answer: FetchResponse = wire.call(fetch, 11)
    partition = answer.responses[0].partitions[0]
    assert partition.error_code == 0
    assert partition.last_stable_offset == partition.high_watermark == base + 1
    assert len(partition.records) > 0
