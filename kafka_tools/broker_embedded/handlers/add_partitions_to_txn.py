"""AddPartitionsToTxn (24): add partitions to a transaction, which begins with the first partition.

- All of a transaction's partitions are added, or none: what is refused alone leaves the others OPERATION_NOT_ATTEMPTED.
- v0 to v3: one transaction, of a producer. v2: PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before.
- v4: several transactions, from brokers (KIP-890); ``verify_only`` asks whether partitions are in it, and adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.runtime import mapped_code
from kafka_tools.broker_embedded.coordinators.transactions.decisions import EPOCH_BUMPING, FENCED_AS_OLD, TxnProducer
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import INTERNAL_TOPICS, AclOperation
from kafka_tools.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    PartitionResult,
    TopicResult,
)
from kafka_tools.values import TopicPartition

VERSIONS = (0, 5)
AUTHORIZE = ()

_FROM_BROKERS = 4
_FENCED_FROM = 2
Transaction = AddPartitionsToTxnRequest.Transaction
Codes = dict[TopicPartition, int]


def handle(call: Call) -> Work[AddPartitionsToTxnResponse]:
    request = call.request
    if call.version >= _FROM_BROKERS:
        if not call.allowed_on_cluster(AclOperation.CLUSTER_ACTION):
            raise error_for(error_codes.CLUSTER_AUTHORIZATION_FAILED)
        response = AddPartitionsToTxnResponse()
        for transaction in request.transactions:
            results = yield from _transaction(call, transaction)
            response.results_by_transaction.append(
                response.Result(transactional_id=transaction.transactional_id, topic_results=results)
            )
        return response
    transaction = Transaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    results = yield from _transaction(call, transaction)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _transaction(call: Call, asked: Any) -> Work[Sequence[TopicResult]]:
    wanted: Codes = {}
    for topic in asked.topics:
        for number in topic.partitions:
            yield
            wanted[TopicPartition(topic.name, number)] = error_codes.NONE
    from_producer = call.version < _FROM_BROKERS
    if from_producer and not call.allowed_on_transactional_id(AclOperation.WRITE, asked.transactional_id):
        return (yield from _as_asked(asked, error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    allowed: dict[str, bool] = {}
    for at in wanted:
        yield
        if from_producer and at.topic not in allowed:
            allowed[at.topic] = at.topic not in INTERNAL_TOPICS and call.allowed_on_topic(AclOperation.WRITE, at.topic)
        if not allowed.get(at.topic, True):
            wanted[at] = error_codes.TOPIC_AUTHORIZATION_FAILED
        elif call.broker.cluster.partition(*at) is None:
            wanted[at] = error_codes.UNKNOWN_TOPIC_OR_PARTITION
    if any(wanted.values()):
        for at, code in wanted.items():
            yield
            wanted[at] = code or error_codes.OPERATION_NOT_ATTEMPTED
        return (yield from _results(wanted))
    producer = TxnProducer(asked.producer_id, asked.producer_epoch)
    transactions = call.broker.transactions
    try:
        if not from_producer and asked.verify_only:
            codes = yield from transactions.check_partitions(asked.transactional_id, producer, wanted)
            return (yield from _results(codes))
        version = 0 if from_producer else EPOCH_BUMPING
        yield from transactions.add_partitions(asked.transactional_id, producer, wanted, version)
    except BrokerError as error:
        code = mapped_code(error, FENCED_AS_OLD if call.version < _FENCED_FROM else {})
        if not from_producer and asked.verify_only:
            return (yield from _results(dict.fromkeys(wanted, code)))  # without topics of no partition, as Kafka
        return (yield from _as_asked(asked, code))
    return (yield from _as_asked(asked, error_codes.NONE))


def _as_asked(asked: Any, code: int) -> Work[Sequence[TopicResult]]:
    """The same code for all partitions in the request, including topics without partitions."""
    topics = []
    for topic in asked.topics:
        results = []
        for number in topic.partitions:
            yield
            results.append(PartitionResult(partition_index=number, partition_error_code=code))
        topics.append(TopicResult(name=topic.name, results_by_partition=results))
    return topics


def _results(codes: Codes) -> Work[Sequence[TopicResult]]:
    topics: dict[str, TopicResult] = {}
    for at, code in codes.items():
        yield
        topic = topics.setdefault(at.topic, TopicResult(name=at.topic))
        topic.results_by_partition.append(PartitionResult(partition_index=at.partition, partition_error_code=code))
    return list(topics.values())
