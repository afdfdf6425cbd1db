"""DescribeDelegationToken (41): the tokens that the caller owns, requested, may renew or may describe.

- A null list of owners means the tokens of all owners, an empty list no tokens. A token's requester and its renewers
  count as owners.
- Other tokens require DESCRIBE on the token or DESCRIBE_TOKENS on its owner; otherwise the response omits them.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import require_token_requests
from kafka_tools.broker_embedded.security.delegation_tokens import Token, parts_of, principal_of
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.describe_delegation_token import DescribeDelegationTokenResponse

VERSIONS = (0, 3)
AUTHORIZE = ()

Described = DescribeDelegationTokenResponse.DescribedDelegationToken
Renewer = Described.DescribedDelegationTokenRenewer


def handle(call: Call) -> DescribeDelegationTokenResponse:
    require_token_requests(call)
    asked = call.request.owners
    owners = None if asked is None else [principal_of(owner.principal_type, owner.principal_name) for owner in asked]

    def may_see(token: Token) -> bool:
        return call.allowed(AclOperation.DESCRIBE, AclResourceType.DELEGATION_TOKEN, token.token_id) or call.allowed(
            AclOperation.DESCRIBE_TOKENS, AclResourceType.USER, token.owner
        )

    found = call.broker.tokens.describe(call.principal, owners, may_see)
    return DescribeDelegationTokenResponse(tokens=[_described(call, token) for token in found])


def _described(call: Call, token: Token) -> Described:
    described = Described(
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=call.broker.tokens.hmac(token),
        renewers=[Renewer(principal_type=kind, principal_name=name) for kind, name in map(parts_of, token.renewers)],
    )
    described.principal_type, described.principal_name = parts_of(token.owner)
    if call.version >= 3:
        described.token_requester_principal_type, described.token_requester_principal_name = parts_of(token.requester)
    return described
