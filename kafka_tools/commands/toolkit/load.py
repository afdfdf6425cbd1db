"""``kafka-tools load``: run workloads and faults, in one process or on several nodes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands.options.command import CommandGroup, option, output_option

if TYPE_CHECKING:
    from kafka_tools.load.run_document import RunDocument


@click.group("load", cls=CommandGroup)
def command() -> None:
    """Load and measure a cluster, and disturb it: the tasks of Kafka's Trogdor.

    \b
    Examples:
      kafka-tools load run produce.yaml
      kafka-tools load run tasks.json --report load.html -o json
    """


@command.command("run")
@click.argument("file", metavar="FILE", type=click.Path())
@output_option("--report", metavar="FILE.html", help="Write the whole result as one HTML page that needs no network.")
@output_option(
    "-o", "--output", "output_format", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@option("--check", is_flag=True, help="Only validate the document.")
@output_option("--debug", is_flag=True, help="Show the traceback of an error on stderr.")
def run(file: str, report: str | None, output_format: str, check: bool, debug: bool) -> int:
    """Run the tasks of a JSON or YAML document in this process, and report the results.

    FILE has one task specification, or several under "tasks" with what they share; - reads standard input. Ctrl-C
    stops the tasks and reports what they did until then. The exit status is 1 if a task failed.
    """
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands import running
    from kafka_tools.load.local_run import LocalRun
    from kafka_tools.load.report.document import document
    from kafka_tools.output.progress import progress

    tasks = _read(file)
    if check:
        click.echo(f"{file}: the document is valid")
        return 0
    if report is not None:
        _check_report(report)
    clock = SystemClock()
    local = LocalRun(tasks, clock)
    with progress("messages", local.progress):
        results = local.perform()
    shown = document(results, local.started_ms, clock.now_ms())
    if report is not None:
        from kafka_tools.load.report.page import write_page

        write_page(shown, report)
    _print(shown, output_format)
    sys.stdout.flush()
    for error in shown["errors"]:
        running.complain(click.get_current_context().command_path, f"task {error['item']} failed: {error['message']}")
    return running.FAILED if shown["errors"] else 0


def _read(file: str) -> RunDocument:
    from kafka_tools.commands.toolkit.loading.read_document import read_document
    from kafka_tools.load.run_document import read_run_document

    return read_run_document(*read_document(file, "document"))


def _print(shown: dict[str, Any], output_format: str) -> None:
    from kafka_tools.commands.running import emit

    if output_format == "json":
        from kafka_tools.output.json_doc import write

        write(shown, sys.stdout)
    else:
        from kafka_tools.load.report.text import lines

        emit("\n".join(lines(shown["data"])) + "\n")


def _check_report(report: str) -> None:
    """Raise KafkaToolsError before the run if the page cannot be written."""
    import os
    from importlib.util import find_spec

    from kafka_tools.errors import InputError, KafkaToolsError

    folder = os.path.dirname(os.path.abspath(report))
    if os.path.isdir(report) or not os.path.isdir(folder):
        raise InputError(f"cannot write --report {report}: not a writable file")
    if any(find_spec(name) is None for name in ("jinja2", "markupsafe")):
        raise KafkaToolsError(
            "cannot write --report: the package jinja2 is not installed",
            hint="pip install 'kafka-operator-tools[load]'",
        )
