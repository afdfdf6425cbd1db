"""The API versions that each node supports: ``kafka-cluster api-versions``, ``kafka-broker-api-versions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_tools.commands import running

if TYPE_CHECKING:
    from kafka_tools.commands.options.connection import ConnectionOptions
    from kafka_tools.output.cells import Row


def show(connection: ConnectionOptions, output_format: str | None) -> int:
    """Print the API versions of each node (NodeApiVersions.toString). Returns the exit status."""
    from kafka_tools.output.kafka import text as kafka_text
    from kafka_tools.output.rows import ItemError, Rows

    with connection.admin() as admin:
        outcomes = admin.api_versions()
    rows = []
    errors = []
    for node, outcome in outcomes.items():
        row: Row = {"id": node.id, "host": node.host, "port": node.port, "rack": node.rack, "fenced": False}
        row["apis"] = [] if outcome.error else _apis(outcome.value)
        if output_format is None:
            running.emit(kafka_text.api_versions(running.shown(row), outcome.error))
        if outcome.error:
            errors.append(ItemError.of(node, outcome.error))
        else:
            rows.append(row)
    return running.finish(Rows("broker-api-versions", rows, errors), output_format)


def _apis(advertised: Any) -> list[Row]:
    """One row per API, by key: APIs of the node, and APIs that only newer nodes have."""
    from kafka_tools import KAFKA_MINOR
    from kafka_tools.protocol import registry
    from kafka_tools.protocol.releases import max_versions

    known = {row.key: row for row in registry.rows()}
    rows = []
    for key in sorted(advertised.keys() | max_versions(KAFKA_MINOR).keys()):
        ours = known.get(key)
        oldest_theirs, newest_theirs = advertised.get(key, (None, None))
        usable = None
        if ours is not None and oldest_theirs is not None:
            highest = min(ours.max_version, newest_theirs)
            usable = highest if highest >= max(ours.min_version, oldest_theirs) else None
        rows.append(
            {
                "key": key,
                "name": ours.name if ours else None,
                "min_version": oldest_theirs,
                "max_version": newest_theirs,
                "usable": usable,
            }
        )
    return rows
