"""``kafka-client-metrics``: the metrics that clients push to brokers (KIP-714; Kafka's ClientMetricsCommand)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, action_option, one_of, only_with, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row

RESOURCE_TYPE = "client-metrics"
SETTINGS = {"interval": "interval.ms", "match": "match", "metrics": "metrics"}
"""Option -> the subscription's config that it sets."""


@click.command(name="kafka-client-metrics", cls=Command)
@action_option("--list", "list", is_flag=True, help="List the subscriptions.")
@action_option("--describe", is_flag=True, help="Show one subscription or all.")
@action_option("--alter", is_flag=True, help="Create or change a subscription.")
@action_option("--delete", is_flag=True, help="Delete a subscription.")
@option("--name", metavar="NAME", help="Name of the subscription.")
@option("--generate-name", is_flag=True, help="Create a subscription with a random name (with --alter).")
@option(
    "--metrics",
    metavar="PREFIX,...",
    allow_empty=True,
    help="Prefixes of metric names; * selects all metrics, an empty value none.",
)
@option(
    "--interval",
    metavar="MS",
    allow_empty=True,
    help="Push interval of the clients: a number of milliseconds, or a time with a unit such as 30s. An empty "
    "value resets it.",
)
@option("--match", metavar="K=V,...", allow_empty=True, help="Selectors of clients, for example client_id=app-.*")
@connection_options(controllers=True)
@output_options(
    {
        "list": "client-metrics-names",
        "describe": "client-metrics",
        "alter": "changed-client-metrics",
        "delete": "changed-client-metrics",
    }
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Show and change subscriptions to client metrics."""
    action = one_of(context, "list", "describe", "alter", "delete")
    takes = {"name": ["describe", "alter", "delete"], "generate_name": ["alter"]}
    only_with(context, action, takes | {name: ["alter"] for name in SETTINGS})
    name = given["name"]
    if action == "alter" and bool(name) == given["generate_name"]:
        raise UsageError("--alter needs one of --name and --generate-name")
    if action == "delete" and not name:
        raise UsageError("--delete needs --name")
    changes = {config: given[option] for option, config in SETTINGS.items() if given[option] is not None}
    if action == "alter" and not changes:
        raise UsageError("--alter needs at least one of --metrics, --interval, --match")
    if changes.get("interval.ms"):
        from kafka_tools.commands.options.units import with_numbers

        changes = with_numbers("client-metrics", changes, "--interval", UsageError)
    with connection.admin() as admin:
        if action == "alter":
            return _alter(admin, name or _new_name(), changes, output_format)
        if action == "delete":
            return _delete(admin, name, output_format)
        return _list(admin, output_format) if action == "list" else _describe(admin, name, output_format)


def _new_name() -> str:
    import uuid

    from kafka_tools.values import uuid_text

    return uuid_text(uuid.uuid4())


def _names(admin: AdminClient) -> list[str]:
    return sorted(resource.name for resource in admin.list_config_resources([RESOURCE_TYPE]))


def _alter(admin: AdminClient, name: str, changes: dict[str, str], form: str | None) -> int:
    from kafka_tools.admin.client import ConfigChange, ConfigResource

    listed = [
        ConfigChange(config, "set", value) if value else ConfigChange(config, "delete", None)
        for config, value in changes.items()
    ]
    with running.about(name):
        admin.alter_configs_incremental({ConfigResource(RESOURCE_TYPE, name): listed}).raise_any()
    return _changed(name, "altered", form)


def _delete(admin: AdminClient, name: str, form: str | None) -> int:
    from kafka_tools.admin.client import ConfigChange, ConfigResource

    resource = ConfigResource(RESOURCE_TYPE, name)
    with running.about(name):
        if name not in _names(admin):
            raise InputError(f"The client metric resource {name} doesn't exist.")
        entries = admin.describe_configs([resource])[resource].get()
        changes = [ConfigChange(entry.name, "delete", None) for entry in entries]
        if changes:
            admin.alter_configs_incremental({resource: changes}).raise_any()
    return _changed(name, "deleted", form)


def _changed(name: str, result: str, form: str | None) -> int:
    text = f"{result.capitalize()} client metrics config for {running.shown(name)}.\n"
    return running.show_rows("changed-client-metrics", [{"name": name, "result": result}], form, lambda _: text)


def _list(admin: AdminClient, form: str | None) -> int:
    rows = [{"name": name} for name in _names(admin)]
    return running.show_rows("client-metrics-names", rows, form, _names_text)


def _describe(admin: AdminClient, name: str | None, form: str | None) -> int:
    from kafka_tools.admin.client import ConfigResource
    from kafka_tools.output.rows import ItemError

    names = _names(admin)
    if name is not None:
        names = [each for each in names if each == name]
    outcomes = admin.describe_configs([ConfigResource(RESOURCE_TYPE, each) for each in names]) if names else {}
    rows: list[Row] = []
    errors = []
    for resource, outcome in outcomes.items():
        if outcome.error is not None:
            errors.append(ItemError.of(resource.name, outcome.error))
            continue
        entries = sorted(outcome.get(), key=lambda entry: entry.name)
        rows.append({"name": resource.name, "configs": {entry.name: entry.value for entry in entries}})
    if name is not None and not outcomes:
        text = f"The client metric resource {name} doesn't exist and doesn't have dynamic config."
        errors.append(ItemError(name, None, text))
    return running.show_rows("client-metrics", rows, form, _configs_text, errors)


def _names_text(rows: Sequence[Row]) -> str:
    return "\n".join(row["name"] for row in rows) + "\n"


def _configs_text(rows: Sequence[Row]) -> str:
    text = ""
    for row in rows:
        text += f"Client metrics configs for {row['name']} are:\n"
        text += "".join(f"  {key}={value}\n" for key, value in row["configs"].items())
    return text
