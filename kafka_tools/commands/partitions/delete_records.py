"""``kafka-delete-records``: advance the log start offset of partitions, by a JSON file or ``--before``.

It reads the file with ``documents``, sends requests to the partition leaders, and prints the text of Kafka's
DeleteRecordsCommand. Unlike that tool, it exits 1 if a partition failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import Command, one_of, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.values import read_text
from kafka_tools.errors import UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.partitions.deletion_plans import Before
    from kafka_tools.output.rows import ItemError
    from kafka_tools.values import TopicPartition

DELETED, PLANNED = "deleted-records", "planned-deletions"


@click.command(name="kafka-delete-records", cls=Command)
@option(
    "--offset-json-file",
    metavar="FILE",
    help='JSON file with partitions and the offset to delete before, -1 for the high watermark: {"partitions": '
    '[{"topic": "orders", "partition": 0, "offset": 1200}], "version": 1}. - reads standard input.',
)
@option(
    "--topic",
    metavar="NAME[:N,...]",
    multiple=True,
    shell_complete=topic_names,
    help="Topic, or some of its partitions: orders:0,2. Use it instead of --offset-json-file.",
)
@option(
    "--before",
    metavar="OFFSET|TIME|end",
    help="Delete the records before this point (with --topic): an offset, a time such as 2026-11-22 or '2 hours "
    "ago' (UTC unless a zone follows), or end for all committed records.",
)
@option("--dry-run", is_flag=True, help="Show the number of records without deleting them.")
@connection_options()
@output_options({"": DELETED, "dry_run": PLANNED})
@click.pass_context
def command(
    context: click.Context,
    /,
    offset_json_file: str | None,
    topic: tuple[str, ...],
    before: str | None,
    dry_run: bool,
    connection: ConnectionOptions,
    output_format: str | None,
) -> int:
    """Delete the records of partitions before an offset."""
    one_of(context, "offset_json_file", "topic")
    if bool(topic) != (before is not None):
        raise UsageError("--topic and --before need each other: --topic NAME[:N,...] --before OFFSET|TIME|end")
    connection.check()
    offsets: dict[TopicPartition, int] = {}
    errors: list[ItemError] = []
    if offset_json_file is not None:
        from kafka_tools.commands.documents import read_delete_records

        offsets = read_delete_records(read_text(offset_json_file, "offsets file"), offset_json_file)
    meant = _meant(before) if before is not None else None
    with connection.admin() as admin:
        if meant is not None:
            offsets, errors = _found(admin, topic, meant)
        return _plan_and_delete(admin, offsets, errors, meant is not None, dry_run, output_format)


def _meant(before: str) -> Before:
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands.partitions.deletion_plans import parse_before
    from kafka_tools.values import moment_text

    meant = parse_before(before, SystemClock().now_ms())
    if meant.moment_ms is not None:
        running.note(f"records before the first one at or after {moment_text(meant.moment_ms)}")
    return meant


def _found(
    admin: AdminClient, topics: tuple[str, ...], before: Before
) -> tuple[dict[TopicPartition, int], list[ItemError]]:
    """The first offset to keep of each partition of the topics, and the topics and partitions that were not found."""
    from kafka_tools.commands.groups.reset_plans import parse_topics
    from kafka_tools.commands.groups.resettable import partitions_of
    from kafka_tools.commands.partitions.deletion_plans import offsets_of
    from kafka_tools.output.rows import ItemError

    partitions, missing = partitions_of(admin, parse_topics(topics))
    offsets, errors = offsets_of(admin, partitions, before)
    return offsets, [ItemError.of(f"topic {name}", error) for name, error in missing] + errors


def _plan_and_delete(
    admin: AdminClient,
    offsets: dict[TopicPartition, int],
    errors: list[ItemError],
    tell: bool,
    dry_run: bool,
    form: str | None,
) -> int:
    from kafka_tools.commands.partitions import deletion_plans
    from kafka_tools.output.rows import Rows

    for topic, reason in deletion_plans.refusals(admin, (key.topic for key in offsets)).items():
        running.note(f"warning: topic '{topic}' {reason}")
    if dry_run:
        plans, unknown = deletion_plans.planned(admin, offsets)
        for line in deletion_plans.summary(plans):
            running.note(line)
        rows = [plan.row() for plan in plans]
        return running.finish(
            Rows(PLANNED, rows, [*errors, *unknown.values()]), form or "table", "cannot plan the deletion from"
        )
    for line in deletion_plans.soon_summarized(admin, offsets) if tell else ():
        running.note(line)
    return _delete(admin, offsets, errors, form)


def _delete(admin: AdminClient, offsets: dict[TopicPartition, int], errors: list[ItemError], form: str | None) -> int:
    from kafka_tools.output.kafka import text as kafka_text
    from kafka_tools.output.rows import ItemError, Rows

    if form is None:
        print("Executing records delete operation", flush=True)
    outcomes = admin.delete_records(offsets)
    if form is None:
        print("Records delete operation completed:")
        lines = (kafka_text.low_watermark_line(running.shown(partition), *each) for partition, each in outcomes.items())
        running.emit("".join(lines))
    rows = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "low_watermark": low_watermark,
            "result": "deleted",
        }
        for partition, low_watermark in outcomes.succeeded().items()
    ]
    errors = errors + [ItemError.of(partition, error) for partition, error in outcomes.failures().items()]
    return running.finish(Rows(DELETED, rows, errors), form, "cannot delete records of")
