"""Logins that are renewed on their connection (KIP-368): when, between which requests, and what a refusal does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clock import Deadline, ManualClock
from kafka_tools.errors import AuthenticationFailed, Disconnected
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.trace import Trace
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.net.peers import HANG_UP, SILENCE, ScriptedNode

LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'PlainLoginModule required username="u" password="p";',
}
LIFETIME_MS = 10_000
SETUP = ["ApiVersionsRequest", "SaslHandshakeRequest", "SaslAuthenticateRequest"]
RENEWAL = SETUP[1:]


class Peer(ScriptedNode):
    """A node whose logins hold for ten seconds. ``held`` keeps its answers back; ``refusal`` meets later logins."""

    def __init__(self) -> None:
        super().__init__(self._answer_one)
        self.held = threading.Event()
        self.held.set()
        self.refusal: Any = None
        self.lifetime_ms = LIFETIME_MS

    def names(self) -> list[str]:
        return [type(request).__name__ for request, _ in self.requests]

    def _answer_one(self, request: Any, version: int, state: Any) -> Any:
        if isinstance(request, SaslHandshakeRequest):
            return SaslHandshakeResponse(mechanisms=["PLAIN"])
        if isinstance(request, SaslAuthenticateRequest):
            if self.refusal is not None and self.names().count("SaslAuthenticateRequest") > 1:
                return self.refusal
            return SaslAuthenticateResponse(session_lifetime_ms=self.lifetime_ms)
        assert self.held.wait(30)
        return ListGroupsResponse() if isinstance(request, ListGroupsRequest) else MetadataResponse(cluster_id="c")


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as peer:
        yield peer


def client(peer: Peer, clock: ManualClock) -> Exchange:
    return Exchange(ClientConfig({"bootstrap.servers": peer.bootstrap} | LOGIN), clock=clock)


@pytest.mark.req("SASL-4")
def test_the_next_request_after_most_of_the_lifetime_waits_for_a_new_login(peer: Peer) -> None:
    clock = ManualClock()
    with client(peer, clock) as exchange:
        for seconds in (0, 8.4, 0.2, 8.4, 0.2):
            clock.advance(seconds)
            exchange.call(peer.node, MetadataRequest(), Deadline(clock, 30))
    asked = ["MetadataRequest"]
    assert peer.names() == SETUP + asked * 2 + RENEWAL + asked * 2 + RENEWAL + asked
    assert peer.connections == 1


def test_nothing_is_lost_of_what_was_sent_and_what_waits(peer: Peer) -> None:
    clock = ManualClock()
    with client(peer, clock) as exchange:
        exchange.connected(peer.node, Deadline(clock, 30))
        peer.held.clear()
        sent = [exchange.send(peer.node, MetadataRequest(), Deadline(clock, 30)) for _ in range(2)]
        clock.advance(9)
        waiting = [exchange.send(peer.node, ListGroupsRequest(), Deadline(clock, 30)) for _ in range(2)]
        assert peer.names().count("SaslHandshakeRequest") == 1
        peer.held.set()
        exchange.wait([*sent, *waiting])
        assert [each.result().API_KEY for each in (*sent, *waiting)] == [3, 3, 16, 16]
    assert peer.names() == SETUP + ["MetadataRequest"] * 2 + RENEWAL + ["ListGroupsRequest"] * 2
    assert peer.connections == 1


def test_a_quiet_connection_stays_quiet(peer: Peer) -> None:
    clock = ManualClock()
    with client(peer, clock) as exchange:
        exchange.connected(peer.node, Deadline(clock, 30))
        clock.advance(60)
        exchange.poll([], Deadline(clock, 0))
        exchange.connected(peer.node, Deadline(clock, 30))
    assert peer.names() == SETUP


@pytest.mark.req("AC-13")
def test_a_refused_renewal_is_said_and_ends_the_connection(peer: Peer) -> None:
    clock = ManualClock()
    refusal = SaslAuthenticateResponse(
        error_code=error_codes.SASL_AUTHENTICATION_FAILED, error_message="Authentication failed: no such user any more"
    )
    with client(peer, clock) as exchange:
        exchange.call(peer.node, MetadataRequest(), Deadline(clock, 30))
        peer.refusal = refusal
        clock.advance(9)
        with pytest.raises(AuthenticationFailed, match=r"refused the login with PLAIN: .*no such user any more"):
            exchange.call(peer.node, MetadataRequest(), Deadline(clock, 30))
        assert not exchange.is_connected(peer.node)


def test_an_end_of_the_connection_meanwhile_is_told_as_such(peer: Peer) -> None:
    clock = ManualClock()
    with client(peer, clock) as exchange:
        exchange.call(peer.node, MetadataRequest(), Deadline(clock, 30))
        peer.refusal = HANG_UP
        clock.advance(9)
        with pytest.raises(Disconnected, match=r"closed the connection during re-authentication"):
            exchange.call(peer.node, MetadataRequest(), Deadline(clock, 30))


def test_a_renewal_without_answer_ends_with_the_set_up_timeout(peer: Peer) -> None:
    clock = ManualClock()
    with client(peer, clock) as exchange:
        exchange.call(peer.node, MetadataRequest(), Deadline(clock, 60))
        peer.refusal = SILENCE
        clock.advance(9)
        waiting = exchange.send(peer.node, MetadataRequest(), Deadline(clock, 60))
        clock.advance(11)
        exchange.wait([waiting])
        assert "SASL: no answer within 10 s" in str(waiting.error)


def test_a_login_with_a_new_lifetime_holds_for_that(peer: Peer) -> None:
    clock = ManualClock()
    with client(peer, clock) as exchange:
        exchange.call(peer.node, MetadataRequest(), Deadline(clock, 30))
        peer.lifetime_ms = 0
        clock.advance(9)
        for _ in range(3):
            exchange.call(peer.node, MetadataRequest(), Deadline(clock, 30))
            clock.advance(100)
    assert peer.names().count("SaslHandshakeRequest") == 2


def test_the_bundled_broker_and_the_client_renew_a_login_together() -> None:
    users = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_u="p";'
    lines: list[str] = []
    clock = ManualClock()  # the client's: the broker's own stands far from the end of the login, however slow this runs
    config = {
        "connections.max.reauth.ms": "600000",
        "sasl.enabled.mechanisms": "PLAIN",
        "plain.sasl.jaas.config": users,
    }
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=config) as broker:
        settings = ClientConfig(
            {"bootstrap.servers": broker.bootstrap_servers, "connections.max.idle.ms": "-1"} | LOGIN
        )
        with Exchange(settings, clock=clock, trace=Trace(lines.append, clock)) as exchange:
            node = exchange.bootstrap(Deadline(clock, 30))
            for _ in range(3):
                exchange.call(node, MetadataRequest(topics=[]), Deadline(clock, 30))
                clock.advance(550)
                broker.advance(2)  # brokers refuse a login that is renewed within a second
    text = "".join(lines)
    assert text.count("connection.login.renewed") == 2
    assert text.count("connection.ready") == 1
    assert text.count("response.received") == 3
