"""``kafka-tools``: the root command over a table of commands.

Knows the name, the module and one line of help of every command and imports none of them until it is asked for:
root ``--help`` and completion of command names read the table. A test compares the table with the commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from kafka_tools.commands import running

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: dict[str, tuple[str, str]] = {
    "topics": ("kafka_tools.commands.topics.topics:command", "Create, list, describe, alter and delete topics."),
    "configs": (
        "kafka_tools.commands.configs.configs:command",
        "Change configs for topics, clients, users, brokers dynamically.",
    ),
    "scram": ("kafka_tools.commands.security.scram:command", "Add, show and delete the SCRAM credentials of users."),
    "acls": ("kafka_tools.commands.security.acls:command", "Add, remove and list access control entries."),
    "delegation-tokens": (
        "kafka_tools.commands.security.delegation_tokens:command",
        "Create, renew, expire and describe delegation tokens.",
    ),
    "consumer-groups": (
        "kafka_tools.commands.groups.consumer_groups:command",
        "List, describe and delete consumer groups, and reset their offsets.",
    ),
    "delete-records": (
        "kafka_tools.commands.partitions.delete_records:command",
        "Delete the records of partitions below an offset.",
    ),
    "dump-log": (
        "kafka_tools.commands.logs.dump_log:command",
        "Print the batches, records and index entries in a log directory's files.",
    ),
    "broker-api-versions": (
        "kafka_tools.commands.cluster.broker_api_versions:command",
        "Show the API versions that each broker supports.",
    ),
    "cluster": ("kafka_tools.commands.cluster.cluster:command", "Show a cluster's id and its endpoints."),
    "features": ("kafka_tools.commands.cluster.features:command", "Show and change the feature levels of a cluster."),
    "metadata-quorum": ("kafka_tools.commands.cluster.metadata_quorum:command", "Show and change the metadata quorum."),
    "client-metrics": (
        "kafka_tools.commands.cluster.client_metrics:command",
        "Show and change which metrics clients push.",
    ),
    "console-producer": (
        "kafka_tools.commands.console.producer:command",
        "Write the lines of standard input to a topic, one record each.",
    ),
    "console-consumer": ("kafka_tools.commands.console.consumer:command", "Print the records of topics."),
    "audit": (
        "kafka_tools.commands.logs.audit:command",
        "Audit whole log directories with Spark: what is broken, what is wasted, who writes what.",
    ),
    "broker": (
        "kafka_tools.commands.toolkit.broker:command",
        "Run the bundled broker: real segment logs on disk, groups, configs, quotas.",
    ),
    "tour": (
        "kafka_tools.commands.toolkit.tour:command",
        "Start the bundled broker, use every command on it, and clean up.",
    ),
    "completion": (
        "kafka_tools.commands.toolkit.completion:command",
        "Print the completion script for bash, zsh or fish.",
    ),
}
"""Name under ``kafka-tools`` -> (module:attribute, one-line help)."""

SCRIPTS = (
    "topics",
    "configs",
    "scram",
    "acls",
    "delegation-tokens",
    "consumer-groups",
    "delete-records",
    "dump-log",
    "broker-api-versions",
    "cluster",
    "features",
    "metadata-quorum",
    "client-metrics",
    "console-producer",
    "console-consumer",
)
"""Commands that are also console scripts of their own, ``kafka-<name>``."""


class LazyGroup(click.Group):
    """A group whose commands are rows of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = cmd_name.removesuffix(".sh").removeprefix("kafka-")
        return load(name) if name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=COMMANDS[name][1]) for name in COMMANDS if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def load(name: str) -> click.Command:
    """The click command of a row of COMMANDS."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    return command


@click.group(
    cls=LazyGroup,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Every kafka-* command is also a script of its own: 'kafka-tools topics' is 'kafka-topics'. "
    "'--version' at any place prints the version.",
)
def root() -> None:
    """The toolkit for people who operate Apache Kafka."""


def main() -> NoReturn:
    """Entry of the ``kafka-tools`` console script."""
    running.main(root, "kafka-tools")
