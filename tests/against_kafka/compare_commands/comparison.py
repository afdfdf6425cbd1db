"""Runs scenarios by both tools, and counts what is equal and what differs for which reason."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from kafka_tools import cli
from kafka_tools.commands import running
from tests.against_kafka.compare_commands import differences
from tests.against_kafka.compare_commands.line import Line
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import Ended, theirs

Side = Callable[..., Ended]
LONGEST_WAIT_S = 30.0
_RANDOM = re.compile(r"(?<=TopicId: )\S+")


def here(kafka: RealKafka, command: str, *arguments: object) -> Ended:
    """Our command in this process: hundreds of processes would take minutes."""
    kafka.catch_up()
    words = ["--bootstrap-server", kafka.bootstrap_servers, *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = running.run(cli.load(command), words, f"kafka-{command}")
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


class Pair(NamedTuple):
    """A line, and what it printed with each tool."""

    line: Line
    ours: Ended
    theirs: Ended


class Report:
    """What was tried: on which cluster, how much was equal, what differed and why."""

    def __init__(self) -> None:
        self.tried: Counter[tuple[str, str]] = Counter()
        self.equal: Counter[tuple[str, str]] = Counter()
        self.states: Counter[tuple[str, str]] = Counter()
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.examples: dict[tuple[str, str], str] = {}
        self.unexplained: list[tuple[str, Pair]] = []

    def add(self, cluster: str, scenario: str, pairs: Sequence[Pair]) -> None:
        """Judge every line of a scenario."""
        place = (cluster, scenario)
        for pair in pairs:
            self.tried[place] += 1
            self.states[place] += pair.line.state
            mine, other = (_without_chance(each) for each in (pair.ours, pair.theirs))
            if (mine.returncode, mine.stdout) == (other.returncode, other.stdout):
                self.equal[place] += 1
                continue
            reason = None if pair.line.state else differences.reason_for(pair.line.command, mine, other)
            if reason is None:
                self.unexplained.append((cluster, pair))
            else:
                self.reasons[pair.line.command, reason] += 1
                self.examples.setdefault((pair.line.command, reason), pair.line.text)

    def lines(self) -> list[str]:
        """The report as two tables in Markdown, and below them what nothing explains."""
        rows = [
            "| cluster | command | lines | of them state | equal | different |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for place in self.tried:
            tried, equal = self.tried[place], self.equal[place]
            rows.append(f"| {' | '.join(place)} | {tried} | {self.states[place]} | {equal} | {tried - equal} |")
        tried, equal = self.tried.total(), self.equal.total()
        rows.append(f"| all | | {tried} | {self.states.total()} | {equal} | {tried - equal} |")
        rows += ["", "| command | lines | reason | for example |", "| --- | --- | --- | --- |"]
        for (command, reason), count in sorted(self.reasons.items()):
            rows.append(f"| {command} | {count} | {reason} | `{self.examples[command, reason]}` |")
        rows += ["", f"unexplained: {len(self.unexplained)}"]
        for cluster, pair in self.unexplained:
            rows += [f"-- {cluster}: {pair.line.text}", *_shown("ours", pair.ours), *_shown("theirs", pair.theirs)]
        return rows


def _shown(name: str, ended: Ended) -> list[str]:
    streams = (("out", ended.stdout), ("err", ended.stderr))
    texts = [f"   {name} {stream}: {line}" for stream, text in streams for line in text.splitlines()[:12]]
    return [f"   {name}: status {ended.returncode}", *texts]


def _without_chance(ended: Ended) -> Ended:
    """The same without what is random in standard output."""
    return subprocess.CompletedProcess(ended.args, ended.returncode, _RANDOM.sub("ID", ended.stdout), ended.stderr)


def run(kafka: RealKafka, scenario: Sequence[Line], values: Mapping[str, str]) -> list[Pair]:
    """All lines by our tool, then all by Kafka's; Kafka's asks both times what each change has left."""
    ours_ended, theirs_ended = (
        [ended(kafka, theirs if line.state else side, line, values) for line in scenario] for side in (here, theirs)
    )
    return [Pair(*each) for each in zip(scenario, ours_ended, theirs_ended, strict=True)]


def ended(kafka: RealKafka, side: Side, line: Line, values: Mapping[str, str]) -> Ended:
    """One line by one tool; a line that waits for something is run until it is there, or time is over."""
    end = time.monotonic() + LONGEST_WAIT_S
    command, *words = (word.format(**values) for word in shlex.split(line.text))
    while True:
        found = side(kafka, command, *words)
        if line.until in found.stdout or time.monotonic() > end:
            return found
        time.sleep(0.2)
