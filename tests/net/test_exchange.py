"""Connections as a user meets them: versions, faults, time limits, several servers; against scripted peers."""

import base64
import contextlib
import random
import re
import socket
import struct
import threading

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.errors import (
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    UnsupportedVersion,
)
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.network import Network, using
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.frames import framed
from kafka_tools.protocol.headers import encode_response
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_tools.values import Node
from tests.net.peers import HANG_UP, SILENCE, ScriptedNode, all_versions, versions_response
from tests.net.virtual import Later, VirtualNetwork, VirtualNode

LONG_S = 30.0


def exchange(bootstrap, **settings):
    values = {key.replace("_", "."): str(value) for key, value in settings.items()}
    return Exchange(ClientConfig({"bootstrap.servers": bootstrap} | values), rng=random.Random(1))


def deadline(seconds=LONG_S):
    return Deadline(SystemClock(), seconds)


@contextlib.contextmanager
def in_virtual_time(node, **settings):
    """(client, the node's address): what is about time limits, whatever else the machine does."""
    with VirtualNetwork([node]).in_use(), exchange(f"{node.host}:{node.port}", **settings) as client:
        yield client, Node(node.id, node.host, node.port)


class MuteNode(VirtualNode):
    """Takes connections and says nothing, not even its versions."""

    def reply(self, request, version, is_first):
        return SILENCE


def metadata(request, version, state):
    return MetadataResponse(cluster_id="c", controller_id=1)


