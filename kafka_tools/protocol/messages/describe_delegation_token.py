"""DescribeDelegationToken (41): the delegation tokens that the caller may see.

Sent by clients that have logged in to any broker. Null owners ask for all; seen are one's own, those that one may
renew, and those with DESCRIBE on the token or DESCRIBE_TOKENS on the owner.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: who asked for the token (KIP-373).

Errors
    DELEGATION_TOKEN_AUTH_DISABLED: delegation.token.secret.key is not configured on the brokers.
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the client is not authenticated, or is authenticated by a token.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, int64, string


class DescribeDelegationTokenRequest(Request, key=41, versions="0-3", dropped="0", flexible="2+"):
    class Owner(Struct):
        principal_type = string()
        principal_name = string()

    owners = array(Owner, nullable="0+")


class DescribeDelegationTokenResponse(Response, key=41, versions="0-3", flexible="2+", throttles="1+"):
    error_code = int16()

    class DescribedDelegationToken(Struct):
        principal_type = string()
        principal_name = string()
        token_requester_principal_type = string(versions="3+")
        token_requester_principal_name = string(versions="3+")
        issue_timestamp = int64()
        expiry_timestamp = int64()
        max_timestamp = int64()
        token_id = string()
        hmac = bytes_(secret=True)

        class DescribedDelegationTokenRenewer(Struct):
            principal_type = string()
            principal_name = string()

        renewers = array(DescribedDelegationTokenRenewer)

    tokens = array(DescribedDelegationToken)
    throttle_time_ms = int32()
