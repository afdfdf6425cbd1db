"""Logins that fail: the answer and the end come after connection.failed.authentication.delay.ms, and cost nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.net.sasl.oauthbearer import OAuthBearerClient
from kafka_tools.net.sasl.plain import PlainClient
from kafka_tools.net.sasl.scram import ScramClient
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker_embedded.listeners.test_listener import USERS, add_scram_user, address, log_in
from tests.broker_embedded.wire_client import WireClient

DELAY_MS = 300
LISTENER = "SASL_PLAINTEXT"


def secured(delay_ms: int) -> EmbeddedBroker:
    return EmbeddedBroker(
        listeners=[f"{LISTENER}://127.0.0.1:0"],
        config={
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS,
            "connection.failed.authentication.delay.ms": delay_ms,
            "connections.max.idle.ms": -1,
        },
    )


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with secured(DELAY_MS) as running:
        add_scram_user(running, "bob", "bob-secret", "SCRAM-SHA-256")
        yield running


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[WireClient]:
    with WireClient(address(broker, LISTENER)) as made:
        yield made


@pytest.mark.parametrize(
    "mechanism", [PlainClient("alice", "wrong"), ScramClient("SCRAM-SHA-256", "bob", "wrong")], ids=["PLAIN", "SCRAM"]
)
def test_a_wrong_password_is_told_after_the_delay(client: WireClient, mechanism: Any) -> None:
    began_s = time.monotonic()
    assert log_in(client, mechanism) == codes.SASL_AUTHENTICATION_FAILED
    assert time.monotonic() - began_s >= DELAY_MS / 1000
    assert client.closed_by_broker


@pytest.mark.parametrize("ends", [False, True], ids=["", "half-closed"])
def test_answers_before_that_to_a_failed_login_do_not_wait_for_its_delay(client: WireClient, ends: bool) -> None:
    began_s = time.monotonic()
    token = PlainClient("alice", "wrong").step(None)
    requests = [(ApiVersionsRequest(), 0), (SaslHandshakeRequest(mechanism="PLAIN"), 1)]
    frames = [
        encode_request(*request, 1, "x") for request in (*requests, (SaslAuthenticateRequest(auth_bytes=token), 2))
    ]
    client.send_raw(b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames))
    if ends:
        client.end()
    for request, version in requests:
        assert client.receive_response(request, version)[1].error_code == 0
    if not ends:
        failed = client.receive_response(SaslAuthenticateRequest(), 2)[1]
        assert failed.error_code == codes.SASL_AUTHENTICATION_FAILED
        assert time.monotonic() - began_s >= DELAY_MS / 1000
    assert client.closed_by_broker


@pytest.mark.parametrize(
    ("user", "why"),
    [("bob", "Invalid client credentials"), ("nobody", "Authentication failed: Invalid user credentials")],
)
def test_what_is_wrong_with_scram_is_told_to_the_log_alone(
    client: WireClient, caplog: pytest.LogCaptureFixture, user: str, why: str
) -> None:
    caplog.set_level(logging.INFO)
    scram = ScramClient("SCRAM-SHA-256", user, "wrong")
    client.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
    token, answer = scram.step(None), None
    while answer is None or not answer.error_code:
        answer = client.call(SaslAuthenticateRequest(auth_bytes=token), 2)
        token = None if answer.error_code else scram.step(bytes(answer.auth_bytes))
    assert answer.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )
    assert any(record.getMessage().endswith(f"({why})") for record in caplog.records)


def test_an_identity_that_is_another_is_told(client: WireClient) -> None:
    client.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
    answer = client.call(SaslAuthenticateRequest(auth_bytes=b"n,a=alice,n=bob,r=abc"), 2)
    assert answer.error_code == codes.SASL_AUTHENTICATION_FAILED
    assert answer.error_message.endswith("Client requested an authorization id that is different from username")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_handshake_during_a_login_ends_the_connection_after_the_delay(client: WireClient, mechanism: str) -> None:
    assert client.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1).error_code == 0
    first = ScramClient("SCRAM-SHA-256", "bob", "wrong").step(None)
    assert client.call(SaslAuthenticateRequest(auth_bytes=first), 2).error_code == 0
    began_s = time.monotonic()
    answer = client.call(SaslHandshakeRequest(mechanism=mechanism), 1)
    assert (answer.error_code, answer.mechanisms) == (codes.ILLEGAL_SASL_STATE, [])
    assert time.monotonic() - began_s >= DELAY_MS / 1000
    assert client.closed_by_broker


def test_a_wrong_oauthbearer_token_is_told_at_once_and_its_login_fails_after_the_delay() -> None:
    """The mechanism answers with its own error first (RFC 7628); what ends the login is the client's byte for that."""
    jaas = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    config = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": jaas,
        "connection.failed.authentication.delay.ms": DELAY_MS,
    }
    wrong = OAuthBearerClient("not.a.token")
    with (
        EmbeddedBroker(listeners=[f"{LISTENER}://127.0.0.1:0"], config=config) as broker,
        WireClient(address(broker, LISTENER)) as client,
    ):
        assert client.call(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1).error_code == 0
        told = client.call(SaslAuthenticateRequest(auth_bytes=wrong.step(None)), 2)
        assert (told.error_code, bytes(told.auth_bytes)) == (0, b'{"status":"invalid_token"}')
        began_s = time.monotonic()
        ended = client.call(SaslAuthenticateRequest(auth_bytes=wrong.step(bytes(told.auth_bytes))), 2)
        assert ended.error_code == codes.SASL_AUTHENTICATION_FAILED
        assert ended.error_message == '{"status":"invalid_token"}'
        assert time.monotonic() - began_s >= DELAY_MS / 1000
        assert client.closed_by_broker


