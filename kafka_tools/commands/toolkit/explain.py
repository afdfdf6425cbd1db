"""``kafka-tools explain``: what an error code, an API, a config or the text of an error means."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands.options.command import Command
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.running import show_rows
from kafka_tools.errors import InputError

if TYPE_CHECKING:
    from kafka_tools.explain.subjects import Explanation

_LEAST_WIDTH, _MOST_WIDTH = 60, 110
_TITLES = {"error": "Error {number}: {name}", "api": "API {number}: {name}", "config": "Config {name}"}
_DETAILS = {"error": "Answered by", "api": "Versions and errors", "config": ""}


def known_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names that begin with ``incomplete``, in any case."""
    from kafka_tools.explain.search import names

    return [name for name in names() if name.lower().startswith(incomplete.lower())]


@click.command(name="explain", cls=Command)
@click.argument("words", metavar="CODE|NAME|TEXT", nargs=-1, required=True, shell_complete=known_names)
@output_options("explanations")
def command(words: tuple[str, ...], output_format: str | None) -> int:
    """Explain an error code, an API, a config, or the text of an error.

    TEXT may be a line of a log: errors, Java exceptions and configs in it are explained. For an error, the output has
    its usual cause and the next commands. No cluster is asked.

    \b
    Examples:
      kafka-tools explain 25
      kafka-tools explain retention.ms
      kafka-tools explain "org.apache.kafka.common.errors.RecordTooLargeException: The request"
    """
    from kafka_tools.explain.search import explain, near

    asked = " ".join(words)
    found = explain(asked)
    if not found:
        names = near(asked)
        hint = f"did you mean {' or '.join(names)}?" if names else "give a code, an error, an API or a config of Kafka"
        raise InputError(f"nothing is known about '{asked[:100]}'", hint=hint)
    return show_rows("explanations", found, output_format, _text)


def _text(rows: list[Explanation]) -> str:
    width = min(max(shutil.get_terminal_size().columns, _LEAST_WIDTH), _MOST_WIDTH)
    return "\n".join("\n".join(_lines(row, width)) + "\n" for row in rows)


def _lines(row: Explanation, width: int) -> Iterator[str]:
    yield _TITLES[row["subject"]].format_map(row)
    if row["meaning"]:
        yield from textwrap.wrap(row["meaning"], width, initial_indent="  ", subsequent_indent="  ")
    yield from _table(row["facts"], width)
    if row["cause"]:
        yield "Usual cause:"
        yield from textwrap.wrap(row["cause"], width, initial_indent="  ", subsequent_indent="  ")
    if row["next"]:
        yield "Next:"
        yield from (f"  {each}" for each in row["next"])
    if row["details"]:
        yield f"{_DETAILS[row['subject']]}:"
        yield from _table({each["name"]: each["text"] for each in row["details"]}, width)


def _table(entries: dict[str, Any], width: int) -> Iterator[str]:
    """A line for each entry; long names have their text below."""
    column = min(max(map(len, entries), default=0), 24) + 4
    for name, text in entries.items():
        start = f"  {name}".ljust(column)
        if len(start) > column:
            yield start
            start = " " * column
        yield from textwrap.wrap(text, width, initial_indent=start, subsequent_indent=" " * column)
