"""SaslAuthenticate (36): send one message of the SASL exchange.

Sent by clients after SaslHandshake v1, until the exchange is complete, and again later to re-authenticate (KIP-368).
The mechanism defines the bytes.

Versions
    v1: the lifetime of the session (KIP-368).
    v2: flexible.

Errors
    SASL_AUTHENTICATION_FAILED: the credentials are wrong, or the exchange breaks the rules of the mechanism.
    ILLEGAL_SASL_STATE: no handshake came before, the exchange is over, or the client re-authenticates with another user
        or mechanism.
    UNSUPPORTED_SASL_MECHANISM: the listener does not support the mechanism.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int64, string


class SaslAuthenticateRequest(Request, key=36, effect="reads", versions="0-2", flexible="2+"):
    # Message of the SASL mechanism. For PLAIN it contains the password.
    auth_bytes = bytes_(secret=True)


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    # 0: no error, but the exchange may need further messages.
    error_code = int16()
    # Explains the error in words. Null: no error.
    error_message = string(nullable="0+")
    # Answer of the SASL mechanism, such as the challenge of SCRAM. Empty: none.
    auth_bytes = bytes_(secret=True)
    # The client must authenticate again within this time, in milliseconds. 0: never.
    session_lifetime_ms = int64(versions="1+", ignorable=True)
