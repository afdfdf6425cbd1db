"""``kafka-tools audit``: the contents of log directories and their damage, read in bulk without a broker."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, option, output_option

if TYPE_CHECKING:
    from kafka_tools.spark.audit import Audit, AuditOptions

SEVERITIES = ("info", "warning", "error")
NEVER = "never"
SHOWN_FINDINGS = 100
SHOWN_GROUPS = 10
SHOWN_PARTITIONS = 200

_TOPIC_COLUMNS = (
    "topic", "partitions", "size_bytes", "batches", "records", "mean_record_bytes", "distinct_keys", "tombstones",
    "codecs", "stored_share", "reclaimable_bytes", "bytes_per_day", "last_time", "corrupt",
)  # fmt: skip
_PARTITION_COLUMNS = (
    "topic", "partition", "segments", "batches", "records", "first_offset", "last_offset", "first_time", "last_time",
    "size_bytes", "codecs", "corrupt",
)  # fmt: skip
_GROUP_COLUMNS = ("group", "commits", "commits_per_hour", "size_bytes", "tombstones", "last_time")
_FINDING_COLUMNS = ("severity", "kind", "topic", "partition", "file", "position", "offset", "detail")


@click.command(name="kafka-tools audit", cls=Command)
@click.argument("log_dirs", metavar="LOG_DIR...", nargs=-1, required=True)
@option(
    "--master",
    metavar="URL",
    help="Spark master to run on, for example spark://host:7077 or local[4].  [default: this machine, with a local "
    "Spark on all cores for more than 128 MiB]",
)
@option(
    "--topics",
    metavar="GLOB,...",
    help="Only topics that match one of these patterns, for example 'orders,payments-*'.",
)
@option(
    "--since",
    metavar="TIME",
    help="Leave out closed segments last written before this time: 2026-11-01, 2026-11-01T00:00:00 (UTC unless a "
    "zone follows), or a duration before now such as 36h, 7d or '2 hours ago'.",
)
@option(
    "--headers-only",
    is_flag=True,
    help="Read batch headers only. This is several times faster, but reports no record sizes, keys, record headers "
    "or groups.",
)
@output_option("--report", metavar="FILE.html", help="Write the whole result as one HTML page that needs no network.")
@output_option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, NEVER]),
    default="error",
    show_default=True,
    help="Exit with status 1 when a finding is at least this severe.",
)
@output_option(
    "-o",
    "--output",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@output_option("--debug", is_flag=True, help="Show the traceback of an error on stderr.")
def command(log_dirs: tuple[str, ...], report: str | None, output_format: str, **given: Any) -> int:
    """Audit log directories: find damage and waste, and show which producers write what.

    LOG_DIR is a directory from a broker's log.dirs, or the directory of one partition, on this machine or in a store
    (s3://, gs://, abfss://, hdfs://). Give the directories of several brokers to compare the replicas of each
    partition. The audit changes nothing and contacts no broker; you can audit a directory while a broker writes to it.
    It checks every CRC and, without --headers-only, parses every record.

    \b
    Examples:
      kafka-tools audit /var/kafka-logs --report audit.html
      kafka-tools audit /mnt/broker-1 /mnt/broker-2 --topics 'orders*' -o json --fail-on warning
      kafka-tools audit s3://backups/broker-1 --headers-only
    """
    from kafka_tools.spark.audit import AuditOptions

    _check(log_dirs, report)
    patterns = tuple(part.strip() for part in (given["topics"] or "").split(",") if part.strip())
    since_ms = None if given["since"] is None else _moment_ms(given["since"])
    if since_ms is not None:
        from kafka_tools.values import moment_text

        running.note(f"left out closed segments last written before {moment_text(since_ms)}")
    options = AuditOptions(patterns, records=not given["headers_only"], since_ms=since_ms)
    result = _audited(log_dirs, options, given["master"])
    if report is not None:
        from kafka_tools.spark.report.page import write_page

        _write(report, lambda path: write_page(result, path))
    if output_format == "json":
        _print_json(result)
    else:
        _print_tables(result)
        if report is not None:
            click.echo(f"Report written to {report}")
    sys.stdout.flush()
    for nothing in result.nothing_in:
        running.complain(click.get_current_context().command_path, f"{nothing.path} {nothing.text}")
    return running.FAILED if result.nothing_in or _reaches(result.worst, given["fail_on"]) else 0


def main() -> NoReturn:
    """Run the audit on the process's arguments and exit."""
    running.main(command, "kafka-tools audit")


def _audited(log_dirs: tuple[str, ...], options: AuditOptions, master: str | None) -> Audit:
    """The audit. This process does it if little is read and no Spark was requested or is running."""
    from kafka_tools.output.progress import progress
    from kafka_tools.spark import session
    from kafka_tools.spark.audit import audit, audit_with, is_small

    title = "reading segments"
    if master is None and not session.is_running() and is_small(log_dirs, options):
        from kafka_tools.spark.engine import ProcessEngine

        here = ProcessEngine()
        with progress(title, lambda: (here.tasks_done, here.tasks)):
            return audit_with(here, log_dirs, options)
    with (
        session.spark_session(master or "local[*]", app_name="kafka-tools audit", hands_out_only=True) as spark,
        progress(title, lambda: session.tasks_done(spark)),
    ):
        return audit(spark, log_dirs, options)


def _check(log_dirs: tuple[str, ...], report: str | None) -> None:
    """Raise KafkaToolsError for mistakes that can be found before reading."""
    import os
    from importlib.util import find_spec

    from kafka_tools.errors import InputError, KafkaToolsError
    from kafka_tools.spark.files import is_remote
    from kafka_tools.spark.jvm import INSTALL_HINT

    for log_dir in log_dirs:
        if not is_remote(log_dir) and not os.path.isdir(log_dir):
            what = "is not a directory" if os.path.exists(log_dir) else "does not exist"
            raise InputError(f"log directory {log_dir} {what}", hint="give a directory of the broker's log.dirs")
    if report is not None:
        folder = os.path.dirname(os.path.abspath(report))
        if os.path.isdir(report) or not os.path.isdir(folder):
            raise InputError(f"cannot write --report {report}: not a writable file")
        if any(find_spec(name) is None for name in ("jinja2", "markupsafe")):
            raise KafkaToolsError("cannot write --report: the package jinja2 is not installed", hint=INSTALL_HINT)


def _moment_ms(text: str) -> int:
    """A time in ms since the epoch. Raises a usage error for an invalid time."""
    from kafka_tools.clock import SystemClock
    from kafka_tools.errors import InputError
    from kafka_tools.texts.moments import moment_ms

    try:
        return moment_ms(text, SystemClock().now_ms(), any_fraction=True)
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="--since") from error


