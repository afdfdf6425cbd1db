"""``kafka-tools audit``: what log directories hold and what is wrong with them, read in bulk without a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools.commands import _run
from kafka_tools.commands._options import Command, option

if TYPE_CHECKING:
    from kafka_tools.spark.audit import Audit, PartitionAudit

SEVERITIES = ("info", "warning", "error")
NEVER = "never"
SHOWN_FINDINGS = 100

_PARTITION_COLUMNS = (
    "topic", "partition", "segments", "batches", "records", "first_offset", "last_offset", "first_time", "last_time",
    "size_bytes", "codecs", "corrupt",
)  # fmt: skip
_FINDING_COLUMNS = ("severity", "kind", "topic", "partition", "file", "position", "offset", "detail")


@click.command(name="kafka-tools audit", cls=Command)
@click.argument("log_dirs", metavar="LOG_DIR...", nargs=-1, required=True)
@option(
    "--master",
    default="local[*]",
    metavar="URL",
    help="Spark master to run on, for example spark://host:7077; without it Spark is started on this machine.",
)
@option(
    "--topics",
    metavar="GLOB,...",
    help="Only topics that match one of these patterns, for example 'orders,payments-*'.",
)
@option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, NEVER]),
    default="error",
    show_default=True,
    help="Exit with status 1 when a finding is at least this severe.",
)
@option("-o", "--output", "output_format", type=click.Choice(["table", "json"]), default="table", show_default=True,
        help="Form of the result.")  # fmt: skip
@option("--debug", is_flag=True, help="Show the traceback of an error on stderr.")
def command(
    log_dirs: tuple[str, ...], master: str, topics: str | None, fail_on: str, output_format: str, debug: bool
) -> int:
    """Audit whole log directories with Spark: what they hold, what is damaged.

    Per partition: segments, batches, records, offsets, times, codecs, and everything that is wrong. LOG_DIR is a
    directory from a broker's log.dirs, or one partition's. Nothing is changed and no broker is asked; a directory that
    a broker is writing to may be audited. Every CRC is checked; records are not decompressed.

    \b
    Examples:
      kafka-tools audit /var/kafka-logs
      kafka-tools audit /mnt/broker-1 /mnt/broker-2 --topics 'orders*' -o json --fail-on warning
    """
    from kafka_tools.spark.session import spark_session

    _check(log_dirs)
    patterns = [part.strip() for part in (topics or "").split(",") if part.strip()]
    with spark_session(master, app_name="kafka-tools audit") as spark:
        from kafka_tools.output.progress import progress
        from kafka_tools.spark.audit import audit
        from kafka_tools.spark.session import tasks_done

        with progress("reading segments", lambda: tasks_done(spark)):
            result = audit(spark, log_dirs, topics=patterns)
    if output_format == "json":
        _print_json(result)
    else:
        _print_tables(result)
    return _run.FAILED if _reaches(result.worst, fail_on) else 0


def main() -> NoReturn:
    """Run the audit on the process's arguments and exit."""
    _run.main(command, "kafka-tools audit")


def _check(log_dirs: tuple[str, ...]) -> None:
    """InputError for a directory that does not exist, before Spark is started for it."""
    import os

    from kafka_tools.errors import InputError

    for log_dir in log_dirs:
        if not os.path.isdir(log_dir):
            what = "is not a directory" if os.path.exists(log_dir) else "does not exist"
            raise InputError(f"log directory {log_dir} {what}", hint="give a directory of the broker's log.dirs")


def _reaches(worst: str | None, fail_on: str) -> bool:
    return worst is not None and fail_on != NEVER and SEVERITIES.index(worst) >= SEVERITIES.index(fail_on)


def _partition_row(partition: PartitionAudit) -> dict[str, Any]:
    summary = partition.summary
    return {
        "topic": summary.topic,
        "partition": summary.partition,
        "log_dir": summary.log_dir,
        "segments": partition.segments,
        "batches": summary.batches,
        "records": summary.records,
        "control_records": summary.control_records,
        "first_offset": summary.first_offset,
        "last_offset": summary.last_offset,
        "first_timestamp_ms": summary.first_timestamp_ms,
        "last_timestamp_ms": summary.last_timestamp_ms,
        "size_bytes": partition.size_bytes,
        "codecs": {
            name: {"batches": codec.batches, "records": codec.records, "size_bytes": codec.size_bytes}
            for name, codec in sorted(summary.codecs.items())
        },
        "corrupt": summary.corrupt,
    }


def _print_json(result: Audit) -> None:
    import sys

    from kafka_tools.output.json_doc import write

    counts = [
        {"severity": severity, "kind": kind, "count": count}
        for (severity, kind), count in sorted(result.finding_counts.items())
    ]
    data = {
        "partitions": [_partition_row(partition) for partition in result.partitions],
        "finding_counts": counts,
        "findings": [finding._asdict() for finding in result.findings],
    }
    write({"schema": "kafka-tools/audit/v1", "data": data, "errors": []}, sys.stdout)


def _print_tables(result: Audit) -> None:
    from kafka_tools.output.rows import Rows, show

    rows = []
    for partition in result.partitions:
        row = _partition_row(partition)
        row["first_time"] = _time_text(row["first_timestamp_ms"])
        row["last_time"] = _time_text(row["last_timestamp_ms"])
        row["codecs"] = list(row["codecs"])
        rows.append(row)
    show(Rows("audit-partitions", _PARTITION_COLUMNS, rows), "table")
    total = sum(result.finding_counts.values())
    if total == 0:
        click.echo(f"\n{len(rows)} partitions, nothing wrong.")
        return
    shown = [finding._asdict() for finding in result.findings[:SHOWN_FINDINGS]]
    click.echo()
    show(Rows("audit-findings", _FINDING_COLUMNS, shown), "table")
    if total > len(shown):
        click.echo(f"... {total - len(shown)} more findings (-o json lists them)")
    by_severity = {
        name: sum(n for (found, _), n in result.finding_counts.items() if found == name) for name in SEVERITIES
    }
    counted = ", ".join(f"{count} {name}" for name, count in reversed(by_severity.items()) if count)
    click.echo(f"\n{len(rows)} partitions, findings: {counted}.")


def _time_text(milliseconds: int | None) -> str | None:
    """ISO 8601 in UTC with milliseconds; the bare number for what no calendar has."""
    from datetime import UTC, datetime, timedelta

    if milliseconds is None:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
