"""ExpireDelegationToken (40): change when a delegation token expires; a negative period ends it at once.

Sent by its owner or a renewer to any broker, which passes it to the controller.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.

Errors
    DELEGATION_TOKEN_AUTH_DISABLED: delegation.token.secret.key is not configured on the brokers.
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the client is not authenticated, or is authenticated by a token.
    DELEGATION_TOKEN_NOT_FOUND: no token has this HMAC.
    DELEGATION_TOKEN_OWNER_MISMATCH: the caller is not its owner or one of its renewers.
    DELEGATION_TOKEN_EXPIRED: the token is past its expiry or its largest lifetime.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int32, int64


class ExpireDelegationTokenRequest(Request, key=40, versions="0-2", dropped="0", flexible="2+"):
    hmac = bytes_(secret=True)
    expiry_time_period_ms = int64()  # below 0: at once


class ExpireDelegationTokenResponse(Response, key=40, versions="0-2", flexible="2+", throttles="1+"):
    error_code = int16()
    expiry_timestamp_ms = int64()
    throttle_time_ms = int32()
