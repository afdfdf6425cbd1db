"""``kafka-log-dirs``: the contents and sizes of brokers' log directories (Kafka's LogDirsCommand).

If one of several brokers does not respond, Kafka's tool shows nothing. This command shows the others and exits 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.looking_again import check_times, time_options
from kafka_tools.commands.options.command import Command, option, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options

if TYPE_CHECKING:
    from kafka_tools.admin.calls.log_dirs import LogDirDescription, LogDirs
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.admin.outcomes import Outcome, Outcomes
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError

KIND = "log-dirs"
BY = ("topic", "partition", "directory", "broker")
_usage_option = section("Usage")
_rates, _watch = time_options(
    _usage_option,
    "Look again after this time, and show growth and the time until a directory is full (with --by).",
    "Print the table and the growth again and again, with this time in between, until you press Ctrl-C (with --by).",
)


@click.command(name="kafka-log-dirs", cls=Command)
@option("--describe", is_flag=True, help="Show the log directories of brokers.")
@option(
    "--broker-list",
    metavar="ID,...",
    allow_empty=True,
    default="",
    help="Ids of the brokers to ask: 0,1,2.  [default: all live brokers]",
)
@option(
    "--topic-list",
    metavar="NAME,...",
    allow_empty=True,
    default="",
    shell_complete=topic_names,
    help="Only partitions of these topics.  [default: all topics]",
)
@_usage_option(
    "--by",
    type=click.Choice(BY, case_sensitive=False),
    help="Show the usage of the disks with a row for each topic, partition, directory or broker, the largest first.",
)
@_usage_option("--top", metavar="N", type=click.IntRange(1, 2**31 - 1), help="Only the N largest rows (with --by).")
@_rates
@_watch
@connection_options()
@output_options({"describe": KIND, "describe by": "disk-usage", "by": "disk-usage"}, metrics=True)
def command(
    describe: bool,
    broker_list: str,
    topic_list: str,
    connection: ConnectionOptions,
    output_format: str | None,
    **given: Any,
) -> int:
    """Show the contents of brokers' log directories."""
    from kafka_tools.errors import UsageError

    if not describe and given["by"] is None:
        raise UsageError("--describe is required")
    wanted = _ids(broker_list)
    topics = {name for name in topic_list.split(",") if name}
    for name in ("top", "rates", "watch"):
        if given[name] is not None and given["by"] is None:
            raise click.UsageError(f"--{name} can only be used with --by.")
    check_times(given, output_format)
    if given["by"] is not None and output_format == "prometheus":
        raise click.UsageError("-o prometheus cannot be combined with --by: Prometheus computes the sums.")
    connection.check()
    if given["by"] is not None:
        from kafka_tools.commands.partitions.disk_usage import show_usage

        with connection.admin(is_lasting=given["rates"] is not None or given["watch"] is not None) as admin:
            return show_usage(admin, lambda: _ask(admin, wanted, topics), given, output_format)
    with connection.admin() as admin:
        return _describe(admin, wanted, topics, output_format)


def _ids(text: str) -> list[int]:
    from kafka_tools.errors import UsageError

    found = []
    for part in (each for each in text.split(",") if each):
        digits = part.strip().removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and abs(int(part)) < 2**31):
            raise UsageError(f"invalid --broker-list '{part}': expected the id of a broker")
        found.append(int(part))
    return list(dict.fromkeys(found))


def _describe(admin: AdminClient, wanted: list[int], topics: set[str], form: str | None) -> int:
    from kafka_tools.output.kafka import log_dirs_text
    from kafka_tools.output.rows import Rows

    brokers = _brokers(admin, wanted)
    if form is None:
        print(log_dirs_text.QUERYING, end="", flush=True)
    outcomes = admin.describe_log_dirs(brokers)
    rows, errors = _rows(outcomes, topics)
    absent = sorted(topics - {each["topic"] for row in rows for each in row["partitions"]})
    if absent and outcomes.succeeded():
        running.note(f"no broker that answered has a replica of {', '.join(absent)}")
    if form is None:
        told = running.shown(rows)
        if outcomes.succeeded():
            running.emit(log_dirs_text.received([*outcomes.succeeded()]) + log_dirs_text.document(told))
        return running.finish(Rows(KIND, rows, errors), form)
    for row in rows:
        row["partitions"] = sorted(row["partitions"], key=lambda each: (each["topic"], each["partition"]))
    return running.finish(Rows(KIND, sorted(rows, key=lambda row: (row["broker"], row["log_dir"])), errors), form)


def _brokers(admin: AdminClient, wanted: list[int]) -> list[int]:
    """The brokers to ask. Raises InputError for one that does not exist."""
    from kafka_tools.errors import InputError
    from kafka_tools.output.kafka import log_dirs_text

    existing = [node.id for node in admin.nodes()]
    unknown = [each for each in wanted if each not in existing]
    if unknown:
        raise InputError(log_dirs_text.unknown_brokers(unknown, existing))
    return wanted or existing


def _ask(admin: AdminClient, wanted: list[int], topics: set[str]) -> tuple[list[Row], list[ItemError]]:
    """The log directories now."""
    return _rows(admin.describe_log_dirs(_brokers(admin, wanted)), topics)


def _rows(outcomes: Outcomes[int, LogDirs], topics: set[str]) -> tuple[list[Row], list[ItemError]]:
    """A row for each directory of a broker's response, and the brokers and directories that failed."""
    from kafka_tools.output.rows import ItemError

    rows: list[Row] = []
    errors = []
    for broker, outcome in outcomes.items():
        if outcome.error is not None:
            errors.append(ItemError.of(f"broker {broker}", outcome.error))
            continue
        directories: Mapping[str, Outcome[LogDirDescription]] = outcome.get()
        for path, told in directories.items():
            rows.append({"broker": broker, "log_dir": path, **_row(told, topics)})
            if told.error is not None:
                errors.append(ItemError.of(f"log directory {path} of broker {broker}", told.error))
    return rows, errors


def _row(told: Outcome[LogDirDescription], topics: set[str]) -> dict[str, Any]:
    found = told.value
    replicas = {} if found is None else found.replicas
    return {
        "error": getattr(getattr(told.error, "code", None), "name", None),
        "total_bytes": None if found is None else found.total_bytes,
        "usable_bytes": None if found is None else found.usable_bytes,
        "cordoned": None if found is None else found.is_cordoned,
        "partitions": [
            {
                "topic": key.topic,
                "partition": key.partition,
                "size_bytes": each.size_bytes,
                "offset_lag": each.offset_lag,
                "is_future": each.is_future,
            }
            for key, each in replicas.items()
            if not topics or key.topic in topics
        ],
    }
