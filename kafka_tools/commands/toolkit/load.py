"""``kafka-tools load``: run workloads and faults, in one process or on several nodes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands.options.command import CommandGroup, action_option, option, output_option

if TYPE_CHECKING:
    from kafka_tools.load.run_document import RunDocument


@click.group("load", cls=CommandGroup)
def command() -> None:
    """Measure a cluster under load and faults, with the tasks of Kafka's Trogdor.

    \b
    Examples:
      kafka-tools load run produce.yaml
      kafka-tools load run tasks.json --report load.html
      kafka-tools load client --show-tasks localhost:8889 --token-file token
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

    FILE contains one task specification, or several under "tasks" and their shared settings; - reads standard input.
    Ctrl-C stops the tasks and reports what they did until then. The exit status is 1 if a task failed.
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


def _cluster_options(function: Any) -> Any:
    """The options of agent and coordinator."""
    for add in (
        option(
            "--listen", metavar="HOST",
            help="Address to listen on. Without it, and without \"listen\" in the file, only this machine can connect."
        ),
        option("--token-file", metavar="FILE", required=True,
               help="File with the token that clients must send, at least 16 characters; - reads standard input."),
        option("-n", "--node-name", "node", metavar="NODE", required=True, help="Name of this node in the file."),
        option("-c", "--config", "config", metavar="FILE", required=True,
               help="File with the nodes, in the format of Trogdor's trogdor.conf."),
    ):  # fmt: skip
        function = add(function)
    return function


@command.command("agent")
@_cluster_options
@click.option("--debug", is_flag=True, hidden=True)
def agent(config: str, node: str, token_file: str, listen: str | None, debug: bool) -> None:
    """Run the agent of a node: it performs tasks for a coordinator until SIGTERM, Ctrl-C or a request ends it.

    Once it listens, it prints one line of JSON with its address. At its end, it stops its tasks and ends the faults.
    """
    from kafka_tools.commands.toolkit.loading.daemons import run_agent

    run_agent(config, node, token_file, listen)


@command.command("coordinator")
@_cluster_options
@click.option("--debug", is_flag=True, hidden=True)
def coordinator(config: str, node: str, token_file: str, listen: str | None, debug: bool) -> None:
    """Run the coordinator: it accepts tasks and has agents perform them, until SIGTERM, Ctrl-C or a request ends it.

    Once it listens, it prints one line of JSON with its address. Its tasks are in memory only. Agents stop the tasks of
    an earlier coordinator.
    """
    from kafka_tools.commands.toolkit.loading.daemons import run_coordinator

    run_coordinator(config, node, token_file, listen)


_ACTIONS = ("status", "show_tasks", "show_task", "create_task", "stop_task", "destroy_task", "shutdown")


@command.command("client")
@click.argument("target", metavar="HOST:PORT")
@action_option("--status", is_flag=True, help="Show the status of the coordinator, or of an agent with --agent.")
@action_option("--show-tasks", is_flag=True, help="Show all tasks.")
@action_option("--show-task", metavar="ID", help="Show one task.")
@action_option("--create-task", metavar="JSON",
               help='Create a task: {"id": ..., "spec": {...}}, or @FILE with this text.')  # fmt: skip
@action_option("--stop-task", metavar="ID", help="Stop a task.")
@action_option("--destroy-task", metavar="ID", help="Stop a task and forget it.")
@action_option("--shutdown", is_flag=True, help="Shut down the coordinator, or an agent with --agent.")
@option("--token-file", metavar="FILE", required=True, help="File with the server's token; - reads standard input.")
@option("--agent", "is_agent", is_flag=True, help="HOST:PORT is an agent.")
@option("--stop-agents", is_flag=True, help="Shut down all agents too.")
@output_option("--debug", is_flag=True, help="Show the traceback of an error on stderr.")
def client(target: str, token_file: str, is_agent: bool, stop_agents: bool, debug: bool, **given: Any) -> None:
    """Send a request to a coordinator or an agent. All requests except --shutdown can be repeated without harm."""
    from kafka_tools.commands.options.command import one_of
    from kafka_tools.commands.toolkit.loading.client_actions import perform
    from kafka_tools.commands.toolkit.loading.daemons import read_token
    from kafka_tools.load.web.rest_client import RestClient

    context = click.get_current_context()
    action = one_of(context, *_ACTIONS)
    if is_agent and action not in ("status", "shutdown"):
        raise click.UsageError("--agent can only be used with --status or --shutdown.", ctx=context)
    if stop_agents and (is_agent or action != "shutdown"):
        raise click.UsageError("--stop-agents can only be used with --shutdown of a coordinator.", ctx=context)
    connected = RestClient(target, read_token(token_file))
    perform(connected, action, given[action], is_agent=is_agent, stop_agents=stop_agents)
