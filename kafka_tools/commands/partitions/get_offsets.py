"""``kafka-get-offsets``: the offset of each partition at an end of the log, or at a time (Kafka's GetOffsetShell).

Kafka's tool skips partitions that fail and exits 0. This command names them and exits 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import Command, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.partitions.offset_filters import OffsetFilter
    from kafka_tools.output.rows import ItemError
    from kafka_tools.values import TopicPartition

KIND = "partition-offsets"


@click.command(name="kafka-get-offsets", cls=Command)
@option(
    "--topic-partitions",
    metavar="PATTERN,...",
    help="Topics and their partitions. Each topic is a regular expression that must match the whole name. orders "
    "selects all partitions, orders:1 partition 1, orders:0-3 partitions 0 to 2, orders:5- all from 5 on, orders:-3 "
    "all before 3, and :0 partition 0 of every topic.",
)
@option(
    "--topic",
    metavar="PATTERN",
    shell_complete=topic_names,
    help="Topic, or a regular expression that must match the whole name.  [default: all topics]",
)
@option("--partitions", metavar="N,...", help="Only partitions with these numbers.")
@option(
    "--time",
    metavar="TIME",
    default="latest",
    show_default=True,
    help="Offset to show: latest (-1), earliest (-2), max-timestamp (-3), earliest-local (-4), latest-tiered (-5), "
    "earliest-pending-upload (-6), or the first offset at or after a time: milliseconds since 1970, 2026-11-22, "
    "2026-11-22T10:30, '2 hours ago' (UTC unless a zone follows).",
)
@option("--exclude-internal-topics", is_flag=True, help="Leave out Kafka's internal topics.")
@connection_options(more_names=("--broker-list",))
@output_options(KIND)
def command(
    topic_partitions: str | None,
    topic: str | None,
    partitions: str | None,
    time: str,
    exclude_internal_topics: bool,
    connection: ConnectionOptions,
    output_format: str | None,
) -> int:
    """Show the offsets of partitions: latest, earliest, or at a given time."""
    from kafka_tools.admin.calls.offsets import at_or_after
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands.partitions import offset_filters
    from kafka_tools.errors import UsageError
    from kafka_tools.values import moment_text

    if topic_partitions is not None and (topic is not None or partitions is not None):
        raise UsageError("--topic-partitions cannot be used with --topic or --partitions")
    spec, typed_as_moment = offset_filters.parse_time(time, SystemClock().now_ms())
    if topic_partitions is not None:
        wanted = offset_filters.of_patterns(topic_partitions)
    else:
        wanted = offset_filters.of_topic(topic, partitions)
    connection.check()
    if typed_as_moment:
        running.note(f"offsets of the first records at or after {moment_text(spec)}")
        spec = at_or_after(spec)
    with connection.admin() as admin:
        leaders, errors = _partitions(admin, wanted, not exclude_internal_topics)
        return _show(admin, leaders, spec, errors, output_format)


def _partitions(
    admin: AdminClient, wanted: OffsetFilter, include_internal: bool
) -> tuple[dict[TopicPartition, int | None], list[ItemError]]:
    """The selected partitions with their leaders, and the topics that could not be described."""
    from kafka_tools.commands.topics.patterns import described_at_once
    from kafka_tools.errors import InputError
    from kafka_tools.output.rows import ItemError
    from kafka_tools.values import TopicPartition

    only = wanted.only_topic if include_internal else None
    described = described_at_once(admin, only) if only is not None else None
    if described is None:
        listed = admin.list_topics(include_internal=include_internal)
        names = sorted(topic.name for topic in listed if wanted.allows_topic(topic.name))
        described = admin.describe_topics(names) if names else {}
    found: dict[TopicPartition, int | None] = {}
    for name, outcome in described.items():
        if outcome.error is None:
            leaders = {each.partition: each.leader for each in outcome.get().partitions}
            chosen = wanted.chosen(str(name), leaders)
            found |= {TopicPartition(str(name), number): leaders[number] for number in chosen}
    errors = [ItemError.of(name, outcome.error) for name, outcome in described.items() if outcome.error is not None]
    if not found and not errors:
        raise InputError("Could not match any topic-partitions with the specified filters")
    return found, errors


def _show(
    admin: AdminClient,
    partitions: Mapping[TopicPartition, int | None],
    spec: int,
    errors: list[ItemError],
    form: str | None,
) -> int:
    from kafka_tools.errors import UnsupportedVersion
    from kafka_tools.output.rows import ItemError, Rows

    leaders = {key: leader for key, leader in partitions.items() if leader is not None}
    outcomes = admin.list_offsets(dict.fromkeys(partitions, spec), leaders=leaders)
    failures = outcomes.failures()
    # Brokers that lack a kind of offset lack it for every partition: one error says so.
    too_old = [error for error in failures.values() if isinstance(error, UnsupportedVersion)]
    if too_old and len(too_old) == len(partitions):
        raise too_old[0]
    found = list(outcomes.succeeded().items())
    if form is None:
        # Kafka sorts the texts: t-10 comes before t-2.
        texts = {
            f"{topic}-{number}": f"{topic}:{number}:{each.offset}\n"
            for (topic, number), each in found
            if each.offset != -1
        }
        running.emit("".join([texts[name] for name in sorted(texts)]))
    rows = [
        {
            "topic": topic,
            "partition": number,
            "offset": each.offset if each.offset >= 0 else None,
            "timestamp": each.timestamp if each.timestamp >= 0 else None,
            "leader_epoch": each.leader_epoch,
        }
        for (topic, number), each in found
    ]
    errors += [ItemError.of(key, error) for key, error in failures.items()]
    return running.finish(Rows(KIND, rows, errors), form, "cannot get the offset of")
