"""Sockets: frames, order, parked calls, hostile bytes, TLS and SASL, on a broker on its thread."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.endpoints import endpoints_of
from kafka_tools.errors import ConfigError
from kafka_tools.net.sasl.plain import PlainClient
from kafka_tools.net.sasl.scram import ScramClient
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_tools.protocol.stored.cluster_metadata import UserScramCredentialRecord
from kafka_tools.records.build import build_batch
from kafka_tools.scram_math import MECHANISMS
from kafka_tools.values import TopicPartition
from tests.broker_embedded.disk_broker import fetch_request
from tests.broker_embedded.wire_client import WireClient

USERS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="admin" password="admin-secret" user_alice="alice-secret";'
)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config={"socket.request.max.bytes": 100_000, "connections.max.idle.ms": 600_000}) as running:
        yield running


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[WireClient]:
    with WireClient(broker.bootstrap_servers) as made:
        yield made


def create(client: WireClient, name: str) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    assert client.call(CreateTopicsRequest(topics=[topic]), 2).topics[0].error_code == 0


def produce_request(topic: str, value: bytes) -> ProduceRequest:
    TopicData = ProduceRequest.TopicProduceData
    batch = build_batch([(1_700_000_000_000, None, value, ())])
    data = TopicData(name=topic, partition_data=[TopicData.PartitionProduceData(index=0, records=batch)])
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data])


def test_requests_sent_at_once_are_answered_in_order(client: WireClient) -> None:
    requests = [(MetadataRequest(topics=[]), 12), (ApiVersionsRequest(), 0), (DescribeClusterRequest(), 0)] * 60
    sent = [client.send(request, version) for request, version in requests]
    got = [client.receive_response(request, version)[0] for request, version in requests]
    assert got == sent


def test_frames_cut_anywhere_are_put_together(client: WireClient) -> None:
    from kafka_tools.protocol.headers import encode_request

    payload = encode_request(MetadataRequest(topics=[]), 12, 9, "x")
    frame = len(payload).to_bytes(4, "big") + payload
    for position in range(1, len(frame)):
        client.send_raw(frame[:position])
        client.send_raw(frame[position:])
        assert client.receive_response(MetadataRequest(), 12)[0] == 9


def test_a_parked_fetch_holds_back_its_own_connection_only(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "parked")
    waiting = fetch_request("parked", 0, max_wait_ms=65_000)
    fetch_id = client.send(waiting, 11)
    after_id = client.send(DescribeClusterRequest(), 0)
    with WireClient(broker.bootstrap_servers) as other:
        assert other.call(produce_request("parked", b"x"), 7).responses[0].partition_responses[0].base_offset == 0
    correlation_id, response = client.receive_response(waiting, 11)
    assert correlation_id == fetch_id
    assert response.responses[0].partitions[0].records
    assert client.receive_response(DescribeClusterRequest(), 0)[0] == after_id


def test_a_client_that_goes_away_takes_its_parked_call_with_it(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "abandoned")
    with WireClient(broker.bootstrap_servers) as other:
        other.call(DescribeClusterRequest(), 0)
        other.send(fetch_request("abandoned", 0, max_wait_ms=65_000), 11)
        other.send_raw(b"")
    assert client.call(produce_request("abandoned", b"x"), 7).responses[0].partition_responses[0].error_code == 0
    assert client.call(DescribeClusterRequest(), 0).error_code == 0


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\xff\xff\xff\xff",
        (100_001).to_bytes(4, "big"),
        b"\0\0\0\0",
        b"\0\0\0\x08" + b"\x7f" * 8,
    ],
)
def test_garbage_closes_its_connection_only(broker: EmbeddedBroker, client: WireClient, data: bytes) -> None:
    with WireClient(broker.bootstrap_servers) as hostile:
        hostile.send_raw(data)
        assert hostile.closed_by_broker
    assert client.call(DescribeClusterRequest(), 0).error_code == 0


def test_a_failed_produce_without_acks_closes_the_connection(broker: EmbeddedBroker) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        request = produce_request("absent", b"x")
        request.acks = 0
        client.send(request, 7)
        assert client.closed_by_broker


def test_a_slow_reader_does_not_stop_others(broker: EmbeddedBroker, client: WireClient) -> None:
    create(client, "large")
    for _ in range(20):
        client.call(produce_request("large", b"x" * 90_000), 7)
    with WireClient(broker.bootstrap_servers) as slow:
        request = fetch_request("large", 0, max_wait_ms=0, max_bytes=2_000_000)
        sent = [slow.send(request, 11) for _ in range(20)]  # 36 MB of answers that nobody takes yet
        assert client.call(DescribeClusterRequest(), 0).error_code == 0
        for correlation_id in sent:
            got, response = slow.receive_response(request, 11)
            assert got == correlation_id
            assert len(response.responses[0].partitions[0].records) > 1_500_000


def test_idle_connections_are_closed() -> None:
    with (
        EmbeddedBroker(config={"connections.max.idle.ms": 1, "connection.failed.authentication.delay.ms": 0}) as broker,
        WireClient(broker.bootstrap_servers) as client,
    ):
        client.call(DescribeClusterRequest(), 0)
        assert client.closed_by_broker


def test_connection_that_waited_for_its_answer_is_not_idle() -> None:
    config = {"connections.max.idle.ms": 10_000, "auto.create.topics.enable": True}
    with EmbeddedBroker(config=config) as broker, WireClient(broker.bootstrap_servers) as client:
        client.call(MetadataRequest(topics=[MetadataRequest.RequestTopic(name="empty")]), 4)
        waiting = fetch_request("empty", 0, max_wait_ms=65_000)
        sent = client.send(waiting, 4)
        while not broker.call(lambda core: core.purgatory.waiting(TopicPartition("empty", 0))):
            time.sleep(0.01)
        broker.advance(seconds=61)
        with WireClient(broker.bootstrap_servers) as other:
            broker.call(lambda core: core.clock.advance(20))  # as if the process had been stopped for so long
            other.call(ApiVersionsRequest(), 0)  # before it the wait ends, and at once idle connections are closed
        got, response = client.receive_response(waiting, 4)
        assert (got, response.responses[0].partitions[0].error_code) == (sent, 0)
        assert client.call(DescribeClusterRequest(), 0).error_code == 0


# Where to listen


def test_listeners_and_what_they_advertise() -> None:
    one, two = endpoints_of(
        {
            "listeners": "INSIDE://127.0.0.1:9092, OUTSIDE://:9093,CONTROLLER://:9094",
            "advertised.listeners": "OUTSIDE://kafka.example:19093",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:SASL_SSL,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
        }
    )
    assert (one.name, one.protocol, one.host, one.port, one.advertised_host) == (
        "INSIDE", "PLAINTEXT", "127.0.0.1", 9092, None,
    )  # fmt: skip
    assert (two.host, two.advertised_host, two.advertised_port, two.has_tls, two.has_sasl) == (
        "", "kafka.example", 19093, True, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "properties",
    [
        {"listeners": "localhost:9092"},
        {"listeners": "PLAINTEXT://localhost:port"},
        {"listeners": "INSIDE://:9092"},
        {"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9093"},
        {"listeners": "PLAINTEXT://:9092,SSL://:9092"},
        {"listeners": "PLAINTEXT://:9092", "advertised.listeners": "SSL://a:1"},
        {"listeners": "CONTROLLER://:9092", "controller.listener.names": "CONTROLLER"},
    ],
)
def test_listeners_that_cannot_be_are_refused(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="listeners"):
        endpoints_of(properties)


def test_a_port_that_is_taken_is_told(broker: EmbeddedBroker) -> None:
    with pytest.raises(ConfigError, match="cannot listen"):
        EmbeddedBroker(listeners=[f"PLAINTEXT://{broker.bootstrap_servers}"]).start()


# TLS and SASL


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def secured(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    folder = tmp_path_factory.mktemp("tls")
    pem: Path = folder / "server.pem"
    authority.issue_cert("localhost", "127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(pem))
    trusted = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(trusted))
    config = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS,
        "listener.name.sasl_ssl.plain.sasl.jaas.config": USERS,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(pem),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,MUTUAL:SSL",
    }
    listeners = [f"{name}://127.0.0.1:0" for name in ("SASL_PLAINTEXT", "SASL_SSL", "SSL", "MUTUAL")]
    with EmbeddedBroker(listeners=listeners, config=config) as running:
        yield running


def address(broker: EmbeddedBroker, listener: str) -> str:
    host, port = broker.call(lambda core: core.registration.endpoints[listener])
    return f"{host}:{port}"


def log_in(client: WireClient, mechanism: PlainClient | ScramClient, *, handshake: int = 1) -> int:
    """Authenticate; returns the error code of the last answer."""
    shaken = client.call(SaslHandshakeRequest(mechanism=mechanism.mechanism), handshake)
    assert shaken.error_code == 0
    token = mechanism.step(None)
    while token is not None:
        if handshake == 0:
            client.send_raw(len(token).to_bytes(4, "big") + token)
            challenge = client.receive()
        else:
            answer = client.call(SaslAuthenticateRequest(auth_bytes=token), 2)
            if answer.error_code:
                return int(answer.error_code)
            challenge = bytes(answer.auth_bytes)
        token = mechanism.step(challenge)
    return 0


def add_scram_user(broker: EmbeddedBroker, name: str, password: str, mechanism: str) -> None:
    import hashlib
    import hmac

    kind = MECHANISMS[mechanism]
    algorithm = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), b"salt", 4096)
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    record = UserScramCredentialRecord(
        name=name,
        mechanism=kind.type_id,
        salt=b"salt",
        stored_key=hashlib.new(algorithm, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", algorithm),
        iterations=4096,
    )
    broker.call(lambda core: core.journal.commit([record]))


@pytest.mark.parametrize("handshake", [0, 1])
def test_plain_users_log_in(secured: EmbeddedBroker, handshake: int) -> None:
    with WireClient(address(secured, "SASL_PLAINTEXT")) as client:
        assert client.call(ApiVersionsRequest(), 0).error_code == 0
        assert log_in(client, PlainClient("alice", "alice-secret"), handshake=handshake) == 0
        assert client.call(DescribeClusterRequest(), 0).error_code == 0
        seen = secured.call(lambda core: core.cluster.cluster_id)
        assert seen == secured.cluster_id


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_users_log_in(secured: EmbeddedBroker, mechanism: str) -> None:
    add_scram_user(secured, "bob", "bob-secret", mechanism)
    with WireClient(address(secured, "SASL_PLAINTEXT")) as client:
        assert log_in(client, ScramClient(mechanism, "bob", "bob-secret")) == 0
        assert client.call(MetadataRequest(topics=[]), 12).brokers
    with WireClient(address(secured, "SASL_PLAINTEXT")) as client:
        wrong = ScramClient(mechanism, "bob", "wrong")
        assert log_in(client, wrong) == codes.SASL_AUTHENTICATION_FAILED
        assert client.closed_by_broker


def test_a_wrong_password_is_told_once_and_the_connection_closed(secured: EmbeddedBroker) -> None:
    with WireClient(address(secured, "SASL_PLAINTEXT")) as client:
        assert log_in(client, PlainClient("alice", "wrong")) == codes.SASL_AUTHENTICATION_FAILED
        assert client.closed_by_broker


def test_every_listener_is_where_it_was_after_a_restart() -> None:
    with EmbeddedBroker(
        listeners=["ONE://127.0.0.1:0", "TWO://127.0.0.1:0"],
        config={"listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT"},
    ) as broker:
        before = [address(broker, name) for name in ("ONE", "TWO")]
        broker.restart()
        assert [address(broker, name) for name in ("ONE", "TWO")] == before


@pytest.mark.req("PROTO-9")
def test_nothing_is_served_before_the_login(secured: EmbeddedBroker) -> None:
    with WireClient(address(secured, "SASL_PLAINTEXT")) as client:
        client.send(MetadataRequest(topics=[]), 12)
        assert client.closed_by_broker
    with WireClient(address(secured, "SASL_PLAINTEXT")) as client:
        assert client.call(ApiVersionsRequest(), 0).error_code == codes.NONE  # answered in every state
        answer = client.call(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
        assert answer.error_code == codes.UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def test_tls_alone_and_with_sasl(secured: EmbeddedBroker, authority: trustme.CA) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with WireClient(address(secured, "SSL").replace("127.0.0.1", "localhost"), tls=context) as client:
        assert client.call(DescribeClusterRequest(), 0).error_code == 0
    with WireClient(address(secured, "SASL_SSL"), tls=context) as client:
        assert log_in(client, PlainClient("alice", "alice-secret")) == 0
        assert client.call(DescribeClusterRequest(), 0).error_code == 0


def test_a_listener_may_ask_for_certificates(secured: EmbeddedBroker, authority: trustme.CA) -> None:
    bare = ssl.create_default_context()
    authority.configure_trust(bare)
    with pytest.raises((ssl.SSLError, ConnectionError)), WireClient(address(secured, "MUTUAL"), tls=bare) as client:
        client.call(DescribeClusterRequest(), 0)
    known = ssl.create_default_context()
    authority.configure_trust(known)
    authority.issue_cert("client@example.org", common_name="client").configure_cert(known)
    principals: list[str] = []

    def remember(principal: str, *rest: str | int) -> bool:
        principals.append(principal)
        return True

    def watch(core: object, authorizer: object) -> None:
        core.authorizer = authorizer  # type: ignore[attr-defined]

    secured.call(lambda core: watch(core, remember))
    with WireClient(address(secured, "MUTUAL"), tls=known) as client:
        assert client.call(DescribeUserScramCredentialsRequest(), 0).error_code == 0
    secured.call(lambda core: watch(core, None))
    assert principals[0].startswith("User:") and "CN=client" in principals[0]


def test_plain_without_users_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="PLAIN needs users"):
        EmbeddedBroker(listeners=["SASL_PLAINTEXT://127.0.0.1:0"], config={"sasl.enabled.mechanisms": "PLAIN"}).start()
    with pytest.raises(ConfigError, match=r"GSSAPI .* needs a Krb5LoginModule"):
        EmbeddedBroker(listeners=["SASL_PLAINTEXT://127.0.0.1:0"], config={"sasl.enabled.mechanisms": "GSSAPI"}).start()


def test_wrong_tls_files_are_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        EmbeddedBroker(
            listeners=["SSL://127.0.0.1:0"], config={"ssl.keystore.location": str(tmp_path / "absent.pem")}
        ).start()
