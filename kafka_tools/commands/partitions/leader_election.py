"""``kafka-leader-election``: elect the preferred replica, or any live one (LeaderElectionCommand).

It reads the file with ``documents``, sends requests to the controller, and prints Kafka's lines. Failures also appear
on stderr.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import ARGUMENTS, Command, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.values import read_text
from kafka_tools.errors import AuthorizationFailed, DeadlineExceeded, UnsupportedVersion, UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.admin.outcomes import Outcomes
    from kafka_tools.values import TopicPartition

KIND = "elections"
UNCLEAN = "UNCLEAN"
_OLD_CONFIG = "--admin.config"
_OWN_SCRIPT = (
    "brokers of Kafka 2.2 and later elect leaders for clients; with an older release use its own script: "
    "kafka-preferred-replica-election.sh --zookeeper HOST:PORT [--path-to-json-file FILE]"
)
_NO_UNCLEAN = (
    "brokers of Kafka 2.4 and later hold unclean elections for clients; with an older release, set "
    "unclean.leader.election.enable=true on the topic until a leader is elected (kafka-configs)"
)


@click.command(name="kafka-leader-election", cls=Command)
@option(
    "--election-type",
    type=click.Choice(["PREFERRED", UNCLEAN], case_sensitive=False),
    help="Type of the election. PREFERRED: make the first replica of the assignment the leader. UNCLEAN: make any "
    "live replica the leader of a partition that has none; records can be lost.",
)
@option("--topic", metavar="NAME", shell_complete=topic_names, help="Topic name (with --partition).")
@option("--partition", metavar="N", type=click.IntRange(0, 2**31 - 1), help="Partition number (with --topic).")
@option("--all-topic-partitions", is_flag=True, help="Elect leaders for all eligible partitions.")
@option(
    "--path-to-json-file",
    metavar="FILE",
    help='JSON file with the partitions: {"partitions": [{"topic": "orders", "partition": 1}]}. - reads standard '
    "input.",
)
@connection_options(more_config_names=(_OLD_CONFIG,))
@output_options(KIND)
@click.pass_context
def command(
    context: click.Context,
    /,
    election_type: str | None,
    topic: str | None,
    partition: int | None,
    all_topic_partitions: bool,
    path_to_json_file: str | None,
    connection: ConnectionOptions,
    output_format: str | None,
) -> int:
    """Elect the leaders of partitions."""
    from kafka_tools.values import TopicPartition

    _check(connection, election_type, (topic is not None, all_topic_partitions, path_to_json_file is not None))
    if topic is not None and partition is None:
        raise UsageError("Missing required option(s): partition")
    if topic is None and partition is not None:
        raise UsageError("Option partition is only allowed if topic is used")
    partitions: list[TopicPartition] | None = None
    if path_to_json_file is not None:
        from kafka_tools.commands.documents import read_elections

        partitions = read_elections(read_text(path_to_json_file, "partitions file"), path_to_json_file)
    elif topic is not None and partition is not None:
        partitions = [TopicPartition(topic, partition)]
    if any(word.partition("=")[0] == _OLD_CONFIG for word in context.meta[ARGUMENTS]):
        running.note(
            f"Option {_OLD_CONFIG} has been deprecated and will be removed in a future version. Use --command-config "
            "instead."
        )
    assert election_type is not None
    with connection.admin() as admin:
        outcomes = _elect(admin, election_type, partitions, output_format)
    return _show(outcomes, election_type, output_format)


def _check(connection: ConnectionOptions, election_type: str | None, given: tuple[bool, bool, bool]) -> None:
    """Raise UsageError for missing and excess options, in Kafka's order and words."""
    missing = [] if connection.is_given else ["bootstrap-server"]
    missing += [] if election_type else ["election-type"]
    if missing:
        raise UsageError(f"Missing required option(s): {', '.join(missing)}")
    if sum(given) != 1:
        raise UsageError(
            "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file"
        )
    connection.check()


def _elect(
    admin: AdminClient, election_type: str, partitions: Sequence[TopicPartition] | None, form: str | None
) -> Outcomes[TopicPartition, None]:
    unclean = election_type == UNCLEAN
    try:
        return admin.elect_leaders(partitions, unclean=unclean)
    except UnsupportedVersion as error:
        first_lacks = error.hint is not None and "2.2" in error.hint
        error.hint = _OWN_SCRIPT if first_lacks or not unclean else _NO_UNCLEAN
        raise
    except DeadlineExceeded:
        if form is None:
            print("Timeout waiting for election results")
        raise
    except AuthorizationFailed:
        if form is None:
            print("Not authorized to perform leader election")
        raise


def _show(outcomes: Outcomes[TopicPartition, None], election_type: str, form: str | None) -> int:
    from kafka_tools.net.broker_errors import has_code
    from kafka_tools.output.kafka import election_text
    from kafka_tools.output.rows import ItemError, Rows
    from kafka_tools.protocol import error_codes

    failures = outcomes.failures()
    needless = [key for key, error in failures.items() if has_code(error, error_codes.ELECTION_NOT_NEEDED)]
    failed = {key: error for key, error in failures.items() if key not in set(needless)}
    if form is None:
        elected = [*outcomes.succeeded()]
        running.emit(election_text.result(election_type, running.shown(elected), running.shown(needless)))
        running.emit("".join(f"{line}\n" for line in running.shown(election_text.failures(election_type, failed))))
    results = dict.fromkeys(outcomes.succeeded(), "elected") | dict.fromkeys(needless, "not-needed")
    rows = [
        {"topic": key.topic, "partition": key.partition, "election": election_type.upper(), "result": results[key]}
        for key in outcomes
        if key in results
    ]
    errors = [ItemError.of(key, error) for key, error in failed.items()]
    status = running.finish(Rows(KIND, rows, errors), form, "cannot elect a leader of")
    count = len(outcomes.succeeded())
    running.tell(f"elected {count}, not needed {len(needless)}, failed {len(failed)}", form)
    if failed:
        running.note(f"{len(failed)} replica(s) could not be elected")
    return status
