"""``kafka-configs``: show and change the configuration of topics, brokers, users, clients and more (ConfigCommand).

Changes are incremental: what is not named stays. The Java tool prints its whole argument line, passwords included, when
it fails; nothing here repeats a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools.commands import _run
from kafka_tools.commands._config_names import added_settings, deleted_keys
from kafka_tools.commands._live_names import group_names, topic_names
from kafka_tools.commands._options import (
    ARGUMENTS,
    FORMATS,
    Command,
    Connection,
    connection_options,
    option,
    output_options,
)
from kafka_tools.commands._zookeeper import open_configs, zookeeper_options
from kafka_tools.errors import UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands._config_entities import Entity
    from kafka_tools.output.rows import Rows

_TYPES = ("topics", "clients", "users", "brokers", "broker-loggers", "ips", "client-metrics", "groups")


@click.command(name="kafka-configs", cls=Command)
@option("--describe", is_flag=True, section="Actions", help="Show the configuration.")
@option("--alter", is_flag=True, section="Actions", help="Change the configuration.")
@option("--all", "all", is_flag=True, help="With --describe also static and default values.")
@option(
    "--add-config",
    metavar="K=V,...",
    shell_complete=added_settings,
    help="Keys to set; brackets group commas: k1=v1,k2=[v1,v2].",
)
@option("--add-config-file", metavar="FILE", help="Properties file with keys to set; - reads standard input.")
@option(
    "--delete-config",
    metavar="K,...",
    multiple=True,
    shell_complete=deleted_keys,
    help="Keys to remove. May be repeated.",
)
@option(
    "--entity-type",
    type=click.Choice(_TYPES),
    multiple=True,
    section="Entities",
    help="Type of the entity. Repeats for the pair of a user and a client.",
)
@option(
    "--entity-name", metavar="NAME", multiple=True, section="Entities", help="Name of the entity, one for each type."
)
@option(
    "--entity-default",
    is_flag=True,
    section="Entities",
    help="The default entity of clients, users, brokers or ips, in place of --entity-name.",
)
@option("--topic", metavar="NAME", section="Entities", shell_complete=topic_names, help="A topic.")
@option("--client", metavar="ID", section="Entities", help="A client id; with --user the pair.")
@option("--client-defaults", is_flag=True, section="Entities", help="Default of all clients.")
@option("--user", metavar="NAME", section="Entities", help="A user principal; with --client the pair.")
@option("--user-defaults", is_flag=True, section="Entities", help="Default of all users.")
@option("--broker", metavar="ID", section="Entities", help="A broker.")
@option("--broker-defaults", is_flag=True, section="Entities", help="Default of all brokers.")
@option("--broker-logger", metavar="ID", section="Entities", help="The log levels of a broker.")
@option("--ip", metavar="ADDRESS", section="Entities", help="An IP address.")
@option("--ip-defaults", is_flag=True, section="Entities", help="Default of all IP addresses.")
@option("--group", metavar="ID", section="Entities", shell_complete=group_names, help="A group.")
@option("--client-metrics", metavar="NAME", section="Entities", help="A subscription to client metrics.")
@option("--force", is_flag=True, hidden=True, help="Never had an effect.")
@zookeeper_options
@connection_options(controllers=True)
@output_options((*FORMATS, "wide"))
@click.pass_context
def command(context: click.Context, /, connection: Connection, output_format: str | None, **given: Any) -> int:
    """Change configs for topics, clients, users, brokers dynamically.

    Also for broker loggers, IP addresses, groups and client metrics. SCRAM credentials of a user are set with
    --add-config 'SCRAM-SHA-512=[iterations=8192,password=...]'.
    """
    from kafka_tools.commands import _config_alter
    from kafka_tools.commands._config_entities import entities
    from kafka_tools.output import kafka_text

    if not (given["describe"] or given["alter"]):
        raise click.UsageError("Give one of --describe, --alter.", ctx=context)
    chosen = entities(given, context.meta[ARGUMENTS], given["alter"])
    changes = _changes(given)
    if given["zookeeper"]:
        return _through_zookeeper(connection, chosen, changes, output_format, given)
    connection.check()
    with connection.admin() as admin:
        if given["alter"]:
            _config_alter.apply(admin, chosen, *changes)
            if output_format is None:
                _run.emit(kafka_text.config_updated(chosen[0].type, chosen[0].name or ""))
                if not given["describe"]:
                    return 0
        return _describe(admin, chosen, given["all"], output_format)


def main() -> NoReturn:
    """Entry of the ``kafka-configs`` console script."""
    _run.main(command, "kafka-configs")


def _changes(given: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """What to set and what to remove; UsageError when that does not go with the action."""
    from kafka_tools.commands._config_changes import parse_added, parse_added_file, parse_deleted
    from kafka_tools.commands._options import read_text

    asked = given["add_config"] or given["add_config_file"] or given["delete_config"]
    if not given["alter"]:
        if asked:
            raise UsageError("--add-config, --add-config-file and --delete-config go with --alter")
        return {}, []
    if not asked:
        raise UsageError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    if given["add_config"] and given["add_config_file"]:
        raise UsageError("Only one of --add-config or --add-config-file must be specified")
    added: dict[str, str] = {}
    if given["add_config"]:
        added = parse_added(given["add_config"])
    elif given["add_config_file"]:
        place = given["add_config_file"]
        added = parse_added_file(read_text(place, "config file"), place)
    deleted = parse_deleted(given["delete_config"])
    both = sorted(added.keys() & set(deleted))
    if both:
        raise UsageError(f"{', '.join(both)} cannot be added and deleted in one call")
    return added, deleted


def _through_zookeeper(
    connection: Connection,
    chosen: list[Entity],
    changes: tuple[dict[str, str], list[str]],
    output_format: str | None,
    given: dict[str, Any],
) -> int:
    from kafka_tools.commands import _config_zookeeper
    from kafka_tools.output import kafka_text

    if connection.is_given:
        raise UsageError("--zookeeper and --bootstrap-server exclude each other: give one of them")
    _config_zookeeper.check_types(chosen)
    places = given["zookeeper"], given["zk_tls_config_file"], given["zk_digest_file"]
    with open_configs(*places, connection.timeout_s) as configs:
        if given["alter"]:
            _config_zookeeper.apply(configs, chosen, *changes)
            if output_format is None:
                _run.emit(kafka_text.config_updated(chosen[0].type, chosen[0].name or ""))
                if not given["describe"]:
                    return 0
        return _show(_config_zookeeper.describe(configs, chosen), given["all"], output_format)


def _describe(admin: AdminClient, chosen: list[Entity], show_all: bool, output_format: str | None) -> int:
    from kafka_tools.commands import _config_rows

    return _show(_config_rows.describe(admin, chosen, show_all), show_all, output_format)


def _show(result: Rows, show_all: bool, output_format: str | None) -> int:
    from kafka_tools.commands import _config_rows
    from kafka_tools.output.rows import show

    if output_format is None:
        _run.emit(_config_rows.as_kafka_text(result, show_all))
    elif output_format == "wide":
        from kafka_tools.output.config_table import tables

        _run.emit(tables(result.rows))
    else:
        show(_config_rows.for_table(result) if output_format == "table" else result, output_format)
    return _run.report_items(result.errors)
