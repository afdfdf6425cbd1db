"""Delegation tokens (KIP-48, KIP-373): create, renew, expire, describe."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import AnyNodeLookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.schema import Request

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
    from kafka_tools.protocol.messages.describe_delegation_token import DescribeDelegationTokenResponse
    from kafka_tools.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
    from kafka_tools.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse

AT_ONCE = -1
"""As expiry: the token ends now."""


class Principal(NamedTuple):
    """A principal such as ``User:alice``."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


def parse_principal(text: str) -> Principal:
    """The principal of ``Type:name``, either of which may be empty as in Kafka; InputError for other texts."""
    kind, colon, name = text.partition(":")
    if not colon:
        raise InputError(f"invalid principal '{text}': expected User:name")
    return Principal(kind, name)


class DelegationToken(NamedTuple):
    """A token; times in ms since the epoch. Its HMAC is a password and stays out of repr."""

    token_id: str
    hmac: bytes
    owner: Principal
    requester: Principal | None
    issued_ms: int
    expires_ms: int
    max_ms: int
    renewers: tuple[Principal, ...]

    @property
    def hmac_text(self) -> str:
        """The HMAC in base64, the password of a client's login."""
        return base64.b64encode(self.hmac).decode("ascii")

    def __repr__(self) -> str:
        return f"DelegationToken({self.token_id}, owner={self.owner}, hmac=***)"


def parse_hmac(text: str) -> bytes:
    """The bytes of an HMAC in base64; InputError, without the text, for anything else."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise InputError("invalid HMAC: expected base64") from None


class CreateToken(AdminCall[str, DelegationToken, "CreateDelegationTokenResponse"]):
    """A new token for the requesting principal, or for ``owner`` (3.3)."""

    name = "create delegation token"
    lookup = AnyNodeLookup()

    renewers: Sequence[Principal]
    owner: Principal | None
    max_lifetime_ms: int

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.create_delegation_token import CreateDelegationTokenRequest

        if self.owner is not None:
            versions.require(CreateDelegationTokenRequest, 3, "a token for another owner")
        Renewer = CreateDelegationTokenRequest.CreatableRenewers
        request = CreateDelegationTokenRequest(
            renewers=[Renewer(principal_type=item.type, principal_name=item.name) for item in self.renewers],
            max_lifetime_ms=self.max_lifetime_ms,
        )
        if self.owner is not None:
            request.owner_principal_type, request.owner_principal_name = self.owner
        return request

    def interpret(self, reply: Reply[str, DelegationToken, CreateDelegationTokenResponse]) -> None:
        response = reply.response
        token = DelegationToken(
            response.token_id,
            bytes(response.hmac),
            Principal(response.principal_type, response.principal_name),
            Principal(response.token_requester_principal_type, response.token_requester_principal_name)
            if reply.version >= 3
            else None,
            response.issue_timestamp_ms,
            response.expiry_timestamp_ms,
            response.max_timestamp_ms,
            tuple(self.renewers),
        )
        reply.settle(ALL, response.error_code, None, token)


class RenewToken(AdminCall[str, int, "RenewDelegationTokenResponse | ExpireDelegationTokenResponse"]):
    """The new expiry, in ms since the epoch."""

    name = "renew delegation token"
    lookup = AnyNodeLookup()

    hmac: bytes
    period_ms: int

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest

        return RenewDelegationTokenRequest(hmac=self.hmac, renew_period_ms=self.period_ms)

    def interpret(self, reply: Reply[str, int, RenewDelegationTokenResponse | ExpireDelegationTokenResponse]) -> None:
        reply.settle(ALL, reply.response.error_code, None, reply.response.expiry_timestamp_ms)


class ExpireToken(RenewToken):
    """The new expiry, in ms since the epoch; AT_ONCE ends the token."""

    name = "expire delegation token"

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest

        return ExpireDelegationTokenRequest(hmac=self.hmac, expiry_time_period_ms=self.period_ms)


class DescribeTokens(AdminCall[str, list[DelegationToken], "DescribeDelegationTokenResponse"]):
    """Tokens of some owners; None means all that the principal may see, an empty list means no owner at all."""

    name = "describe delegation tokens"
    lookup = AnyNodeLookup()

    owners: Sequence[Principal] | None

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest

        owners = None
        if self.owners is not None:
            Owner = DescribeDelegationTokenRequest.Owner
            owners = [Owner(principal_type=item.type, principal_name=item.name) for item in self.owners]
        return DescribeDelegationTokenRequest(owners=owners)

    def interpret(self, reply: Reply[str, list[DelegationToken], DescribeDelegationTokenResponse]) -> None:
        tokens = [_token(item, reply.version) for item in reply.response.tokens]
        reply.take(ALL, reply.response.error_code, None, tokens)


def _token(item: DescribeDelegationTokenResponse.DescribedDelegationToken, version: int) -> DelegationToken:
    requester = None
    if version >= 3:
        requester = Principal(item.token_requester_principal_type, item.token_requester_principal_name)
    return DelegationToken(
        item.token_id,
        bytes(item.hmac),
        Principal(item.principal_type, item.principal_name),
        requester,
        item.issue_timestamp,
        item.expiry_timestamp,
        item.max_timestamp,
        tuple(Principal(renewer.principal_type, renewer.principal_name) for renewer in item.renewers),
    )
