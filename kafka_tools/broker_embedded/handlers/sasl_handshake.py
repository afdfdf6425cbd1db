"""SaslHandshake (17): choose the SASL mechanism of a connection.

- A mechanism that the listener does not offer is UNSUPPORTED_SASL_MECHANISM, with those it does; the connection is
  closed, as after any failed login.
- On a listener without SASL it is ILLEGAL_SASL_STATE; after the login too, unless the login ends (KIP-368): then it
  begins the next one, a second or more after the one before was begun. With another mechanism than the first login's
  it is answered all the same, and the connection closed at the next step. During a login it is ILLEGAL_SASL_STATE too,
  and the connection is closed.
- v0: the tokens that follow are not wrapped in requests.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeResponse

VERSIONS = (0, 1)
AUTHORIZE = ()


def handle(call: Call) -> SaslHandshakeResponse:
    login = call.connection.login
    if login is None or (login.done and not login.may_begin_again):
        return SaslHandshakeResponse(error_code=error_codes.ILLEGAL_SASL_STATE)
    if login.underway:
        call.connection.login_failed = call.connection.close_after_reply = True
        return SaslHandshakeResponse(error_code=error_codes.ILLEGAL_SASL_STATE)
    known = login.choose(call.request.mechanism, bare_tokens=call.version == 0)
    if not known:
        call.connection.login_failed = call.connection.close_after_reply = True
    code = error_codes.NONE if known else error_codes.UNSUPPORTED_SASL_MECHANISM
    return SaslHandshakeResponse(error_code=code, mechanisms=list(login.security.mechanisms))
