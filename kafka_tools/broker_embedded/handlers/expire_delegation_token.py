"""ExpireDelegationToken (40): expire a token after a period, immediately if it is negative.

- A negative period deletes an expired token. With any other period it is DELEGATION_TOKEN_EXPIRED.
- DELEGATION_TOKEN_OWNER_MISMATCH for a caller that is not the owner or one of its renewers.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import token_requests_allowed
from kafka_tools.broker_embedded.security.delegation_tokens import NO_TIME
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse

VERSIONS = (0, 2)
AUTHORIZE = ()


def handle(call: Call) -> ExpireDelegationTokenResponse:
    request = call.request
    if not token_requests_allowed(call):
        code = error_codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=NO_TIME)
    end_ms = call.broker.tokens.expire(call.principal, request.hmac, request.expiry_time_period_ms)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=end_ms)