@contextlib.contextmanager
def raw_server(answer):
    """A server that writes ``answer`` to whoever connects and has said something, then hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                with sock:
                    sock.recv(1000)
                    sock.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(LONG_S)


def test_request_goes_out_in_the_newest_common_version():
    with ScriptedNode(metadata, versions=all_versions({3: (1, 5)})) as node, exchange(node.bootstrap) as client:
        response = client.call(client.bootstrap(deadline()), MetadataRequest(topics=[]), deadline())
        assert response.cluster_id == "c"
        assert [(type(request).__name__, version) for request, version in node.requests] == [
            ("ApiVersionsRequest", 4),
            ("MetadataRequest", 5),
        ]
        assert node.requests[0][0].client_software_name == "kafka-tools"


def test_node_and_bootstrap_address_share_one_connection():
    with ScriptedNode(metadata) as node, exchange(node.bootstrap) as client:
        client.bootstrap(deadline())
        client.call(node.node, MetadataRequest(), deadline())
        assert node.connections == 1


@pytest.mark.parametrize("newest", [0, 2])
def test_old_broker_gets_api_versions_v0_after_its_refusal(newest):
    # Brokers before 2.4 refuse v3 in v0 form without saying what they know (KIP-511).
    with ScriptedNode(metadata, versions=all_versions({18: (0, newest)})) as node, exchange(node.bootstrap) as client:
        client.call(client.bootstrap(deadline()), MetadataRequest(), deadline())
        asked = [version for request, version in node.requests if isinstance(request, ApiVersionsRequest)]
        assert asked == [4, 0]


def test_refusal_that_names_the_range_leads_straight_to_it():
    def answer(request, version, state):
        if isinstance(request, ApiVersionsRequest) and version == 4:
            response = versions_response({18: (0, 3)})
            response.error_code = error_codes.UNSUPPORTED_VERSION
            return framed(encode_response(response, 0, 1))
        return None if isinstance(request, ApiVersionsRequest) else metadata(request, version, state)

    answer.versions_too = True
    with ScriptedNode(answer) as node, exchange(node.bootstrap) as client:
        client.bootstrap(deadline())
        assert [version for _, version in node.requests] == [4, 3]


def test_unsupported_version_names_both_ranges():
    limits = {key: value for key, value in all_versions().items() if key != 16} | {3: (99, 100)}
    with ScriptedNode(metadata, versions=limits) as node, exchange(node.bootstrap) as client:
        with pytest.raises(UnsupportedVersion, match=r"supports Metadata v99 to v100, this client supports v0 to v13"):
            client.call(node.node, MetadataRequest(), deadline())
        with pytest.raises(UnsupportedVersion, match=r"does not support ListGroups"):
            client.call(node.node, ListGroupsRequest(), deadline())


def test_request_may_be_built_from_the_node_s_versions():
    with ScriptedNode(metadata, versions=all_versions({3: (0, 7)})) as node, exchange(node.bootstrap) as client:
        client.call(node.node, lambda versions: (MetadataRequest(), versions.newest(MetadataRequest) - 1), deadline())
        assert node.requests[-1][1] == 6


def test_many_nodes_are_asked_at_once_and_answers_keep_their_order():
    together = threading.Barrier(3)

    def answer(request, version, state):
        together.wait(LONG_S)  # passes only if all three requests are under way at the same time
        return ListGroupsResponse(throttle_time_ms=0)

    with contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(ScriptedNode(answer, node_id=number)) for number in range(3)]
        client = stack.enter_context(exchange(nodes[0].bootstrap))
        results = client.call_many([(node.node, ListGroupsRequest()) for node in nodes], deadline())
        assert [type(result) for result in results] == [ListGroupsResponse] * 3


def test_one_dead_node_is_an_error_in_its_place(free_port):
    with ScriptedNode(lambda *_: ListGroupsResponse()) as node, exchange(node.bootstrap) as client:
        dead = Node(2, "127.0.0.1", free_port())
        first, second = client.call_many([(dead, ListGroupsRequest()), (node.node, ListGroupsRequest())], deadline())
        assert isinstance(first, ConnectFailed)
        assert "refused" in str(first)
        assert isinstance(second, ListGroupsResponse)


@pytest.mark.req("NET-13", "AC-13")
def test_requests_in_flight_fail_when_the_connection_ends():
    def answer(request, version, state):
        return HANG_UP if len(node.requests) >= 3 else SILENCE

    with ScriptedNode(answer) as node, exchange(node.bootstrap) as client:
        pending = [client.send(node.node, ListGroupsRequest(), deadline()) for _ in range(2)]
        while not all(item.done for item in pending):
            client.poll([item for item in pending if not item.done], deadline())
        for item in pending:
            with pytest.raises(Disconnected) as caught:
                item.result()
            assert re.fullmatch(
                rf"Cancelled ListGroups request with correlation id \d+ due to node {re.escape(str(node.node))} being "
                "disconnected",
                str(caught.value),
            ), caught.value


def test_hang_up_before_the_first_answer_hints_at_a_login():
    with ScriptedNode() as node, exchange(node.bootstrap) as client:
        with pytest.raises(Disconnected) as caught:
            client.call(node.node, MetadataRequest(), deadline())
        assert "SASL_PLAINTEXT" in caught.value.hint


@pytest.mark.req("PROTO-10")
def test_hang_up_at_the_versions_stage_hints_at_tls():
    with raw_server(b"") as address, exchange(address) as client:
        with pytest.raises(ConnectFailed, match=r"instead of returning its API versions") as caught:
            client.bootstrap(deadline())
        assert "TLS listener needs SSL" in caught.value.hint


@pytest.mark.req("PROTO-10")
def test_a_broker_that_ignores_the_question_for_its_versions_is_named_at_the_deadline():
    """Brokers before 0.10: some close the connection (above), others say nothing."""
    with in_virtual_time(MuteNode(1, lambda *_: SILENCE)) as (client, _):
        with pytest.raises(DeadlineExceeded, match=r"connecting to .* \(stage: versions\)$"):
            client.bootstrap(Deadline(client.clock, 3.0))
        assert client.clock.monotonic_s() == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize(
    ("answer", "message", "hint"),
    [
        (b"\x15\x03\x01\x00\x02\x02\x50", "TLS alert: this port speaks TLS", "security.protocol=SSL"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "answered with HTTP", "Kafka listener"),
        (b"\xff\xff\xff\xff", "frame length -1", "check the port"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "frame length 1397966893", "check the port"),
    ],
)
def test_other_protocols_are_recognised(answer, message, hint):
    with raw_server(answer) as address, exchange(address) as client:
        with pytest.raises(ConnectFailed, match=message) as caught:
            client.bootstrap(deadline())
        assert hint in caught.value.hint


def test_unresolvable_host_is_said_so():
    with exchange("no-such-host.invalid:9092") as client:
        with pytest.raises(ConnectFailed, match=r"cannot resolve no-such-host\.invalid"):
            client.bootstrap(deadline())


def test_refused_connection_is_one_line_with_the_cause(free_port):
    port = free_port()
    with exchange(f"127.0.0.1:{port}") as client:
        with pytest.raises(
            ConnectFailed, match=rf"^cannot connect to 127\.0\.0\.1:{port}: Connection refused$"
        ) as caught:
            client.bootstrap(deadline())
        assert "check that a broker is listening there" in (caught.value.hint or "")


@pytest.mark.req("PROTO-11")
def test_bootstrap_passes_over_dead_and_silent_servers(free_port):
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, ScriptedNode(metadata) as node:
        servers = f"127.0.0.1:{free_port()},127.0.0.1:{silent.getsockname()[1]},{node.bootstrap}"
        with exchange(servers) as client:
            found = client.bootstrap(deadline())
            assert (found.port, found.id) == (node.port, -3)
            assert client.is_connected(found)


def test_all_bootstrap_servers_dead_names_each(free_port):
    ports = [free_port(), free_port()]
    with exchange(",".join(f"127.0.0.1:{port}" for port in ports)) as client:
        with pytest.raises(ConnectFailed, match=r"none of the 2 bootstrap servers") as caught:
            client.bootstrap(deadline())
        assert all(str(port) in str(caught.value) for port in ports)


def test_all_addresses_of_a_name_are_tried(free_port):
    with ScriptedNode(metadata) as node:
        dead = free_port()

        class TwoAddresses(Network):
            def resolve(self, host, port):
                return [(socket.AF_INET, 0, 6, "", ("127.0.0.1", each)) for each in (dead, node.port)]

        with using(TwoAddresses()), exchange("kafka.example:1") as client:
            assert client.call(client.bootstrap(deadline()), MetadataRequest(), deadline()).cluster_id == "c"


def test_advertised_address_that_does_not_answer_is_told_apart(free_port):
    with ScriptedNode(metadata) as node, exchange(node.bootstrap) as client:
        client.bootstrap(deadline())
        port = free_port()
        with pytest.raises(ConnectFailed, match=rf"127\.0\.0\.1:{port} \(id 7\)") as caught:
            client.call(Node(7, "127.0.0.1", port), MetadataRequest(), deadline())
        assert f"bootstrap server {node.bootstrap} answers; broker 7 advertises 127.0.0.1:{port}" in caught.value.hint
        assert "advertised.listeners" in caught.value.hint


def test_a_node_that_cannot_be_reached_is_suspect_until_it_answers(free_port):
    node = Node(1, "127.0.0.1", free_port())
    with exchange(node.address, reconnect_backoff_ms=1, reconnect_backoff_max_ms=1) as client:
        assert not client.is_suspect(node)
        with pytest.raises(ConnectFailed):
            client.call(node, MetadataRequest(), deadline())
        assert client.is_suspect(node)
        with EmbeddedBroker(listeners=f"PLAINTEXT://{node.address}"):
            client.call(node, MetadataRequest(), deadline())
        assert not client.is_suspect(node)


@pytest.mark.req("AC-12")
def test_deadline_ends_a_call_and_its_connection():
    with in_virtual_time(VirtualNode(1, lambda *_: SILENCE)) as (client, node):
        with pytest.raises(DeadlineExceeded, match=r"timed out after 0\.3 s waiting for .* to answer Metadata"):
            client.call(node, MetadataRequest(), deadline(0.3))
        assert not client.is_connected(node)


def test_request_timeout_is_shorter_than_the_deadline():
    with in_virtual_time(VirtualNode(1, lambda *_: SILENCE), request_timeout_ms=200) as (client, node):
        with pytest.raises(Disconnected, match=r"did not answer Metadata within 0\.2 s"):
            client.call(node, MetadataRequest(), deadline())


def test_requests_that_wait_behind_others_have_their_whole_time():
    """Brokers work on one request of a connection at a time; Kafka's admin client sends one at a time."""
    times = iter((3.0, 6.0, 9.0, 12.0))

    def one_after_the_other(request, version, node):
        return Later(next(times), ListGroupsResponse())

    with in_virtual_time(VirtualNode(1, one_after_the_other), request_timeout_ms=5000) as (client, node):
        limit = Deadline(client.clock, LONG_S)
        answered = client.call_many([(node, ListGroupsRequest())] * 4, limit)
        assert [type(answer) for answer in answered] == [ListGroupsResponse] * 4
        assert 12.0 <= client.clock.monotonic_s() < 13.0


