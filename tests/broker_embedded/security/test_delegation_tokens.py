"""Delegation tokens of the bundled broker: who may do what with them, their times, and logging in with one."""

from __future__ import annotations

import base64
import hashlib
import hmac as python_hmac
from pathlib import Path
from typing import Any

import pytest

from kafka_tools import scram_math
from kafka_tools.broker_embedded.call import CloseConnection
from kafka_tools.broker_embedded.configs.endpoints import Endpoint
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.security.acls import ALLOW, LITERAL, AclEntry
from kafka_tools.net.sasl.scram import ScramClient
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafka_tools.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafka_tools.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker_embedded.disk_broker import DiskBroker, listener_security

HOUR_MS, DAY_MS = 3_600_000, 24 * 3_600_000
PROPERTIES = {
    "delegation.token.secret.key": "a secret",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
}
NEVER = -1


class Asked:
    """A broker with tokens, asked by users over connections that logged in."""

    def __init__(self, path: Path, **properties: str | None) -> None:
        changed = {key.replace("_", "."): value for key, value in properties.items()}
        values = {key: value for key, value in {**PROPERTIES, **changed}.items() if value is not None}
        self.broker = DiskBroker(path, values)

    @property
    def now_ms(self) -> int:
        return self.broker.clock.now_ms()

    def call(self, request: Any, version: int, user: str = "alice", protocol: str = "SASL_PLAINTEXT") -> Any:
        connection = Connection("c-2", protocol, "10.0.0.1")
        connection.principal, connection.protocol = f"User:{user}", protocol
        return self.broker.send(request, version, connection).response

    def create(self, user: str = "alice", *renewers: str, max_ms: int = -1, owner: str | None = None) -> Any:
        Renewer = CreateDelegationTokenRequest.CreatableRenewers
        request = CreateDelegationTokenRequest(max_lifetime_ms=max_ms)
        request.renewers = [Renewer(principal_type="User", principal_name=name) for name in renewers]
        if owner is not None:
            request.owner_principal_type, request.owner_principal_name = "User", owner
        return self.call(request, 3, user)

    def renew(self, token: Any, period_ms: int = -1, user: str = "alice") -> Any:
        return self.call(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=period_ms), 2, user)

    def expire(self, token: Any, period_ms: int = -1, user: str = "alice") -> Any:
        return self.call(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=period_ms), 2, user)

    def describe(self, user: str = "alice", owners: list[str] | None = None) -> Any:
        Owner = DescribeDelegationTokenRequest.Owner
        asked = None if owners is None else [Owner(principal_type="User", principal_name=name) for name in owners]
        return self.call(DescribeDelegationTokenRequest(owners=asked), 3, user)

    def seen(self, user: str = "alice", owners: list[str] | None = None) -> list[str]:
        response = self.describe(user, owners)
        assert response.error_code == codes.NONE
        return sorted(token.token_id for token in response.tokens)

    def allow(self, user: str, operation: str, kind: str, name: str) -> None:
        numbers = AclResourceType.numbers[kind], AclOperation.numbers[operation]
        entry = AclEntry(numbers[0], name, LITERAL, f"User:{user}", "*", numbers[1], ALLOW)
        assert self.broker.core.acls.create([entry]) == [None]


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


@pytest.mark.req("DT-3")
def test_a_token_says_who_and_how_long(asked: Asked) -> None:
    token = asked.create("alice", "bob")
    assert token.error_code == codes.NONE
    assert (token.principal_type, token.principal_name) == ("User", "alice")
    assert (token.token_requester_principal_type, token.token_requester_principal_name) == ("User", "alice")
    assert token.issue_timestamp_ms == asked.now_ms
    assert token.expiry_timestamp_ms == asked.now_ms + DAY_MS
    assert token.max_timestamp_ms == asked.now_ms + 7 * DAY_MS
    assert len(base64.urlsafe_b64decode(token.token_id + "==")) == 16
    assert token.hmac == python_hmac.new(b"a secret", token.token_id.encode(), hashlib.sha512).digest()
    (found,) = asked.describe().tokens
    assert (found.token_id, found.hmac) == (token.token_id, token.hmac)
    assert [renewer.principal_name for renewer in found.renewers] == ["bob"]
    assert (found.issue_timestamp, found.expiry_timestamp, found.max_timestamp) == (
        token.issue_timestamp_ms, token.expiry_timestamp_ms, token.max_timestamp_ms,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked_ms", "max_ms", "expires_ms"),
    [(-1, 7 * DAY_MS, DAY_MS), (0, 7 * DAY_MS, DAY_MS), (HOUR_MS, HOUR_MS, HOUR_MS), (2**63 - 1, 7 * DAY_MS, DAY_MS)],
)
def test_the_lifetime_is_the_shorter_of_what_is_asked_and_allowed(
    asked: Asked, asked_ms: int, max_ms: int, expires_ms: int
) -> None:
    token = asked.create(max_ms=asked_ms)
    assert token.max_timestamp_ms - asked.now_ms == max_ms
    assert token.expiry_timestamp_ms - asked.now_ms == expires_ms


