"""SaslAuthenticate (36): one step of the SASL exchange.

Sent by clients after SaslHandshake v1, until the exchange is complete; later again to renew the login (KIP-368). What
the bytes mean is the mechanism's.

Versions
    v1: how long the login lasts (KIP-368).
    v2: flexible.

Errors
    SASL_AUTHENTICATION_FAILED: the credentials are wrong, or the exchange breaks the mechanism's rules.
    ILLEGAL_SASL_STATE: no handshake came before, the exchange is over, or another user or mechanism renews the login.
    UNSUPPORTED_SASL_MECHANISM: the mechanism cannot be served.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int64, string


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    auth_bytes = bytes_(secret=True)


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    error_code = int16()
    error_message = string(nullable="0+")
    auth_bytes = bytes_(secret=True)
    session_lifetime_ms = int64(versions="1+", ignorable=True)  # 0: the login does not end
