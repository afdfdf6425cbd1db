"""SaslAuthenticate (36): one step of the SASL exchange; v1 says when to authenticate again (KIP-368)."""

from __future__ import annotations

from kafka_tools.protocol.routes import GIVEN_NODE
from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int64, string


class SaslAuthenticateRequest(Request, key=36, route=GIVEN_NODE, versions="0-2", flexible="2+"):
    """Request of SaslAuthenticate.

    v2: flexible.
    """

    auth_bytes = bytes_(secret=True)


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    """Response of SaslAuthenticate.

    v1: adds session_lifetime_ms.
    v2: flexible.
    """

    error_code = int16()
    error_message = string(nullable="0+")
    auth_bytes = bytes_(secret=True)
    session_lifetime_ms = int64(versions="1+", ignorable=True)
