"""Finds hanging transactions: open on a partition for long, and unknown to all coordinators (KIP-664).

An open transaction hangs if its producer id belongs to no transactional id, or to one whose open transaction does not
have the partition. If a coordinator does not respond, its transactions do not count as hanging: an abort could break a
valid transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.clock import SystemClock
from kafka_tools.commands import running
from kafka_tools.errors import NotFound
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, ProducerState

PARTITIONS_AT_ONCE = 500
"""Partitions per request, as in Kafka's tool: the response lists all producers of each."""

_Open = list[tuple[TopicPartition, "ProducerState"]]


def find(
    admin: AdminClient, *, topic: str | None, partition: int | None, broker_id: int | None, open_for_ms: int
) -> tuple[list[Row], list[ItemError], int]:
    """A row per hanging transaction, the partitions and transactional ids whose state is unknown, and the number of
    partitions that were searched.

    ``open_for_ms``: only transactions whose last record is older. Raises the error of a coordinator that does not list
    its transactional ids.
    """
    partitions, errors = _partitions(admin, topic, partition, broker_id)
    now_ms = SystemClock().now_ms()
    candidates: _Open = []
    for at in range(0, len(partitions), PARTITIONS_AT_ONCE):
        outcomes = admin.describe_producers(partitions[at : at + PARTITIONS_AT_ONCE], broker_id)
        running.refuse_old_brokers(outcomes)
        errors += [ItemError.of(key, error) for key, error in outcomes.failures().items()]
        candidates += [
            (key, producer)
            for key, producers in outcomes.succeeded().items()
            for producer in producers
            if producer.current_transaction_start_offset is not None and now_ms - producer.last_timestamp > open_for_ms
        ]
    hanging, undecided = _known_to_nobody(admin, candidates)
    rows = [_row(key, producer, now_ms) for key, producer in hanging]
    return rows, errors + undecided, len(partitions)


def _partitions(
    admin: AdminClient, topic: str | None, partition: int | None, broker_id: int | None
) -> tuple[list[TopicPartition], list[ItemError]]:
    if topic is not None and partition is not None:
        return [TopicPartition(topic, partition)], []
    if topic is not None:
        topics = [topic]
    else:
        with running.doing("Failed to list topics"):
            topics = sorted(each.name for each in admin.list_topics())
    outcomes = admin.describe_topics(topics)
    errors = [ItemError.of(f"topic {name}", error) for name, error in outcomes.failures().items()]
    found = [
        TopicPartition(str(name), each.partition)
        for name, description in outcomes.succeeded().items()
        for each in description.partitions
        if broker_id is None or broker_id in each.replicas
    ]
    if broker_id is not None and outcomes.succeeded() and not found:
        running.note(
            f"nothing was searched: broker {broker_id} has no replica of {('any topic' if topic is None else topic)}"
        )
    return found, errors


def _known_to_nobody(admin: AdminClient, candidates: _Open) -> tuple[_Open, list[ItemError]]:
    """The ``candidates`` that no coordinator will end, and the ids whose coordinators did not respond."""
    if not candidates:
        return [], []
    producer_ids = sorted({producer.producer_id for _, producer in candidates})
    with running.doing(f"Failed to list transactions for {len(producer_ids)} producers"):
        listed = admin.list_transactions(producer_ids=producer_ids).raise_any()
    names = {each.producer_id: each.transactional_id for found in listed.succeeded().values() for each in found}
    outcomes = admin.describe_transactions(sorted({names[each] for each in producer_ids if each in names}))
    hanging: _Open = []
    for key, producer in candidates:
        name = names.get(producer.producer_id)
        outcome = None if name is None else outcomes[name]
        nobodys = outcome is None or isinstance(outcome.error, NotFound)
        if nobodys or (outcome is not None and outcome.value is not None and key not in outcome.value.partitions):
            hanging.append((key, producer))
    undecided = {name: error for name, error in outcomes.failures().items() if not isinstance(error, NotFound)}
    return hanging, [ItemError.of(f"transactional id {name}", error) for name, error in undecided.items()]


def _row(key: TopicPartition, producer: ProducerState, now_ms: int) -> Row:
    return {
        "topic": key.topic,
        "partition": key.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": producer.coordinator_epoch,
        "start_offset": producer.current_transaction_start_offset,
        "last_timestamp_ms": producer.last_timestamp,
        "duration_ms": now_ms - producer.last_timestamp,
    }
