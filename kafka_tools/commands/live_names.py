"""Names that TAB asks the cluster for: topics and groups, within a hard short deadline.

``shell_complete`` callbacks of options. They may raise: ``completer`` answers nothing then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from kafka_tools.commands.options.connection import ConnectionOptions

TIMEOUT_MS = 700
"""How long TAB may wait for a cluster."""


def topic_names(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The topics of the cluster that the line names so far, for an option's ``shell_complete``."""
    with _connection(context).admin() as admin:
        return _matching((listing.name for listing in admin.list_topics()), incomplete)


def group_names(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The groups of the cluster that the line names so far."""
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
