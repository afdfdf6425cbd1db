"""``kafka-share-consumer-perf-test``: reads records in a share group as fast as possible, and shows rates.

Options and lines follow ``org.apache.kafka.tools.ShareConsumerPerformance`` of Kafka.
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

PROGRAM = "kafka-share-consumer-perf-test"
KIND = "share-consumer-performance"
MOST_THREADS = 100
reading_option = section("What to read")
measuring_option = section("Measuring")


@click.command(PROGRAM, cls=Command)
@reading_option("--topic", required=True, metavar="TOPIC", help="Topic to read.")
@reading_option("--num-records", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Number of records to read.")
@reading_option("--messages", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Older name of --num-records.")
@reading_option("--group", metavar="GROUP", help="Share group to join.  [default: perf-share-consumer]")
@reading_option(
    "--threads",
    type=click.IntRange(1, MOST_THREADS),
    default=1,
    metavar="N",
    help="Number of members that share the records.  [default: 1]",
)
@reading_option(
    "--timeout",
    type=click.IntRange(0, 2**63 - 1),
    default=10_000,
    metavar="MS",
    help="Stop when no record arrives for this time.  [default: 10000]",
)
@reading_option(
    "--fetch-size",
    type=click.IntRange(0, 2**31 - 1),
    metavar="BYTES",
    help="Maximum size of the data of a request.  [default: 1048576]",
)
@reading_option(
    "--socket-buffer-size",
    type=click.IntRange(-1, 2**31 - 1),
    metavar="BYTES",
    help="Size of the socket's receive buffer.  [default: 2097152]",
)
@measuring_option("--show-detailed-stats", is_flag=True, help="Print a line for each interval and member, too.")
@measuring_option("--show-consumer-stats", is_flag=True, help="Print a line for each member, too.")
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
@measuring_option("--print-metrics", is_flag=True, help="Print the metrics of each member at the end. Not with -o.")
@client_connection_options("consumer", old_config="--consumer.config")
@output_options(KIND)
def command(output_format: str | None, **options: Any) -> int:
    """Read records in a share group, and show rates.

    The records are accepted. A new share group starts at the end of the topic. To read existing records, set its
    config share.auto.offset.reset to earliest.
    """
    from kafka_tools.texts.simple_date_format import java_date_format

    check_print_metrics(options["print_metrics"], output_format)
    options["num_records"] = record_count(options)
    date = java_date_format(options["date_format"])
    config = _config(options)

    from kafka_tools.commands.performance.share_load import ShareLoad

    load = ShareLoad(options, date, is_quiet=output_format is not None)
    load.run(config)
    status = running.finish(load.result(KIND), output_format)
    for metrics in load.metrics:
        print_metrics(metrics)
    return status


def record_count(options: Mapping[str, Any]) -> int:
    """The value of ``--num-records`` or of its older name."""
    if options["num_records"] is None and options["messages"] is None:
        raise click.UsageError("Missing option '--num-records'.")
    count: int = newer_of(
        options["num_records"],
        options["messages"],
        together="Give only one of --num-records and --messages.",
        warning="Warning: --messages is deprecated. Use --num-records instead.",
    )
    return count


def _config(options: Mapping[str, Any]) -> ClientConfig:
    from kafka_tools.commands.console.connection import client_config

    file = newer_of(
        options["command_config"],
        options["old_config"],
        together="Options --command-config and --consumer.config cannot be specified together.",
        warning="Warning: --consumer.config is deprecated. Use --command-config instead.",
    )
    given = {
        "group.id": options["group"],
        "fetch.max.bytes": options["fetch_size"],
        "receive.buffer.bytes": options["socket_buffer_size"],
    }
    defaults = {
        "client.id": "perf-share-consumer-client",
        "group.id": "perf-share-consumer",
        "fetch.max.bytes": "1048576",
        "receive.buffer.bytes": "2097152",
        "check.crcs": "false",
    }
    chosen = {name: str(value) for name, value in given.items() if value is not None}
    return client_config(options["bootstrap_server"], file, dict(options["command_property"]), chosen, defaults)
