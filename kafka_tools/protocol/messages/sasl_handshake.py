"""SaslHandshake (17): choose the SASL mechanism.

Sent by clients right after they connect to a SASL listener. The answer lists what the broker offers; the connection
ends after an error.

Versions
    v1: the exchange follows in SaslAuthenticate requests instead of bare frames (KIP-152).

Errors
    UNSUPPORTED_SASL_MECHANISM: the listener does not offer the mechanism.
    ILLEGAL_SASL_STATE: the connection is logged in already, or has no SASL.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, array, int16, string


class SaslHandshakeRequest(Request, key=17, versions="0-1"):
    mechanism = string()


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    error_code = int16()
    mechanisms = array(string())
