"""SaslAuthenticate (36): one step of the SASL exchange.

- A failed login is SASL_AUTHENTICATION_FAILED. The text does not reveal whether the user exists. The response is sent
  after connection.failed.authentication.delay.ms, and then the connection is closed.
- On a listener without SASL, or after the login, it is ILLEGAL_SASL_STATE.
- After a handshake that changes the mechanism of the first login the connection is closed without an answer.
- v1: session_lifetime_ms: when the client must log in again (KIP-368), 0 for never.
"""

from __future__ import annotations

import logging

from kafka_tools.broker_embedded.call import Call, CloseConnection
from kafka_tools.errors import AuthenticationFailed
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateResponse

log = logging.getLogger(__name__)

VERSIONS = (0, 2)
AUTHORIZE = ()


def handle(call: Call) -> SaslAuthenticateResponse:
    connection = call.connection
    login = connection.login
    if login is None or login.done:
        return SaslAuthenticateResponse(
            error_code=error_codes.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
    if login.wrong_mechanism:
        connection.login_failed = True
        raise CloseConnection(login.wrong_mechanism)
    try:
        answer = login.step(call.request.auth_bytes)
    except AuthenticationFailed as error:
        connection.login_failed = connection.close_after_reply = True
        log.info("Failed authentication with %s on listener %s (%s)", connection.id, connection.listener, error.reason)
        return SaslAuthenticateResponse(error_code=error_codes.SASL_AUTHENTICATION_FAILED, error_message=str(error))
    if login.done:
        connection.take_login()
        call.broker.counts.listener(connection.listener).logins += 1
    lifetime_ms = login.session_lifetime_ms if login.done else 0
    return SaslAuthenticateResponse(error_message=None, auth_bytes=answer, session_lifetime_ms=lifetime_ms)
