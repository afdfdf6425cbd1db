"""``kafka-broker-api-versions``: the API versions that each broker supports (Kafka's BrokerApiVersionsCommand)."""

from __future__ import annotations

import click

from kafka_tools.commands.options.command import Command
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options


@click.command(name="kafka-broker-api-versions", cls=Command)
@connection_options()
@output_options("broker-api-versions")
def command(connection: ConnectionOptions, output_format: str | None) -> int:
    """Show the API versions that each broker supports.

    Each version range is followed by the newest version that both this tool and the broker support. Deprecated since
    Kafka 4.4: "kafka-cluster api-versions" shows the same, also for controllers.
    """
    from kafka_tools.commands.cluster import node_api_versions

    return node_api_versions.show(connection, output_format)
