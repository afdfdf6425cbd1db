"""Checks the version and the login of a request frame, decodes the request and calls its handler.

Has no sockets: the caller passes a frame with the connection's state. The answer comes now or later (``serving``).
"""

from __future__ import annotations

import logging
from struct import Struct as Layout
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.call import Answer, CloseConnection, RequestBytes
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.broker_embedded.metrics.request_counts import TIMED
from kafka_tools.broker_embedded.serving import ServedRequest
from kafka_tools.errors import AuthenticationFailed, DecodeError, TooManyElements, WireError
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec import decode_counted, decode_prefix
from kafka_tools.protocol.headers import decode_request_header, encode_response
from kafka_tools.protocol.messages.api_versions import ApiVersionsResponse
from kafka_tools.protocol.schema import Response

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.purgatory import Parked
    from kafka_tools.broker_embedded.security.authentication import Login

log = logging.getLogger(__name__)

API_VERSIONS_KEY = registry.key_of("api_versions")
LOGIN_KEYS = frozenset({registry.key_of("sasl_handshake"), registry.key_of("sasl_authenticate")})
BEFORE_LOGIN = LOGIN_KEYS | {API_VERSIONS_KEY}
"""APIs that a connection may use before its SASL login is complete."""

_PLAIN_BYTES = 8 * 1024
_ELEMENTS_AT_ONCE = 2_000
"""A request up to ``_PLAIN_BYTES``, or with at most this number of array elements, is decoded immediately.
Any other request is long work (``slices``)."""

_PEEK = Layout(">hhi")  # api key, api version, correlation id: the same in every request header


class Dispatcher:
    """Contains the handlers. ``handle_frame`` is the only entry point."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.handlers = dict(load_handlers(core.release))
        core.counts.served = self.handlers.keys()
        self._requests = core.counts.requests
        self._monotonic_s = core.clock.monotonic_s

    def handle_frame(self, connection: Connection, frame: RequestBytes, answer: Answer) -> Parked | None:
        """Serve one request. ``answer`` gets the response frame's payload, or None if the client expects no answer.

        ``answer`` is called before this method returns, or later if the method returns a Parked.
        Raises WireError for bytes that are not a request that this broker serves. Raises CloseConnection if the
        caller must close the connection.
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
        if login is not None and login.done and login.expired() and key not in LOGIN_KEYS:
            raise CloseConnection("the login expired, and the client did not log in again in time")
        if handler is None:
            raise WireError(f"unsupported api key {key}", api=f"key {key}", version=version, position=0)
        if not handler.min_version <= version <= handler.max_version:
            if key == API_VERSIONS_KEY:
                answer(encode_response(self._unknown_api_versions(), 0, correlation_id))
                return None
            raise WireError(
                f"unsupported version {version} of {handler.api.name}: expected {handler.min_version} to "
                f"{handler.max_version}",
                api=handler.api.name,
                version=version,
                position=2,
            )
        if handler.at_once is not None:
            counts = self._requests[key]
            served = counts.at_once[version]
            began_s = 0.0 if served % TIMED else self._monotonic_s()
            try:
                payload = handler.at_once(self._core, connection, frame, version, correlation_id)
            except Exception as error:  # one request's bug must not stop the broker; its effects are unknown
                log.exception("%s v%d from %s failed", handler.api.name, version, connection.id)
                raise CloseConnection(f"{handler.api.name} failed") from error
            if payload is not None:
                answer(payload)
                counts.at_once[version] = served + 1
                if began_s:
                    counts.timed(len(frame), self._monotonic_s() - began_s)
                return None
        header, position = decode_request_header(frame)
        served = ServedRequest(self._core, handler, connection, header, len(frame), answer)
        # Ignore bytes after the request, as Kafka does: librdkafka's Metadata v12 has three bytes too many.
        if len(frame) <= _PLAIN_BYTES:
            request, _ = decode_prefix(handler.api.request, version, frame, position)
        else:
            try:
                request, _ = decode_counted(handler.api.request, version, frame, position, most=_ELEMENTS_AT_ONCE)
            except TooManyElements:
                return served.begin_large(frame, position)
        return served.begin(request)

    def _bare_token(self, connection: Connection, login: Login, frame: RequestBytes, answer: Answer) -> None:
        try:
            answer(login.step(bytes(frame)))
        except AuthenticationFailed as error:
            connection.login_failed = True
            raise CloseConnection(str(error.reason)) from error
        connection.take_login()

    def _unknown_api_versions(self) -> Response:
        """The answer to an unknown version of ApiVersions: v0 with the version range of ApiVersions (KIP-511)."""
        handler = self.handlers[API_VERSIONS_KEY]
        entry = ApiVersionsResponse.ApiVersion(
            api_key=API_VERSIONS_KEY, min_version=handler.min_version, max_version=handler.max_version
        )
        return ApiVersionsResponse(error_code=error_codes.UNSUPPORTED_VERSION, api_keys=[entry])
