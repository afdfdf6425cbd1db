"""CreateDelegationToken (38): create a delegation token.

Sent by authenticated clients to any broker, which forwards it to the controller (KIP-48). The token is a user name and
a password for SCRAM authentication.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: tokens for another owner (KIP-373).

Errors
    DELEGATION_TOKEN_AUTH_DISABLED: delegation.token.secret.key is not configured on the brokers.
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the client is not authenticated, or is authenticated by a token.
    INVALID_PRINCIPAL_TYPE: the owner or a renewer is not of the type User.
    DELEGATION_TOKEN_AUTHORIZATION_FAILED: the client lacks CREATE_TOKENS on the owner (v3).
    UNSUPPORTED_VERSION: the metadata.version of the cluster does not support delegation tokens.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not store the token in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, int64, string


class CreateDelegationTokenRequest(
    Request,
    key=38,
    effect="changes",
    versions="0-3",
    dropped="0",
    flexible="2+",
    rights={"delegation token": "CreateTokens on the user"},
):
    # User, with owner_principal_name. Null or empty: the client is the owner.
    owner_principal_type = string(versions="3+", nullable="3+")
    # The user that the token will stand for. Null or empty: the client itself.
    owner_principal_name = string(versions="3+", nullable="3+")

    class CreatableRenewers(Struct):
        # Always User. Anything else leads to INVALID_PRINCIPAL_TYPE.
        principal_type = string()
        principal_name = string()

    # Users that may renew and expire the token besides its owner.
    renewers = array(CreatableRenewers)
    # How long renewals can extend the token, in milliseconds. -1: delegation.token.max.lifetime.ms, which is also the
    # limit.
    max_lifetime_ms = int64()


class CreateDelegationTokenResponse(Response, key=38, versions="0-3", flexible="2+", throttles="1+"):
    # 0: no error.
    error_code = int16()
    # Type of the owner, always User.
    principal_type = string()
    # Name of the owner.
    principal_name = string()
    # Type of the client that created the token, always User.
    token_requester_principal_type = string(versions="3+")
    # Name of the client that created the token.
    token_requester_principal_name = string(versions="3+")
    # When the token was created, in milliseconds since 1970. -1: with an error.
    issue_timestamp_ms = int64(on_error=-1)
    # When the token expires unless it is renewed, in milliseconds since 1970. -1: with an error.
    expiry_timestamp_ms = int64(on_error=-1)
    # Limit of all renewals, in milliseconds since 1970. -1: with an error.
    max_timestamp_ms = int64(on_error=-1)
    # The user name for SCRAM authentication with the token.
    token_id = string()
    # The password for SCRAM authentication, after encoding in base64. RenewDelegationToken and ExpireDelegationToken
    # need it too.
    hmac = bytes_(secret=True)
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