def test_requests_behind_one_that_is_not_answered_end_with_it():
    with in_virtual_time(VirtualNode(1, lambda *_: SILENCE), request_timeout_ms=5000) as (client, node):
        ended = client.call_many([(node, ListGroupsRequest())] * 3, Deadline(client.clock, LONG_S))
        assert [type(error) for error in ended] == [Disconnected] * 3
        assert 5.0 <= client.clock.monotonic_s() < 6.0


def test_silent_server_ends_at_the_deadline_with_its_stage():
    with in_virtual_time(MuteNode(1, lambda *_: SILENCE)) as (client, _):
        with pytest.raises(DeadlineExceeded, match=r"timed out after 0\.3 s .*\(stage: versions\)") as caught:
            client.bootstrap(deadline(0.3))
        assert "security.protocol" in caught.value.hint


def test_connection_that_the_broker_closed_while_idle_is_replaced():
    with ScriptedNode(metadata) as node, exchange(node.bootstrap) as client:
        client.call(node.node, MetadataRequest(), deadline())
        node.hang_up()
        while node._threads[1].is_alive():
            node._threads[1].join(LONG_S)
        assert client.call(node.node, MetadataRequest(), deadline()).cluster_id == "c"
        assert node.connections == 2


def test_connection_that_breaks_while_a_request_is_made_is_replaced():
    with ScriptedNode(metadata) as node, exchange(node.bootstrap) as client:
        client.call(node.node, MetadataRequest(), deadline())

        def build(versions):
            # The connection was looked at, and sound, a moment before; nothing can be written to it any more.
            node._open[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            node.hang_up()
            while node._threads[1].is_alive():
                node._threads[1].join(LONG_S)
            return MetadataRequest()

        with pytest.raises(Disconnected, match=r"Cancelled Metadata request .* being disconnected"):
            client.call(node.node, build, deadline())
        assert client.call(node.node, MetadataRequest(), deadline()).cluster_id == "c"
        assert node.connections == 2


@pytest.mark.req("NET-3", "NET-4", "NET-6", "NET-10", "QT-29")
def test_throttled_connection_keeps_quiet_for_as_long_as_asked():
    def answer(request, version, state):
        return ListGroupsResponse(throttle_time_ms=300)

    with ScriptedNode(answer) as node, exchange(node.bootstrap) as client:
        client.call(node.node, ListGroupsRequest(), deadline())
        start = SystemClock().monotonic_s()
        client.call(node.node, ListGroupsRequest(), deadline())
        assert SystemClock().monotonic_s() - start >= 0.25


@pytest.mark.req("NET-4")
@pytest.mark.parametrize("throttle_ms", [0, 300, 2000])
@pytest.mark.parametrize("waited_s", [0.0, 0.2, 5.0])
def test_a_throttled_connection_keeps_quiet_for_what_is_left_of_the_time(throttle_ms, waited_s):
    def answer(request, version, node):
        return ListGroupsResponse(throttle_time_ms=throttle_ms)

    with in_virtual_time(VirtualNode(1, answer)) as (client, node):
        client.call(node, ListGroupsRequest(), Deadline(client.clock, LONG_S))
        client.clock.sleep(waited_s)
        begun_s = client.clock.monotonic_s()
        client.call(node, ListGroupsRequest(), Deadline(client.clock, LONG_S))
        assert client.clock.monotonic_s() - begun_s == pytest.approx(max(0.0, throttle_ms / 1000 - waited_s), abs=0.01)


@pytest.mark.req("NET-10", "EASY-5")
def test_throttle_of_an_old_version_was_served_by_the_broker():
    def answer(request, version, state):
        return ListGroupsResponse(throttle_time_ms=60_000)

    with ScriptedNode(answer, versions=all_versions({16: (0, 1)})) as node, exchange(node.bootstrap) as client:
        for _ in range(2):
            client.call(node.node, ListGroupsRequest(), deadline())


def test_failed_node_is_left_alone_for_the_backoff(free_port):
    port = free_port()
    with exchange(f"127.0.0.1:{port}", reconnect_backoff_ms=400, reconnect_backoff_max_ms=400) as client:
        node = Node(1, "127.0.0.1", port)
        with pytest.raises(ConnectFailed):
            client.call(node, MetadataRequest(), deadline())
        start = SystemClock().monotonic_s()
        with pytest.raises(ConnectFailed):
            client.call(node, MetadataRequest(), deadline())
        assert SystemClock().monotonic_s() - start >= 0.3


def test_backoff_doubles_up_to_its_maximum_with_jitter():
    with exchange("a:1", reconnect_backoff_ms=50, reconnect_backoff_max_ms=1000) as client:
        delays = [client._pool._backoff_s(failures) * 1000 for failures in (1, 2, 3, 4, 5, 6, 60)]
        for delay, middle in zip(delays, (50, 100, 200, 400, 800, 1000, 1000), strict=True):
            assert 0.8 * middle <= delay <= 1.2 * middle


@pytest.mark.req("AC-14")
def test_answer_to_another_request_closes_the_connection():
    from kafka_tools.errors import DecodeError

    with ScriptedNode(lambda *_: framed(b"\x00\x00\x00\x63" + bytes(20))) as node, exchange(node.bootstrap) as client:
        with pytest.raises(DecodeError, match=r"answered request 99 instead of request 2"):
            client.call(node.node, MetadataRequest(), deadline())
        assert not client.is_connected(node.node)


def test_produce_without_acks_is_done_when_it_is_sent():
    with ScriptedNode(lambda *_: SILENCE) as node, exchange(node.bootstrap) as client:
        assert client.call(node.node, ProduceRequest(acks=0, timeout_ms=1), deadline()) is None


def test_channels_are_separate_connections():
    with ScriptedNode(metadata) as node, exchange(node.bootstrap) as client:
        pending = [client.send(node.node, MetadataRequest(), deadline(), channel=name) for name in ("", "group")]
        while not all(item.done for item in pending):
            client.poll([item for item in pending if not item.done], deadline())
        assert node.connections == 2


def test_poll_returns_nothing_at_its_deadline_and_leaves_the_request_alone():
    with ScriptedNode(lambda *_: SILENCE) as node, exchange(node.bootstrap) as client:
        pending = client.send(node.node, MetadataRequest(), deadline())
        assert client.poll([pending], deadline(0.2)) == []
        assert not pending.done


def test_trace_shows_the_dialogue():
    from kafka_tools.net.trace import Trace

    lines = []
    with ScriptedNode(metadata) as node:
        config = ClientConfig({"bootstrap.servers": node.bootstrap})
        with Exchange(config, trace=Trace(lines.append, SystemClock())) as client:
            client.call(node.node, MetadataRequest(topics=[]), deadline())
    text = "".join(lines)
    for part in ("connection.opening", "connection.ready", "request.sent", "MetadataRequest v13", "response.received"):
        assert part in text
    assert '"clusterId":"c"' in text


def test_api_versions_error_is_a_clear_end():
    def answer(request, version, state):
        if isinstance(request, ApiVersionsRequest):
            return ApiVersionsResponse(error_code=error_codes.INVALID_REQUEST)
        return HANG_UP

    answer.versions_too = True
    with ScriptedNode(answer) as node, exchange(node.bootstrap) as client:
        with pytest.raises(ConnectFailed, match=r"refused to return its API versions: INVALID_REQUEST"):
            client.bootstrap(deadline())


def test_trace_hides_secrets_in_settings_and_credentials():
    from kafka_tools.net.trace import Trace
    from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
    from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        Resource.AlterableConfig(name="listener.name.tls.ssl.keystore.password", value="planted-secret"),
        Resource.AlterableConfig(name="sasl.jaas.config", value="planted-secret"),
        Resource.AlterableConfig(name="retention.ms", value="shown"),
    ]
    alter = IncrementalAlterConfigsRequest(resources=[Resource(resource_name="1", configs=configs)])
    Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    scram = AlterUserScramCredentialsRequest(upsertions=[Upsertion(name="u", salted_password=b"planted-secret")])
    lines = []
    trace = Trace(lines.append, SystemClock())
    trace.message("request.sent", "node", alter, 1, 1)
    trace.message("request.sent", "node", scram, 0, 2)
    text = "".join(lines)
    assert "shown" in text
    assert "planted-secret" not in text
    assert base64.b64encode(b"planted-secret").decode() not in text


