"""From a request frame to a handler and back: versions, authorisation, errors.

Knows no sockets: a frame comes in with the connection's state, a ``Reply`` goes out, now or later.
A handler is the module ``handlers/<stem>.py`` with ``VERSIONS``, ``AUTHORIZE`` and ``handle(call)``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import isgeneratorfunction
from pkgutil import iter_modules
from struct import Struct as Layout
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.broker_embedded.error_texts import text_of
from kafka_tools.errors import AuthenticationFailed, BrokerError, DecodeError, LogError, TooManyElements, WireError
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec import decode_counted, decode_prefix
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.headers import decode_request_header, encode_response
from kafka_tools.protocol.messages.api_versions import ApiVersionsResponse
from kafka_tools.protocol.schema import Response
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.listeners.sending import Payload
    from kafka_tools.broker_embedded.purgatory import Parked
    from kafka_tools.broker_embedded.security.authentication import Login

log = logging.getLogger(__name__)

API_VERSIONS_KEY = registry.key_of("api_versions")
BEFORE_LOGIN = frozenset({API_VERSIONS_KEY, registry.key_of("sasl_handshake"), registry.key_of("sasl_authenticate")})
"""What a connection may send before its SASL login is done: ApiVersions, SaslHandshake, SaslAuthenticate."""

_PLAIN_BYTES = 8 * 1024
_ELEMENTS_AT_ONCE = 2_000
"""What is decoded at once: a request of so many bytes, a larger one if it has no more elements of arrays than this.
Anything else is long work (``slices``)."""

Request = bytes | memoryview
Answer = Callable[["Payload | None"], None]

_PEEK = Layout(">hhi")  # api key, api version, correlation id: the same in every request header


class NoReply:
    """What a handler returns when the client wants no answer (produce with acks=0)."""


NO_REPLY = NoReply()


class CloseConnection(Exception):
    """What a handler raises when closing the connection is the only answer that the protocol has."""


class Resource(NamedTuple):
    """One thing an API touches, in Kafka's words: operation ALTER_CONFIGS on type TOPIC."""

    operation: str
    resource_type: str


class Connection:
    """What the broker knows about one client connection. ``principal`` changes when SASL is done."""

    def __init__(self, connection_id: str, listener: str, client_host: str, client_port: int = 0) -> None:
        self.id = connection_id
        self.listener = listener
        self.client_host = client_host
        self.client_port = client_port
        self.principal = "User:ANONYMOUS"
        self.protocol = "PLAINTEXT"
        """The listener's security protocol."""
        self.token_authenticated = False
        """Whether the login was with a delegation token."""
        self.software_name = ""
        self.software_version = ""
        self.login: Login | None = None
        """The SASL stage, on listeners that have one."""
        self.close_after_reply = False
        self.login_failed = False
        """Whether a login was refused: the answer, if there is one, and the end come after a delay."""
        self.muted_until_s = 0.0
        """Until then, on the monotonic clock, nothing more of this connection is served (quotas)."""
        self.local_host = client_host
        """The address the client reached, told back when a listener is bound to every address."""