def test_bare_tokens_that_are_wrong_end_the_connection_after_the_delay(client: WireClient) -> None:
    began_s = time.monotonic()
    with pytest.raises(ConnectionError):
        log_in(client, PlainClient("alice", "wrong"), handshake=0)
    assert time.monotonic() - began_s >= DELAY_MS / 1000


@pytest.mark.parametrize("handshake", [0, 1])
def test_the_log_tells_what_is_wrong_and_no_byte_of_a_password(
    client: WireClient, handshake: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    token = b"\0alice\0alice-\xfe"
    client.call(SaslHandshakeRequest(mechanism="PLAIN"), handshake)
    if handshake:
        client.call(SaslAuthenticateRequest(auth_bytes=token), 2)
    else:
        client.send_raw(len(token).to_bytes(4, "big") + token)
    assert client.closed_by_broker
    assert "the token is not UTF-8" in caplog.text
    assert "0xfe" not in caplog.text


@pytest.mark.req("SASL-2")
def test_a_mechanism_that_is_not_offered_is_answered_with_those_that_are_and_ends_the_connection(
    client: WireClient,
) -> None:
    began_s = time.monotonic()
    client.send(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
    client.send(ApiVersionsRequest(), 0)
    answer = client.receive_response(SaslHandshakeRequest(), 1)[1]
    assert time.monotonic() - began_s >= DELAY_MS / 1000
    assert (answer.error_code, answer.mechanisms) == (codes.UNSUPPORTED_SASL_MECHANISM, ["PLAIN", "SCRAM-SHA-256"])
    assert client.closed_by_broker


def test_a_request_before_the_login_ends_the_connection_after_the_delay(client: WireClient) -> None:
    began_s = time.monotonic()
    client.send(MetadataRequest(topics=[]), 12)
    assert client.closed_by_broker
    assert time.monotonic() - began_s >= DELAY_MS / 1000


def test_who_does_not_wait_for_the_answer_frees_the_connection() -> None:
    with secured(600_000) as broker:
        server = broker._running.server  # type: ignore[union-attr]
        assert server is not None
        with WireClient(address(broker, LISTENER)) as client:
            client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 2)
            end_s = time.monotonic() + 60
            while not broker.call(lambda core: any(each._penalty is not None for each in server.shared.connections)):
                assert time.monotonic() < end_s
            assert broker.call(lambda core: all(each.idle for each in server.shared.connections)), "it waits"
        while broker.call(lambda core: len(server.shared.connections)):
            assert time.monotonic() < end_s
            time.sleep(0.01)


def test_before_the_login_requests_end_at_their_own_limit(broker: EmbeddedBroker, client: WireClient) -> None:
    client.send_raw((524_289).to_bytes(4, "big"))
    assert client.closed_by_broker
    with WireClient(address(broker, LISTENER)) as other:
        assert log_in(other, PlainClient("alice", "alice-secret")) == 0
        other.send_raw((524_289).to_bytes(4, "big"))
        other.send_raw(bytes(8))
        assert broker.call(lambda core: core.configs.broker.integer("sasl.server.max.receive.size")) == 524_288
