"""Operations on SCRAM credentials, access control lists and delegation tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.connected import Connected
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import has_code
from kafka_tools.protocol import error_codes
from kafka_tools.values import Many, several

if TYPE_CHECKING:
    from kafka_tools.admin.calls.acls import AclBinding, AclFilter
    from kafka_tools.admin.calls.scram import ScramChange, ScramCredentialInfo
    from kafka_tools.admin.calls.tokens import DelegationToken, Principal


class SecurityOperations(Connected):
    """See the module."""

    def describe_user_scram_credentials(
        self, users: Many[str] | None = None, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, list[ScramCredentialInfo]]:
        """User -> mechanisms and iterations; None means every user who has a credential."""
        users = None if users is None else several("users", users, "str")
        from kafka_tools.admin.calls.scram import DescribeScram

        return Outcomes(self.ask(DescribeScram(users), timeout_s, deadline).items())

    def alter_user_scram_credentials(
        self, changes: Many[ScramChange], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, None]:
        """Store and delete credentials. Raises InputError, before anything is sent, for changes that brokers refuse."""
        changes = several("changes", changes, "ScramUpsertion", "ScramDeletion")
        from kafka_tools.admin.calls.scram import AlterScram, by_user

        users = by_user(changes)
        deadline = deadline or self.deadline(timeout_s)
        outcomes = dict(self.run(AlterScram(users), users, deadline=deadline))
        for user, outcome in outcomes.items():
            if len(users[user]) > 1 and has_code(outcome.error, error_codes.DUPLICATE_RESOURCE):
                # KRaft controllers accept one change per user and request, and have ignored this request.
                outcomes[user] = self._alter_one_by_one(user, users[user], deadline)
        return Outcomes(outcomes.items())

    def _alter_one_by_one(self, user: str, changes: Sequence[ScramChange], deadline: Deadline) -> Outcome[None]:
        from kafka_tools.admin.calls.scram import AlterScram

        done: list[str] = []
        for change in changes:
            outcome = self.run(AlterScram({user: [change]}), [user], deadline=deadline)[user]
            if outcome.error is not None:
                if done:
                    outcome.error.hint = f"already changed for {user}: {', '.join(done)}"
                return outcome
            done.append(change.mechanism)
        return Outcome(None)

    # ACLs

    def describe_acls(
        self, pattern: AclFilter | None = None, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> list[AclBinding]:
        """Entries that match; all of them without a filter."""
        from kafka_tools.admin.calls.acls import AclFilter, DescribeAcls

        return self.ask(DescribeAcls(pattern or AclFilter()), timeout_s, deadline)

    def create_acls(
        self, bindings: Many[AclBinding], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[AclBinding, None]:
        """Add entries; an entry that already exists is not an error."""
        bindings = several("bindings", bindings, "AclBinding")
        from kafka_tools.admin.calls.acls import CreateAcls

        return self.run(CreateAcls(), bindings, timeout_s, deadline)

    def delete_acls(
        self, filters: Many[AclFilter], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[AclFilter, list[tuple[AclBinding, Outcome[None]]]]:
        """Filter -> the entries that matched, each with the outcome of its deletion."""
        filters = several("filters", filters, "AclFilter")
        from kafka_tools.admin.calls.acls import DeleteAcls

        return self.run(DeleteAcls(), filters, timeout_s, deadline)

    # delegation tokens

    def create_delegation_token(
        self,
        renewers: Many[Principal] = (),
        *,
        owner: Principal | None = None,
        max_lifetime_ms: int = -1,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> DelegationToken:
        """A token for the requesting principal, or for ``owner`` (3.3); lifetime -1: the brokers' maximum."""
        renewers = several("renewers", renewers, "Principal")
        from kafka_tools.admin.calls.tokens import CreateToken

        return self.ask(CreateToken(renewers, owner, max_lifetime_ms), timeout_s, deadline)

    def renew_delegation_token(
        self, hmac: bytes, period_ms: int = -1, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> int:
        """The new expiry in ms since the epoch; period -1: the brokers' default."""
        from kafka_tools.admin.calls.tokens import RenewToken

        return self.ask(RenewToken(hmac, period_ms), timeout_s, deadline)

    def expire_delegation_token(
        self, hmac: bytes, period_ms: int = -1, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> int:
        """The new expiry in ms since the epoch; -1 ends the token immediately."""
        from kafka_tools.admin.calls.tokens import ExpireToken

        return self.ask(ExpireToken(hmac, period_ms), timeout_s, deadline)

    def describe_delegation_tokens(
        self,
        owners: Many[Principal] | None = None,
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> list[DelegationToken]:
        """Tokens of some owners; None means all that the principal may see."""
        owners = None if owners is None else several("owners", owners, "Principal")
        from kafka_tools.admin.calls.tokens import DescribeTokens

        return self.ask(DescribeTokens(owners), timeout_s, deadline)
