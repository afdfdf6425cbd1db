"""``kafka-delegation-tokens``: create, renew, expire and describe tokens (Kafka's DelegationTokenCommand).

A token's HMAC is a password. It is printed once, when the token is created. Kafka's tool also prints it when it
describes, renews or expires tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, action_option, one_of, only_with, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.values import read_text
from kafka_tools.errors import UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.calls.tokens import DelegationToken, Principal
    from kafka_tools.output.cells import Row


@click.command(name="kafka-delegation-tokens", cls=Command)
@action_option("--create", is_flag=True, help="Create a token for the caller, or for --owner-principal.")
@action_option("--renew", is_flag=True, help="Extend the lifetime of a token.")
@action_option("--expire", is_flag=True, help="Expire a token, immediately or after a given time.")
@action_option(
    "--describe",
    is_flag=True,
    help="Show the tokens of --owner-principal, or all tokens that the caller is allowed to see.",
)
@option("--owner-principal", metavar="TYPE:NAME", multiple=True, help="Owner of the token: User:alice.")
@option(
    "--renewer-principal",
    metavar="TYPE:NAME",
    multiple=True,
    help="Principal that is allowed to renew the token.",
)
@option(
    "--max-life-time-period",
    type=int,
    metavar="MS",
    help="Maximum lifetime in milliseconds; -1 is the brokers' maximum.",
)
@option(
    "--renew-time-period",
    type=int,
    metavar="MS",
    help="Time from now until the token expires; -1 is the brokers' default.",
)
@option(
    "--expiry-time-period",
    type=int,
    metavar="MS",
    help="Time from now until the token expires; -1 expires it immediately.",
)
@option("--hmac", metavar="HMAC", help="HMAC of the token; - (standard input) or @FILE keeps it off the command line.")
@connection_options(controllers=True)
@output_options(
    {
        "create": "delegation-tokens",
        "describe": "delegation-tokens",
        "renew": "changed-delegation-tokens",
        "expire": "changed-delegation-tokens",
    }
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Create, renew, expire and describe delegation tokens."""
    from kafka_tools.admin.calls.tokens import parse_hmac, parse_principal

    action = one_of(context, "create", "renew", "expire", "describe")
    allowed = {
        "owner_principal": ["create", "describe"],
        "renewer_principal": ["create"],
        "max_life_time_period": ["create"],
        "renew_time_period": ["renew"],
        "expiry_time_period": ["expire"],
        "hmac": ["renew", "expire"],
    }
    only_with(context, action, allowed)
    needed = {"create": ["max_life_time_period"], "renew": ["hmac", "renew_time_period"]}
    needed["expire"] = ["hmac", "expiry_time_period"]
    for name in needed.get(action, ()):
        if given[name] is None:
            raise UsageError(f"--{action} needs --{name.replace('_', '-')}")
    owners = [parse_principal(text.strip()) for text in given["owner_principal"]]
    renewers = [parse_principal(text.strip()) for text in given["renewer_principal"]]
    if action == "create":
        if len(owners) > 1:
            raise UsageError("invalid --owner-principal: expected one owner for a token")
        return _create(connection, owners, renewers, given["max_life_time_period"], output_format)
    if action == "describe":
        return _describe(connection, owners, output_format)
    hmac = parse_hmac(_hmac_text(given["hmac"]))
    return _prolong(connection, action, hmac, given[needed[action][1]], output_format)


def _create(
    connection: ConnectionOptions,
    owners: list[Principal],
    renewers: list[Principal],
    lifetime_ms: int,
    form: str | None,
) -> int:
    from kafka_tools.output.kafka import token_text

    connection.check()
    if form is None:
        running.emit(token_text.creating(running.shown([str(each) for each in renewers]), lifetime_ms))
    with connection.admin() as admin:
        owner = owners[0] if owners else None
        token = admin.create_delegation_token(renewers, owner=owner, max_lifetime_ms=lifetime_ms)
    row = _row(token) | {"hmac": token.hmac_text}
    return running.show_rows("delegation-tokens", [row], form, token_text.created)


def _describe(connection: ConnectionOptions, owners: list[Principal], form: str | None) -> int:
    from kafka_tools.output.kafka import token_text

    connection.check()
    if form is None:
        running.emit(token_text.describing(running.shown([str(each) for each in owners])))
    with connection.admin() as admin:
        tokens = admin.describe_delegation_tokens(owners or None)
    rows = [_row(token) for token in sorted(tokens, key=lambda token: (token.issued_ms, token.token_id))]
    return running.show_rows("delegation-tokens", rows, form, token_text.described)


def _prolong(connection: ConnectionOptions, action: str, hmac: bytes, period_ms: int, form: str | None) -> int:
    from kafka_tools.output.kafka import token_text

    connection.check()
    if form is None:
        running.emit(token_text.prolonging(action, period_ms))
    with connection.admin() as admin:
        call = admin.renew_delegation_token if action == "renew" else admin.expire_delegation_token
        expires_ms = call(hmac, period_ms)
    row = {"result": "renewed" if action == "renew" else "expired", "expires_ms": expires_ms}
    text = token_text.prolonged(action, expires_ms)
    return running.show_rows("changed-delegation-tokens", [row], form, lambda _: text)


def _hmac_text(text: str) -> str:
    """The HMAC itself, or the content of ``-`` (standard input) or ``@FILE``."""
    if text == "-":
        return read_text("-", "HMAC").strip()
    return read_text(text[1:], "HMAC file").strip() if text.startswith("@") else text.strip()


def _row(token: DelegationToken) -> Row:
    from kafka_tools.shown_text import MASK

    return {
        "token_id": token.token_id,
        "hmac": MASK,
        "owner": str(token.owner),
        "requester": None if token.requester is None else str(token.requester),
        "renewers": [str(each) for each in token.renewers],
        "issued_ms": token.issued_ms,
        "expires_ms": token.expires_ms,
        "max_ms": token.max_ms,
    }
