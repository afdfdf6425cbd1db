"""Delegation tokens (KIP-48, KIP-373): owners, lifetimes, and the SCRAM credential of each.

Tokens are stored as Kafka's ``DelegationTokenRecord``s, without the HMAC: it is computed from the token's id and
``delegation.token.secret.key`` when it is needed. Rules are those of Kafka's ``DelegationTokenControlManager`` and
``DelegationTokenManager``. The handlers check whether a connection may send requests about tokens.
"""

from __future__ import annotations

import base64
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from kafka_tools import scram_math
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import DelegationTokenRecord, RemoveDelegationTokenRecord
from kafka_tools.scram_math import ScramCredential

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal
    from kafka_tools.broker_embedded.configs.store import ConfigStore
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)

NO_TIME = -1
"""The value of the times in the response to a refused request."""
_END_OF_TIME_MS = 2**63 - 1
_USER = "User:"


Token = DelegationTokenRecord
"""Principals are texts such as ``User:alice``; times are epoch, in ms. A token is never modified, only replaced."""


class DelegationTokens:
    """All tokens of the cluster, and the operations on them."""

    def __init__(self, journal: Journal, configs: ConfigStore, timers: Timers) -> None:
        self._journal = journal
        self._configs = configs
        self._timers = timers
        properties = configs.properties
        # Kafka called it the master key before 3.9.
        key = properties.get("delegation.token.secret.key") or properties.get("delegation.token.master.key") or ""
        self._key = key.encode()
        self._tokens: dict[str, Token] = {}
        self._by_hmac: dict[bytes, str] = {}
        self._credentials: dict[tuple[str, str], ScramCredential] = {}
        """By token and mechanism. Computed at the first login: 4096 iterations for each would delay the start."""
        journal.on_record(DelegationTokenRecord, self._apply)
        journal.on_record(RemoveDelegationTokenRecord, self._apply_remove)
        journal.on_image(self._image)

    @property
    def enabled(self) -> bool:
        """Whether there is a secret key."""
        return bool(self._key)

    def start_timers(self) -> None:
        """Delete expired tokens every ``delegation.token.expiry.check.interval.ms``."""
        if self.enabled:
            interval_ms = self._configs.broker.integer("delegation.token.expiry.check.interval.ms")
            self._timers.call_later(interval_ms, self._sweep)

    def hmac(self, token: Token) -> bytes:
        """The token's secret: HMAC-SHA-512 of its id under the secret key."""
        import hmac

        return hmac.digest(self._key, token.token_id.encode(), "sha512")

    def create(self, owner: str, requester: str, renewers: Sequence[str], max_lifetime_ms: int) -> Token:
        """Create and store a token. A lifetime of 0 or less means the broker's maximum. Raises BrokerError."""
        self._require_enabled()
        if any(not renewer.startswith(_USER) for renewer in renewers):
            raise error_for(error_codes.INVALID_PRINCIPAL_TYPE)
        now_ms = self._timers.clock.now_ms()
        longest_ms = self._limit_ms("delegation.token.max.lifetime.ms", max_lifetime_ms)
        max_ms = _sum(now_ms, longest_ms)
        expires_ms = min(max_ms, _sum(now_ms, self._limit_ms("delegation.token.expiry.time.ms", 0)))
        token = Token(
            token_id=_new_id(),
            owner=owner,
            requester=requester,
            renewers=list(renewers),
            issue_timestamp=now_ms,
            expiration_timestamp=expires_ms,
            max_timestamp=max_ms,
        )
        self._journal.commit([token])
        return token

    def renew(self, principal: str, hmac: bytes, period_ms: int) -> int:
        """Extend a token's life, at most to its maximum; returns its new end (epoch, ms). Raises BrokerError."""
        token = self._found(hmac)
        now_ms = self._timers.clock.now_ms()
        if _is_over(token, now_ms):
            raise error_for(error_codes.DELEGATION_TOKEN_EXPIRED)
        self._require_may_renew(principal, token)
        return self._keep_until(token, _sum(now_ms, self._limit_ms("delegation.token.expiry.time.ms", period_ms)))

    def expire(self, principal: str, hmac: bytes, period_ms: int) -> int:
        """Expire a token after a period, immediately if it is negative; returns its end (epoch, ms).

        Raises BrokerError.
        """
        token = self._found(hmac)
        now_ms = self._timers.clock.now_ms()
        self._require_may_renew(principal, token)
        if period_ms < 0:
            self._journal.commit([RemoveDelegationTokenRecord(token_id=token.token_id)])
            return now_ms
        if _is_over(token, now_ms):
            raise error_for(error_codes.DELEGATION_TOKEN_EXPIRED)
        return self._keep_until(token, _sum(now_ms, period_ms))

    def _keep_until(self, token: Token, end_ms: int) -> int:
        """Set a token's end, at most to its maximum; returns the end."""
        kept = copy(token)
        kept.expiration_timestamp = min(token.max_timestamp, end_ms)
        self._journal.commit([kept])
        return kept.expiration_timestamp

    def describe(self, principal: str, owners: Sequence[str] | None, may_see: Callable[[Token], bool]) -> list[Token]:
        """The tokens of ``owners`` (None: all owners) that concern the principal or that it may see."""
        self._require_enabled()
        return [
            token
            for token in self._tokens.values()
            if (owners is None or any(_concerns(token, owner) for owner in owners))
            and (_concerns(token, principal) or may_see(token))
        ]

    def lookup(self, mechanism: str, token_id: str) -> tuple[Token, ScramCredential] | None:
        """The credential of a SCRAM login with the token as user name; None for an unknown or expired token."""
        token = self._tokens.get(token_id)
        if token is None or not self.enabled or _is_over(token, self._timers.clock.now_ms()):
            return None
        known = self._credentials.get((token_id, mechanism))
        if known is None:
            kind = scram_math.mechanism(mechanism)
            password = base64.b64encode(self.hmac(token)).decode("ascii")
            known = scram_math.credential(kind, password, kind.min_iterations)
            self._credentials[token_id, mechanism] = known
        return token, known

    def _require_enabled(self) -> None:
        if not self.enabled:
            raise error_for(error_codes.DELEGATION_TOKEN_AUTH_DISABLED)

    def _require_may_renew(self, principal: str, token: Token) -> None:
        if not _may_renew(token, principal):
            raise error_for(error_codes.DELEGATION_TOKEN_OWNER_MISMATCH)

    def _found(self, hmac: bytes) -> Token:
        self._require_enabled()
        token_id = self._by_hmac.get(bytes(hmac))
        if token_id is None:
            raise error_for(error_codes.DELEGATION_TOKEN_NOT_FOUND)
        return self._tokens[token_id]

    def _limit_ms(self, config: str, asked_ms: int) -> int:
        limit_ms = self._configs.broker.integer(config)
        return min(limit_ms, asked_ms) if asked_ms > 0 else limit_ms

    def _sweep(self) -> None:
        now_ms = self._timers.clock.now_ms()
        ended = [token for token in self._tokens.values() if _is_over(token, now_ms)]
        for token in ended:
            log.info("Delegation token expired for token: %s for owner: %s", token.token_id, token.owner)
        try:
            if ended:
                self._journal.commit([RemoveDelegationTokenRecord(token_id=token.token_id) for token in ended])
        finally:
            self.start_timers()

    def _apply(self, token: DelegationTokenRecord) -> None:
        self._tokens[token.token_id] = token
        if self.enabled:
            self._by_hmac[self.hmac(token)] = token.token_id

    def _image(self) -> Iterator[Stored]:
        return iter(list(self._tokens.values()))

    def _apply_remove(self, record: RemoveDelegationTokenRecord) -> None:
        token = self._tokens.pop(record.token_id, None)
        if token is None:
            return
        if self.enabled:
            self._by_hmac.pop(self.hmac(token), None)
        for mechanism in scram_math.MECHANISMS:
            self._credentials.pop((token.token_id, mechanism), None)


def _may_renew(token: Token, principal: str) -> bool:
    """Whether the principal is the token's owner or a renewer. Its requester alone may not renew it."""
    return principal == token.owner or principal in token.renewers


def _concerns(token: Token, principal: str) -> bool:
    """Whether the principal owns, requested or may renew the token (``TokenInformation.ownerOrRenewer``)."""
    return principal == token.requester or _may_renew(token, principal)


def _is_over(token: Token, now_ms: int) -> bool:
    """Whether the token has expired."""
    return min(token.expiration_timestamp, token.max_timestamp) < now_ms


def principal_of(principal_type: str, name: str) -> str:
    """A principal such as ``User:alice``."""
    return f"{principal_type}:{name}"


def parts_of(principal: str) -> tuple[str, str]:
    """Type and name of a principal."""
    kind, _, name = principal.partition(":")
    return kind, name


def _sum(now_ms: int, duration_ms: int) -> int:
    return min(now_ms + duration_ms, _END_OF_TIME_MS)


def _new_id() -> str:
    """A random id in Kafka's form of UUIDs: 22 characters that do not start with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode("ascii")
        if not text.startswith("-"):
            return text
