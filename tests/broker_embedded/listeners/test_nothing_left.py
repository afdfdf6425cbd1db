"""What is left in the broker of connections that ended, however far they came: nothing, without a collection.

What a full collection has seen alive is left out of those that follow (``process.ShortCollections``), so that a circle
of a connection that lived so long would stay for ever.
"""

from __future__ import annotations

import contextlib
import gc
import random
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trustme

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.process import give_back_memory
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.net.sasl.scram import ScramClient
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_tools.scram_math import SHA_256, salted_password
from tests.broker_embedded.wire_client import WireClient, make_topics

MANY = 300
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="pa";'
OF_CONNECTIONS = (
    "ClientConnection", "Connection", "TlsTransport", "TlsEngine", "SSLObject", "_SelectorSocketTransport", "Login",
    "PlainServer", "ScramServer", "Receiver", "Outgoing", "Parked", "Task", "TransportSocket",
)  # fmt: skip


class Opened:
    """Connections to one broker of three listeners, ended in ways that the seed decides."""

    def __init__(self, broker: EmbeddedBroker, authority: trustme.CA) -> None:
        endpoints = broker.call(lambda core: dict(core.registration.endpoints))
        self.ports = {name: port for name, (_, port) in endpoints.items()}
        self._broker = broker
        self._random = random.Random(1)
        self.context = ssl.create_default_context()
        authority.configure_trust(self.context)
        self._open: list[Any] = []

    def client(self, listener: str, *, tls: bool = False) -> WireClient:
        client = WireClient(f"127.0.0.1:{self.ports[listener]}", tls=self.context if tls else None)
        self._open.append(client)
        return client

    def taken(self) -> None:
        """Wait until the broker has them all."""
        self._until(lambda: self._counted() == len(self._open))

    def end(self) -> None:
        """End them, and wait until the broker knows."""
        for client in self._open:
            if self._random.random() < 0.5:  # with a reset
                client._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client._socket.close()
        self._open.clear()
        self._until(lambda: self._counted() == 0)

    def _counted(self) -> int:
        running = self._broker._running.server  # type: ignore[union-attr]
        assert running is not None
        return self._broker.call(lambda core: running.shared.admission._limits._open.total())

    def _until(self, true: Callable[[], bool]) -> None:
        deadline = Deadline(SystemClock(), 120)
        while not true():
            assert not deadline.expired
            SystemClock().sleep(0.02)


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost").private_key_and_cert_chain_pem.bytes().decode()
    chain = certificate[certificate.index("-----BEGIN CERT") :]
    config = {
        "ssl.keystore.type": "PEM", "ssl.keystore.key": certificate[: certificate.index("-----BEGIN CERT")],
        "ssl.keystore.certificate.chain": chain, "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "plain.sasl.jaas.config": JAAS, "connection.failed.authentication.delay.ms": "1",
    }  # fmt: skip
    listeners = "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0"
    with EmbeddedBroker(listeners=listeners, config=config) as broker:
        found = Opened(broker, authority)
        user = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            name="s", mechanism=1, iterations=4096, salt=b"salt",
            salted_password=salted_password(SHA_256, "secret", b"salt", 4096),
        )  # fmt: skip
        with WireClient(f"127.0.0.1:{found.ports['PLAINTEXT']}") as client:
            make_topics(client, {"t": {}})
            made = client.call(AlterUserScramCredentialsRequest(deletions=[], upsertions=[user]), 0)
            assert not made.results[0].error_code
        yield found


def accepted(opened: Opened) -> None:
    for _ in range(MANY):
        opened.client("PLAINTEXT")


def accepted_for_tls(opened: Opened) -> None:
    for _ in range(MANY):
        opened.client("SSL")


def client_hello(opened: Opened) -> None:
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        opened.context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    hello = outgoing.read()
    for number in range(MANY):
        opened.client("SSL").send_raw(hello if number % 2 else hello[:50])


def no_tls(opened: Opened) -> None:
    for _ in range(MANY):
        client = opened.client("SSL")
        client.send(MetadataRequest(topics=[]), 1)
        while client.receive_raw():  # an alert, and the end
            pass


