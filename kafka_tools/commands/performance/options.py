"""Options of the performance tools: several values after one name (``--command-property a=1 b=2``), and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from kafka_tools.commands.options.command import Command
from kafka_tools.errors import UsageError

if TYPE_CHECKING:
    from kafka_tools.metrics.names import MetricName


class SeveralValues(Command):
    """A command whose KEY=VALUE options take further values without a name of their own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        taking = {
            name
            for each in self.params
            if isinstance(each, click.Option) and each.multiple and each.metavar == "KEY=VALUE"
            for name in each.opts
        }
        spread: list[str] = []
        name, values = "", 0
        for word in args:
            is_name = word.startswith("-")
            if not is_name and name and values:
                spread.append(name)
            spread.append(word)
            values = 0 if is_name else values + 1
            if is_name:
                name, equals, _ = word.partition("=")
                name = name if name in taking else ""
                values = 1 if equals else 0
        return super().parse_args(ctx, spread)


def check_print_metrics(wanted: bool, output_format: str | None) -> None:
    """Raise a usage error for --print-metrics with -o."""
    if wanted and output_format is not None:
        raise UsageError("--print-metrics prints text: leave out -o")


def print_metrics(metrics: Mapping[MetricName, object]) -> None:
    """Print metrics as Kafka's tools do; nothing if there are none."""
    if metrics:
        from kafka_tools.commands.running import emit
        from kafka_tools.metrics.clients import printed

        emit(printed(metrics))
