"""``kafka-tools tour``: shows the whole product in half a minute, on a temporary broker.

Every command really runs, in its own process. The tour shows and checks its output, and ends with exit status 1 at the
first unexpected result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from kafka_tools.commands.options.command import Command, option

if TYPE_CHECKING:
    import subprocess

    from kafka_tools.commands.toolkit.step_checks import CommandResult, Step
    from kafka_tools.commands.toolkit.tour_steps import TourPlace

SHOWN_FIRST, SHOWN_LAST = 8, 6
"""Lines of a long output that are shown."""

STEP_TIMEOUT_S = 180
BROKER_TIMEOUT_S = 60


@click.command(name="kafka-tools tour", cls=Command)
@option("--all", "every_command", is_flag=True, help="Also show the commands left out of the 30-second tour.")
@option("--keep", is_flag=True, help="Keep the broker's data directory and the tour's files, and print their location.")
@option("--no-audit", is_flag=True, help="Leave out the last step, which needs the Spark packages.")
def command(every_command: bool, keep: bool, no_audit: bool) -> int:
    """Start the bundled broker, run commands of every family on it, and clean up.

    The tour shows each command, runs it and checks its output. It formats a directory and starts a broker. It creates
    topics, configs, quotas, a SCRAM user and its ACL. It writes records, reads them in a group, resets the group and
    deletes records. Then it dumps the segments, reads the cluster metadata, and audits the broker's data directory with
    Spark. It stops with exit status 1 at the first step with an unexpected result.

    \b
    Example:
      kafka-tools tour
    """
    import time

    if not no_audit:
        _require_spark()
    started_s = time.monotonic()
    with _ended_in_order():
        taken = _take_all(keep, every_command=every_command, with_audit=not no_audit)
    click.echo(f"\nAll {taken} steps succeeded, in {time.monotonic() - started_s:.1f} s.")
    return 0


def _require_spark() -> None:
    from importlib.util import find_spec

    from kafka_tools.errors import KafkaToolsError

    missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if missing:
        raise KafkaToolsError(
            f"cannot run the last step, which needs Spark: {' and '.join(missing)} is not installed",
            hint="pip install 'kafka-operator-tools[spark]', or leave out the step with --no-audit",
        )


def _take_all(keep: bool, *, every_command: bool, with_audit: bool) -> int:
    """Run every step on the tour's own broker, and clean up. Returns the number of steps."""
    import shutil
    import tempfile

    from kafka_tools.commands.logs.formatting.ids import new_id
    from kafka_tools.commands.toolkit.further_steps import further_steps
    from kafka_tools.commands.toolkit.tour_steps import audit_step, format_step, steps

    folder = Path(tempfile.mkdtemp(prefix="kafka-tools-tour-"))
    try:
        settings = BrokerSettings.write(folder)
        _take(format_step(settings.file, new_id()), 1)
        with _running_broker(settings) as place:
            following = [
                *steps(place),
                *(further_steps(place) if every_command else ()),
                *([audit_step(place)] if with_audit else ()),
            ]
            for number, step in enumerate(following, start=2):
                _take(step, number)
    finally:
        if keep:
            click.echo(f"\nkept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 + len(following)


def _take(step: Step, number: int) -> None:
    """Run a step, show it, check it. StepFailed contains the step and the error."""
    from kafka_tools.commands.toolkit.step_checks import StepFailed

    click.secho(f"\n{number}. {step.title}", bold=True)
    typed = _as_typed(step.command)
    click.secho(f"$ {typed}" + (f" < {step.input_file}" if step.input_file else ""), fg="cyan")
    answer = _run_step(step)
    _show(answer)
    place = f"step {number} ({step.title.lower()})"
    if answer.status != 0:
        raise StepFailed(f"{place}: '{' '.join(step.command[:2])}' ended with exit status {answer.status}")
    try:
        step.check(answer)
    except StepFailed as error:
        raise StepFailed(f"{place}: {error}") from error


def _run_step(step: Step) -> CommandResult:
    import subprocess

    from kafka_tools.commands.toolkit.step_checks import CommandResult, StepFailed

    standard_input = open(step.input_file, "rb") if step.input_file else None  # noqa: SIM115 - closed below
    try:
        done = subprocess.run(
            _program(step.command),
            stdin=standard_input or subprocess.DEVNULL,
            capture_output=True,
            timeout=STEP_TIMEOUT_S,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise StepFailed(f"'{' '.join(step.command[:2])}' did not end within {STEP_TIMEOUT_S} s") from error
    finally:
        if standard_input:
            standard_input.close()
    return CommandResult(
        done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )


def _show(answer: CommandResult) -> None:
    lines = answer.output.splitlines()
    hidden = len(lines) - SHOWN_FIRST - SHOWN_LAST
    if hidden > 1:
        lines[SHOWN_FIRST:-SHOWN_LAST] = [f"... {hidden} more lines"]
    for line in lines:
        click.echo(line)
    for line in answer.errors.splitlines():
        click.secho(line, dim=True)


@contextmanager
def _running_broker(settings: BrokerSettings) -> Iterator[TourPlace]:
    """The bundled broker as a process for the ``with`` block. It gets SIGTERM at the end, or is killed after a
    failure."""
    import subprocess

    arguments = ["kafka-tools", "broker", "run", str(settings.file), "--delegation-token-key", str(settings.token_key)]
    click.secho("\nStart the bundled broker", bold=True)
    click.secho(f"$ {_as_typed(arguments)} &", fg="cyan")
    with open(settings.folder / "broker.log", "wb") as log:
        broker = subprocess.Popen(
            _program(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for the tour, which then stops the broker in order
        )
    try:
        yield _place_once_ready(broker, settings)
    except BaseException:
        broker.kill()
        broker.communicate()
        raise
    _stop_broker(broker)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP raise an exception in the ``with`` block, so that the broker and the folder are removed."""
    import signal
    import sys

    def end(number: int, _frame: object) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # a second one must not end the cleaning up
        sys.exit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler == signal.SIG_DFL:  # nohup's SIG_IGN stays
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class BrokerSettings(NamedTuple):
    """The files for the start of the tour's broker, and the address for logins."""

    folder: Path
    file: Path
    token_key: Path
    data_dir: Path
    login_server: str

    @classmethod
    def write(cls, folder: Path) -> BrokerSettings:
        """Write a server.properties and the secret key of delegation tokens."""
        import secrets
        import socket

        with socket.create_server(("127.0.0.1", 0)) as free:  # the ready line tells the first listener only
            login_server = f"127.0.0.1:{free.getsockname()[1]}"
        data_dir = folder / "data"
        file, token_key = folder / "server.properties", folder / "token.key"
        file.write_text(
            "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
            f"listeners=PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://{login_server},CONTROLLER://127.0.0.1:9093\n"
            f"sasl.enabled.mechanisms=SCRAM-SHA-256\nlog.dirs={data_dir}\ngroup.initial.rebalance.delay.ms=0\n"
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
            "super.users=User:ANONYMOUS\n",
            encoding="utf-8",
        )
        token_key.write_text(secrets.token_hex(16) + "\n", encoding="utf-8")
        return cls(folder, file, token_key, data_dir, login_server)


def _place_once_ready(broker: subprocess.Popen[bytes], settings: BrokerSettings) -> TourPlace:
    """The tour's place, after the broker printed its ready line. Raises StepFailed if it does not."""
    import json

    from kafka_tools.commands.toolkit.step_checks import StepFailed
    from kafka_tools.commands.toolkit.tour_steps import TourPlace

    line = _first_line(broker)
    try:
        ready = json.loads(line)
        servers = (ready["bootstrap_servers"], ready["cluster_id"], settings.login_server)
        place = TourPlace(settings.folder, settings.data_dir, *servers)
    except (ValueError, KeyError, TypeError) as error:
        broker.kill()
        broker.wait()  # its log is complete then
        said = (settings.folder / "broker.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise StepFailed(f"cannot start the broker{f': {said[-1]}' if said else ''}") from error
    click.echo(line.rstrip())
    return place


def _first_line(broker: subprocess.Popen[bytes]) -> str:
    """The broker's ready line; empty if the broker ends, or after a timeout."""
    import selectors

    assert broker.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(broker.stdout, selectors.EVENT_READ)
        if not selector.select(BROKER_TIMEOUT_S):
            return ""
    return broker.stdout.readline().decode("utf-8", "replace")


def _stop_broker(broker: subprocess.Popen[bytes]) -> None:
    """Stop the broker with SIGTERM. Raises StepFailed if it fails."""
    import subprocess

    from kafka_tools.commands.toolkit.step_checks import StepFailed

    broker.terminate()
    try:
        broker.communicate(timeout=BROKER_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        broker.kill()
        broker.communicate()
        raise StepFailed(f"the broker did not stop within {BROKER_TIMEOUT_S} s of SIGTERM") from None
    if broker.returncode != 0:
        raise StepFailed(f"the broker ended with status {broker.returncode} after SIGTERM")


def _as_typed(arguments: list[str]) -> str:
    import shlex

    return shlex.join(arguments)


def _program(arguments: list[str]) -> list[str]:
    """The command with this Python: PATH may not have the console scripts, or those of another installation."""
    import sys

    name, rest = arguments[0], arguments[1:]
    command = rest if name == "kafka-tools" else [name.removeprefix("kafka-"), *rest]
    return [sys.executable, "-m", "kafka_tools", *command]


def _environment() -> dict[str, str]:
    """This process's environment, with this kafka_tools first on the path of its children, and UTF-8 output."""
    import os

    import kafka_tools

    parent = os.path.dirname(os.path.dirname(os.path.abspath(kafka_tools.__file__)))
    path = os.pathsep.join(part for part in (parent, os.environ.get("PYTHONPATH", "")) if part)
    return os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
