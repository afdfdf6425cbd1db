"""What Kafka 4.3.1's TransactionsCommand prints (ToolsUtils.prettyPrintTable)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.text import tabbed_table
from kafka_tools.protocol.enums import TransactionState

_KNOWN_STATES = {
    value for name, value in vars(TransactionState).items() if name.isupper() and value != TransactionState.DEAD
}
"""The states that Kafka's admin client knows; it shows any other one as Unknown."""


def listing(rows: Sequence[Row]) -> str:
    """``list``."""
    cells = [
        [row["transactional_id"], str(row["coordinator"]), str(row["producer_id"]), _state(row["state"])]
        for row in rows
    ]
    return tabbed_table(["TransactionalId", "Coordinator", "ProducerId", "TransactionState"], cells)


def descriptions(rows: Sequence[Row]) -> str:
    """``describe``."""
    titles = [
        "CoordinatorId",
        "TransactionalId",
        "ProducerId",
        "ProducerEpoch",
        "TransactionState",
        "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs",
        "TransactionDurationMs",
        "TopicPartitions",
    ]
    cells = [
        [
            str(row["coordinator"]),
            row["transactional_id"],
            str(row["producer_id"]),
            str(row["producer_epoch"]),
            _state(row["state"]),
            str(row["timeout_ms"]),
            _or_none(row["start_time_ms"]),
            _or_none(row["duration_ms"]),
            ",".join(f"{topic}-{number}" for topic, numbers in row["partitions"].items() for number in numbers),
        ]
        for row in rows
    ]
    return tabbed_table(titles, cells)


def producers(rows: Sequence[Row]) -> str:
    """``describe-producers``."""
    titles = [
        "ProducerId",
        "ProducerEpoch",
        "LatestCoordinatorEpoch",
        "LastSequence",
        "LastTimestamp",
        "CurrentTransactionStartOffset",
    ]
    cells = [
        [
            str(row["producer_id"]),
            str(row["producer_epoch"]),
            _or_minus_one(row["coordinator_epoch"]),
            str(row["last_sequence"]),
            str(row["last_timestamp_ms"]),
            _or_none(row["transaction_start_offset"]),
        ]
        for row in rows
    ]
    return tabbed_table(titles, cells)


def hanging(rows: Sequence[Row]) -> str:
    """``find-hanging``."""
    titles = [
        "Topic",
        "Partition",
        "ProducerId",
        "ProducerEpoch",
        "CoordinatorEpoch",
        "StartOffset",
        "LastTimestamp",
        "Duration(min)",
    ]
    cells = [
        [
            row["topic"],
            str(row["partition"]),
            str(row["producer_id"]),
            str(row["producer_epoch"]),
            _or_minus_one(row["coordinator_epoch"]),
            _or_minus_one(row["start_offset"]),
            str(row["last_timestamp_ms"]),
            str(int(row["duration_ms"] / 60_000)),
        ]
        for row in rows
    ]
    return tabbed_table(titles, cells)


def _state(text: str) -> str:
    return text if text in _KNOWN_STATES else "Unknown"


def _or_none(value: Any) -> str:
    return "None" if value is None else str(value)


def _or_minus_one(value: Any) -> str:
    return "-1" if value is None else str(value)
