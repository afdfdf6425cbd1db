"""``kafka-scram``: SCRAM credentials of users, in ZooKeeper or through a broker (KIP-248, KIP-554).

In ZooKeeper they can be created before any broker runs, for example the brokers' own credentials. The command can
prompt for a password or read it from a file, because ``ps`` shows the command line. It never stores or prints it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, action_option, one_of, only_with, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.values import read_text
from kafka_tools.commands.options.zookeeper import open_configs, refuse_without_zookeeper, zookeeper_options
from kafka_tools.errors import InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.commands.configs.entities import Target
    from kafka_tools.commands.configs.places import Place
    from kafka_tools.output.rows import Rows

_WITHOUT_PASSWORD = re.compile(r"(?:iterations=-?[0-9]+,?)?")
"""The form of --add's brackets if the password comes from a prompt or a file."""


@click.command(name="kafka-scram", cls=Command)
@action_option(
    "--add",
    metavar="MECHANISM=[...],...",
    help="Credentials to store: SCRAM-SHA-256=[iterations=8192,password=...]. Leave out the password to be asked "
    "for it: SCRAM-SHA-512 or SCRAM-SHA-512=[iterations=8192].",
)
@action_option("--describe", is_flag=True, help="Show the mechanisms of users and their iterations.")
@action_option("--delete", metavar="MECHANISM,...", help="Delete the credentials for these mechanisms.")
@option(
    "--username",
    metavar="NAME",
    multiple=True,
    help="User name; --describe without it shows all users.",
)
@option(
    "--password-file",
    metavar="FILE",
    help="Read the password for --add from this file, ignoring a trailing newline; - reads standard input.",
)
@option("--dry-run", is_flag=True, help="Validate the change and show it without applying it (with --add or --delete).")
@zookeeper_options
@connection_options()
@output_options(
    {
        "describe": "scram",
        "add": "changed-scram",
        "delete": "changed-scram",
        "add dry_run": "config-changes",
        "delete dry_run": "config-changes",
    }
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Add, show and delete the SCRAM credentials of users."""
    from kafka_tools.commands.configs.entities import Entity
    from kafka_tools.commands.configs.places import show_plan

    action = one_of(context, "add", "describe", "delete")
    only_with(context, action, {"password_file": ["add"], "dry_run": ["add", "delete"]})
    if action != "describe" and not given["username"]:
        raise UsageError(f"--{action} needs --username")
    if given["zookeeper"] and connection.is_given:
        raise UsageError("--zookeeper and --bootstrap-server cannot be combined: give one of them")
    if not given["zookeeper"]:
        refuse_without_zookeeper(given)
    if not given["zookeeper"] and not connection.is_given:
        raise UsageError("--bootstrap-server or --zookeeper is required", hint="for example localhost:9092")
    changes = _changes(action, given)
    users: list[Target] = [(Entity("users", name),) for name in dict.fromkeys(given["username"])]
    with _place(connection, given) as place:
        if given["dry_run"]:
            return show_plan(place, users, changes, output_format)
        if changes:
            return _change(place, users, changes, output_format)
        return _show(place.credentials(users), users, output_format)


def _changes(action: str, given: dict[str, Any]) -> list[ConfigChange]:
    """The credentials to store or remove; empty for --describe."""
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.commands.configs.changes import parse_scram

    if action == "add":
        added = _added(given["add"], given["password_file"])
        for mechanism, value in added.items():
            parse_scram(mechanism, value)
        return [ConfigChange(mechanism, "set", value) for mechanism, value in added.items()]
    return [ConfigChange(mechanism, "delete") for mechanism in _deleted(given["delete"])] if action == "delete" else []


@contextmanager
def _place(connection: ConnectionOptions, given: dict[str, Any]) -> Iterator[Place]:
    """The place of the credentials (a broker or ZooKeeper), for the ``with`` block."""
    if given["zookeeper"]:
        from kafka_tools.commands.configs.zookeeper import ZooKeeperPlace

        with open_configs(given, connection.timeout_s, changing=not given["describe"]) as configs:
            yield ZooKeeperPlace(configs)
        return
    from kafka_tools.commands.configs.brokers import BrokerPlace

    with connection.admin() as admin:
        yield BrokerPlace(admin)


def _change(place: Place, users: list[Target], changes: list[ConfigChange], output_format: str | None) -> int:
    """Apply the changes, and print each changed user."""
    from kafka_tools.commands.configs.places import failures
    from kafka_tools.output.kafka import text as kafka_text

    ended = place.alter(users, changes)
    changed = [user for user in users if ended[user] is None]
    if output_format is None:
        for user in changed:
            running.emit(kafka_text.config_updated("users", running.shown(user[0].name or "")))
    results = {"set": "stored", "delete": "deleted"}
    rows = [
        {"user": user[0].name, "mechanism": change.name, "result": results[change.operation]}
        for user in changed
        for change in changes
    ]
    return running.show_rows("changed-scram", rows, output_format, None, failures(ended, changes))


def _show(result: Rows, users: Sequence[Target], output_format: str | None) -> int:
    from kafka_tools.output.kafka import text as kafka_text
    from kafka_tools.output.rows import ItemError

    found = {row["entity"]["user"] for row in result.rows}
    errors = list(result.errors)
    if not errors:
        names = [user[0].name or "" for user in users]
        errors = [
            ItemError(name, None, f"user '{name}' has no SCRAM credentials") for name in names if name not in found
        ]
    if output_format is None:
        for row in result.rows:
            running.emit(kafka_text.scram_line(running.shown(row["entity"]["user"]), running.shown(row["credentials"])))
    rows = [{"user": row["entity"]["user"], **each} for row in result.rows for each in row["credentials"]]
    return running.show_rows("scram", rows, output_format, None, errors)


def _added(text: str, password_file: str | None) -> dict[str, str]:
    """Mechanism -> ``iterations=N,password=...``, with the passwords that were not on the command line."""
    from kafka_tools.commands.configs.changes import parse_added, split_outside_brackets
    from kafka_tools.scram_math import MECHANISMS

    pairs = [part.strip() for part in split_outside_brackets(text, "--add")]
    given = parse_added(",".join(part if "=" in part else f"{part}=[]" for part in pairs), "--add")
    _check_mechanisms(given, "--add")
    without = [mechanism for mechanism, value in given.items() if "password=" not in value]
    for mechanism in without:
        # Check before the prompt: a password cannot correct other mistakes. The value may contain a misspelt password.
        if not _WITHOUT_PASSWORD.fullmatch(given[mechanism].strip()):
            raise UsageError(
                f"invalid credential of {mechanism}: expected [iterations=N,password=...] or [password=...]"
            )
    if password_file and not without:
        raise UsageError("--add contains a password already: leave out --password-file")
    if without:
        password = _read_password(password_file)
        for mechanism in without:
            iterations = given[mechanism].strip().rstrip(",")
            given[mechanism] = f"{iterations},password={password}" if iterations else f"password={password}"
    return {mechanism: given[mechanism] for mechanism in MECHANISMS if mechanism in given}


def _deleted(text: str) -> list[str]:
    from kafka_tools.commands.configs.changes import parse_deleted

    mechanisms = parse_deleted([text])
    _check_mechanisms(mechanisms, "--delete")
    return mechanisms


def _check_mechanisms(names: Any, place: str) -> None:
    from kafka_tools.scram_math import MECHANISMS
    from kafka_tools.texts.near_names import did_you_mean

    for name in names:
        if name not in MECHANISMS:
            raise UsageError(
                f"{place}: invalid SCRAM mechanism '{name[:60]}': expected {' or '.join(MECHANISMS)}",
                hint=did_you_mean([name], MECHANISMS),
            )


def _read_password(path: str | None) -> str:
    if path is not None:
        text = read_text(path, "password file")
        password = text.removesuffix("\n").removesuffix("\r")
        if not password:
            raise InputError(f"password file {path}: the file is empty")
        return password
    if not sys.stdin.isatty():
        raise UsageError(
            "cannot ask for the password: no terminal", hint="give --password-file FILE, or - for standard input"
        )
    password = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return password
