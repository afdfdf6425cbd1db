"""Described configuration as rows, one per entity: configs of resources, client quotas, SCRAM credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.config_definitions.lookup import row_of
from kafka_tools.output.cells import Row
from kafka_tools.output.kafka import text as kafka_text
from kafka_tools.output.rows import Rows
from kafka_tools.protocol.enums import ConfigSource

if TYPE_CHECKING:
    from kafka_tools.admin.calls.configs import ConfigEntry

KIND = "configs"
DEFAULT_CONFIG = ConfigSource.word(ConfigSource.DEFAULT_CONFIG)


def as_kafka_text(result: Rows, show_all: bool) -> str:
    """The output of Kafka's tool."""
    texts: list[str] = []
    for row in running.shown(result.rows):
        if row["kind"] == "resource":
            ((entity_type, name),) = row["entity"].items()
            texts.append(kafka_text.config_heading(entity_type, name or "", show_all))
            texts += [kafka_text.config_line(config) for config in row["configs"]]
        elif row["kind"] == "quota":
            texts.append(kafka_text.quota_line(row["entity"], row["quotas"]))
        else:
            texts.append(kafka_text.scram_line(row["entity"]["user"], row["credentials"]))
    return "".join(texts)


def config_row(entry: ConfigEntry, documentation: bool) -> Row:
    """One setting of a resource. ``documentation``: include the broker's own text, if it has one."""
    row = {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source,
        "sensitive": entry.is_sensitive,
        "read_only": entry.is_read_only,
        "type": entry.type,
        "synonyms": [{"name": each.name, "value": each.value, "source": each.source} for each in entry.synonyms],
    }
    return row | {"documentation": entry.documentation} if documentation else row


def default_of(entity_type: str, name: str) -> str | None:
    """Kafka's default of a config; None if it has none, and for groups, whose defaults are configs of brokers."""
    row = None if entity_type == "groups" else row_of(entity_type, name)
    return row[1] if row else None