def test_connection_is_replaced_before_its_login_expires():
    def answer(request, version, state):
        if isinstance(request, SaslHandshakeRequest):
            return SaslHandshakeResponse(mechanisms=["PLAIN"])
        if isinstance(request, SaslAuthenticateRequest):
            return SaslAuthenticateResponse(session_lifetime_ms=300)
        return metadata(request, version, state)

    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": 'PlainLoginModule required username="u" password="p";',
    }
    with in_virtual_time(node := VirtualNode(1, answer), **login) as (client, address):
        client.call(address, MetadataRequest(), deadline())
        client.call(address, MetadataRequest(), deadline())
        assert node.connections == 1
        SystemClock().sleep(0.3)
        client.call(address, MetadataRequest(), deadline())
        assert node.connections == 2


@pytest.mark.req("NET-12")
def test_hang_up_during_the_login_hints_at_the_password():
    def answer(request, version, state):
        return SaslHandshakeResponse(mechanisms=["PLAIN"]) if isinstance(request, SaslHandshakeRequest) else HANG_UP

    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": 'PlainLoginModule required username="u" password="planted";',
    }
    with ScriptedNode(answer) as node, Exchange(ClientConfig({"bootstrap.servers": node.bootstrap} | login)) as client:
        with pytest.raises(ConnectFailed, match=r"closed the connection during the SASL login") as caught:
            client.bootstrap(deadline())
    assert "check sasl.jaas.config" in caught.value.hint
    assert "planted" not in caught.value.hint + str(caught.value)


