"""Interleaved timing of whole processes: every contestant in turn, round after round, medians and ratios."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

# What kafka-run-class.sh gives every tool, and kafka-server-start.sh the broker. What the scripts do themselves before
# they start Java (one grep for each of a hundred jars) is not counted.
KAFKA_TOOL_OPTIONS = [
    "-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
    "-Dcom.sun.management.jmxremote", "-Dcom.sun.management.jmxremote.authenticate=false",
    "-Dcom.sun.management.jmxremote.ssl=false",
]  # fmt: skip
KAFKA_SERVER_OPTIONS = ["-Xmx1G", "-Xms1G", *KAFKA_TOOL_OPTIONS[1:]]
RELEASE = "4.3.1"
TIMEOUT_S = 120


def script(name: str) -> str:
    """The console script ``name`` of the environment that runs the benchmark."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise SystemExit(f"{path} is missing: install the package into this environment first")
    return str(path)


def kafka_command(main: str, *arguments: str) -> list[str]:
    """Kafka's own tool with the options of its own script."""
    from tests.against_kafka.jars import SHELL, class_path, java, library

    shell = [*library(SHELL).glob("*.jar")] if main.startswith("org.apache.kafka.shell.") else []
    jars = os.pathsep.join(map(str, [*shell, *class_path(RELEASE)]))
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return [java(), *KAFKA_TOOL_OPTIONS, quiet, "-cp", jars, main, *arguments]


def environment() -> dict[str, str]:
    """This process' environment, in which Python may keep compiled modules, as it does where people install it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(command: Sequence[str], timeout_s: float = TIMEOUT_S) -> subprocess.CompletedProcess[str]:
    """Run to the end, output captured, no input."""
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
    )


class Cost(NamedTuple):
    """What one run took: ``wall_s`` is what people wait, ``cpu_s`` is what a busy machine does not change.

    ``peak_bytes`` is the largest resident size of its process, and never less than that of this one when it started it.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int = 0


def cost(command: Sequence[str], expected: Sequence[int] = (0,), to: Path | None = None) -> Cost:
    """One run; a run that ends otherwise than expected, or not in time, stops the benchmark.

    ``to`` is where its standard output goes.
    """
    with tempfile.TemporaryFile() as notes, to.open("wb") if to else nullcontext(notes) as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=notes, env=environment())
        overdue = threading.Timer(TIMEOUT_S, process.kill)
        overdue.start()
        _, status, usage = os.wait4(process.pid, 0)  # the only call that tells one child's peak
        elapsed = time.perf_counter() - start
        overdue.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in expected:
            notes.seek(0)
            text = notes.read().decode("utf-8", "replace")
            raise SystemExit(f"{' '.join(command[-6:])} ended with {process.returncode}:\n{text}")
    return Cost(elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def in_turn(contestants: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, list[Cost]]:
    """What each contestant took in ``rounds`` rounds in which each runs once, in turn.

    One warm-up round that does not count fills the caches of files for all alike.
    """
    found: dict[str, list[Cost]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, measure in contestants.items():
            value = measure()
            if turn:
                found[name].append(value)
    return found


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each quantity."""
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def medians(contestants: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, Cost]:
    """The medians of each contestant ``in_turn``."""
    return {name: median(costs) for name, costs in in_turn(contestants, rounds).items()}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned first column, right-aligned others."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = []
    for row in (head, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
