"""``kafka-cluster``: the id, endpoints and API versions of a cluster, and unregistering (Kafka's ClusterTool)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, CommandGroup, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.errors import UsageError


@click.group(name="kafka-cluster", cls=CommandGroup, no_args_is_help=False)
def command() -> None:
    """Show a cluster's id, endpoints and API versions, and unregister brokers and controllers."""


@command.command(name="cluster-id", cls=Command)
@connection_options(controllers=True, short=True)
@output_options("cluster-id")
def cluster_id(connection: ConnectionOptions, output_format: str | None) -> int:
    """Print the id of the cluster."""
    from kafka_tools.output.kafka import text as kafka_text

    with connection.admin() as admin:
        rows = [{"cluster_id": admin.describe_cluster().cluster_id}]
    return running.show_rows("cluster-id", rows, output_format, kafka_text.cluster_id)


@command.command(name="list-endpoints", cls=Command)
@option("--include-fenced-brokers", is_flag=True, help="Include brokers that are registered but fenced.")
@connection_options(controllers=True, short=True)
@output_options("endpoints")
def list_endpoints(include_fenced_brokers: bool, connection: ConnectionOptions, output_format: str | None) -> int:
    """List the brokers, or with --bootstrap-controller the controllers."""
    from kafka_tools.output.kafka import text as kafka_text

    controllers = connection.bootstrap_controller is not None
    if include_fenced_brokers and controllers:
        raise UsageError("--include-fenced-brokers can only be used with --bootstrap-server")
    with connection.admin() as admin:
        cluster = admin.describe_cluster(include_fenced_brokers=include_fenced_brokers)
    rows = [_endpoint(node, cluster, controllers) for node in sorted(cluster.nodes, key=lambda node: node.id)]
    return running.show_rows("endpoints", rows, output_format, partial(kafka_text.endpoints, controllers=controllers))


def _node_id(kind: str) -> Callable[[Any], Any]:
    return option(
        "-i",
        "--id",
        "node_id",
        type=click.IntRange(0, 2**31 - 1),
        required=True,
        metavar="ID",
        help=f"Id of the {kind} that was shut down permanently.",
    )


@command.command(name="unregister", cls=Command)
@_node_id("broker")
@connection_options(controllers=True, short=True)
@output_options("unregistered-brokers")
def unregister(node_id: int, connection: ConnectionOptions, output_format: str | None) -> int:
    """Unregister a broker from a KRaft cluster."""
    return _unregister("broker", node_id, connection, output_format)


@command.command(name="unregister-controller", cls=Command)
@_node_id("controller")
@connection_options(controllers=True, short=True)
@output_options("unregistered-controllers")
def unregister_controller(node_id: int, connection: ConnectionOptions, output_format: str | None) -> int:
    """Unregister a controller from a KRaft cluster (Kafka 4.4 and later)."""
    return _unregister("controller", node_id, connection, output_format)


@command.command(name="api-versions", cls=Command)
@connection_options(controllers=True, short=True)
@output_options("broker-api-versions")
def api_versions(connection: ConnectionOptions, output_format: str | None) -> int:
    """Show the API versions of each broker or controller."""
    from kafka_tools.commands.cluster import node_api_versions

    return node_api_versions.show(connection, output_format)


def _unregister(kind: str, node_id: int, connection: ConnectionOptions, output_format: str | None) -> int:
    """``kind``: broker or controller."""
    with running.about(node_id), connection.admin() as admin:
        if kind == "broker":
            admin.unregister_broker(node_id)
        else:
            admin.unregister_controller(node_id)
    rows = [{"id": node_id, "result": "unregistered"}]
    text = f"{kind.capitalize()} {node_id} is no longer registered.\n"
    return running.show_rows(f"unregistered-{kind}s", rows, output_format, lambda _: text)


def _endpoint(node: Any, cluster: Any, controller: bool) -> dict[str, Any]:
    return {
        "id": node.id,
        "host": node.host,
        "port": node.port,
        "rack": node.rack,
        "state": None if controller else "fenced" if node.id in cluster.fenced else "unfenced",
        "endpoint_type": "controller" if controller else "broker",
    }
