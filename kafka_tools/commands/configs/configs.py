"""``kafka-configs``: show and change the configuration of topics, brokers, users, clients and more (ConfigCommand).

Changes are incremental: other configs stay. If the Java tool fails, it prints its whole argument line, including
passwords. Messages here never contain the value of a secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.configs.names import EntityType, added_settings, deleted_keys, list_settings
from kafka_tools.commands.live_names import group_names, topic_names
from kafka_tools.commands.options.command import ARGUMENTS, Command, action_option, connection_option, option, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.zookeeper import open_configs, refuse_without_zookeeper, zookeeper_options
from kafka_tools.errors import UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.commands.configs.entities import Target
    from kafka_tools.commands.configs.places import Place
    from kafka_tools.output.rows import Rows

_TYPES = ("topics", "clients", "users", "brokers", "broker-loggers", "ips", "client-metrics", "groups")
entity_option = section("Entities")
_CHANGES = ("add_config", "add_config_file", "delete_config", "append_config", "subtract_config")
DEPRECATED = (
    "warning: --zookeeper is deprecated and will be removed, because Kafka 4.0 removed ZooKeeper. Use "
    "--bootstrap-server if a broker is running"
)


@click.command(name="kafka-configs", cls=Command)
@action_option("--describe", is_flag=True, help="Show the configs.")
@action_option("--alter", is_flag=True, help="Change the configs.")
@option("--all", "all", is_flag=True, help="Include static and default values (with --describe).")
@option(
    "--documentation",
    is_flag=True,
    help="Include the brokers' description of each config (with --describe and -o wide, json or yaml).",
)
@option(
    "--explain",
    is_flag=True,
    help="Show which quota level applies to a user, a client or an IP address, and why (with --describe).",
)
@option(
    "--add-config",
    metavar="K=V,...",
    shell_complete=added_settings,
    help="Configs to set: k1=v1,k2=[v1,v2], with brackets around values that contain commas. k+=v appends to a "
    "list, k-=v removes from it. Times and sizes can have units: retention.ms=7d, segment.bytes=10MiB (MB is 10^6, "
    "MiB 2^20).",
)
@option("--add-config-file", metavar="FILE", help="Properties file with configs to set; - reads standard input.")
@option(
    "--append-config",
    metavar="K=V,...",
    multiple=True,
    shell_complete=list_settings,
    help="Values to append to lists: k=v1,v2. Values already in the list are not added again.",
)
@option(
    "--subtract-config",
    metavar="K=V,...",
    multiple=True,
    shell_complete=list_settings,
    help="Values to remove from lists: k=v1,v2.",
)
@option(
    "--delete-config",
    metavar="K,...",
    multiple=True,
    shell_complete=deleted_keys,
    help="Configs to delete.",
)
@option(
    "--dry-run",
    is_flag=True,
    help="Validate the changes and show the old and new values without applying them (with --alter).",
)
@entity_option(
    "--entity-type",
    type=EntityType(_TYPES),
    multiple=True,
    help="Type of the entity; users and clients together are a pair.",
)
@entity_option("--entity-name", metavar="NAME", multiple=True, help="Name of the entity.")
@entity_option(
    "--entity-default",
    is_flag=True,
    help="Default entity of clients, users, brokers or IP addresses, instead of --entity-name.",
)
@entity_option("--topic", metavar="NAME", multiple=True, shell_complete=topic_names, help="Topic name.")
@entity_option("--client", metavar="ID", multiple=True, help="Client id; together with --user, the pair.")
@entity_option("--client-defaults", is_flag=True, help="Default of all clients.")
@entity_option("--user", metavar="NAME", multiple=True, help="User principal; together with --client, the pair.")
@entity_option("--user-defaults", is_flag=True, help="Default of all users.")
@entity_option("--broker", metavar="ID", multiple=True, help="Broker id.")
@entity_option("--broker-defaults", is_flag=True, help="Default of all brokers.")
@entity_option(
    "--broker-logger", metavar="ID", multiple=True, help="Id of the broker whose log levels to show or change."
)
@entity_option("--ip", metavar="ADDRESS", multiple=True, help="IP address.")
@entity_option("--ip-defaults", is_flag=True, help="Default of all IP addresses.")
@entity_option("--group", metavar="ID", multiple=True, shell_complete=group_names, help="Group id.")
@entity_option("--client-metrics", metavar="NAME", multiple=True, help="Name of a client metrics subscription.")
@option("--force", is_flag=True, hidden=True, help="Ignored; it never had an effect in Kafka's tool either.")
@connection_option(
    "--zk-release",
    metavar="VERSION",
    help="Kafka release of the brokers, 1.1 to 3.9, if none of them is running (with --zookeeper).",
)
@zookeeper_options
@connection_options(controllers=True)
@output_options({"": "configs", "dry_run": "config-changes", "explain": "effective-quotas"})
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Change configs for topics, clients, users, brokers dynamically.

    Also for broker loggers, IP addresses, groups and client metrics subscriptions. Set the SCRAM credentials of
    a user with --add-config 'SCRAM-SHA-512=[iterations=8192,password=...]'.
    """
    from kafka_tools.commands.configs.changes import check
    from kafka_tools.commands.configs.entities import targets

    _check_actions(context, given)
    chosen = targets(given, context.meta[ARGUMENTS], given["alter"])
    changes = _changes(given, chosen[0][0].type)
    if changes:
        check(chosen, changes)
    with _place(connection, chosen, changes, given) as place:
        if given["explain"]:
            return _explain(place, chosen, output_format)
        if given["dry_run"]:
            return _plan(place, chosen, changes, output_format)
        if given["alter"]:
            return _alter(place, chosen, changes, output_format, given)
        return _show(_described(place, chosen, given, output_format), given["all"], output_format)


