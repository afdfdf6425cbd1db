"""``kafka-consumer-perf-test``: reads records in a group as fast as possible, and shows rates.

Options and lines follow ``org.apache.kafka.tools.ConsumerPerformance`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import client_connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.renamed import newer_of
from kafka_tools.commands.performance.options import check_print_metrics, print_metrics

if TYPE_CHECKING:
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.texts.name_patterns import NamePattern

PROGRAM = "kafka-consumer-perf-test"
KIND = "consumer-performance"
reading_option = section("What to read")
measuring_option = section("Measuring")
INT64 = click.IntRange(-(2**63), 2**63 - 1)
INT32 = click.IntRange(0, 2**31 - 1)


@click.command(PROGRAM, cls=Command)
@reading_option("--topic", metavar="TOPIC", help="Topic to read.")
@reading_option(
    "--include", metavar="REGEX", help="Regular expression of the topics to read; it must match the whole name."
)
@reading_option("--num-records", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Number of records to read.")
@reading_option("--messages", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Older name of --num-records.")
@reading_option("--group", metavar="GROUP", help="Group to join.  [default: perf-consumer- and a random number]")
@reading_option("--from-latest", is_flag=True, help="Start at the end of the log if the group has no committed offset.")
@reading_option(
    "--timeout",
    type=INT64,
    default=10_000,
    metavar="MS",
    help="Stop when no record arrives for this time.  [default: 10000]",
)
@reading_option(
    "--fetch-size",
    type=INT32,
    metavar="BYTES",
    help="Maximum size of data from one partition per request.  [default: 1048576]",
)
@reading_option(
    "--socket-buffer-size",
    type=click.IntRange(-1, 2**31 - 1),
    metavar="BYTES",
    help="Size of the socket's receive buffer.  [default: 2097152]",
)
@measuring_option("--show-detailed-stats", is_flag=True, help="Print a line for each interval instead of the total.")
@measuring_option(
    "--reporting-interval",
    type=click.IntRange(1, 2**63 - 1),
    default=5000,
    metavar="MS",
    help="Interval of --show-detailed-stats.  [default: 5000]",
)
@measuring_option(
    "--date-format",
    metavar="PATTERN",
    default="yyyy-MM-dd HH:mm:ss:SSS",
    help="Format of times, as in Java's SimpleDateFormat.  [default: yyyy-MM-dd HH:mm:ss:SSS]",
)
@measuring_option("--hide-header", is_flag=True, help="Print no header.")
@measuring_option("--print-metrics", is_flag=True, help="Print the client's metrics at the end. Not with -o.")
@client_connection_options("consumer", "--broker-list", old_config="--consumer.config")
@output_options(KIND)
def command(output_format: str | None, **options: Any) -> int:
    """Read records, and show rates.

    The command joins a group, and reads the topic from its start unless the group has committed offsets.
    """
    from kafka_tools.texts.simple_date_format import java_date_format

    if (options["topic"] is None) == (options["include"] is None):
        raise click.UsageError("Give exactly one of --topic and --include.")
    check_print_metrics(options["print_metrics"], output_format)
    options["num_records"] = _count(options)
    topics = [options["topic"]] if options["include"] is None else _pattern(options["include"])
    date = java_date_format(options["date_format"])
    config = _config(options)

    from kafka_tools.commands.performance.consumer_load import ConsumerLoad

    load = ConsumerLoad(options, date, is_quiet=output_format is not None)
    load.run(config, topics, options["trace"])
    status = running.finish(load.result(KIND), output_format)
    print_metrics(load.metrics)
    return status


def _count(options: Mapping[str, Any]) -> int:
    if options["num_records"] is None and options["messages"] is None:
        raise click.UsageError("Missing option '--num-records'.")
    count: int = newer_of(
        options["num_records"],
        options["messages"],
        together="Give only one of --num-records and --messages.",
        warning="Warning: --messages is deprecated. Use --num-records instead.",
    )
    return count


def _pattern(text: str) -> NamePattern:
    import re

    from kafka_tools.texts.name_patterns import NamePattern

    try:
        return NamePattern(text)
    except re.error as error:
        raise click.UsageError(f"invalid regular expression in --include: {error}") from error


def _config(options: Mapping[str, Any]) -> ClientConfig:
    from random import randrange

    from kafka_tools.commands.console.connection import client_config

    file = newer_of(
        options["command_config"],
        options["old_config"],
        together="Options --command-config and --consumer.config cannot be specified together.",
        warning="Warning: --consumer.config is deprecated. Use --command-config instead.",
    )
    given = {
        "group.id": options["group"],
        "max.partition.fetch.bytes": options["fetch_size"],
        "receive.buffer.bytes": options["socket_buffer_size"],
        "auto.offset.reset": "latest" if options["from_latest"] else None,
    }
    defaults = {
        "client.id": "perf-consumer-client",
        "group.id": f"perf-consumer-{randrange(100_000)}",
        "max.partition.fetch.bytes": "1048576",
        "receive.buffer.bytes": "2097152",
        "auto.offset.reset": "earliest",
        "check.crcs": "false",
    }
    chosen = {name: str(value) for name, value in given.items() if value is not None}
    return client_config(options["bootstrap_server"], file, dict(options["command_property"]), chosen, defaults)
