"""DescribeDelegationToken (41): list delegation tokens; owners null asks for all that the principal may see."""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int16, int32, int64, string


class DescribeDelegationTokenRequest(Request, key=41, route=ANY_NODE, versions="0-3", flexible="2+"):
    """Request of DescribeDelegationToken.

    v2: flexible.
    """

    class Owner(Struct):
        principal_type = string()
        principal_name = string()

    owners = array(Owner, nullable="0+")


class DescribeDelegationTokenResponse(Response, key=41, versions="0-3", flexible="2+"):
    """Response of DescribeDelegationToken.

    v2: flexible.
    v3: adds tokens[].token_requester_principal_type, tokens[].token_requester_principal_name.
    """

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
