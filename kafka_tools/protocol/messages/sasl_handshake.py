"""SaslHandshake (17): choose the SASL mechanism.

Sent by clients immediately after they connect to a SASL listener. The broker closes the connection after an error.

Versions
    v1: the exchange follows in SaslAuthenticate requests. After v0 it follows without request headers (KIP-152).

Errors
    UNSUPPORTED_SASL_MECHANISM: the listener does not offer the mechanism.
    ILLEGAL_SASL_STATE: the connection is already authenticated, or its listener does not use SASL.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, array, int16, string


class SaslHandshakeRequest(Request, key=17, effect="reads", versions="0-1"):
    # PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI or OAUTHBEARER, or one of a plugin.
    mechanism = string()


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    # Error of the whole request. 0: continue with SaslAuthenticate.
    error_code = int16()
    # Mechanisms that the listener offers, also with UNSUPPORTED_SASL_MECHANISM.
    mechanisms = array(string())
