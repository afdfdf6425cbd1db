"""The definition of a config by entity type and name. A table is imported when its type is first needed."""

from __future__ import annotations

from importlib import import_module

from kafka_tools.config_definitions import Row

_TABLES = {"topics": "topic", "brokers": "broker", "groups": "group", "client-metrics": "client_metrics"}


def table_of(entity_type: str) -> dict[str, Row]:
    """The configs of an entity type of kafka-configs; empty for a type without a table."""
    module = _TABLES.get(entity_type)
    table: dict[str, Row] = import_module(f"kafka_tools.config_definitions.{module}").TABLE if module else {}
    return table


def row_of(entity_type: str, name: str) -> Row | None:
    """The definition of a config, without a broker's listener prefix; None if Kafka has none."""
    if entity_type != "brokers":
        return table_of(entity_type).get(name)
    from kafka_tools.config_definitions.broker_names import broker_row

    return broker_row(name)
