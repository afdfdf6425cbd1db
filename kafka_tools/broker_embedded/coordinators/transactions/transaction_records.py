"""Transactions as records of ``__transaction_state``, in Kafka's formats (``TransactionLog``)."""

from __future__ import annotations

from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord
from kafka_tools.broker_embedded.coordinators.transactions.decisions import Transaction
from kafka_tools.protocol.enums import TransactionState
from kafka_tools.protocol.stored.transaction_log import TransactionLogKey, TransactionLogValue
from kafka_tools.values import TopicPartition

PartitionsSchema = TransactionLogValue.PartitionsSchema


def transaction_record(transaction: Transaction, version: int) -> CoordinatorRecord:
    """The record of a state. ``version``: the cluster's transaction version; Kafka 3 can read records of 0."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in transaction.partitions:
        by_topic.setdefault(topic, []).append(number)
    partitions = [PartitionsSchema(topic=topic, partition_ids=sorted(by_topic[topic])) for topic in sorted(by_topic)]
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=TransactionState.all.index(transaction.state),
        transaction_partitions=None if transaction.state == TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    key = TransactionLogKey(transactional_id=transaction.id)
    return CoordinatorRecord(key, value, min(version, 1), len(transaction.partitions))


def transaction_tombstone(transactional_id: str) -> CoordinatorRecord:
    """The tombstone of an id."""
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), None)


def transaction_of_value(transactional_id: str, value: TransactionLogValue) -> Transaction:
    """The transaction in a record that ``record_checks`` has validated."""
    return Transaction(
        transactional_id,
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        TransactionState.all[value.transaction_status],
        frozenset(
            TopicPartition(entry.topic, number)
            for entry in value.transaction_partitions or ()
            for number in entry.partition_ids
        ),
        value.transaction_start_timestamp_ms,
        value.transaction_last_update_timestamp_ms,
        value.previous_producer_id,
        value.next_producer_id,
        client_version=value.client_transaction_version,
    )