def _check_actions(context: click.Context, given: dict[str, Any]) -> None:
    """Raise a usage error for options that do not go together."""
    if not (given["describe"] or given["alter"]):
        raise click.UsageError("Give one of --describe, --alter.", ctx=context)
    if not given["alter"]:
        if given["dry_run"]:
            raise UsageError("--dry-run can only be used with --alter")
        if any(given[name] for name in _CHANGES):
            spelled = ", ".join(f"--{name.replace('_', '-')}" for name in _CHANGES if given[name])
            raise UsageError(f"{spelled} can only be used with --alter")
    elif given["explain"]:
        raise UsageError("--explain can only be used with --describe")
    elif given["dry_run"] and given["describe"]:
        raise UsageError("--dry-run cannot be combined with --describe, which changes nothing: leave out one of them")


def _changes(given: dict[str, Any], entity_type: str) -> list[ConfigChange]:
    """The configs to set, remove, append and subtract. Raises UsageError for options that do not go together."""
    if not given["alter"]:
        return []
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.commands.configs.changes import (
        parse_added_file,
        parse_deleted,
        parse_settings,
        refuse_repeated,
    )
    from kafka_tools.commands.options.units import with_numbers
    from kafka_tools.commands.options.values import read_bytes

    if not any(given[name] for name in _CHANGES):
        raise UsageError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    if given["add_config"] and given["add_config_file"]:
        raise UsageError("Only one of --add-config or --add-config-file must be specified")
    changes: list[ConfigChange] = []
    if given["add_config"]:
        changes += parse_settings(given["add_config"])
        to_set = {change.name: change.value or "" for change in changes if change.operation == "set"}
        numbers = with_numbers(entity_type, to_set, "--add-config", UsageError)
        changes = [change._replace(value=numbers.get(change.name, change.value)) for change in changes]
    if given["add_config_file"]:
        place = given["add_config_file"]
        added = with_numbers(entity_type, parse_added_file(read_bytes(place, "config file"), place), place)
        changes += [ConfigChange(key, "set", value) for key, value in added.items()]
    for text in given["append_config"]:
        changes += parse_settings(text, "--append-config", "append")
    for text in given["subtract_config"]:
        changes += parse_settings(text, "--subtract-config", "subtract")
    deleted = parse_deleted(given["delete_config"])
    both = sorted({change.name for change in changes} & set(deleted))
    if both:
        raise UsageError(f"cannot add and delete {', '.join(both)} in one call")
    refuse_repeated(changes)
    if not changes and not deleted:
        raise UsageError(f"{given['add_config_file']}: the file contains no configs")
    return changes + [ConfigChange(key, "delete") for key in deleted]


