"""A step, checks of its output (texts, lines and tables), and the error of a failed check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kafka_tools.errors import KafkaToolsError


class StepFailed(KafkaToolsError):
    """A command of the tour gave an unexpected result. The message says what is missing."""


class CommandResult(NamedTuple):
    """The result of a command: its exit status, and the text on stdout and on stderr."""

    status: int
    output: str
    errors: str


class Step(NamedTuple):
    """One step: its title, the command, the check of its output, and the file that is its standard input."""

    title: str
    command: list[str]
    check: Callable[[CommandResult], None]
    input_file: Path | None = None


def has(*texts: str) -> Callable[[CommandResult], None]:
    """Each of ``texts`` is somewhere in the output."""

    def check(answer: CommandResult) -> None:
        for text in texts:
            require(text in answer.output, f"the output should contain '{text}'")

    return check


def lists(*lines: str) -> Callable[[CommandResult], None]:
    """The output is these lines, in any order."""

    def check(answer: CommandResult) -> None:
        wanted, found = Counter(lines), Counter(answer.output.splitlines())
        missing, surplus = (sorted(each.elements()) for each in (wanted - found, found - wanted))
        require(not missing, f"{len(missing)} of {len(lines)} lines are missing, for example '{''.join(missing[:1])}'")
        require(not surplus, f"{len(surplus)} lines are unexpected, for example '{''.join(surplus[:1])}'")

    return check


def require(condition: bool, otherwise: str) -> None:
    """Raise StepFailed with ``otherwise`` unless ``condition``."""
    if not condition:
        raise StepFailed(otherwise)


def table(output: str, first_column: str) -> list[dict[str, str]]:
    """Rows under every header line that starts with ``first_column``, cells by column name."""
    rows: list[dict[str, str]] = []
    names: list[str] = []
    for line in output.splitlines():
        cells = line.split()
        if cells and cells[0] == first_column:
            names = cells
        elif names and len(cells) >= len(names):
            rows.append(dict(zip(names, cells, strict=False)))
        elif not cells:
            names = []
    return rows
