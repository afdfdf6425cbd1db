"""ExpireDelegationToken (40): change when a delegation token expires, or delete it.

Sent by its owner or a renewer to any broker, which forwards it to the controller.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.

Errors
    DELEGATION_TOKEN_AUTH_DISABLED: delegation.token.secret.key is not configured on the brokers.
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the client is not authenticated, or is authenticated by a token.
    DELEGATION_TOKEN_NOT_FOUND: no token has this HMAC.
    DELEGATION_TOKEN_OWNER_MISMATCH: the client is neither the owner nor a renewer of the token.
    DELEGATION_TOKEN_EXPIRED: the token has already expired.
    UNSUPPORTED_VERSION: the metadata.version of the cluster does not support delegation tokens.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int32, int64


class ExpireDelegationTokenRequest(Request, key=40, effect="changes", versions="0-2", dropped="0", flexible="2+"):
    # The HMAC of the token, as CreateDelegationToken returned it. An unknown one leads to DELEGATION_TOKEN_NOT_FOUND.
    hmac = bytes_(secret=True)
    # When the token shall expire, in milliseconds from now, but not after its limit. Below 0: delete it immediately.
    expiry_time_period_ms = int64()


class ExpireDelegationTokenResponse(Response, key=40, versions="0-2", flexible="2+", throttles="1+"):
    # 0: no error.
    error_code = int16()
    # When the token expires, in milliseconds since 1970.
    expiry_timestamp_ms = int64()
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
