"""``kafka-streams-application-reset``: a Kafka Streams application starts from scratch (StreamsResetter).

Kafka's tool commits offsets before it judges ``--internal-topics``, and removes members in a dry run too; here all is
judged before anything is changed.
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
    help="The application's id (application.id): the name of its group, and how the names of its topics begin.",
)
@option(
    "--input-topics",
    metavar="NAME,...",
    multiple=True,
    shell_complete=topic_names,
    help="Topics that the application reads and did not write itself: it reads them from the beginning again, or from "
    "where an option below says.",
)
@option(
    "--intermediate-topics",
    metavar="NAME,...",
    multiple=True,
    shell_complete=topic_names,
    help="Topics that it writes and reads and somebody made for it: their ends are where it goes on. Kafka will drop "
    "this option.",
)
@option(
    "--internal-topics",
    metavar="NAME,...",
    multiple=True,
    shell_complete=topic_names,
    help="Delete these of its internal topics only; without it all of them, which --dry-run lists.",
)
@option(
    "--force",
    is_flag=True,
    help="Remove the members that the group still has: of an application that was stopped, with a long session "
    "timeout. One that runs comes back.",
)
@option("--dry-run", is_flag=True, help="Show what would be done and change nothing.")
@option("--execute", is_flag=True, help="Do it. As with Kafka's tool this is so without --dry-run in any case.")
@new_offsets(*MODES)
@connection_options(more_config_names=(_OLD_CONFIG,))
@output_options(KIND)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Reset a Kafka Streams application: offsets of its input topics, and its internal topics."""
    if given["application_id"] is None:
        raise UsageError("Missing required option(s) [application-id]")
    modes = modes_given(given, MODES)
    if len(modes) > 1:
        first, second = (name.replace("_", "-") for name in modes[:2])
        raise UsageError(f'Option "[{first}]" can\'t be used with option "[{second}]"')
    if given["dry_run"] and given["execute"]:
        raise UsageError("--dry-run and --execute exclude each other.")
    words = {word.partition("=")[0] for word in context.meta[ARGUMENTS]}
    if _OLD_CONFIG in words:
        running.note(
            f"Option {_OLD_CONFIG} has been deprecated and will be removed in a future version. Use --command-config "
            "instead."
        )
    if not connection.is_given:
        connection.bootstrap_server = _DEFAULT_SERVER
        running.note(f"--bootstrap-server is not given: {_DEFAULT_SERVER} is taken")
    topics = {name: _names(given[name]) for name in ("input_topics", "intermediate_topics", "internal_topics")}
    from kafka_tools.commands.groups.application_steps import ApplicationReset

    with connection.admin() as admin:
        reset = ApplicationReset(admin, given | topics, modes[0] if modes else "to_earliest", output_format is None)
        return running.finish(reset.run(), output_format, "could not reset")


def _names(texts: tuple[str, ...]) -> list[str]:
    """The names of a list with commas that may be given several times; UsageError for an empty one."""
    names = [name.strip() for text in texts for name in text.split(",")]
    if "" in names:
        raise UsageError("a list of topics has an empty name: is a comma too many?")
    return list(dict.fromkeys(names))