def _write(path: str, write: Callable[[str], None]) -> None:
    from kafka_tools.errors import InputError

    try:
        write(path)
    except OSError as error:
        raise InputError(f"cannot write the report to {path}: {error.strerror}") from error


def _reaches(worst: str | None, fail_on: str) -> bool:
    return worst is not None and fail_on != NEVER and SEVERITIES.index(worst) >= SEVERITIES.index(fail_on)


def _print_json(result: Audit) -> None:
    from kafka_tools.output.json_doc import write
    from kafka_tools.spark.report.document import document

    write(document(result), sys.stdout)


def _print_tables(result: Audit) -> None:
    from kafka_tools.output.rows import show_table
    from kafka_tools.spark.report.document import data

    found = data(result)
    rows = [_topic_row(topic) for topic in found["topics"]]
    show_table(_TOPIC_COLUMNS, rows, sys.stdout)
    _print_partitions(found["partitions"])
    if found["groups"]:
        groups = [
            group | {"last_time": _time_text(group["last_timestamp_ms"])} for group in found["groups"][:SHOWN_GROUPS]
        ]
        click.echo()
        show_table(_GROUP_COLUMNS, groups, sys.stdout)
    shown = [finding for finding in found["findings"] if finding["severity"] != "info"]
    if shown:
        click.echo()
        show_table(_FINDING_COLUMNS, shown[:SHOWN_FINDINGS], sys.stdout)
    hidden = sum(row["count"] for row in found["finding_counts"] if row["severity"] != "info") - len(
        shown[:SHOWN_FINDINGS]
    )
    if hidden:
        click.echo(f"... {hidden} more findings (in -o json and --report)")
    remarks = [f"{row['kind']} {row['count']}" for row in found["finding_counts"] if row["severity"] == "info"]
    if remarks:
        click.echo(f"\nRemarks (in -o json and --report): {', '.join(remarks)}")
    click.echo(f"\n{found['verdict']['text']}")


def _print_partitions(partitions: list[dict[str, Any]]) -> None:
    """Those that hold something, by topic and number; where several directories have a copy, with the directory."""
    from kafka_tools.output.rows import show_table

    filled = [row for row in partitions if row["batches"] or row["corrupt"]]
    columns: tuple[str, ...] = _PARTITION_COLUMNS
    if len({row["log_dir"] for row in filled}) > 1:
        columns = (*columns[:2], "log_dir", *columns[2:])
    if filled:
        rows = [
            row | {
                "first_time": _time_text(row["first_timestamp_ms"]),
                "last_time": _time_text(row["last_timestamp_ms"]),
                "codecs": list(row["codecs"]),
            }
            for row in filled[:SHOWN_PARTITIONS]
        ]  # fmt: skip
        click.echo()
        show_table(columns, rows, sys.stdout)
    if len(filled) > SHOWN_PARTITIONS:
        click.echo(f"... {len(filled) - SHOWN_PARTITIONS} more partitions (in -o json and --report)")
    if len(filled) < len(partitions):
        click.echo(f"... and {len(partitions) - len(filled)} without a batch")


def _topic_row(topic: dict[str, Any]) -> dict[str, Any]:
    content = topic["content"] or {}
    compression = content.get("compression") or []
    plain = sum(row["plain_bytes"] for row in compression)
    stored = sum(row["stored_bytes"] for row in compression)
    return topic | {
        "mean_record_bytes": content.get("record_bytes", {}).get("mean_bytes"),
        "distinct_keys": content.get("distinct_keys"),
        "tombstones": content.get("tombstones"),
        "codecs": list(topic["codecs"]),
        "stored_share": f"{stored / plain:.2f}" if plain else None,
        "reclaimable_bytes": content.get("reclaimable_bytes") if topic["compacted"] else None,
        "bytes_per_day": topic["growth_bytes_per_day"],
        "last_time": _time_text(topic["last_timestamp_ms"]),
    }


def _time_text(milliseconds: int | None) -> str | None:
    from kafka_tools.values import moment_text

    return None if milliseconds is None else moment_text(milliseconds)
