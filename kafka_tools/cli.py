"""``kafka-tools``: the root command over the table of commands (``commands/registry.py``).

It imports a command only when the command runs. Root ``--help`` and completion of command names read the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import click

from kafka_tools.commands import running
from kafka_tools.commands.registry import COMMANDS as COMMANDS
from kafka_tools.commands.registry import SCRIPTS as SCRIPTS
from kafka_tools.commands.registry import families
from kafka_tools.commands.registry import load as load

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group whose commands are rows of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = cmd_name.removesuffix(".sh").removeprefix("kafka-")
        return load(name) if name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for family, names in families().items():
            with formatter.section(family.capitalize()):
                formatter.write_dl([(name, COMMANDS[name].summary) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=row.summary) for name, row in COMMANDS.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=LazyGroup,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Every kafka-* command is also a separate script: 'kafka-tools topics' is 'kafka-topics'. --version "
    "works anywhere on the command line.",
)
def root() -> None:
    """The toolkit for people who operate Apache Kafka."""


def main() -> NoReturn:
    """Entry of the ``kafka-tools`` console script."""
    running.main(root, "kafka-tools")
