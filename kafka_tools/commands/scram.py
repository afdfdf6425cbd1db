"""``kafka-scram``: SCRAM credentials of users, in ZooKeeper or through a broker (KIP-248, KIP-554).

In ZooKeeper they can be made before any broker runs, which is how the brokers' own credentials begin. A password need
not stand on the command line, where ``ps`` shows it: it is asked for, or read from a file. It is never stored or shown.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools.commands import _run
from kafka_tools.commands._options import (
    Command,
    Connection,
    connection_options,
    one_of,
    only_with,
    option,
    output_options,
    read_text,
)
from kafka_tools.commands._zookeeper import open_configs, zookeeper_options
from kafka_tools.errors import InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.commands._config_entities import Entity
    from kafka_tools.output.rows import Rows


@click.command(name="kafka-scram", cls=Command)
@option(
    "--add",
    metavar="MECHANISM=[...],...",
    section="Actions",
    help="Credentials to store: SCRAM-SHA-256=[iterations=8192,password=...], or without a password, which is then "
    "asked for: SCRAM-SHA-512, SCRAM-SHA-512=[iterations=8192].",
)
@option("--describe", is_flag=True, section="Actions", help="Show which mechanisms users have, and the iterations.")
@option("--delete", metavar="MECHANISM,...", section="Actions", help="Mechanisms whose credentials to remove.")
@option("--username", metavar="NAME", help="The user; --describe without it shows all.")
@option(
    "--password-file",
    metavar="FILE",
    help="Where the password of --add is, but for a line end behind it; - reads standard input.",
)
@zookeeper_options
@connection_options()
@output_options()
@click.pass_context
def command(context: click.Context, /, connection: Connection, output_format: str | None, **given: Any) -> int:
    """Add, show and delete the SCRAM credentials of users."""
    from kafka_tools.commands._config_entities import Entity
    from kafka_tools.output import kafka_text

    action = one_of(context, "add", "describe", "delete")
    only_with(context, action, {"password_file": ["add"]})
    if action != "describe" and not given["username"]:
        raise UsageError(f"--{action} needs --username")
    if given["zookeeper"] and connection.is_given:
        raise UsageError("--zookeeper and --bootstrap-server exclude each other: give one of them")
    if not given["zookeeper"] and not connection.is_given:
        raise UsageError("--bootstrap-server or --zookeeper is required", hint="for example localhost:9092")
    added = _added(given["add"], given["password_file"]) if action == "add" else {}
    deleted = _deleted(given["delete"]) if action == "delete" else []
    user = Entity("users", given["username"])
    result = _run_on(connection, given, user, added, deleted)
    if output_format is None and action != "describe":
        _run.emit(kafka_text.config_updated("users", given["username"]))
        return 0
    return _show(result, user, output_format)


def main() -> NoReturn:
    """Entry of the ``kafka-scram`` console script."""
    _run.main(command, "kafka-scram")


def _run_on(
    connection: Connection, given: dict[str, Any], user: Entity, added: dict[str, str], deleted: list[str]
) -> Rows:
    """Change the user's credentials, if there is anything to change; the credentials there are then."""
    if given["zookeeper"]:
        from kafka_tools.commands import _config_zookeeper

        places = given["zookeeper"], given["zk_tls_config_file"], given["zk_digest_file"]
        with open_configs(*places, connection.timeout_s) as configs:
            if added or deleted:
                _config_zookeeper.apply(configs, [user], added, deleted)
            return _config_zookeeper.describe(configs, [user])
    from kafka_tools.commands import _config_alter, _config_rows

    with connection.admin() as admin:
        if added or deleted:
            _config_alter.apply(admin, [user], added, deleted)
        return _config_rows.credentials(admin, user.name)


def _show(result: Rows, user: Entity, output_format: str | None) -> int:
    from kafka_tools.output import kafka_text
    from kafka_tools.output.rows import ItemError, Rows, show

    users = [row for row in result.rows if row["kind"] == "scram"]
    errors = list(result.errors)
    if user.name and not users and not errors:
        errors.append(ItemError(user.name, None, f"user '{user.name}' has no SCRAM credentials"))
    if output_format is None:
        for row in users:
            _run.emit(kafka_text.scram_line(row["entity"]["user"], row["credentials"]))
    else:
        rows = [{"user": row["entity"]["user"], **each} for row in users for each in row["credentials"]]
        show(Rows("scram", ("user", "mechanism", "iterations"), rows, errors), output_format)
    return _run.report_items(errors)


def _added(text: str, password_file: str | None) -> dict[str, str]:
    """Mechanism -> ``iterations=N,password=...``, with the passwords that were not on the command line."""
    from kafka_tools.commands._config_changes import SCRAM_MECHANISMS, parse_added, split_outside_brackets

    pairs = [part.strip() for part in split_outside_brackets(text, "--add")]
    given = parse_added(",".join(part if "=" in part else f"{part}=[]" for part in pairs), "--add")
    _check_mechanisms(given, "--add")
    without = [mechanism for mechanism, value in given.items() if "password=" not in value]
    if password_file and not without:
        raise UsageError("--add holds a password already: --password-file has no use")
    if without:
        password = _read_password(password_file)
        for mechanism in without:
            iterations = given[mechanism].strip().rstrip(",")
            given[mechanism] = f"{iterations},password={password}" if iterations else f"password={password}"
    return {mechanism: given[mechanism] for mechanism in SCRAM_MECHANISMS if mechanism in given}


def _deleted(text: str) -> list[str]:
    from kafka_tools.commands._config_changes import parse_deleted

    mechanisms = parse_deleted([text])
    _check_mechanisms(mechanisms, "--delete")
    return mechanisms


def _check_mechanisms(names: Any, place: str) -> None:
    from kafka_tools.commands._config_changes import SCRAM_MECHANISMS

    for name in names:
        if name not in SCRAM_MECHANISMS:
            raise UsageError(
                f"{place}: '{name[:60]}' is no SCRAM mechanism: {' or '.join(SCRAM_MECHANISMS)} is expected"
            )


def _read_password(path: str | None) -> str:
    if path is not None:
        text = read_text(path, "password file")
        password = text.removesuffix("\n").removesuffix("\r")
        if not password:
            raise InputError(f"password file {path}: it is empty")
        return password
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to ask for the password on", hint="give --password-file FILE, or - for standard input"
        )
    password = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return password