def half_a_frame(opened: Opened) -> None:
    for number in range(MANY):
        size = (100, 60_000, 300_000)[number % 3]
        opened.client("PLAINTEXT").send_raw(size.to_bytes(4, "big") + bytes(size // 2))


def half_a_frame_in_tls(opened: Opened) -> None:
    for number in range(MANY // 3):
        size = (100, 60_000, 300_000)[number % 3]
        opened.client("SSL", tls=True).send_raw(size.to_bytes(4, "big") + bytes(size // 2))


def half_a_login(opened: Opened) -> None:
    for number in range(MANY):
        client = opened.client("SASL_PLAINTEXT")
        client.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256" if number % 2 else "PLAIN"), 1)
        if number % 2:
            first = ScramClient("SCRAM-SHA-256", "s", "secret").step(None)
            assert not client.call(SaslAuthenticateRequest(auth_bytes=first), 1).error_code


def wrong_login(opened: Opened) -> None:
    for _ in range(MANY):
        client = opened.client("SASL_PLAINTEXT")
        client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert client.call(SaslAuthenticateRequest(auth_bytes=b"\0a\0wrong"), 1).error_code
        assert client.closed_by_broker


def logged_in(opened: Opened) -> None:
    for number in range(MANY):
        client = opened.client("SASL_PLAINTEXT")
        if number % 2:
            log_in_with_scram(client)
        else:
            client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            assert not client.call(SaslAuthenticateRequest(auth_bytes=b"\0a\0pa"), 1).error_code
        assert client.call(MetadataRequest(topics=[]), 1).brokers


def log_in_with_scram(client: WireClient) -> None:
    client.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
    scram = ScramClient("SCRAM-SHA-256", "s", "secret")
    message = scram.step(None)
    while message is not None:
        answer = client.call(SaslAuthenticateRequest(auth_bytes=message), 1)
        assert not answer.error_code
        message = scram.step(bytes(answer.auth_bytes))


def logged_in_with_tls(opened: Opened) -> None:
    for _ in range(MANY // 3):
        client = opened.client("SASL_SSL", tls=True)
        client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert not client.call(SaslAuthenticateRequest(auth_bytes=b"\0a\0pa"), 1).error_code


def parked(opened: Opened) -> None:
    Topic = FetchRequest.Topic
    asked = Topic(topic="t", partitions=[Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)])
    fetch = FetchRequest(replica_id=-1, max_wait_ms=600_000, min_bytes=1, max_bytes=1 << 20, topics=[asked])
    for number in range(MANY):
        opened.client("PLAINTEXT" if number % 3 else "SSL", tls=not number % 3).send(fetch, 4)


PHASES = (
    accepted, accepted_for_tls, client_hello, no_tls, half_a_frame, half_a_frame_in_tls, half_a_login, wrong_login,
    logged_in, logged_in_with_tls, parked,
)  # fmt: skip


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
def test_nothing_is_left_of_connections_that_ended(opened: Opened, phase: Callable[[Opened], None]) -> None:
    phase(opened)  # once before, for what is made at the first time
    opened.end()
    gc.collect()
    gc.disable()
    try:
        before = alive()
        phase(opened)
        if phase not in (no_tls, wrong_login):  # the broker ends those itself
            opened.taken()
            assert alive()["_SelectorSocketTransport"] - before["_SelectorSocketTransport"] >= MANY // 3
        opened.end()
        assert alive() - before == Counter()
    finally:
        gc.enable()


def test_memory_is_given_back_when_many_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedBroker, "limits", BrokerLimits(ended_connections=5))
    given_back = threading.Event()
    with EmbeddedBroker(
        config={"connections.max.idle.ms": "100", "connection.failed.authentication.delay.ms": "50"}
    ) as broker:
        running = broker._running.server  # type: ignore[union-attr]
        assert running is not None
        broker.call(lambda core: setattr(running.shared, "on_many_ended", given_back.set))
        for _ in range(4):
            WireClient(broker.bootstrap_servers)._socket.close()
        assert not given_back.wait(0.3)
        WireClient(broker.bootstrap_servers)._socket.close()
        assert given_back.wait(60)
    give_back_memory()


def alive() -> Counter[str]:
    return Counter(name for each in gc.get_objects() if (name := type(each).__name__) in OF_CONNECTIONS)
