"""Completion of topics and groups with names from the cluster, within a short deadline.

The functions are ``shell_complete`` callbacks of options. They may raise: ``completer`` then gives no completions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from kafka_tools.commands.options.connection import ConnectionOptions

TIMEOUT_MS = 700
"""Timeout of a completion."""


def topic_names(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The topics of the cluster that the command line names, for an option's ``shell_complete``."""
    with _connection(context).admin() as admin:
        return _matching((listing.name for listing in admin.list_topics()), incomplete)


def group_names(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The groups of the cluster that the command line names."""
    with _connection(context).admin() as admin:
        return _matching((listing.group_id for listing in admin.list_groups()), incomplete)


def _connection(context: click.Context) -> ConnectionOptions:
    from kafka_tools.commands.options.connection import ConnectionOptions

    given = context.params
    properties = dict(given.get("command_property") or ())
    return ConnectionOptions(
        given.get("bootstrap_server"), None, given.get("command_config"), properties, TIMEOUT_MS, False
    )


def _matching(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]
