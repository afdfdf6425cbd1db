"""Options of several values after one name, as Kafka's tools take them: ``--command-property a=1 b=2``."""

from __future__ import annotations

import click

from kafka_tools.commands.options.command import Command


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
