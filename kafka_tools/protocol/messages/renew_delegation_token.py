"""RenewDelegationToken (39): extend the lifetime of a delegation token.

Sent by the owner or a renewer of the token to any broker, which forwards it to the controller.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.

Errors
    DELEGATION_TOKEN_AUTH_DISABLED: delegation.token.secret.key is not configured on the brokers.
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the client is not authenticated, or is authenticated by a token.
    DELEGATION_TOKEN_NOT_FOUND: no token has this HMAC.
    DELEGATION_TOKEN_OWNER_MISMATCH: the client is neither the owner of the token nor one of its renewers.
    DELEGATION_TOKEN_EXPIRED: the token has expired or has reached its maximum lifetime.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int32, int64


class RenewDelegationTokenRequest(Request, key=39, effect="changes", versions="0-2", dropped="0", flexible="2+"):
    # HMAC of the token, which CreateDelegationToken returned.
    hmac = bytes_(secret=True)
    # How long the token shall live from now on, in milliseconds. -1: as long as delegation.token.expiry.time.ms says,
    # which is also the maximum with KRaft.
    renew_period_ms = int64()


class RenewDelegationTokenResponse(Response, key=39, versions="0-2", flexible="2+", throttles="1+"):
    # Error of the whole request. 0: no error.
    error_code = int16()
    # When the token expires now, in milliseconds since 1970. Never later than its maximum lifetime.
    expiry_timestamp_ms = int64()
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
