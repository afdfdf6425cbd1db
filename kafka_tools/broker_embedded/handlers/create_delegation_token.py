"""CreateDelegationToken (38): create a token for the caller or, from v3 on, for another owner (KIP-373).

- DELEGATION_TOKEN_REQUEST_NOT_ALLOWED without a real principal and on connections that a token authenticated.
- DELEGATION_TOKEN_AUTHORIZATION_FAILED without CREATE_TOKENS on the owner, unless the caller is the owner.
- INVALID_PRINCIPAL_TYPE for a renewer that is not a User; DELEGATION_TOKEN_AUTH_DISABLED without a secret key.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import require_token_requests
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.security.delegation_tokens import NO_TIME, parts_of, principal_of
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.create_delegation_token import CreateDelegationTokenResponse

VERSIONS = (0, 3)
AUTHORIZE = ()


def handle(call: Call) -> CreateDelegationTokenResponse:
    request, tokens = call.request, call.broker.tokens
    owner = requester = call.principal
    if request.owner_principal_name:
        owner = principal_of(request.owner_principal_type or "", request.owner_principal_name)
    response = CreateDelegationTokenResponse()
    response.principal_type, response.principal_name = parts_of(owner)
    if call.version >= 3:
        response.token_requester_principal_type, response.token_requester_principal_name = parts_of(requester)
    response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = NO_TIME
    renewers = [principal_of(entry.principal_type, entry.principal_name) for entry in request.renewers]
    try:
        require_token_requests(call)
        if owner != requester and not call.allowed(AclOperation.CREATE_TOKENS, AclResourceType.USER, owner):
            raise error_for(error_codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
        token = tokens.create(owner, requester, renewers, request.max_lifetime_ms)
    except BrokerError as error:
        response.error_code = error.code.code
        return response
    response.issue_timestamp_ms = token.issue_timestamp
    response.expiry_timestamp_ms = token.expiration_timestamp
    response.max_timestamp_ms = token.max_timestamp
    response.token_id = token.token_id
    response.hmac = tokens.hmac(token)
    return response
