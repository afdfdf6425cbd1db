"""SaslHandshake (17): choose the SASL mechanism; from v1 the exchange follows in SaslAuthenticate requests."""

from __future__ import annotations

from kafka_tools.protocol.routes import GIVEN_NODE
from kafka_tools.protocol.schema import Request, Response, array, int16, string


class SaslHandshakeRequest(Request, key=17, route=GIVEN_NODE, versions="0-1"):
    """Request of SaslHandshake."""

    mechanism = string()


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    """Response of SaslHandshake."""

    error_code = int16()
    mechanisms = array(string())