def test_limits_without_end_do_not_overflow(tmp_path: Path) -> None:
    asked = Asked(tmp_path, delegation_token_max_lifetime_ms=str(2**63 - 1))
    assert asked.create().max_timestamp_ms == 2**63 - 1


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_is_served(asked: Asked, version: int) -> None:
    token = asked.call(CreateDelegationTokenRequest(max_lifetime_ms=HOUR_MS), version)
    (found,) = asked.call(DescribeDelegationTokenRequest(owners=None), version).tokens
    assert (found.token_id, found.hmac) == (token.token_id, token.hmac)
    assert found.token_requester_principal_name == ("alice" if version == 3 else "")
    older = min(version, 2)
    assert asked.call(RenewDelegationTokenRequest(hmac=token.hmac), older).error_code == codes.NONE
    assert asked.call(ExpireDelegationTokenRequest(hmac=token.hmac), older).expiry_timestamp_ms >= asked.now_ms


def test_tokens_survive_a_restart_and_a_crash(asked: Asked) -> None:
    token = asked.create("alice", "bob")
    asked.broker.restart(kill=True)
    assert asked.seen("bob") == [token.token_id]
    assert asked.renew(token, user="bob").error_code == codes.NONE
    asked.expire(token)
    asked.broker.restart()
    assert asked.seen("bob") == []


def test_the_secret_is_not_on_the_disk(asked: Asked, tmp_path: Path) -> None:
    token = asked.create()
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert token.token_id.encode() in kept
    assert token.hmac not in kept and b"a secret" not in kept


@pytest.mark.req("DT-4")
def test_renewing_goes_up_to_the_maximum(asked: Asked) -> None:
    token = asked.create("alice", "bob", max_ms=2 * DAY_MS)
    assert asked.renew(token, HOUR_MS).expiry_timestamp_ms == asked.now_ms + HOUR_MS
    assert asked.renew(token, user="bob").expiry_timestamp_ms == asked.now_ms + DAY_MS
    asked.broker.clock.advance(20 * 3600)
    asked.renew(token)
    asked.broker.clock.advance(20 * 3600)
    assert asked.renew(token, 9 * DAY_MS).expiry_timestamp_ms == token.max_timestamp_ms
    (found,) = asked.describe().tokens
    assert found.expiry_timestamp == token.max_timestamp_ms


@pytest.mark.req("DT-5", "DT-13")
def test_expiring_is_at_once_or_in_time(asked: Asked) -> None:
    token = asked.create("alice", "bob")
    assert asked.expire(token, HOUR_MS, user="bob").expiry_timestamp_ms == asked.now_ms + HOUR_MS
    assert asked.seen() == [token.token_id]
    assert asked.expire(token, 99 * DAY_MS).expiry_timestamp_ms == token.max_timestamp_ms
    assert asked.expire(token).expiry_timestamp_ms == asked.now_ms
    assert asked.seen() == []
    assert asked.expire(token).error_code == codes.DELEGATION_TOKEN_NOT_FOUND


@pytest.mark.req("DT-6", "DT-7")
def test_who_sees_which_tokens(asked: Asked) -> None:
    alices, shared = asked.create("alice").token_id, asked.create("alice", "bob").token_id
    bobs = asked.create("bob").token_id
    both = sorted([alices, shared])
    assert asked.seen("alice") == both
    assert asked.seen("bob") == sorted([shared, bobs])
    assert asked.seen("bob", ["alice"]) == [shared]
    assert asked.seen("admin") == sorted([alices, shared, bobs])
    assert asked.seen("alice", []) == [], "an empty list of owners is not the same as none"
    assert asked.seen("carol") == []
    asked.allow("carol", "DESCRIBE", "DELEGATION_TOKEN", alices)
    assert asked.seen("carol") == [alices]
    asked.allow("carol", "DESCRIBE_TOKENS", "USER", "User:alice")
    assert asked.seen("carol") == both
    assert asked.seen("carol", ["bob"]) == [shared]


