"""Options of clients that have an older name, which Kafka still accepts with a warning of its own."""

from __future__ import annotations

from typing import Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import is_given


def newer_of(value: Any, old_value: Any, *, together: str, warning: str) -> Any:
    """The value of an option, or else of its older name with Kafka's ``warning`` on stderr.

    Raises a usage error with the text ``together`` if both are given.
    """
    if not is_given(old_value):
        return value
    if is_given(value):
        raise click.UsageError(together)
    running.note(warning)
    return old_value
