"""Client metrics subscriptions (KIP-714): ``org.apache.kafka.server.metrics.ClientMetricsConfigs``."""

from __future__ import annotations

from kafka_tools.config_definitions import Row

TABLE: dict[str, Row] = {
    "interval.ms": ("INT", "300000", ""),
    "match": ("LIST", "", ""),
    "metrics": ("LIST", "", ""),
}
