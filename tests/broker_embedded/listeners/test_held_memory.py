"""What clients can make the broker hold: states (bytes held, frames read, work in line), never times."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.listeners.held_memory import AnswerMemory, RequestMemory
from kafka_tools.broker_embedded.listeners.receiving import SMALL_BYTES, Receiver, Scratch
from kafka_tools.broker_embedded.listeners.sending import PIECE_BYTES, Outgoing
from kafka_tools.broker_embedded.partitions import fetch_sessions as sessions
from kafka_tools.broker_embedded.partitions.fetch_sessions import Asked, FetchSessions, Key
from kafka_tools.broker_embedded.purgatory import Parked
from kafka_tools.broker_embedded.security.acls import AUTHORIZERS
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock
from kafka_tools.errors import DecodeError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.frames import framed
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.create_acls import CreateAclsRequest
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_acls import DeleteAclsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.build import build_batch
from kafka_tools.records.compression import codec_id, compress
from kafka_tools.records.crc32c import crc32c
from kafka_tools.values import ZERO_UUID
from tests.broker_embedded.disk_broker import fetch_request
from tests.broker_embedded.listeners.wire import Wire
from tests.broker_embedded.wire_client import WireClient

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        with WireClient(running.bootstrap_servers) as client:
            topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
            assert client.call(CreateTopicsRequest(topics=[topic]), 2).topics[0].error_code == 0
            for _ in range(12):
                batch = build_batch([(1_700_000_000_000, None, random.Random(1).randbytes(1_000_000), ())])
                assert produce(client, batch).error_code == 0
        yield running


def produce(client: WireClient, batch: bytes, version: int = 9) -> Any:
    Data = ProduceRequest.TopicProduceData
    data = Data(name="t", partition_data=[Data.PartitionProduceData(index=0, records=batch)])
    answer = client.call(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), version)
    return answer.responses[0].partition_responses[0]


def server_of(broker: EmbeddedBroker) -> Any:
    assert broker._running is not None
    return broker._running.server


def wait_until(broker: EmbeddedBroker, what: Callable[[Any], bool]) -> None:
    """Until ``what(server)`` holds."""
    end_s = time.monotonic() + 60
    server = server_of(broker)
    while not broker.call(lambda core: what(server)):
        assert time.monotonic() < end_s, "it never came to this"
        time.sleep(0.02)


def flood(client: WireClient, data: bytes) -> int:
    """Send what is taken until nothing more is for a while; how much that was."""
    client._socket.settimeout(0.5)
    sent = 0
    try:
        while sent < len(data):
            sent += client._socket.send(memoryview(data)[sent : sent + MIB])
    except TimeoutError:
        pass
    client._socket.settimeout(60)
    return sent


# One request at a time


def test_of_pipelined_fetches_one_answer_is_made_and_hardly_any_of_it_is_in_memory(broker: EmbeddedBroker) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        request = fetch_request("t", 0, max_wait_ms=0, max_bytes=12 * MIB)
        for _ in range(30):
            client.send(request, 11)
        wait_until(broker, lambda server: any(connection._blocked for connection in server.shared.connections))
        server = server_of(broker)
        held = broker.call(lambda core: [connection.unsent_bytes for connection in server.shared.connections])
        assert max(held) < PIECE_BYTES
        for _ in range(30):
            answer = client.receive_response(request, 11)[1].responses[0].partitions[0]
            assert len(answer.records) > 11_000_000


def test_what_is_sent_behind_a_parked_request_is_not_read(broker: EmbeddedBroker) -> None:
    server = server_of(broker)
    with WireClient(broker.bootstrap_servers) as client:
        client.send(fetch_request("t", 12, max_wait_ms=600_000), 11)
        flood(client, (100_000_000).to_bytes(4, "big") + bytes(40_000_000))
        wait_until(broker, lambda server: any(connection.is_waiting for connection in server.shared.connections))
        pending = broker.call(lambda core: sum(each._received.pending_bytes for each in server.shared.connections))
        assert pending <= SMALL_BYTES
        assert broker.call(lambda core: server.shared.requests.held_bytes) == 0
        broker.call(lambda core: [each.close(abort=True) for each in server.shared.connections if each.is_waiting])


@pytest.mark.parametrize("behind", [0, 90_000])
def test_the_end_of_a_client_that_waits_is_noticed(broker: EmbeddedBroker, behind: int) -> None:
    """Also when it has sent more than is read, as far as the system takes it: then the socket alone tells."""
    with WireClient(broker.bootstrap_servers) as client:
        client.send(fetch_request("t", 12, max_wait_ms=600_000), 11)
        wait_until(broker, lambda server: any(connection.is_waiting for connection in server.shared.connections))
        client.send_raw((1_000_000).to_bytes(4, "big") + bytes(behind) if behind else b"")
    wait_until(broker, lambda server: not any(connection.is_waiting for connection in server.shared.connections))


def test_a_client_that_ends_behind_more_than_is_read_is_answered_what_is_worked_on(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_of(broker)
    serve = server.shared.dispatcher.handle_frame
    ends: list[Callable[[], object]] = []

    def handle(connection: Any, frame: Any, answer: Any) -> Any:
        if ends:
            return serve(connection, frame, answer)
        work, kept = Parked(), bytes(frame)
        work.holds_request = True
        ends.append(lambda: serve(connection, kept, answer))
        return work

    monkeypatch.setattr(server.shared.dispatcher, "handle_frame", handle)
    with WireClient(broker.bootstrap_servers) as client:
        sent = range(4)
        for number in sent:
            client.send_raw(framed(encode_request(DescribeClusterRequest(), 0, number, "") + bytes(30_000)))
        client.end()
        wait_until(broker, lambda server: any(connection.is_deaf for connection in server.shared.connections))

        def look(core: Core) -> None:
            server._end_check.cancel()
            server._close_ended()

        broker.call(look)
        broker.call(lambda core: ends[0]())
        assert [client.receive_response(DescribeClusterRequest(), 0)[0] for _ in sent] == list(sent)
        assert client.closed_by_broker


def test_requests_before_a_half_closed_end_are_answered(broker: EmbeddedBroker) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        sent = [client.send(DescribeClusterRequest(), 0) for _ in range(300)]
        client._socket.shutdown(socket.SHUT_WR)
        assert [client.receive_response(DescribeClusterRequest(), 0)[0] for _ in sent] == sent
        assert client.closed_by_broker


# Large requests


def test_large_requests_of_all_clients_share_one_limit(broker: EmbeddedBroker) -> None:
    clients = [WireClient(broker.bootstrap_servers) for _ in range(8)]
    server = server_of(broker)
    try:
        for client in clients:
            flood(client, (100_000_000).to_bytes(4, "big") + b"\0\0\0\x09" + bytes(12_000_000))
        held = broker.call(lambda core: server.shared.requests.held_bytes)
        assert 0 < held <= server.shared.requests.limit_bytes + 12_000_000 + 8 * 256 * 1024
        with WireClient(broker.bootstrap_servers) as other:
            assert other.call(DescribeClusterRequest(), 0).error_code == 0
    finally:
        for client in clients:
            client._socket.close()
    wait_until(broker, lambda server: server.shared.requests.held_bytes == 0)


class Sender:
    """A connection as the memory for requests sees it."""

    def __init__(self) -> None:
        self.received_bytes = 0
        self.is_receiving = True
        self.is_blocked = False
        self.told: list[str] = []

    def hold(self) -> None:
        self.told.append("hold")

    def go_on(self) -> None:
        self.told.append("go on")

    def give_up(self, reason: str) -> None:
        self.told.append("give up")


def test_one_large_request_goes_on_beyond_the_limit_and_the_next_when_it_is_served() -> None:
    memory = RequestMemory(100, Timers(ManualClock()))
    one, two, three = Sender(), Sender(), Sender()
    memory.grew(one, 90)
    memory.grew(two, 20)
    memory.grew(three, 10)
    memory.grew(two, 500)
    assert (one.told, two.told, three.told) == ([], [], ["hold"])
    memory.freed(two, 520)
    assert three.told == ["hold", "go on"]
    assert memory.held_bytes == 100


def test_who_was_held_when_its_request_was_whole_is_read_again_after_it() -> None:
    """Its last bytes came as the memory ran short: nothing holds it any more once they are served."""
    memory = RequestMemory(100, Timers(ManualClock()))
    alone, last = Sender(), Sender()
    memory.grew(alone, 150)
    memory.grew(last, 20)
    assert last.told == ["hold"]
    memory.freed(last, 20)
    assert last.told == ["hold", "go on"]


def test_who_holds_others_up_and_sends_nothing_is_cut_off() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    memory = RequestMemory(100, timers)
    stalled, other = Sender(), Sender()
    memory.grew(stalled, 200)
    memory.grew(other, 10)
    for _ in range(2):
        clock.advance(2.0)
        timers.run_due()
    assert stalled.told[:1] == ["give up"]


def test_who_holds_others_up_and_takes_no_answers_is_cut_off() -> None:
    """Its large request is there, and is not served before: that was so until the connection was idle for long."""
    wire = Wire()
    memory, other = wire.connection._shared.requests, Sender()
    memory.limit_bytes = 100_000
    wire.waiting += framed(bytes(200_000))
    wire.readable()
    wire.connection.pause_writing()
    while wire.waiting:
        wire.readable()
    memory.grew(other, 10)
    assert (wire.served, other.told) == ([], ["hold"])
    for _ in range(2):
        wire.clock.advance(2.0)
        memory._timers.run_due()
    assert wire.closed and other.told == ["hold", "go on"]
    assert memory.held_bytes == 10


def test_a_turn_is_a_whole_one_before_it_is_ended() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    memory = RequestMemory(100, timers)
    first, second, third = Sender(), Sender(), Sender()
    for sender in (first, second, third):
        memory.grew(sender, 150)
    clock.advance(1.9)
    memory.freed(first, 150)  # the turn of the second one begins
    clock.advance(0.1)
    timers.run_due()
    assert second.told == ["hold", "go on"]


def test_answers_that_nobody_takes_are_dropped_beyond_the_limit_the_oldest_first() -> None:
    class Holder:
        def __init__(self, took_s: float) -> None:
            self.unsent_bytes, self.took_s, self.gone = 0, took_s, False

        def give_up(self, reason: str) -> None:
            self.gone = True
            given, self.unsent_bytes = self.unsent_bytes, 0
            memory.changed(self, -given)

    memory = AnswerMemory(100)
    holders = [Holder(took_s) for took_s in (3.0, 1.0, 2.0)]
    for holder in holders:
        holder.unsent_bytes = 40
        memory.changed(holder, 40)
    assert [holder.gone for holder in holders] == [False, True, False]
    assert memory.held_bytes == 80


# Long requests


def listed(count: int) -> ListOffsetsRequest:
    Topic = ListOffsetsRequest.Topic
    asked = [Topic.Partition(partition_index=number, timestamp=-1) for number in range(count)]
    return ListOffsetsRequest(replica_id=-1, topics=[Topic(name="t", partitions=asked)])


def test_others_are_served_between_the_slices_of_a_long_request(broker: EmbeddedBroker) -> None:
    with WireClient(broker.bootstrap_servers) as client, WireClient(broker.bootstrap_servers) as other:
        client.send(listed(60_000), 5)
        wait_until(broker, lambda server: len(server.core.slices) == 1)
        assert other.call(DescribeClusterRequest(), 0).error_code == 0
        assert broker.call(lambda core: len(core.slices)) == 1, "the short one came first"
        answers = client.receive_response(listed(0), 5)[1].topics[0].partitions
        assert len(answers) == 60_000
        assert (answers[0].error_code, answers[1].error_code) == (0, codes.UNKNOWN_TOPIC_OR_PARTITION)


def test_others_are_served_while_acls_are_compared_with_many_filters() -> None:
    config = {"authorizer.class.name": AUTHORIZERS[0], "super.users": "User:ANONYMOUS"}
    Creation, Filter = CreateAclsRequest.AclCreation, DeleteAclsRequest.Filter
    rest: dict[str, Any] = {"principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
    made = [Creation(resource_type=2, resource_name=f"t{number}", **rest) for number in range(1000)]
    anybody: dict[str, Any] = {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    filters = [Filter(resource_type_filter=2, resource_name_filter=f"t{number}", **anybody) for number in range(4000)]
    delete = DeleteAclsRequest(filters=filters)
    with (
        EmbeddedBroker(config=config) as broker,
        WireClient(broker.bootstrap_servers) as client,
        WireClient(broker.bootstrap_servers) as other,
    ):
        assert {each.error_code for each in client.call(CreateAclsRequest(creations=made), 3).results} == {0}
        turns: list[int] = []
        over = threading.Event()

        def take_turns(core: Core) -> None:
            turns.append(len(core.slices))
            if not over.is_set():
                asyncio.get_running_loop().call_soon(take_turns, core)

        broker.call(take_turns)
        client.send(delete, 3)
        assert other.call(DescribeClusterRequest(), 0).error_code == 0
        results = client.receive_response(delete, 3)[1].filter_results
        over.set()
        assert turns.count(1) > 3, "others had turns between its slices"
        assert [len(each.matching_acls) for each in results] == [1] * 1000 + [0] * 3000


def test_a_long_request_of_a_client_that_has_gone_is_dropped(broker: EmbeddedBroker) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        client.send(listed(100_000), 5)
        wait_until(broker, lambda server: len(server.core.slices) == 1)
    wait_until(broker, lambda server: len(server.core.slices) == 0)
    with WireClient(broker.bootstrap_servers) as client:
        assert client.call(DescribeClusterRequest(), 0).error_code == 0


def test_a_large_request_is_let_go_of_with_its_end(broker: EmbeddedBroker) -> None:
    """In a circle it would stay until somebody collects garbage: two of 300,000 partitions were 200 MB."""
    Partition = ListOffsetsRequest.Topic.Partition
    asked = framed(encode_request(listed(100_000), 5, 1, "large"))
    gc.collect()
    gc.disable()
    try:
        with WireClient(broker.bootstrap_servers) as client:
            client.send_raw(asked)
            client.receive()
        wait_until(broker, lambda server: len(server.core.slices) == 0 and not server.shared.connections)
        wait_until(broker, lambda server: not any(type(each) is Partition for each in gc.get_objects()))
    finally:
        gc.enable()


def partitions(broker: EmbeddedBroker, name: str) -> int | None:
    """How many the topic has; None if there is no such topic."""
    topic = broker.call(lambda core: core.cluster.topics.get(name))
    return None if topic is None else len(topic.partitions)


def test_others_are_served_while_a_topic_of_many_partitions_is_made_grown_and_deleted(broker: EmbeddedBroker) -> None:
    wanted = CreateTopicsRequest.CreatableTopic(name="wide", num_partitions=1500, replication_factor=1)
    create = CreateTopicsRequest(topics=[wanted], timeout_ms=1000)
    grow = CreatePartitionsRequest.Topic(name="wide", count=3000, assignments=None)
    steps: list[tuple[Any, int, int | None, int | None]] = [
        (create, 7, None, 1500),
        (CreatePartitionsRequest(topics=[grow], timeout_ms=1000), 3, 1500, 3000),
        (DeleteTopicsRequest(topic_names=["wide"], timeout_ms=1000), 5, None, None),
    ]
    with WireClient(broker.bootstrap_servers) as client, WireClient(broker.bootstrap_servers) as other:
        for request, version, meanwhile, afterwards in steps:
            client.send(request, version)
            wait_until(broker, lambda server: server.core.topics.changing == {"wide"})
            assert other.call(DescribeClusterRequest(), 0).error_code == 0
            assert broker.call(lambda core: core.topics.changing) == {"wide"}, "the short one came first"
            assert partitions(broker, "wide") == meanwhile
            answer = client.receive_response(request, version)[1]
            (result,) = getattr(answer, "topics", None) or getattr(answer, "results", None) or answer.responses
            assert result.error_code == 0
            assert partitions(broker, "wide") == afterwards
        assert broker.call(lambda core: core.topics.changing) == set()


def test_who_wants_a_topic_that_is_being_made_waits_and_it_is_made_whole_though_its_maker_has_gone(
    broker: EmbeddedBroker,
) -> None:
    wanted = CreateTopicsRequest.CreatableTopic(name="broad", num_partitions=2000, replication_factor=1)
    create = CreateTopicsRequest(topics=[wanted], timeout_ms=1000)
    delete = DeleteTopicsRequest(topic_names=["broad"], timeout_ms=1000)
    with WireClient(broker.bootstrap_servers) as second, WireClient(broker.bootstrap_servers) as third:
        with WireClient(broker.bootstrap_servers) as first:
            first.send(create, 7)
            wait_until(broker, lambda server: "broad" in server.core.topics.changing)
            second.send(create, 7)
            third.send(listed(30_000), 5)
            wait_until(broker, lambda server: len(server.core.slices) == 3)
        assert second.receive_response(create, 7)[1].topics[0].error_code == codes.TOPIC_ALREADY_EXISTS
        assert partitions(broker, "broad") == 2000
        assert third.receive_response(listed(0), 5)[1].topics[0].partitions[0].error_code == 0
        assert second.call(delete, 5).responses[0].error_code == 0


def test_more_elements_than_memory_has_room_for_close_the_connection(broker: EmbeddedBroker) -> None:
    header = encode_request(MetadataRequest(topics=None), 1, 1, "x")[:-4]
    with WireClient(broker.bootstrap_servers) as client:
        client.send_raw(framed(header, (5_000_000).to_bytes(4, "big"), bytes(10_000_000)))
        assert client.closed_by_broker


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_bombs_are_refused_and_batches_that_are_merely_large_are_taken(broker: EmbeddedBroker, codec: str) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        value = bytes(6 * MIB if codec == "snappy" else 12 * MIB)
        answer = produce(client, build_batch([(1_700_000_000_000, None, value, ())], codec=codec))
        assert answer.error_code == 0
        plain = bytes(12 * MIB if codec == "snappy" else 40 * MIB)  # snappy makes no more of a mebibyte
        body = struct.pack(">hiqqqhii", codec_id(codec), 0, 0, 0, -1, -1, -1, 1) + compress(codec, plain)
        answer = produce(client, struct.pack(">qiibI", 0, 9 + len(body), 0, 2, crc32c(body)) + body)
        assert answer.error_code == (codes.INVALID_RECORD if codec == "snappy" else codes.MESSAGE_TOO_LARGE)


def test_fetch_sessions_remember_no_more_partitions_than_their_limit() -> None:
    class Configs:
        class broker:
            @staticmethod
            def integer(name: str) -> int:
                return 1000

    kept = FetchSessions(Configs)  # type: ignore[arg-type]
    wanted = {Key("t", ZERO_UUID, number): Asked("t", None) for number in range(30_000)}
    found = [kept.context(0, 0, False, dict(wanted), []) for _ in range(20)]
    assert all(context.session is not None for context in found)
    assert kept.partitions == sum(len(each.asked) for each in kept._sessions.values()) <= sessions._MOST_PARTITIONS
    more = {Key("t", ZERO_UUID, number): Asked("t", None) for number in range(sessions._MOST_PARTITIONS + 1)}
    assert kept.context(0, 0, False, more, []).session is None


# Pieces


@pytest.mark.parametrize("seed", range(5))
def test_requests_come_out_whole_however_the_bytes_arrive(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [0, 1, SMALL_BYTES - 4, SMALL_BYTES - 3, 200_000, *(rng.randrange(100_000) for _ in range(20))]
    rng.shuffle(sizes)
    payloads = [rng.randbytes(size) for size in sizes]
    stream = b"".join(framed(payload) for payload in payloads)
    receiver, scratch, got, position = Receiver(), Scratch(), [], 0
    while len(got) < len(payloads):
        if not receiver.is_full and position < len(stream):
            room = receiver.room(scratch)
            size = min(len(room), rng.randrange(1, 70_000), len(stream) - position)
            room[:size] = stream[position : position + size]
            receiver.received(scratch, size)
            position += size
        while rng.random() < 0.8 and (payload := receiver.next(MIB)) is not None:
            got.append(bytes(payload))
        assert receiver.pending_bytes <= SMALL_BYTES + 200_000
    assert got == payloads


@pytest.mark.parametrize("length", [-1, MIB + 1])
def test_a_length_beyond_the_limit_is_refused(length: int) -> None:
    receiver, scratch = Receiver(), Scratch()
    receiver.room(scratch)[:4] = length.to_bytes(4, "big", signed=True)
    receiver.received(scratch, 4)
    with pytest.raises(DecodeError, match="frame length"):
        receiver.next(MIB)


def test_an_answer_goes_out_in_pieces() -> None:
    outgoing = Outgoing()
    data = random.Random(0).randbytes(3 * PIECE_BYTES + 7)
    outgoing.add([memoryview(data)[:1000], data[1000:]])
    sent = []
    while outgoing:
        sent.append(outgoing.piece())
        assert len(sent[-1]) <= PIECE_BYTES
    assert b"".join(sent) == framed(data)
    assert outgoing.held_bytes == 0
