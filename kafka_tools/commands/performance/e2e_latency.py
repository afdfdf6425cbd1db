"""``kafka-e2e-latency``: writes one record after the other, and measures until each has been read.

Options and lines follow ``org.apache.kafka.tools.EndToEndLatency`` of Kafka, with its older positional arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import client_connection_options
from kafka_tools.commands.options.output import output_options

PROGRAM = "kafka-e2e-latency"
KIND = "end-to-end-latency"
record_option = section("Records")
SIZE = click.IntRange(0, 2**31 - 1)
_POSITIONS = ("--bootstrap-server", "--topic", "--num-records", "--producer-acks", "--record-size", "--command-config")
"""The options that are arguments in the older form, in order. The last one is optional."""
_NAMED = frozenset(_POSITIONS[:5])


class WithPositions(Command):
    """A command line without the names of its options is accepted with Kafka's warning."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values = [word for word in args if not word.startswith("-")]
        is_named = any(word.partition("=")[0] in {*_NAMED, "-b", "--bootstrap-servers"} for word in args)
        if is_named or ctx.resilient_parsing or len(values) != len(args) or not args:
            return super().parse_args(ctx, args)
        if len(args) not in (5, 6):
            raise click.UsageError(
                f"Invalid number of arguments. Expected 5 or 6 positional arguments, but got {len(args)}. Usage: "
                "bootstrap-server topic num-records producer-acks record-size [optional] command-config",
                ctx=ctx,
            )
        running.note(
            "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use "
            "named arguments instead: --bootstrap-server, --topic, --num-records, --producer-acks, --record-size, "
            "--command-config"
        )
        named = [word for name, value in zip(_POSITIONS, args, strict=False) for word in (name, value)]
        return super().parse_args(ctx, named)


@click.command(PROGRAM, cls=WithPositions)
@record_option("--topic", required=True, metavar="TOPIC", help="Topic to use. It is created if it does not exist.")
@record_option(
    "--num-records",
    required=True,
    type=click.IntRange(1, 2**31 - 1),
    metavar="N",
    help="Number of records to write and read.",
)
@record_option(
    "--producer-acks",
    required=True,
    type=click.Choice(["1", "all"]),
    help="Acknowledgements that the producer waits for.",
)
@record_option("--record-size", required=True, type=SIZE, metavar="BYTES", help="Size of each value.")
@record_option("--record-key-size", type=SIZE, default=0, metavar="BYTES", help="Size of each key.  [default: 0]")
@record_option("--num-headers", type=SIZE, default=0, metavar="N", help="Number of headers.  [default: 0]")
@record_option(
    "--record-header-key-size", type=SIZE, default=0, metavar="BYTES", help="Size of header names.  [default: 0]"
)
@record_option(
    "--record-header-size",
    type=click.IntRange(-1, 2**31 - 1),
    default=0,
    metavar="BYTES",
    help="Size of header values; -1 means null.  [default: 0]",
)
@client_connection_options("client")
@output_options(KIND)
def command(output_format: str | None, **options: Any) -> int:
    """Measure the time from writing a record until it has been read.

    \b
    Example:
      kafka-e2e-latency -b localhost:9092 --topic latency --num-records 1000 --producer-acks all
        --record-size 100
    """
    from kafka_tools.commands.console.connection import client_config

    _check_size(options)
    properties = dict(options["command_property"])
    config = client_config(options["bootstrap_server"], options["command_config"], properties, {}, {})

    from kafka_tools.commands.performance.round_trips import RoundTrips

    trips = RoundTrips(config, options, is_quiet=output_format is not None)
    return running.finish(trips.run(KIND), output_format)


def _check_size(options: Mapping[str, Any]) -> None:
    headers = options["num_headers"] * (options["record_header_key_size"] + max(options["record_header_size"], 0))
    if options["record_size"] + options["record_key_size"] + headers > 2**31 - 1:
        raise click.UsageError("invalid sizes: a record has at most 2147483647 bytes")
