"""SaslHandshake (17): choose the SASL mechanism of a connection.

- A mechanism that the listener does not offer is UNSUPPORTED_SASL_MECHANISM, with a list of the offered ones. The
  connection is closed, as after any failed login.
- It is ILLEGAL_SASL_STATE on a listener without SASL, and after a login that does not expire. After a login that
  expires (KIP-368) it starts a re-authentication, at most once per second. If the mechanism differs from that of the
  first login, the handshake succeeds, and the connection is closed at the next step. During a login it is
  ILLEGAL_SASL_STATE, and the connection is closed.
- v0: the tokens are then sent without requests.
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
