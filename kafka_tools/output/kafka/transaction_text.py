"""The output of Kafka's TransactionsCommand (ToolsUtils.prettyPrintTable)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.text import tabbed_table
from kafka_tools.protocol.enums import TransactionState, unknown_word

Column = tuple[str, str, Callable[[Any], str]]
"""A column: its title, the key of the row's value, and the function that formats the value."""


def _state(text: str) -> str:
    if text == TransactionState.DEAD:  # Kafka's admin client does not know this state
        return unknown_word(None)
    return text if text in TransactionState.all else unknown_word(text)


def _or_none(value: int | None) -> str:
    return "None" if value is None else str(value)


def _or_minus_one(value: int | None) -> str:
    return "-1" if value is None else str(value)


def _partitions(topics: Mapping[str, Sequence[int]]) -> str:
    return ",".join(f"{topic}-{number}" for topic, numbers in topics.items() for number in numbers)


def _minutes(duration_ms: float) -> str:
    return str(int(duration_ms / 60_000))


_LISTING: tuple[Column, ...] = (
    ("TransactionalId", "transactional_id", str),
    ("Coordinator", "coordinator", str),
    ("ProducerId", "producer_id", str),
    ("TransactionState", "state", _state),
)
_DESCRIPTION: tuple[Column, ...] = (
    ("CoordinatorId", "coordinator", str),
    ("TransactionalId", "transactional_id", str),
    ("ProducerId", "producer_id", str),
    ("ProducerEpoch", "producer_epoch", str),
    ("TransactionState", "state", _state),
    ("TransactionTimeoutMs", "timeout_ms", str),
    ("CurrentTransactionStartTimeMs", "start_time_ms", _or_none),
    ("TransactionDurationMs", "duration_ms", _or_none),
    ("TopicPartitions", "partitions", _partitions),
)
_PRODUCERS: tuple[Column, ...] = (
    ("ProducerId", "producer_id", str),
    ("ProducerEpoch", "producer_epoch", str),
    ("LatestCoordinatorEpoch", "coordinator_epoch", _or_minus_one),
    ("LastSequence", "last_sequence", str),
    ("LastTimestamp", "last_timestamp_ms", str),
    ("CurrentTransactionStartOffset", "transaction_start_offset", _or_none),
)
_HANGING: tuple[Column, ...] = (
    ("Topic", "topic", str),
    ("Partition", "partition", str),
    ("ProducerId", "producer_id", str),
    ("ProducerEpoch", "producer_epoch", str),
    ("CoordinatorEpoch", "coordinator_epoch", _or_minus_one),
    ("StartOffset", "start_offset", _or_minus_one),
    ("LastTimestamp", "last_timestamp_ms", str),
    ("Duration(min)", "duration_ms", _minutes),
)


def _table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    cells = [[show(row[key]) for _, key, show in columns] for row in rows]
    return tabbed_table([title for title, _, _ in columns], cells)


listing = partial(_table, _LISTING)
descriptions = partial(_table, _DESCRIPTION)
producers = partial(_table, _PRODUCERS)
hanging = partial(_table, _HANGING)
"""The output of ``list``, ``describe``, ``describe-producers`` and ``find-hanging``."""
