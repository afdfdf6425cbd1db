"""Commands of scripts: users, logins and delegation tokens. A function's name is the verb, with ``-`` for ``_``."""

from __future__ import annotations

import base64
from typing import Any

from kafka_tools.errors import AuthenticationFailed
from kafka_tools.net.sasl.scram import ScramClient
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kafka_tools.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafka_tools.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafka_tools.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_tools.scram_math import mechanism as scram_mechanism
from kafka_tools.scram_math import salted_password
from tests.broker_embedded.stories.broker import Broker, duration, error, seconds

COMMANDS = ("user", "delete_user", "login", "token", "renew_token", "expire_token", "tokens", "whoami")

_SALT, _ITERATIONS = b"a salt", 4096
_MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}


def user(story: Broker, name: str, password: str, mechanism: str = "SCRAM-SHA-256") -> None:
    """``user alice password=x mechanism=SCRAM-SHA-512``: make its credential, or replace it."""
    Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    made = Upsertion(name=name, mechanism=_MECHANISMS[mechanism], iterations=_ITERATIONS, salt=_SALT)
    made.salted_password = salted_password(scram_mechanism(mechanism), password, _SALT, _ITERATIONS)
    request = AlterUserScramCredentialsRequest(upsertions=[made])
    story.ask("client", request, lambda found: error(found.results[0].error_code))


def delete_user(story: Broker, name: str, mechanism: str = "SCRAM-SHA-256") -> None:
    """``delete-user alice``"""
    Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
    request = AlterUserScramCredentialsRequest(deletions=[Deletion(name=name, mechanism=_MECHANISMS[mechanism])])
    story.ask("client", request, lambda found: error(found.results[0].error_code))


def login(
    story: Broker,
    client: str,
    user: str = "",
    password: str = "",
    token: str | None = None,
    mechanism: str = "SCRAM-SHA-256",
    again: str = "",
) -> None:
    """``login client=c user=alice password=x``, ``login client=c token=T``; ``again=yes`` on the same connection."""
    if token is not None:
        user, hmac = story.kept[token]
        password = base64.b64encode(hmac).decode()
    who = story.client(client)
    connection = story.connected(who, login=not again)
    found = story.answer(client, SaslHandshakeRequest(mechanism=mechanism), 1)
    if found.error_code:
        story.say(client, error(found.error_code))
        return
    scram = ScramClient(mechanism, user, password, token_auth=token is not None)
    message = scram.step(None)
    while message is not None:
        found = story.answer(client, SaslAuthenticateRequest(auth_bytes=message), 2)
        if found.error_code:
            story.say(client, error(found.error_code))
            return
        try:
            message = scram.step(found.auth_bytes)
        except AuthenticationFailed as failure:
            story.say(client, str(failure))
            return
    who.principal = connection.principal
    until = f" for {duration(found.session_lifetime_ms / 1000)}" if found.session_lifetime_ms else ""
    story.say(client, f"logged in as {connection.principal}{until}")


def whoami(story: Broker, client: str) -> None:
    """``whoami client=c``: ask something, and tell as whom."""
    from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest

    story.ask(client, DescribeClusterRequest(), lambda found: f"served as {story.client(client).principal}")


def token(story: Broker, name: str, client: str, renewer: str | None = None, lifetime: str | None = None) -> None:
    """``token T client=c renewer=bob lifetime=1d``: ask for a token."""
    request = CreateDelegationTokenRequest(max_lifetime_ms=-1 if lifetime is None else round(seconds(lifetime) * 1000))
    if renewer is not None:
        Renewer = CreateDelegationTokenRequest.CreatableRenewers
        request.renewers = [Renewer(principal_type="User", principal_name=renewer)]

    def show(found: Any) -> str:
        if found.error_code:
            return error(found.error_code)
        story.kept[name] = (found.token_id, found.hmac)
        story.names[found.token_id] = name
        times = _until(story, found.expiry_timestamp_ms, found.max_timestamp_ms)
        return f"{name} is of {found.principal_type}:{found.principal_name}, {times}"

    story.ask(client, request, show)


def renew_token(story: Broker, name: str, client: str, time: str = "") -> None:
    """``renew-token T client=c time=1d``"""
    period_ms = round(seconds(time) * 1000) if time else -1
    request = RenewDelegationTokenRequest(hmac=story.kept[name][1], renew_period_ms=period_ms)
    story.ask(client, request, lambda found: _ends(story, name, found))


def expire_token(story: Broker, name: str, client: str, time: str = "") -> None:
    """``expire-token T client=c``: at once, or in some time."""
    period_ms = round(seconds(time) * 1000) if time else -1
    request = ExpireDelegationTokenRequest(hmac=story.kept[name][1], expiry_time_period_ms=period_ms)
    story.ask(client, request, lambda found: _ends(story, name, found))


def tokens(story: Broker, client: str) -> None:
    """``tokens client=c``: those that it may see."""
    found = story.answer(client, DescribeDelegationTokenRequest(owners=None))
    if found.error_code:
        story.say(client, error(found.error_code))
        return
    seen = sorted(story.name(entry.token_id) for entry in found.tokens)
    story.say(client, f"sees {', '.join(seen)}" if seen else "sees no token")


def _ends(story: Broker, name: str, found: Any) -> str:
    if found.error_code:
        return error(found.error_code)
    left_s = (found.expiry_timestamp_ms - story.disk.clock.now_ms()) / 1000
    return f"{name} ends in {duration(left_s)}" if left_s > 0 else f"{name} has ended"


def _until(story: Broker, expiry_ms: int, max_ms: int) -> str:
    now_ms = story.disk.clock.now_ms()
    return f"ends in {duration((expiry_ms - now_ms) / 1000)}, at the latest in {duration((max_ms - now_ms) / 1000)}"
