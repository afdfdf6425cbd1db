"""The configs with which brokers create their internal topics (``DefaultAutoTopicCreationManager``)."""

from __future__ import annotations

from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE

SYSTEM_CONFIGS = {
    CONSUMER_OFFSETS: {"cleanup.policy": "compact", "compression.type": "producer"},
    TRANSACTION_STATE: {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
    },
}
