"""The client's dialogue without sockets: SASL stages as brokers of all ages play them, hostile bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools import scram_math
from kafka_tools.errors import AuthenticationFailed, KafkaToolsError
from kafka_tools.net.sasl.plain import PlainClient, PlainServer
from kafka_tools.net.sasl.scram import ScramClient, ScramServer
from kafka_tools.net.session import READY, SASL, ClientSession
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec import decode_prefix
from kafka_tools.protocol.frames import FrameReader, framed
from kafka_tools.protocol.headers import decode_request_header, encode_response
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.net.peers import all_versions, versions_response


class Broker:
    """The other side of a session: keeps what it saw, answers through ``mechanism`` (a server half)."""

    def __init__(self, mechanism, *, versions=None, offered=None, lifetime_ms=0):
        self.mechanism = mechanism
        self.versions = all_versions(versions)
        self.offered = offered or [mechanism.mechanism]
        self.lifetime_ms = lifetime_ms
        self.seen = []
        self.raw = False
        self._reader = FrameReader()

    def serve(self, session):
        """Carry bytes both ways until the session has nothing to say."""
        answers = []
        while session.outgoing():
            data = bytes(session.outgoing())
            session.outgoing().clear()
            for payload in self._reader.feed(data):
                session.receive(framed(self._answer(payload)), lambda _, response: answers.append(response))
        return answers

    def _answer(self, payload):
        if self.raw:
            self.seen.append(("raw token", 0))
            return self.mechanism.step(payload)
        header, position = decode_request_header(payload)
        version = header.request_api_version
        request, _ = decode_prefix(registry.api(header.request_api_key).request, version, payload, position)
        self.seen.append((type(request).__name__, version))
        return encode_response(self._respond(request, version), version, header.correlation_id)

    def _respond(self, request, version):
        if isinstance(request, ApiVersionsRequest):
            return versions_response(self.versions)
        if isinstance(request, SaslHandshakeRequest):
            known = request.mechanism in self.offered
            self.raw = known and version == 0
            code = error_codes.NONE if known else error_codes.UNSUPPORTED_SASL_MECHANISM
            return SaslHandshakeResponse(error_code=code, mechanisms=self.offered)
        if isinstance(request, SaslAuthenticateRequest):
            try:
                token = self.mechanism.step(bytes(request.auth_bytes))
            except AuthenticationFailed as error:
                return SaslAuthenticateResponse(
                    error_code=error_codes.SASL_AUTHENTICATION_FAILED, error_message=str(error)
                )
            return SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=self.lifetime_ms)
        return MetadataResponse(cluster_id="c")


def plain_server():
    return PlainServer(lambda user, password: (user, password) == ("alice", "secret"))


def scram_server():
    credential = scram_math.credential(scram_math.SHA_512, "secret")
    return ScramServer("SCRAM-SHA-512", lambda login: credential if login.username == "alice" else None)


def session(sasl):
    made = ClientSession(client_id="test", sasl=sasl, peer="node")
    made.start()
    return made


@pytest.mark.req("SASL-1", "SASL-3", "SASL-6")
def test_versions_then_handshake_then_tokens_then_requests():
    broker, client = Broker(plain_server()), session(lambda: PlainClient("alice", "secret"))
    broker.serve(client)
    assert client.stage == READY
    client.send(MetadataRequest(topics=[]))
    assert [answer.cluster_id for answer in broker.serve(client)] == ["c"]
    assert broker.seen == [
        ("ApiVersionsRequest", 4),
        ("SaslHandshakeRequest", 1),
        ("SaslAuthenticateRequest", 2),
        ("MetadataRequest", 13),
    ]


def test_scram_takes_two_round_trips():
    broker = Broker(scram_server())
    client = session(lambda: ScramClient("SCRAM-SHA-512", "alice", "secret"))
    broker.serve(client)
    assert client.stage == READY
    assert [name for name, _ in broker.seen[2:]] == ["SaslAuthenticateRequest"] * 2


@pytest.mark.req("SASL-3")
def test_handshake_v0_is_followed_by_bare_tokens():
    broker = Broker(scram_server(), versions={17: (0, 0), 36: (0, 0)})
    client = session(lambda: ScramClient("SCRAM-SHA-512", "alice", "secret"))
    broker.serve(client)
    assert client.stage == READY
    assert [name for name, _ in broker.seen[1:]] == ["SaslHandshakeRequest", "raw token", "raw token"]
    client.send(MetadataRequest(topics=[]))
    broker.raw = False
    assert broker.serve(client)[0].cluster_id == "c"


def test_mechanism_that_the_broker_lacks_is_answered_with_its_list():
    broker = Broker(plain_server(), offered=["GSSAPI", "PLAIN"])
    client = session(lambda: ScramClient("SCRAM-SHA-512", "alice", "secret"))
    with pytest.raises(AuthenticationFailed, match=r"does not offer SASL mechanism SCRAM-SHA-512; .* GSSAPI, PLAIN"):
        broker.serve(client)


@pytest.mark.req("SASL-4")
def test_refused_login_shows_the_broker_s_text_and_no_password():
    broker, client = Broker(plain_server()), session(lambda: PlainClient("alice", "hunter2"))
    with pytest.raises(
        AuthenticationFailed, match=r"refused the login with PLAIN: .*Invalid username or password"
    ) as e:
        broker.serve(client)
    assert "hunter2" not in str(e.value) + e.value.hint


@pytest.mark.req("SASL-4")
def test_session_lifetime_is_kept():
    broker = Broker(plain_server(), lifetime_ms=60_000)
    client = session(lambda: PlainClient("alice", "secret"))
    broker.serve(client)
    assert client.session_lifetime_ms == 60_000


def test_listener_without_sasl_is_told_apart():
    class NoSasl(Broker):
        def _respond(self, request, version):
            if isinstance(request, SaslHandshakeRequest):
                return SaslHandshakeResponse(error_code=error_codes.ILLEGAL_SASL_STATE)
            return super()._respond(request, version)

    client = session(lambda: PlainClient("alice", "secret"))
    with pytest.raises(AuthenticationFailed, match=r"does not use SASL on this listener") as caught:
        NoSasl(plain_server()).serve(client)
    assert "security.protocol" in caught.value.hint


def test_answer_nobody_asked_for_is_an_error():
    broker, client = Broker(plain_server()), session(None)
    broker.serve(client)
    with pytest.raises(KafkaToolsError, match=r"unexpected response"):
        client.receive(framed(bytes(8)), print)


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_answers_or_one_of_our_errors(data, with_sasl):
    client = session((lambda: PlainClient("a", "b")) if with_sasl else None)
    try:
        client.receive(framed(b"\x00\x00\x00\x01" + data), print)
        client.receive(data, print)
    except KafkaToolsError:
        return
    assert client.stage != SASL or with_sasl
