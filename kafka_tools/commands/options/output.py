"""``-o``: the form of a command's result, and of its failure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import OUTPUT, Option, is_given, option

FORMATS = ("table", "wide", "json", "jsonl", "yaml", "csv", "tsv", "name")
"""The forms of ``-o``; ``output/rows.py`` describes them."""
PROMETHEUS = "prometheus"
"""A form of ``-o`` for kinds that have metrics (``output/prometheus_doc.py``)."""


class OutputOption(Option):
    """``-o``. ``kinds``: options of the command, separated by blanks -> the kind of rows that it prints with them."""

    def __init__(self, *names: Any, kinds: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.kinds = kinds

    def kind(self, given: Mapping[str, Any]) -> str:
        """The kind for the given options. If several kinds match, the one with the most options wins."""
        fitting = [options for options in self.kinds if all(is_given(given.get(each)) for each in options.split())]
        return self.kinds[max(fitting or self.kinds, key=lambda options: len(options.split()))]


def output_options(kinds: str | Mapping[str, str], *, metrics: bool = False) -> Callable[[Any], Any]:
    """Add ``-o``. The command's function gets ``output_format: str | None``; None means Kafka's own text.

    ``kinds``: the kind of rows that the command prints, a key of ``output.kinds.KINDS``. If it depends on options:
    names of parameters, separated by blanks, -> kind: ``{"list": "topic-names", "describe": "topics"}``. The function
    ends with ``running.show_rows`` or ``running.finish``. If it raises, a document that contains the error is printed.
    ``metrics``: also ``-o prometheus``; the command refuses it for kinds that have none.
    """
    by_options = {"": kinds} if isinstance(kinds, str) else dict(kinds)

    def decorate(function: Any) -> Any:
        def guarded(*arguments: Any, **values: Any) -> Any:
            try:
                return function(*arguments, **values)
            except Exception as error:
                running.show_failure(error, _kind(click.get_current_context()), values["output_format"])
                raise

        add = option(
            "-o",
            "--output",
            "output_format",
            type=click.Choice([*FORMATS, *([PROMETHEUS] if metrics else [])]),
            section=OUTPUT,
            help="Output format. By default, text, the same as in Kafka's own tool if there is one.",
            cls=OutputOption,
            kinds=by_options,
        )
        return add(functools.update_wrapper(guarded, function))

    return decorate


def _kind(context: click.Context) -> str:
    """The kind of rows for the command line."""
    (output,) = (each for each in context.command.params if isinstance(each, OutputOption))
    return output.kind(context.params)
