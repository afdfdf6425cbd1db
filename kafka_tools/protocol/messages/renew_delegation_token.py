"""RenewDelegationToken (39): let a delegation token live longer, up to its largest lifetime.

Sent by its owner or a renewer to any broker, which passes it to the controller.

Versions
    v1: throttled clients wait by themselves; the response comes first (KIP-219).
    v2: flexible.

Errors
    DELEGATION_TOKEN_AUTH_DISABLED: the brokers have no delegation.token.secret.key.
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the connection has no login, or logged in by a token.
    DELEGATION_TOKEN_NOT_FOUND: no token has this HMAC.
    DELEGATION_TOKEN_OWNER_MISMATCH: the caller is not its owner or one of its renewers.
    DELEGATION_TOKEN_EXPIRED: the token is past its expiry or its largest lifetime.
    NOT_CONTROLLER: the node is not the active controller (any more).
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int32, int64


class RenewDelegationTokenRequest(Request, key=39, versions="0-2", dropped="0", flexible="2+"):
    hmac = bytes_(secret=True)
    renew_period_ms = int64()  # -1: the brokers' default


class RenewDelegationTokenResponse(Response, key=39, versions="0-2", flexible="2+", throttles="1+"):
    error_code = int16()
    expiry_timestamp_ms = int64()
    throttle_time_ms = int32()
