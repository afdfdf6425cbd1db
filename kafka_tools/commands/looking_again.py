"""Commands that look more than once: ``--rates`` (twice) and ``--watch`` (until Ctrl-C)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running, standard_streams
from kafka_tools.commands.options.values import duration_ms

if TYPE_CHECKING:
    from kafka_tools.output.rows import Rows

LOOK_AGAIN = "5s"
"""Default time between two looks."""
SHORTEST_MS = 100
FORMS_OF_A_STREAM = (None, "table", "wide", "jsonl")
"""Forms of ``-o`` that can be printed again and again."""
CLEAR_SCREEN = "\x1b[H\x1b[2J"

Decorator = Callable[[Any], Any]


def time_options(make: Callable[..., Decorator], rates: str, watch: str) -> tuple[Decorator, Decorator]:
    """``--rates`` and ``--watch``, with the helps given and their default time. ``make``: ``option`` of a section."""
    common = {"metavar": "[TIME]", "is_flag": False, "flag_value": LOOK_AGAIN, "type": duration_ms}
    default = f"  [without a value: {LOOK_AGAIN}]"
    return make("--rates", help=rates + default, **common), make("--watch", help=watch + default, **common)


def check_times(given: Mapping[str, Any], output_format: str | None) -> None:
    """Raise a usage error for times that are too short, and for forms that cannot be repeated."""
    if given["rates"] is not None and given["watch"] is not None:
        raise click.UsageError("--rates and --watch cannot be combined: --watch shows rates.")
    if given["watch"] is not None and output_format not in FORMS_OF_A_STREAM:
        raise click.UsageError(f"--watch cannot be combined with -o {output_format}: it prints table, wide or jsonl.")
    for name in ("rates", "watch"):
        if given[name] is not None and given[name] < SHORTEST_MS:
            raise click.UsageError(f"--{name} needs at least {SHORTEST_MS} ms.")


def redraw(document: Rows, form: str, *, is_first: bool, failed: str) -> None:
    """Print the next table: in place of the last one on a terminal, below it elsewhere."""
    from kafka_tools.output.rows import show

    if form != "jsonl":
        if sys.stdout.isatty():
            sys.stdout.write(CLEAR_SCREEN)
        elif not is_first:
            sys.stdout.write("\n")
    show(document, form)
    for error in document.errors:
        running.note(f"{failed} {error.item}: {error.message}")
    sys.stdout.flush()
    standard_streams.require_reader()
