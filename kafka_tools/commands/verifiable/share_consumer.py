"""``kafka-verifiable-share-consumer``: reads a topic in a share group, and prints a JSON line for everything.

Options, events and their members follow ``org.apache.kafka.tools.VerifiableShareConsumer`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import client_connection_options

if TYPE_CHECKING:
    from kafka_tools.net.config import ClientConfig

PROGRAM = "kafka-verifiable-share-consumer"
reading_option = section("What to read")
acknowledging_option = section("Acknowledgements")
TYPES = ("accept", "release", "reject", "renew")


@click.command(PROGRAM, cls=Command)
@reading_option("--topic", required=True, metavar="TOPIC", help="Topic to read.")
@reading_option("--group-id", required=True, metavar="GROUP", help="Share group to join.")
@reading_option(
    "--max-messages",
    type=click.IntRange(-(2**31), 2**31 - 1),
    default=-1,
    metavar="N",
    help="Number of acknowledged records after which to stop; -1 means until the process is stopped.  [default: -1]",
)
@reading_option(
    "--offset-reset-strategy",
    type=click.Choice(["earliest", "latest"], case_sensitive=False),
    help="Set the group's config share.auto.offset.reset first.  [default: leave it as it is]",
)
@reading_option("--verbose", is_flag=True, help="Print an event for each record, too.")
@acknowledging_option(
    "--acknowledgement-mode",
    type=click.Choice(["auto", "sync", "async"], case_sensitive=False),
    default="auto",
    help="Mode of sending acknowledgements: with the next poll (auto), or after each poll, waiting for the answer "
    "(sync) or not (async).  [default: auto]",
)
@acknowledging_option(
    "--ack-pattern",
    metavar="TYPE,...",
    help="Types of acknowledgement, in turn by offset: accept, release, reject, renew. A renewed record gets the "
    "next type when it comes again. Only with sync or async.  [default: accept all]",
)
@client_connection_options("consumer")
def command(**options: Any) -> int:
    """Read a topic in a share group, and print a JSON line for everything that happens.

    After Ctrl-C or SIGTERM, the consumer leaves its group before the command ends.
    """
    pattern = _pattern(options["ack_pattern"])
    if pattern and options["acknowledgement_mode"].lower() == "auto":
        raise click.UsageError("--ack-pattern requires --acknowledgement-mode to be 'sync' or 'async', not 'auto'")
    if pattern and set(pattern) == {"renew"}:
        raise click.UsageError(
            "--ack-pattern must contain at least one non-RENEW type; a pattern of only 'renew' would re-deliver every "
            "record indefinitely without ever resolving it"
        )
    config = _config(options, is_explicit=bool(pattern))

    from kafka_tools.commands.verifiable.share_reading import VerifiedShares

    return VerifiedShares(options, pattern, config).run()


def _pattern(text: str | None) -> list[str]:
    types = [word.strip().lower() for word in (text or "").split(",") if text]
    for each in types:
        if each not in TYPES:
            raise click.UsageError(f"invalid --ack-pattern '{text}': expected a list of {', '.join(TYPES)}")
    return types


def _config(options: Mapping[str, Any], *, is_explicit: bool) -> ClientConfig:
    from kafka_tools.commands.console.connection import client_config

    given = {"group.id": options["group_id"]}
    if is_explicit:
        given["share.acknowledgement.mode"] = "explicit"
    file, properties = options["command_config"], dict(options["command_property"])
    return client_config(options["bootstrap_server"], file, properties, given, {})
