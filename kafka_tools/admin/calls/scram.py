"""SCRAM credentials of users, stored by the brokers (KIP-554).

The password never leaves this process. The request contains the salted password (PBKDF2), from which brokers derive
the keys that they store. Needs Kafka 2.7; before that, ZooKeeper stores credentials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools import scram_math
from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import AnyNodeLookup, ControllerLookup
from kafka_tools.admin.outcomes import Outcome, answered
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError
from kafka_tools.net.broker_errors import error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.schema import Request
from kafka_tools.values import can_be_sent

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsResponse
    from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResponse

IN_ZOOKEEPER = "before Kafka 2.7, credentials are stored in ZooKeeper: give --zookeeper HOST:PORT"


class ScramCredentialInfo(NamedTuple):
    """A credential as brokers describe it, without keys."""

    mechanism: str
    iterations: int


class ScramUpsertion(NamedTuple):
    """A credential to store. ``salt`` is random unless given; password and salt stay out of repr."""

    user: str
    mechanism: str
    password: str
    iterations: int = scram_math.DEFAULT_ITERATIONS
    salt: bytes | None = None

    def __repr__(self) -> str:
        return f"ScramUpsertion(user={self.user!r}, {self.mechanism}, iterations={self.iterations})"


class ScramDeletion(NamedTuple):
    """A credential to remove; the user's other mechanisms stay."""

    user: str
    mechanism: str


ScramChange = ScramUpsertion | ScramDeletion
Described = dict[str, Outcome[list[ScramCredentialInfo]]]


class DescribeScram(AdminCall[str, Described, "DescribeUserScramCredentialsResponse"]):
    """User -> outcome with that user's credentials; ``users`` None means everybody who has one."""

    name = "describe SCRAM credentials"
    lookup = AnyNodeLookup()

    users: Sequence[str] | None

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

        versions.require(DescribeUserScramCredentialsRequest, 0, "describing SCRAM credentials", IN_ZOOKEEPER)
        User = DescribeUserScramCredentialsRequest.UserName
        users = None if self.users is None else [User(name=name) for name in self.users]
        return DescribeUserScramCredentialsRequest(users=users)

    def interpret(self, reply: Reply[str, Described, DescribeUserScramCredentialsResponse]) -> None:
        response = reply.response
        described: Described = {}
        for item in sorted(response.results, key=lambda item: str(item.user)):
            failure = error_of(item.error_code, item.error_message)
            infos = [
                ScramCredentialInfo(_mechanism_name(info.mechanism), info.iterations) for info in item.credential_infos
            ]
            described[item.user] = Outcome(infos) if failure is None else Outcome(None, failure)
        wanted = described if self.users is None else sorted(self.users)
        found = dict(answered(wanted, described, reply.node))
        reply.take(ALL, response.error_code, response.error_message, found)


def _mechanism_name(type_id: int) -> str:
    found = scram_math.BY_TYPE_ID.get(type_id)
    return found.name if found is not None else f"UNKNOWN({type_id})"


class AlterScram(AdminCall[str, None, "AlterUserScramCredentialsResponse"]):
    """User -> changes, all of them or none. KRaft controllers take one change per user and request."""

    name = "alter SCRAM credentials"
    lookup = ControllerLookup()

    changes: Mapping[str, Sequence[ScramChange]]

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest

        versions.require(AlterUserScramCredentialsRequest, 0, "changing SCRAM credentials", IN_ZOOKEEPER)
        request = AlterUserScramCredentialsRequest()
        for change in (change for key in keys for change in self.changes[key]):
            kind = scram_math.mechanism(change.mechanism)
            if isinstance(change, ScramDeletion):
                deletion = request.ScramCredentialDeletion(name=change.user, mechanism=kind.type_id)
                request.deletions.append(deletion)
                continue
            salt = change.salt if change.salt is not None else scram_math.new_salt()
            upsertion = request.ScramCredentialUpsertion(
                name=change.user,
                mechanism=kind.type_id,
                iterations=change.iterations,
                salt=salt,
                salted_password=scram_math.salted_password(kind, change.password, salt, change.iterations),
            )
            request.upsertions.append(upsertion)
        return request

    def interpret(self, reply: Reply[str, None, AlterUserScramCredentialsResponse]) -> None:
        for item in reply.response.results:
            reply.settle(item.user, item.error_code, item.error_message, None)


def by_user(changes: Sequence[ScramChange]) -> dict[str, list[ScramChange]]:
    """User -> changes; InputError, before anything is sent, for what brokers would refuse."""
    users: dict[str, list[ScramChange]] = {}
    seen: set[tuple[str, str]] = set()
    for change in changes:
        if (change.user, change.mechanism) in seen:
            raise InputError(f"user {change.user}: {change.mechanism} is changed twice in one call")
        seen.add((change.user, change.mechanism))
        kind = scram_math.mechanism(change.mechanism)
        if not change.user:
            raise InputError("a SCRAM credential needs a user name")
        if isinstance(change, ScramUpsertion):
            if not change.password:
                raise InputError(f"user {change.user}: the password is empty")
            if not can_be_sent(change.password):
                raise InputError(f"user {change.user}: the password is not UTF-8 text")
            kind.check_iterations(change.iterations)
        users.setdefault(change.user, []).append(change)
    return users
