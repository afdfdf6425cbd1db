"""DescribeDelegationToken (41): list the delegation tokens that the client may see.

Sent by authenticated clients to any broker. A client sees its own tokens and those that it may renew. It also sees
those for which it has DESCRIBE on the token or DESCRIBE_TOKENS on the owner.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: the client that created the token (KIP-373).

Errors
    DELEGATION_TOKEN_AUTH_DISABLED: delegation.token.secret.key is not configured on the brokers.
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the client is not authenticated, or is authenticated by a token.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, int64, string


class DescribeDelegationTokenRequest(Request, key=41, effect="reads", versions="0-3", dropped="0", flexible="2+"):
    class Owner(Struct):
        principal_type = string()
        principal_name = string()

    # Users whose tokens to return. Null: all that the client may see. Empty: none.
    owners = array(Owner, nullable="0+")


class DescribeDelegationTokenResponse(Response, key=41, versions="0-3", flexible="2+", throttles="1+"):
    # 0: no error.
    error_code = int16()

    class DescribedDelegationToken(Struct):
        # Type of the owner, always User.
        principal_type = string()
        # Name of the owner.
        principal_name = string()
        # Type of the client that created the token, always User.
        token_requester_principal_type = string(versions="3+")
        # Name of the client that created the token.
        token_requester_principal_name = string(versions="3+")
        # When the token was created, in milliseconds since 1970.
        issue_timestamp = int64()
        # When the token expires unless it is renewed, in milliseconds since 1970.
        expiry_timestamp = int64()
        # Limit of all renewals, in milliseconds since 1970.
        max_timestamp = int64()
        # The user name for SCRAM authentication with the token.
        token_id = string()
        # The password for SCRAM authentication, after encoding in base64.
        hmac = bytes_(secret=True)

        class DescribedDelegationTokenRenewer(Struct):
            principal_type = string()
            principal_name = string()

        # Users that may renew and expire the token besides its owner.
        renewers = array(DescribedDelegationTokenRenewer)

    tokens = array(DescribedDelegationToken)
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
