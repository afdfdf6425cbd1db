"""TxnOffsetCommit (28): commit a group's offsets as part of a transaction; they hold once it is committed.

- Up to v4 the group's partition must have been added to the transaction (AddOffsetsToTxn). v5 adds it (KIP-890).
- v3: members and generations, so that those left behind cannot commit (KIP-447). v4: TRANSACTION_ABORTABLE.
- v6: topics by id (KIP-1319).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.group_records import OffsetCommit
from kafka_tools.broker_embedded.coordinators.offset_answers import put_together
from kafka_tools.broker_embedded.coordinators.offsets import PreparedCommit
from kafka_tools.broker_embedded.coordinators.transactions.decisions import TxnProducer
from kafka_tools.broker_embedded.handlers._offset_topics import known_topic
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, AclOperation
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 6)
AUTHORIZE = ()

ResponseTopic = TxnOffsetCommitResponse.ResponseTopic
ResponsePartition = ResponseTopic.ResponsePartition

_ABORTABLE_FROM = 4
_ADDS_FROM = 5
_BY_ID = 6


def handle(call: Call) -> Work[TxnOffsetCommitResponse]:
    request = call.request
    if not call.allowed_on_transactional_id(AclOperation.WRITE, request.transactional_id):
        raise error_for(error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not call.allowed_on_group(AclOperation.READ, request.group_id):
        raise error_for(error_codes.GROUP_AUTHORIZATION_FAILED)
    now_ms = call.broker.clock.now_ms()
    refused: list[tuple[object, ResponseTopic]] = []
    asked: list[tuple[object, ResponseTopic]] = []
    wanted: list[tuple[TopicPartition, OffsetCommit]] = []
    for topic in request.topics:
        name, code = known_topic(call, topic, call.version >= _BY_ID)
        out, to_group = _answer(topic), _answer(topic)
        for partition in topic.partitions:
            yield
            index = partition.partition_index
            if code or call.broker.cluster.partition(name, index) is None:
                wrong = code or error_codes.UNKNOWN_TOPIC_OR_PARTITION
                out.partitions.append(ResponsePartition(partition_index=index, error_code=wrong))
            else:
                to_group.partitions.append(ResponsePartition(partition_index=index))
                topic_id = topic.topic_id if call.version >= _BY_ID else call.broker.cluster.topics[name].id
                wanted.append((TopicPartition(name, index), _committed(partition, now_ms, topic_id)))
        about = topic.name or topic.topic_id
        if code or out.partitions:
            refused.append((about, out))
        if to_group.partitions:
            asked.append((about, to_group))
    codes: Iterator[int] = iter(())
    if wanted:
        prepared = yield from call.broker.groups.offsets.prepare(
            request.group_id, wanted, (request.producer_id, request.producer_epoch)
        )
        codes = iter((yield from _commit(call, prepared)))
    for _, answered in asked:
        for each in answered.partitions:
            yield
            each.error_code = next(codes)
    return TxnOffsetCommitResponse(topics=put_together(refused, asked))


def _answer(topic: Any) -> ResponseTopic:
    return ResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=[])


def _committed(partition: Any, now_ms: int, topic_id: Any) -> OffsetCommit:
    return OffsetCommit(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_ms=now_ms,
        topic_id=topic_id,
    )


def _commit(call: Call, prepared: PreparedCommit) -> Work[list[int]]:
    """The code of each; what refuses the group, the member or the producer refuses every partition."""
    request, broker = call.request, call.broker
    producer = TxnProducer(request.producer_id, request.producer_epoch)
    try:
        if not request.group_id:
            raise error_for(error_codes.INVALID_GROUP_ID)
        broker.groups.store.loading.check(request.group_id)
        if not broker.state_topics.partitions(CONSUMER_OFFSETS):
            raise error_for(error_codes.NOT_COORDINATOR)
        at = TopicPartition(CONSUMER_OFFSETS, broker.groups.store.partition(request.group_id))
        yield from _check(call, producer, at)
        if call.version >= _ADDS_FROM:
            yield from broker.slices.durable()  # else an offset could be left that belongs to no transaction
            yield from _check(call, producer, at)  # which may be over by now
        return broker.groups.offsets.commit_in_transaction(
            request.group_id,
            request.generation_id_or_member_epoch,
            request.member_id,
            request.group_instance_id,
            prepared,
            producer,
        )
    except BrokerError as error:
        return [error.code.code] * len(prepared.codes)


def _check(call: Call, producer: TxnProducer, at: TopicPartition) -> Work[None]:
    """BrokerError unless the group's partition is in the transaction, which it becomes for newer clients."""
    yield from call.broker.verification.check(
        call.request.transactional_id,
        producer,
        at,
        adds=call.version >= _ADDS_FROM,
        tells_abortable=call.version >= _ABORTABLE_FROM,
    )