def test_a_token_for_another_needs_leave(asked: Asked) -> None:
    refused = asked.create("carol", owner="alice")
    assert refused.error_code == codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert refused.expiry_timestamp_ms == NEVER and refused.hmac == b"" and refused.token_id == ""
    asked.allow("carol", "CREATE_TOKENS", "USER", "User:alice")
    token = asked.create("carol", owner="alice")
    assert (token.error_code, token.principal_name, token.token_requester_principal_name) == (0, "alice", "carol")
    assert asked.seen("alice") == [token.token_id]
    assert asked.seen("carol") == [token.token_id], "who asked for it sees it"
    assert asked.create("alice", owner="alice").error_code == codes.NONE


def test_who_asked_for_a_token_of_another_sees_it_and_does_not_renew_it(asked: Asked) -> None:
    asked.allow("bob", "CREATE_TOKENS", "USER", "User:alice")
    token = asked.create("bob", owner="alice")
    assert token.error_code == codes.NONE
    assert asked.seen("bob") == asked.seen("bob", ["bob"]) == asked.seen("alice", ["bob"]) == [token.token_id]
    assert asked.renew(token, user="bob").error_code == codes.DELEGATION_TOKEN_OWNER_MISMATCH
    assert asked.expire(token, user="bob").error_code == codes.DELEGATION_TOKEN_OWNER_MISMATCH
    assert asked.renew(token, user="alice").error_code == codes.NONE