@pytest.mark.parametrize("ending", [b"", b"\xff\xff\xff\xff", b"\x00\x00\x00\x04\x00\x00\x00\x63"])
def test_answer_that_came_before_the_end_of_the_connection_counts(ending):
    # Answer and end arrive in one piece: the end must not swallow the answer.
    def answer(request, version, state):
        return framed(encode_response(MetadataResponse(cluster_id="c"), version, 2)) + ending

    with ScriptedNode(answer) as node, exchange(node.bootstrap) as client:
        node.last_words = True
        first, second = (client.send(node.node, MetadataRequest(), deadline()) for _ in range(2))
        client.wait([first, second])
        assert first.result().cluster_id == "c"
        assert second.error is not None


class SlowNames(Network):
    """A name service that says nothing until it is told to."""

    def __init__(self):
        self.goes_on = threading.Event()

    def resolve(self, host, port):
        self.goes_on.wait(LONG_S)
        raise OSError(-2, "Name or service not known")


def test_a_name_service_that_does_not_answer_ends_with_the_time_limit():
    names = SlowNames()
    with using(names), exchange("slow.example:9092") as client:
        with pytest.raises(ConnectFailed, match=r"cannot resolve slow.example:9092.*timed out after 1\.0 s"):
            client.bootstrap(deadline(0.5))  # it gets a second in any case
        assert not names.goes_on.is_set()
    names.goes_on.set()


