"""``kafka-tools doctor``: what is wrong with a cluster now, with the likely cause and the next command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.running import FAILED, complain, emit, finish

if TYPE_CHECKING:
    from kafka_tools.health.facts import Facts
    from kafka_tools.health.finding import Diagnosis

CONNECT = "connect"
_PARTS: dict[str, tuple[str, str]] = {
    "brokers": ("servers", "check_brokers"),
    "quorum": ("servers", "check_quorum"),
    "features": ("servers", "check_features"),
    "partitions": ("partitions", "check"),
    "log-dirs": ("servers", "check_log_dirs"),
    "groups": ("workloads", "check_groups"),
    "transactions": ("workloads", "check_transactions"),
    "tokens": ("workloads", "check_tokens"),
    "configs": ("contradictions", "check"),
}
"""Check -> the module and function of ``kafka_tools.health`` that does it."""
_ANSWER_S = 2.0
"""How long one request is waited for, so that a broker that is down does not hold up the rest."""
_ORDER = {"error": 0, "warning": 1, "info": 2}
option = section("Checks")


@click.command(name="doctor", cls=Command)
@option(
    "--check", "checks", multiple=True, metavar="NAME", type=click.Choice([CONNECT, *_PARTS]),
    help=f"Only this check: {CONNECT}, {', '.join(_PARTS)}.  [default: all but {CONNECT}]",
)  # fmt: skip
@option(
    "--round-trip", is_flag=True,
    help="Also write a record and read it back, in the topic kafka-tools-doctor, which is created for it.",
)  # fmt: skip
@connection_options(controllers=True)
@output_options("findings")
def command(checks: tuple[str, ...], round_trip: bool, connection: ConnectionOptions, output_format: str | None) -> int:
    """Find what is wrong with a cluster: brokers, quorum, partitions, disks, groups, transactions, configs.

    If all is well, the command prints one line. Otherwise, it prints each finding with the evidence, the likely cause
    and the next command. --check connect tries a connection step by step. The exit status is 1 if there is an error or
    a warning.

    \b
    Examples:
      kafka-tools doctor -b localhost:9092
      kafka-tools doctor -b localhost:9092 --check connect
      kafka-tools doctor -b localhost:9092 --round-trip -o json
    """
    if CONNECT in checks:
        return _connect(connection, output_format)
    from kafka_tools.clock import SystemClock
    from kafka_tools.health.facts import collect

    clock = SystemClock()
    began_s = clock.monotonic_s()
    config = connection.client_config()
    with connection.admin() as admin:
        facts = collect(admin, clock, min(2 * _ANSWER_S, connection.timeout_s))
        found = [finding for name in checks or _PARTS for finding in _checked(name, facts)]
        if round_trip:
            from kafka_tools.health.round_trip import round_trip as try_it

            found.append(try_it(admin, config, clock, connection.timeout_s))
    found += _unchecked(facts)
    found.sort(key=lambda finding: _ORDER[finding.severity])
    if output_format is None:
        emit(_text(found, facts, len(checks or _PARTS), clock.monotonic_s() - began_s))
    return _end([finding._asdict() for finding in found], output_format)


def _checked(name: str, facts: Facts) -> Iterable[Diagnosis]:
    from importlib import import_module

    module, function = _PARTS[name]
    check: Callable[[Facts], Iterable[Diagnosis]] = getattr(import_module(f"kafka_tools.health.{module}"), function)
    return check(facts)


def _unchecked(facts: Facts) -> Iterator[Diagnosis]:
    """What could not be asked, unless the release does not have it."""
    from kafka_tools.health.facts import is_expected
    from kafka_tools.health.finding import INFO, Diagnosis

    for part, error in facts.missing.items():
        if not is_expected(error):
            yield Diagnosis("unchecked", INFO, f"not checked: {part}", str(error), "", "")


def _end(rows: list[dict[str, Any]], output_format: str | None) -> int:
    from kafka_tools.health.finding import counted
    from kafka_tools.output.rows import Rows

    finish(Rows("findings", rows), output_format)
    errors, warnings = (sum(row["severity"] == severity for row in rows) for severity in ("error", "warning"))
    if errors or warnings:
        complain(
            click.get_current_context().command_path, f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        )
        return FAILED
    return 0


def _text(found: list[Diagnosis], facts: Facts, checks: int, seconds: float) -> str:
    from kafka_tools.health.finding import counted

    lines = []
    for finding in found:
        lines.append(f"{finding.severity.upper():<8}{finding.what}")
        for label, text in (("evidence", finding.evidence), ("cause", finding.cause), ("next", finding.next)):
            if text:
                lines.append(f"        {label + ':':<10}{text}")
    is_well = all(finding.severity == "info" for finding in found)
    size = ", ".join((
        counted(len(facts.cluster.nodes), "broker"), counted(facts.partition_count, "partition"),
        counted(len(facts.groups), "group"), counted(checks, "check"),
    ))  # fmt: skip
    verdict = "all is well" if is_well else "something is wrong"
    return "\n".join([*lines, f"cluster {facts.cluster.cluster_id}: {verdict} ({size}, {seconds:.1f} s)"]) + "\n"


def _connect(connection: ConnectionOptions, output_format: str | None) -> int:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.clock import SystemClock
    from kafka_tools.health.connecting import Address, ConnectStep, steps

    config = connection.client_config()
    clock = SystemClock()
    limit_s = min(_ANSWER_S, connection.timeout_s)
    rows: list[dict[str, Any]] = []

    def admin(address: str) -> AdminClient:
        return AdminClient(connection.config_of(address), timeout_s=limit_s)

    def show(address: str, step: ConnectStep) -> None:
        severity = {True: "info", None: "warning", False: "error"}[step.ok]
        rows.append({"check": CONNECT, "severity": severity, "what": f"{step.name}: {step.text}", "evidence": address,
                     "cause": step.hint, "next": ""})  # fmt: skip
        if output_format is None:
            mark = {True: "ok", None: "warning", False: "FAILED"}[step.ok]
            emit(f"  {mark:<8}{step.name:<11}{step.text}\n" + (f"          {step.hint}\n" if step.hint else ""))

    for host, port in config.bootstrap:
        address = Address(host, port, admin)
        if output_format is None:
            emit(f"{address} ({config.security_protocol})\n")
        for step in steps(address, config, clock, limit_s):
            show(str(address), step)
    return _end(rows, output_format)
