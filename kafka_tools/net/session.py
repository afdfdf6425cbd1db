"""The protocol of one connection, without its socket: bytes in, responses out; requests in, bytes out.

``ClientSession`` negotiates versions (KIP-35, KIP-511), authenticates (KIP-43, KIP-152), renews a login on its
connection (KIP-368), numbers requests and matches responses to them in order. It uses neither sockets nor time. When
it raises an error, its caller closes the connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from kafka_tools import __version__
from kafka_tools.errors import AuthenticationFailed, ConnectFailed, DecodeError, EncodeError
from kafka_tools.net.versions import NAMES_NODE, IntendedNode, VersionRange, pick_version
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec import decode
from kafka_tools.protocol.frames import FrameReader, framed
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.schema import Request, Response

CONNECTED, VERSIONS, SASL, READY = "connected", "versions", "SASL", "ready"
"""The stages of a connection, as messages name them."""

SOFTWARE_NAME = "kafka-tools"
PRODUCE = registry.key_of("produce")
SASL_HANDSHAKE = registry.key_of("sasl_handshake")


class WrongNode(ConnectFailed):
    """The node is not the intended one, or belongs to another cluster."""


class SaslExchange(Protocol):
    """The client's half of a SASL mechanism."""

    mechanism: str
    done: bool

    def step(self, challenge: bytes | None) -> bytes | None:
        """The next token; None when there is nothing more to send."""


class InFlight(NamedTuple):
    """A request without a response yet, and its size. ``context`` is the sender's own."""

    correlation_id: int
    request: Request
    version: int
    response: type[Response]
    context: Any
    size_bytes: int