@pytest.mark.req("DT-9", "DT-10")
def test_what_is_refused(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    token = asked.create("alice")
    other = RenewDelegationTokenRequest(hmac=b"x" * 64)
    assert asked.call(other, 2).error_code == codes.DELEGATION_TOKEN_NOT_FOUND
    assert asked.renew(token, user="bob").error_code == codes.DELEGATION_TOKEN_OWNER_MISMATCH
    assert asked.expire(token, user="bob").error_code == codes.DELEGATION_TOKEN_OWNER_MISMATCH
    Renewer = CreateDelegationTokenRequest.CreatableRenewers
    group = CreateDelegationTokenRequest(renewers=[Renewer(principal_type="Group", principal_name="g")])
    assert asked.call(group, 3).error_code == codes.INVALID_PRINCIPAL_TYPE
    asked.broker.clock.advance(DAY_MS / 1000 + 1)
    assert asked.renew(token).error_code == codes.DELEGATION_TOKEN_EXPIRED
    assert asked.expire(token, HOUR_MS).error_code == codes.DELEGATION_TOKEN_EXPIRED
    assert asked.expire(token).error_code == codes.NONE, "what has ended may be removed"


@pytest.mark.req("DT-9", "DT-10")
def test_without_a_secret_key_there_are_no_tokens(tmp_path: Path) -> None:
    asked = Asked(tmp_path, delegation_token_secret_key=None)
    some = RenewDelegationTokenRequest(hmac=b"x")
    for response in (asked.create(), asked.renew(some), asked.expire(some), asked.describe()):
        assert response.error_code == codes.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.req("DT-9")
@pytest.mark.parametrize(
    ("protocol", "user", "allowed"),
    [
        ("PLAINTEXT", "alice", False), ("SSL", "ANONYMOUS", False), ("SSL", "CN=alice", True),
        ("SASL_PLAINTEXT", "alice", True), ("SASL_SSL", "alice", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "request_of",
    [CreateDelegationTokenRequest, RenewDelegationTokenRequest, ExpireDelegationTokenRequest,
     DescribeDelegationTokenRequest],
)  # fmt: skip
def test_who_has_no_name_has_no_tokens(asked: Asked, request_of: Any, protocol: str, user: str, allowed: bool) -> None:
    response = asked.call(request_of(), 1, user, protocol)
    assert (response.error_code != codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED) == allowed


def test_ended_tokens_are_removed_in_time(asked: Asked) -> None:
    token, long_lived = asked.create(max_ms=HOUR_MS // 2), asked.create()
    asked.broker.advance(3601)
    assert asked.seen() == [long_lived.token_id]
    assert asked.renew(token).error_code == codes.DELEGATION_TOKEN_NOT_FOUND
    for _ in range(25):
        asked.broker.advance(3600)
    assert asked.seen() == []


# Logging in


def log_in(asked: Asked, token_id: str, password: str, mechanism: str = "SCRAM-SHA-256") -> Any:
    """The last answer of a login as the token on the broker's own connection, which is a new one."""
    broker = asked.broker
    security = listener_security(broker.core, Endpoint("PLAINTEXT", "SASL_PLAINTEXT", "", 0))
    broker.connection = Connection("c-1", "PLAINTEXT", "127.0.0.1")
    broker.connection.protocol = "SASL_PLAINTEXT"
    broker.connection.login = security.login()
    return log_in_again(broker, token_id, password, mechanism)


def log_in_again(broker: DiskBroker, user: str, password: str, mechanism: str, *, token_auth: bool = True) -> Any:
    assert broker.call(SaslHandshakeRequest(mechanism=mechanism), 1).error_code == codes.NONE
    client = ScramClient(mechanism, user, password, token_auth=token_auth)
    message = client.step(None)
    while True:
        response = broker.call(SaslAuthenticateRequest(auth_bytes=message), 2)
        message = None if response.error_code else client.step(response.auth_bytes)
        if message is None:
            return response


def password_of(token: Any) -> str:
    return base64.b64encode(token.hmac).decode()


@pytest.mark.req("DT-11", "DT-12", "SC-22")
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_who_logs_in_with_a_token_is_its_owner_until_it_ends(asked: Asked, mechanism: str) -> None:
    token = asked.create("alice", max_ms=HOUR_MS)
    response = log_in(asked, token.token_id, password_of(token), mechanism)
    assert (response.error_code, response.session_lifetime_ms) == (codes.NONE, HOUR_MS)
    broker = asked.broker
    assert broker.connection.principal == "User:alice"
    for request in (CreateDelegationTokenRequest(), DescribeDelegationTokenRequest()):
        assert broker.call(request, 2).error_code == codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    broker.clock.advance(HOUR_MS / 1000)
    with pytest.raises(CloseConnection, match="the login expired"):
        broker.call(DescribeClusterRequest(), 0)


def test_a_renewed_token_prolongs_the_session_by_another_login(asked: Asked) -> None:
    token = asked.create("alice")
    log_in(asked, token.token_id, password_of(token))
    asked.broker.clock.advance(3600)
    asked.renew(token)
    response = log_in_again(asked.broker, token.token_id, password_of(token), "SCRAM-SHA-256")
    assert (response.error_code, response.session_lifetime_ms) == (codes.NONE, DAY_MS)


def test_a_login_with_a_password_after_one_with_a_token_does_not_end_with_the_token(asked: Asked) -> None:
    kind = scram_math.SHA_256
    salted = scram_math.salted_password(kind, "secret", b"salt", 4096)
    Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    credential = Upsertion(name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=salted)
    asked.call(AlterUserScramCredentialsRequest(upsertions=[credential]), 0, "admin")
    token = asked.create("alice", max_ms=HOUR_MS)
    log_in(asked, token.token_id, password_of(token))
    again = log_in_again(asked.broker, "alice", "secret", "SCRAM-SHA-256", token_auth=False)
    assert (again.error_code, again.session_lifetime_ms) == (codes.NONE, 0)
    asked.broker.clock.advance(2 * HOUR_MS / 1000)
    assert asked.broker.call(DescribeClusterRequest(), 0).error_code == codes.NONE


def test_wrong_unknown_and_ended_tokens_are_refused_alike(asked: Asked) -> None:
    token = asked.create("alice", max_ms=HOUR_MS)
    refused = log_in(asked, token.token_id, "wrong")
    assert refused.error_code == codes.SASL_AUTHENTICATION_FAILED and asked.broker.connection.close_after_reply
    unknown = log_in(asked, "nothing", "x")
    asked.broker.clock.advance(HOUR_MS / 1000 + 1)
    ended = log_in(asked, token.token_id, password_of(token))
    assert unknown.error_code == ended.error_code == codes.SASL_AUTHENTICATION_FAILED
    assert unknown.error_message == ended.error_message
    assert asked.broker.connection.principal == "User:ANONYMOUS"


def test_another_secret_key_makes_old_tokens_useless(asked: Asked) -> None:
    token = asked.create("alice")
    asked.broker.properties["delegation.token.secret.key"] = "another"
    asked.broker.restart()
    assert log_in(asked, token.token_id, password_of(token)).error_code == codes.SASL_AUTHENTICATION_FAILED
    assert asked.renew(token).error_code == codes.DELEGATION_TOKEN_NOT_FOUND