@contextmanager
def _place(
    connection: ConnectionOptions, chosen: list[Target], changes: list[ConfigChange], given: dict[str, Any]
) -> Iterator[Place]:
    """The place of the configs (a broker or ZooKeeper), for the ``with`` block."""
    if not given["zookeeper"]:
        from kafka_tools.commands.configs.brokers import BrokerPlace

        refuse_without_zookeeper(given)
        with connection.admin() as admin:
            yield BrokerPlace(admin)
        return
    from kafka_tools.commands.configs import judge, zookeeper
    from kafka_tools.scram_math import MECHANISMS

    if connection.names_brokers:
        raise UsageError("--zookeeper and --bootstrap-server cannot be combined: give one of them")
    release = judge.stated_release(given["zk_release"]) if given["zk_release"] else None
    zookeeper.check_types(chosen)
    running.note(DEPRECATED)
    with open_configs(given, connection.timeout_s, changing=given["alter"]) as configs, ExitStack() as stack:
        place = zookeeper.ZooKeeperPlace(configs)
        if any(change.operation != "delete" and change.name not in MECHANISMS for change in changes):
            place.judge = stack.enter_context(judge.judging(configs, connection, release))
        yield place


def _alter(
    place: Place, chosen: list[Target], changes: list[ConfigChange], output_format: str | None, given: dict[str, Any]
) -> int:
    """Apply the changes, and print each changed entity, or its new values."""
    from kafka_tools.commands.configs.places import failures, warnings_of_unknown
    from kafka_tools.output.kafka import text as kafka_text
    from kafka_tools.output.rows import Rows

    for warning in warnings_of_unknown(place, chosen, changes):
        running.note(warning)
    ended = place.alter(chosen, changes)
    changed = [target for target in chosen if ended[target] is None]
    result = Rows("configs", [])
    if output_format is None:
        for target in changed:
            running.emit(kafka_text.config_updated(target[0].type, running.shown(target[0].name or "")))
    if changed and (output_format is not None or given["describe"]):
        result = _described(place, changed, given, output_format)
    result = result._replace(errors=[*result.errors, *failures(ended, changes)])
    return _show(result, given["all"], output_format)


def _plan(place: Place, chosen: list[Target], changes: list[ConfigChange], output_format: str | None) -> int:
    """Show the effect of the changes without applying them."""
    from kafka_tools.commands.configs.places import show_plan, warnings_of_unknown

    for warning in warnings_of_unknown(place, chosen, changes):
        running.note(warning)
    return show_plan(place, chosen, changes, output_format)


def _explain(place: Place, chosen: list[Target], output_format: str | None) -> int:
    """Show the level of quotas that applies."""
    from kafka_tools.commands.configs import explain

    explain.check(chosen)
    rows = explain.explain(chosen, place.quotas_of)
    return running.show_rows("effective-quotas", rows, output_format, explain.as_text)


def _described(place: Place, chosen: list[Target], given: dict[str, Any], output_format: str | None) -> Rows:
    documentation = given["documentation"] and output_format is not None
    return place.describe(chosen, given["all"], documentation)


def _show(result: Rows, show_all: bool, output_format: str | None) -> int:
    """Print the configuration in the requested form, and the failures."""
    from kafka_tools.commands.configs import rows as config_rows

    if output_format is None:
        running.emit(config_rows.as_kafka_text(result, show_all))
    elif output_format == "wide":
        from kafka_tools.output.config_table import tables

        running.emit(tables(result.rows))
        output_format = None
    return running.finish(result, output_format)