class Call:
    """One request with everything a handler may ask for. ``broker`` is the Core."""

    __slots__ = ("api", "broker", "client_id", "connection", "request", "sends_files", "throttle_ms", "version")

    def __init__(
        self, broker: Core, connection: Connection, api: registry.Api, version: int, client_id: str | None, request: Any
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.api = api
        self.version = version
        self.client_id = client_id or ""
        self.request = request
        self.throttle_ms = 0
        """For how long the handler wants this client held back (controller mutations)."""
        self.sends_files = False
        """Whether the answer holds ranges of files (Fetch)."""

    @property
    def principal(self) -> str:
        return self.connection.principal

    @property
    def client_host(self) -> str:
        return self.connection.client_host

    @property
    def connection_id(self) -> str:
        return self.connection.id

    def nodes(self) -> list[Node]:
        """The cluster's nodes at the addresses that this client can use."""
        return self.broker.cluster.nodes_on(self.connection.listener, self.connection.local_host)

    def node(self, id: int) -> Node:
        """One node at the address that this client can use. KeyError for an unknown id."""
        return {node.id: node for node in self.nodes()}[id]

    def allowed(self, operation: str, resource_type: str, name: str) -> bool:
        """Whether the principal may do this; handlers ask per topic, group, and so on."""
        authorizer = self.broker.authorizer
        return authorizer is None or authorizer(self.principal, self.client_host, operation, resource_type, name)

    def allowed_somewhere(self, operation: str, resource_type: str) -> bool:
        """Whether the principal may do this with at least one resource of a type."""
        # The name is the one Kafka asks with: super users, and who may do so everywhere, are let through.
        return self.allowed(operation, resource_type, "hardcode") or self.broker.acls.authorize_somewhere(
            self.principal, self.client_host, operation, resource_type
        )


class Handler(NamedTuple):
    """A handler module and the versions that are served of it."""

    api: registry.Api
    min_version: int
    max_version: int
    authorize: tuple[Resource, ...]
    handle: Callable[[Call], Any]
    in_slices: bool
    """Whether ``handle`` is a generator (``slices``), and so may have much to do.

    Not if it ends in one large change."""


def refuse(code: int, message: str | None = None) -> BrokerError:
    """The error that makes dispatch answer with ``code`` in every error field of the response."""
    return BrokerError(error_codes.error(code), message)


def refused(code: int) -> BrokerError:
    """``refuse`` with Kafka's own text for the code."""
    return refuse(code, text_of(code))


def check_timeout(timeout_ms: int) -> None:
    """The controller does nothing for a request whose time is over when it comes: REQUEST_TIMED_OUT for all of it."""
    if timeout_ms <= 0:
        raise refuse(error_codes.REQUEST_TIMED_OUT)


class Dispatcher:
    """Holds the handlers; ``handle_frame`` is the only way in."""

    def __init__(self, core: Core, release_versions: Mapping[int, tuple[int, int]] | None = None) -> None:
        from kafka_tools.broker_embedded.serving import Served

        self._core = core
        self._served = Served
        self.handlers = load_handlers(release_versions)

    def handle_frame(self, connection: Connection, frame: Request, answer: Answer) -> Parked | None:
        """Serve one request. ``answer`` gets the response frame's payload, or None when none is wanted.

        It is called before this returns, unless a Parked is returned: then it is called later.
        Raises WireError for bytes that are no request this broker serves, and CloseConnection: the
        connection must be closed.
        """
        login = connection.login
        if login is not None and login.bare_tokens:
            self._bare_token(connection, login, frame, answer)
            return None
        if len(frame) < _PEEK.size:
            raise DecodeError(f"a request of {len(frame)} bytes has no header", position=0, field="request_api_key")
        key, version, correlation_id = _PEEK.unpack_from(frame)
        handler = self.handlers.get(key)
        if login is not None and not login.done and key not in BEFORE_LOGIN:
            connection.login_failed = True
            raise CloseConnection(f"api key {key} before the SASL login")
        if login is not None and login.done and login.expired() and key not in (17, 36):
            raise CloseConnection("the login has ended, and the client did not log in again in time")
        if handler is None:
            raise WireError(f"api key {key} is not served", api=f"key {key}", version=version, position=0)
        if not handler.min_version <= version <= handler.max_version:
            if key == API_VERSIONS_KEY:
                answer(encode_response(self._unknown_api_versions(), 0, correlation_id))
                return None
            raise WireError(
                f"version {version} of {handler.api.name} is not served (it is for "
                f"{handler.min_version} to {handler.max_version})",
                api=handler.api.name,
                version=version,
                position=2,
            )
        header, position = decode_request_header(frame)
        served = self._served(
            self._core, handler, connection, version, correlation_id, header.client_id, len(frame), answer
        )
        # What follows the request is ignored, as Kafka does: librdkafka's Metadata v12 has three bytes too many.
        if len(frame) <= _PLAIN_BYTES:
            request, _ = decode_prefix(handler.api.request, version, frame, position)
        else:
            try:
                request, _ = decode_counted(handler.api.request, version, frame, position, most=_ELEMENTS_AT_ONCE)
            except TooManyElements:
                return served.begin_large(frame, position)
        return served.begin(request)

    def _bare_token(self, connection: Connection, login: Login, frame: Request, answer: Answer) -> None:
        try:
            answer(login.step(bytes(frame)))
        except AuthenticationFailed as error:
            connection.login_failed = True
            raise CloseConnection(str(error)) from error
        login.tell(connection)

    def _unknown_api_versions(self) -> Response:
        """KIP-511: an unknown version of ApiVersions is answered in v0 with the range of ApiVersions itself."""
        handler = self.handlers[API_VERSIONS_KEY]
        entry = ApiVersionsResponse.ApiVersion(
            api_key=API_VERSIONS_KEY, min_version=handler.min_version, max_version=handler.max_version
        )
        return ApiVersionsResponse(error_code=error_codes.UNSUPPORTED_VERSION, api_keys=[entry])


def run(handler: Handler, call: Call) -> Any:
    """What the handler says: a response, NO_REPLY, a Parked, or work in slices. Its errors are responses."""
    try:
        for operation, resource_type in handler.authorize:
            if resource_type == "CLUSTER" and not call.allowed(operation, resource_type, "kafka-cluster"):
                raise refused(error_codes.CLUSTER_AUTHORIZATION_FAILED)
        return handler.handle(call)
    except CloseConnection:
        raise
    except Exception as error:  # noqa: BLE001 - one request's bug must not stop the broker
        return failure(call, error)


def failure(call: Call, error: BaseException) -> Response:
    """The response to a request that a handler did not serve."""
    if isinstance(error, BrokerError):
        return error_reply(call.request, call.version, error.code.code, error.broker_message)
    if isinstance(error, LogError | OSError):
        log.error("%s from %s: %s", call.api.name, call.connection_id, error)
        return error_reply(call.request, call.version, error_codes.KAFKA_STORAGE_ERROR, None)
    log.error("%s v%d from %s failed", call.api.name, call.version, call.connection_id, exc_info=error)
    return error_reply(call.request, call.version, error_codes.UNKNOWN_SERVER_ERROR, None)


def load_handlers(release_versions: Mapping[int, tuple[int, int]] | None = None) -> dict[int, Handler]:
    """Every handler module, by API key, with the versions it serves.

    ``release_versions`` (key -> (min, max), ``protocol.releases``) narrows them to what a Kafka release has.
    A module without VERSIONS, AUTHORIZE or ``handle`` is an error at start.
    """
    from kafka_tools.broker_embedded import handlers as package

    table: dict[int, Handler] = {}
    for info in iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{package.__name__}.{info.name}")
        api = registry.api(info.name)
        for name in ("VERSIONS", "AUTHORIZE", "handle"):
            if not hasattr(module, name):
                raise AssertionError(f"handlers/{info.name}.py does not declare {name}")
        low, high = module.VERSIONS
        row = registry.row_by_key(api.key)
        newest = row.max_version - (1 if row.latest_unstable else 0)
        low, high = max(low, row.min_version), min(high, newest)
        if release_versions is not None:
            release_low, release_high = release_versions.get(api.key, (0, -1))
            low, high = max(low, release_low), min(high, release_high)
        if low <= high:
            authorize = tuple(Resource(*entry) for entry in module.AUTHORIZE)
            in_slices = isgeneratorfunction(module.handle) and not getattr(module, "ONE_CHANGE", False)
            table[api.key] = Handler(api, low, high, authorize, module.handle, in_slices)
    return table