def test_what_the_name_service_says_is_passed_on():
    names = SlowNames()
    names.goes_on.set()
    with (
        using(names),
        exchange("no.example:9092") as client,
        pytest.raises(ConnectFailed, match=r"cannot resolve no.example:9092.*: Name or service not known"),
    ):
        client.bootstrap(deadline())


CANONICAL = {"client_dns_lookup": "resolve_canonical_bootstrap_servers_only"}


class ReverseNames(Network):
    """Every name is this machine's, whose canonical name is told when ``goes_on`` is set."""

    def __init__(self):
        self.goes_on = threading.Event()

    def resolve(self, host, port):
        return super().resolve("127.0.0.1", port)

    def canonical_name(self, address):
        self.goes_on.wait(LONG_S)
        return "localhost"


def test_bootstrap_servers_are_called_by_their_canonical_names():
    names = ReverseNames()
    names.goes_on.set()
    with using(names), ScriptedNode(metadata) as node, exchange(f"alias.example:{node.port}", **CANONICAL) as client:
        assert client.bootstrap(deadline()) == Node(-1, "localhost", node.port)


@pytest.mark.parametrize("names", [SlowNames(), ReverseNames()])
def test_canonical_names_are_given_up_with_the_time_limit(names):
    with using(names), exchange("slow.example:9092", **CANONICAL) as client:
        with pytest.raises(ConnectFailed, match=r"cannot resolve slow.example:9092.*timed out after 1\.0 s"):
            client.bootstrap(deadline(0.5))
        assert not names.goes_on.is_set()
    names.goes_on.set()


def test_a_bootstrap_name_that_is_none_has_no_canonical_one():
    name = "a" * 64 + ".example"
    with (
        exchange(f"{name}:9092", **CANONICAL) as client,
        pytest.raises(ConnectFailed, match=rf"cannot resolve {name}:9092: not a valid host name"),
    ):
        client.bootstrap(deadline())
