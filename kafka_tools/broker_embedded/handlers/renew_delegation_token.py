"""RenewDelegationToken (39): extend a token's life, at most to its maximum.

- A period of 0 or less means the broker's ``delegation.token.expiry.time.ms``, which is also the maximum period.
- DELEGATION_TOKEN_OWNER_MISMATCH for a caller that is not the owner or one of its renewers.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import token_requests_allowed
from kafka_tools.broker_embedded.security.delegation_tokens import NO_TIME
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse

VERSIONS = (0, 2)
AUTHORIZE = ()


def handle(call: Call) -> RenewDelegationTokenResponse:
    request = call.request
    if not token_requests_allowed(call):
        code = error_codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=NO_TIME)
    end_ms = call.broker.tokens.renew(call.principal, request.hmac, request.renew_period_ms)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=end_ms)
