"""``kafka-replica-verification``: compares the batches of all replicas of partitions, by offsets and checksums.

Options and lines follow ``org.apache.kafka.tools.ReplicaVerificationTool`` of Kafka. ``--once`` ends when everything
that the partitions contained at the start has been compared.
"""

from __future__ import annotations

from typing import Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import Command, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options

KIND = "replica-verification"
INT32_MAX = 2**31 - 1


@click.command(name="kafka-replica-verification", cls=Command)
@option(
    "--topics-include",
    "--topic-white-list",
    "topics_include",
    metavar="REGEX",
    default=".*",
    shell_complete=topic_names,
    help="Regular expression of the topics to verify; it must match the whole name.  [default: all topics]",
)
@option(
    "--time",
    metavar="TIME",
    help="Start at the end (latest, -1), at the start of the log (earliest, -2), or at the first record at or after "
    "a time: milliseconds since 1970, 2026-11-22, '2 hours ago'.  [default: latest; earliest with --once]",
)
@option(
    "--once",
    is_flag=True,
    help="Compare what the partitions contain now, and end. Without it, the command verifies new records until you "
    "stop it.",
)
@option(
    "--fetch-size",
    type=click.IntRange(1, INT32_MAX),
    default=1024 * 1024,
    metavar="BYTES",
    help="Maximum size of data from one partition per request.  [default: 1048576]",
)
@option(
    "--max-wait-ms",
    type=click.IntRange(0, INT32_MAX),
    default=1000,
    metavar="MS",
    help="Maximum time that a request waits for data.  [default: 1000]",
)
@option(
    "--report-interval-ms",
    type=click.IntRange(0, 2**63 - 1),
    default=30_000,
    metavar="MS",
    help="Interval between reports.  [default: 30000]",
)
@connection_options(more_names=("--broker-list",))
@output_options(KIND)
def command(connection: ConnectionOptions, output_format: str | None, **options: Any) -> int:
    """Compare the replicas of partitions.

    The exit status is 1 if replicas differ. With --once, it is also 1 if partitions could not be compared: none of
    their records arrived for the time of --timeout.
    """
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands.partitions.offset_filters import parse_time

    if output_format is not None and not options["once"]:
        raise click.UsageError("-o can only be used with --once: without it, the command does not end.")
    time = options["time"] or ("earliest" if options["once"] else "latest")
    spec, is_moment = parse_time(time, SystemClock().now_ms())
    if is_moment:
        from kafka_tools.admin.calls.offsets import at_or_after
        from kafka_tools.values import moment_text

        running.note(f"verifying from the first records at or after {moment_text(spec)}")
        spec = at_or_after(spec)
    connection.check()

    from kafka_tools.commands.partitions.verification_rounds import ReplicaVerification

    verification = ReplicaVerification(connection, options, is_quiet=output_format is not None)
    rows = verification.run(spec, KIND)
    status = running.finish(rows, output_format, "cannot verify")
    return status or (running.FAILED if verification.differs else 0)
