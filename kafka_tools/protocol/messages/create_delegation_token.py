"""CreateDelegationToken (38): create a delegation token.

Sent by clients that have logged in (not by a token) to any broker, which passes it to the controller. The answer is the
only place where the token's HMAC, its password, is told in full (KIP-48).

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: flexible.
    v3: for another owner (KIP-373).

Errors
    DELEGATION_TOKEN_AUTH_DISABLED: delegation.token.secret.key is not configured on the brokers.
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the client is not authenticated, or is authenticated by a token.
    INVALID_PRINCIPAL_TYPE: owner or a renewer is not a User.
    DELEGATION_TOKEN_AUTHORIZATION_FAILED: the client lacks CREATE_TOKENS on the owner (v3).
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    REQUEST_TIMED_OUT: the controller did not store the token in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, int64, string


class CreateDelegationTokenRequest(
    Request, key=38, versions="0-3", dropped="0", flexible="2+", rights={"delegation token": "CreateTokens on the user"}
):
    owner_principal_type = string(versions="3+", nullable="3+")
    owner_principal_name = string(versions="3+", nullable="3+")

    class CreatableRenewers(Struct):
        principal_type = string()
        principal_name = string()

    renewers = array(CreatableRenewers)
    max_lifetime_ms = int64()  # -1: the brokers' largest


class CreateDelegationTokenResponse(Response, key=38, versions="0-3", flexible="2+", throttles="1+"):
    error_code = int16()
    principal_type = string()
    principal_name = string()
    token_requester_principal_type = string(versions="3+")
    token_requester_principal_name = string(versions="3+")
    issue_timestamp_ms = int64(on_error=-1)
    expiry_timestamp_ms = int64(on_error=-1)
    max_timestamp_ms = int64(on_error=-1)
    token_id = string()  # the user name to log in with
    hmac = bytes_(secret=True)  # the password to log in with
    throttle_time_ms = int32()
