"""CreateDelegationToken (38): create a delegation token; v3 for another owner."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, int64, string


class CreateDelegationTokenRequest(Request, key=38, route=CONTROLLER, versions="0-3", flexible="2+"):
    """Request of CreateDelegationToken.

    v2: flexible.
    v3: adds owner_principal_type, owner_principal_name.
    """

    owner_principal_type = string(versions="3+", nullable="3+")
    owner_principal_name = string(versions="3+", nullable="3+")

    class CreatableRenewers(Struct):
        principal_type = string()
        principal_name = string()

    renewers = array(CreatableRenewers)
    max_lifetime_ms = int64()


class CreateDelegationTokenResponse(Response, key=38, versions="0-3", flexible="2+"):
    """Response of CreateDelegationToken.

    v2: flexible.
    v3: adds token_requester_principal_type, token_requester_principal_name.
    """

    error_code = int16()
    principal_type = string()
    principal_name = string()
    token_requester_principal_type = string(versions="3+")
    token_requester_principal_name = string(versions="3+")
    issue_timestamp_ms = int64()
    expiry_timestamp_ms = int64()
    max_timestamp_ms = int64()
    token_id = string()
    hmac = bytes_(secret=True)
    throttle_time_ms = int32()