class ClientSession:
    """One connection's dialogue, from the first ApiVersions to the last answer.

    ``sasl`` creates an exchange for each authentication; None for listeners without SASL.
    ``intended``: the intended node; only for a node that supports version 5 of ApiVersions.
    ``versions`` maps API key to the node's (oldest, newest), None until the node has sent them.
    """

    def __init__(
        self,
        *,
        client_id: str,
        sasl: Callable[[], SaslExchange] | None = None,
        peer: str = "the broker",
        intended: IntendedNode | None = None,
    ) -> None:
        self.client_id = client_id
        self.peer = peer
        self._intended = intended
        self.stage = CONNECTED
        self.versions: dict[int, VersionRange] | None = None
        self.features: dict[str, int] = {}
        """The finalized features of the cluster and their levels (KIP-584), as this node knows them."""
        self.session_lifetime_ms = 0
        """How long the authentication is valid after it was completed (KIP-368); 0 without limit."""
        self.answered = 0
        """Requests of the user that were answered on this connection."""
        self._sasl = sasl
        self._exchange: SaslExchange | None = None
        self._raw_tokens = False
        self._reader = FrameReader()
        self._out = bytearray()
        self.in_flight: deque[InFlight] = deque()
        """Requests without an answer, oldest first."""
        self._correlation_id = 0

    @property
    def uses_sasl(self) -> bool:
        return self._sasl is not None

    @property
    def oldest(self) -> InFlight | None:
        """The request whose response comes next; None when no response is expected."""
        return self.in_flight[0] if self.in_flight else None

    def start(self) -> None:
        """Ask for the node's versions: in v5, which names the intended node, if there is one, else in v4.

        A node that does not support this version refuses (KIP-511), and gets an older version.
        """
        self.stage = VERSIONS
        self._ask_versions(NAMES_NODE if self._intended is not None else NAMES_NODE - 1)

    def log_in_again(self) -> None:
        """Renew the login on this connection (KIP-368); ready again once ``stage`` says so.

        The session must be ready, have nothing in flight and have a ``session_lifetime_ms`` above 0: then the node
        supports SaslHandshake v1. If the new exchange cannot be created, the session stays as it is.
        """
        assert self.stage == READY
        assert not self.in_flight
        self._start_sasl()

    def send(self, request: Request, version: int | None = None, context: Any = None) -> InFlight:
        """Queue a request in ``version``, else the newest common one. Raises UnsupportedVersion, EncodeError.

        A produce with acks=0 has no response (``is_answered``).
        """
        if version is None:
            version = self.pick_version(type(request))
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        try:
            frame = framed(encode_request(request, version, self._correlation_id, self.client_id))
        except EncodeError as error:
            from kafka_tools.net.request_errors import explained

            raise explained(error, request, version, self.peer) from error
        self._out += frame
        response = registry.api(request.API_KEY).response
        sent = InFlight(self._correlation_id, request, version, response, context, len(frame))
        if is_answered(request):
            self.in_flight.append(sent)
        return sent

    def pick_version(self, request: type[Request]) -> int:
        """The newest version of an API that both sides support; UnsupportedVersion names both ranges."""
        return pick_version(request, self.versions or {}, self.peer)

    def outgoing(self) -> bytearray:
        """Bytes to write, in order; the writer deletes from the front what it has written."""
        return self._out

    def receive(self, data: bytes, deliver: Callable[[InFlight, Response], object]) -> None:
        """Take bytes from the node and ``deliver`` the user's responses in order, with their requests.

        Delivered responses remain valid, even if the bytes after them are invalid.

        Raises DecodeError for bytes that are not a valid response, AuthenticationFailed when SASL fails, and
        ConnectFailed when the peer is not a Kafka node; after any of them the connection must be closed.
        """
        while payloads := self._payloads(data):
            for payload in payloads:
                if self._raw_tokens and self.stage == SASL:
                    self._continue_sasl(payload)
                else:
                    self._take(payload, deliver)
            data = b""  # report an impossible length only after the responses before it

    def _payloads(self, data: bytes) -> list[bytes]:
        try:
            return self._reader.feed(data)
        except DecodeError as error:
            from kafka_tools.net.foreign_peers import explained

            raise explained(error, self._reader.pending[:8], self.peer, self.stage != READY) from error

    def _take(self, payload: bytes, deliver: Callable[[InFlight, Response], object]) -> None:
        if not self.in_flight:
            raise DecodeError(f"{self.peer} sent an unexpected response", position=0, field="correlation_id")
        sent = self.in_flight[0]  # one whose response cannot be read stays unanswered, like those after it
        correlation_id = int.from_bytes(payload[:4], "big", signed=True)
        if len(payload) >= 4 and correlation_id != sent.correlation_id:
            raise DecodeError(
                f"{self.peer} answered request {correlation_id} instead of request {sent.correlation_id}",
                position=0,
                field="correlation_id",
            )
        response = self._decode(sent, payload)
        self.in_flight.popleft()
        if self.stage == VERSIONS:
            assert isinstance(response, ApiVersionsResponse)
            self._take_versions(response)
        elif self.stage == SASL:
            self._take_sasl(response)
        else:
            self.answered += 1
            deliver(sent, response)

    def _decode(self, sent: InFlight, payload: bytes) -> Response:
        """The response; a DecodeError names the node and the request."""
        try:
            # A node that does not support our version always answers in v0 (KIP-511).
            code = int.from_bytes(payload[4:6], "big", signed=True)
            if sent.response is ApiVersionsResponse and len(payload) >= 6 and code == error_codes.UNSUPPORTED_VERSION:
                return decode(ApiVersionsResponse, 0, payload[4:])
            return decode_response(sent.response, sent.version, payload)[1]
        except DecodeError as error:
            name = registry.row_by_key(sent.request.API_KEY).name
            raise DecodeError(
                f"cannot read the response of {self.peer} to {name}: {error}",
                api=error.api,
                version=error.version,
                position=error.position,
                field=error.field,
            ) from error

    # versions

    def _ask_versions(self, version: int) -> None:
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
        if self._intended is not None:
            request.cluster_id, request.node_id = self._intended
        self.send(request, version)
        self._asked_version = version

    def _take_versions(self, response: ApiVersionsResponse) -> None:
        if response.error_code == error_codes.UNSUPPORTED_VERSION and self._asked_version > 0:
            # Brokers since 2.4 send their range in this response, older ones do not: all brokers support v0.
            theirs = {item.api_key: item.max_version for item in response.api_keys}
            offered = theirs.get(ApiVersionsRequest.API_KEY, 0)
            self._ask_versions(min(offered, self._asked_version - 1) if offered > 0 else 0)
            return
        if response.error_code == error_codes.REBOOTSTRAP_REQUIRED and self._intended is not None:
            raise WrongNode(
                f"{self.peer} is not node {self._intended.node_id} of cluster {self._intended.cluster_id}",
                node=self.peer,
                hint="its address leads to another broker or cluster: check advertised.listeners and the name "
                "resolution",
            )
        if response.error_code != error_codes.NONE:
            row = error_codes.error(response.error_code)
            raise ConnectFailed(
                f"{self.peer} refused to return its API versions: {row.name}: {row.text}", node=self.peer
            )
        self.versions = {item.api_key: (item.min_version, item.max_version) for item in response.api_keys}
        if response.finalized_features_epoch >= 0:
            self.features = {item.name: item.max_version_level for item in response.finalized_features}
        if self._sasl is None:
            self.stage = READY
        else:
            self._start_sasl()

    # SASL

    def _start_sasl(self) -> None:
        from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest

        assert self._sasl is not None
        self._exchange = self._sasl()
        self.stage = SASL
        version = self.pick_version(SaslHandshakeRequest)
        self.send(SaslHandshakeRequest(mechanism=self._exchange.mechanism), version)
        # Before v1 (Kafka 1.0) the tokens follow as bare frames, without a Kafka header.
        self._raw_after_handshake = version == 0

    def _take_sasl(self, response: Any) -> None:
        assert self._exchange is not None
        mechanism = self._exchange.mechanism
        code = response.error_code
        if response.API_KEY == SASL_HANDSHAKE:
            if code == error_codes.UNSUPPORTED_SASL_MECHANISM:
                offered = ", ".join(response.mechanisms) or "none"
                raise AuthenticationFailed(
                    f"{self.peer} does not offer SASL mechanism {mechanism}; it offers {offered}",
                    hint="set sasl.mechanism to one of these",
                )
            if code == error_codes.ILLEGAL_SASL_STATE:
                raise AuthenticationFailed(
                    f"{self.peer} does not use SASL on this listener",
                    hint="set security.protocol to PLAINTEXT or SSL, or use the address of the SASL listener",
                )
            self._check_sasl_code(code, None, mechanism)
            self._raw_tokens = self._raw_after_handshake
            self._send_token(self._exchange.step(None))
            return
        self._check_sasl_code(code, response.error_message, mechanism)
        self.session_lifetime_ms = response.session_lifetime_ms
        self._continue_sasl(bytes(response.auth_bytes))

    def _check_sasl_code(self, code: int, message: str | None, mechanism: str) -> None:
        if code == error_codes.NONE:
            return
        row = error_codes.error(code)
        text = message or row.text
        raise AuthenticationFailed(f"{self.peer} refused the login with {mechanism}: {text}", hint=_LOGIN_HINT)

    def _continue_sasl(self, challenge: bytes) -> None:
        assert self._exchange is not None
        token = None if self._exchange.done else self._exchange.step(challenge)
        if token is not None:
            self._send_token(token)
        elif self._exchange.done:
            self._exchange = None
            self._raw_tokens = False
            self.stage = READY
        else:
            raise AuthenticationFailed(f"{self.peer}: SASL ended before the login was complete")

    def _send_token(self, token: bytes | None) -> None:
        if self._raw_tokens:
            self._out += framed(token or b"")
            return
        from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest

        self.send(SaslAuthenticateRequest(auth_bytes=token or b""))


_LOGIN_HINT = "check user name and password in sasl.jaas.config, and that the user exists for this mechanism"


def is_answered(request: Request) -> bool:
    """False for the one request that brokers do not answer: produce with acks=0."""
    return request.API_KEY != PRODUCE or getattr(request, "acks", 1) != 0
