"""``kafka-groups``: the groups of every type (KIP-1043; Kafka's GroupsCommand)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, action_option, is_given, one_of, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.protocol.enums import CONSUMER_PROTOCOL_TYPE, CoordinatorGroupType, unknown_word

if TYPE_CHECKING:
    from kafka_tools.admin.client import GroupListing

TYPES = (
    CoordinatorGroupType.CLASSIC,
    CoordinatorGroupType.CONSUMER,
    CoordinatorGroupType.SHARE,
    CoordinatorGroupType.STREAMS,
)
_KINDS = ("consumer", "share", "streams")


@click.command(name="kafka-groups", cls=Command)
@action_option("--list", "list", is_flag=True, help="List the groups.")
@option("--group-type", metavar="TYPE", help="Only groups of this type: classic, consumer, share or streams.")
@option(
    "--protocol",
    metavar="NAME",
    allow_empty=True,
    help="Only groups of this protocol type, for example consumer or connect.",
)
@option("--consumer", is_flag=True, help="Only consumer groups, including classic and simple ones.")
@option("--share", is_flag=True, help="Only share groups.")
@option("--streams", is_flag=True, help="Only streams groups.")
@connection_options()
@output_options("all-groups")
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """List the groups of all types."""
    from kafka_tools.commands.groups.rows import finish_listing, not_listed
    from kafka_tools.output.kafka import group_text
    from kafka_tools.output.rows import Rows

    one_of(context, "list")
    group_type = None if given["group_type"] is None else given["group_type"].lower()
    if group_type is not None and group_type not in TYPES:
        raise click.UsageError(
            f"--group-type must be a valid group type. '{given['group_type']}' is not one of {', '.join(TYPES)}.",
            ctx=context,
        )
    for kind in _KINDS:
        others = [name for name in ("group_type", "protocol", *_KINDS) if name != kind and is_given(given[name])]
        if given[kind] and others:
            raise click.UsageError(
                f'Option "[{kind}]" can\'t be used with option "[{others[0].replace("_", "-")}]"', ctx=context
            )
    connection.check()
    with connection.admin() as admin:
        listing = admin.list_groups()
        rows = [
            {
                "group": each.group_id,
                "type": None if each.type is None else _type(each.type),
                "protocol": each.protocol_type,
                "state": each.state,
            }
            for each in listing
            if _is_wanted(each, group_type, given)
        ]
        if output_format is None:
            running.emit(group_text.all_groups(running.shown(rows)))
        return finish_listing(admin, Rows("all-groups", rows, not_listed(listing)), output_format)


def _is_wanted(group: GroupListing, group_type: str | None, given: dict[str, Any]) -> bool:
    # Brokers before 3.8 do not return the type: all their groups are classic.
    found = group.type or CoordinatorGroupType.CLASSIC
    if given["consumer"]:
        return found == CoordinatorGroupType.CONSUMER or group.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")
    if given["share"]:
        return found == CoordinatorGroupType.SHARE
    if given["streams"]:
        return found == CoordinatorGroupType.STREAMS
    return group_type in (None, found) and given["protocol"] in (None, group.protocol_type)


def _type(found: str) -> str:
    """A type in the form of Kafka's tools: ``Classic``. A type that they do not know is Unknown."""
    return found.capitalize() if found in TYPES else unknown_word(found)
