"""``kafka-streams-application-reset``: a Kafka Streams application restarts from scratch (StreamsResetter).

Kafka's tool commits offsets before it validates ``--internal-topics``, and removes members even in a dry run. This
command validates everything before it changes anything.
"""

from __future__ import annotations

from typing import Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.groups.options import modes_given, new_offsets
from kafka_tools.commands.live_names import group_names, topic_names
from kafka_tools.commands.options.command import ARGUMENTS, Command, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import UsageError

MODES = ("to_earliest", "to_latest", "to_offset", "shift_by", "to_datetime", "by_duration", "from_file")
KIND = "application-reset"
_OLD_CONFIG = "--config-file"
_DEFAULT_SERVER = "localhost:9092"


@click.command(name="kafka-streams-application-reset", cls=Command)
@option(
    "--application-id",
    metavar="ID",
    shell_complete=group_names,
    help="Id of the application (application.id): the name of its group and the prefix of its internal topics.",
)
@option(
    "--input-topics",
    metavar="NAME,...",
    multiple=True,
    shell_complete=topic_names,
    help="Topics that the application reads and does not write. It reads them again from the beginning, or from "
    "the offsets that another option selects.",
)
@option(
    "--intermediate-topics",
    metavar="NAME,...",
    multiple=True,
    shell_complete=topic_names,
    help="Topics created by a user that the application both writes and reads. It continues at their ends. Kafka "
    "plans to remove this option.",
)
@option(
    "--internal-topics",
    metavar="NAME,...",
    multiple=True,
    shell_complete=topic_names,
    help="Internal topics to delete.  [default: all internal topics; --dry-run lists them]",
)
@option(
    "--force",
    is_flag=True,
    help="Remove remaining members of the group, for example of a stopped application with a long session timeout. "
    "A running member rejoins.",
)
@option("--dry-run", is_flag=True, help="Show the actions without executing them.")
@option("--execute", is_flag=True, help="Execute the actions. This is the default, as in Kafka's tool.")
@new_offsets(*MODES)
@connection_options(more_config_names=(_OLD_CONFIG,))
@output_options(KIND)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Reset a Kafka Streams application: reset its input offsets and delete its internal topics."""
    if given["application_id"] is None:
        raise UsageError("Missing required option(s) [application-id]")
    modes = modes_given(given, MODES)
    if len(modes) > 1:
        first, second = (name.replace("_", "-") for name in modes[:2])
        raise UsageError(f'Option "[{first}]" can\'t be used with option "[{second}]"')
    if given["dry_run"] and given["execute"]:
        raise UsageError("--dry-run and --execute cannot be combined.")
    words = {word.partition("=")[0] for word in context.meta[ARGUMENTS]}
    if _OLD_CONFIG in words:
        running.note(
            f"Option {_OLD_CONFIG} has been deprecated and will be removed in a future version. Use --command-config "
            "instead."
        )
    if not connection.is_given:
        connection.bootstrap_server = _DEFAULT_SERVER
        running.note(f"--bootstrap-server is not given: using {_DEFAULT_SERVER}")
    topics = {name: _names(given[name]) for name in ("input_topics", "intermediate_topics", "internal_topics")}
    from kafka_tools.commands.groups.application_steps import ApplicationReset

    with connection.admin() as admin:
        reset = ApplicationReset(admin, given | topics, modes[0] if modes else "to_earliest", output_format is None)
        return running.finish(reset.run(), output_format, "cannot reset")


def _names(texts: tuple[str, ...]) -> list[str]:
    """The names of comma-separated lists. Raises UsageError for an empty name."""
    names = [name.strip() for text in texts for name in text.split(",")]
    if "" in names:
        raise UsageError("a list of topics contains an empty name: check its commas")
    return list(dict.fromkeys(names))
