"""``kafka-verifiable-consumer``: reads a topic in a group, and prints a JSON line for everything that happens.

Options, events and their members follow ``org.apache.kafka.tools.VerifiableConsumer`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import client_connection_options
from kafka_tools.commands.options.renamed import newer_of

if TYPE_CHECKING:
    from kafka_tools.net.config import ClientConfig

PROGRAM = "kafka-verifiable-consumer"
reading_option = section("What to read")
group_option = section("Group")
INT32_MAX = 2**31 - 1
RANGE_ASSIGNOR = "org.apache.kafka.clients.consumer.RangeAssignor"


@click.command(PROGRAM, cls=Command)
@reading_option("--topic", required=True, metavar="TOPIC", help="Topic to read.")
@reading_option(
    "--max-messages",
    type=click.IntRange(-(2**31), INT32_MAX),
    default=-1,
    metavar="N",
    help="Number of records to read; -1 means until the process is stopped.  [default: -1]",
)
@reading_option(
    "--reset-policy",
    type=click.Choice(["earliest", "latest", "none"]),
    default="earliest",
    help="Start position without a committed offset.  [default: earliest]",
)
@reading_option("--verbose", is_flag=True, help="Print an event for each record, too.")
@reading_option(
    "--enable-autocommit", is_flag=True, help="Commit offsets at intervals, instead of after each batch of records."
)
@reading_option(
    "--close-timeout",
    type=click.IntRange(0, INT32_MAX),
    default=30_000,
    metavar="MS",
    help="Maximum time to leave the group at the end.  [default: 30000]",
)
@group_option("--group-id", required=True, metavar="GROUP", help="Group to join.")
@group_option("--group-instance-id", metavar="ID", help="Id of a static member.")
@group_option(
    "--group-protocol",
    type=click.Choice(["classic", "consumer"], case_sensitive=False),
    default="classic",
    help="Protocol of the group.  [default: classic]",
)
@group_option(
    "--group-remote-assignor", metavar="NAME", help="Assignor of the broker; only with --group-protocol consumer."
)
@group_option(
    "--session-timeout",
    type=click.IntRange(0, INT32_MAX),
    metavar="MS",
    help="Session timeout of the member; not with --group-protocol consumer.",
)
@group_option(
    "--assignment-strategy",
    metavar="CLASS",
    default=RANGE_ASSIGNOR,
    help="Assignor of the members; only with --group-protocol classic.  [default: " + RANGE_ASSIGNOR + "]",
)
@client_connection_options("consumer", "--broker-list", old_config="--consumer.config")
def command(**options: Any) -> int:
    """Read a topic in a group, and print a JSON line for everything that happens.

    After Ctrl-C or SIGTERM, the consumer leaves its group before the command ends.
    """
    config = _config(options)

    from kafka_tools.commands.verifiable.reading import VerifiedReads

    return VerifiedReads(options, config).run()


def _config(options: Mapping[str, Any]) -> ClientConfig:
    from kafka_tools.commands.console.connection import client_config

    file = newer_of(
        options["command_config"],
        options["old_config"],
        together="Options --consumer.config and --command-config are mutually exclusive.",
        warning="Option --consumer.config has been deprecated and will be removed in a future version. "
        "Use --command-config instead.",
    )
    given = {
        "group.id": options["group_id"],
        "group.protocol": options["group_protocol"].lower(),
        "group.instance.id": options["group_instance_id"],
        "session.timeout.ms": options["session_timeout"],
        "enable.auto.commit": str(options["enable_autocommit"]).lower(),
        "auto.offset.reset": options["reset_policy"],
    }
    if given["group.protocol"] == "classic":
        given["partition.assignment.strategy"] = options["assignment_strategy"]
    else:
        given["group.remote.assignor"] = options["group_remote_assignor"]
    chosen = {name: str(value) for name, value in given.items() if value is not None}
    return client_config(options["bootstrap_server"], file, dict(options["command_property"]), chosen, {})
