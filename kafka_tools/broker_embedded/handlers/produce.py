"""Produce (0): append record batches; each partition succeeds or fails alone.

- acks 0: no response. An error closes the connection, as in Kafka: there is no other way to report it.
- acks 1 and -1 are the same with one replica; min.insync.replicas is limited to the number of replicas (KIP-966).
- A repeated batch of an idempotent producer gets the offset of its first append.
- A transactional batch is appended after its partition was verified to be in the transaction; v12 adds it (KIP-890).
- v8: errors of single records. v10: an error about the leader contains the current leader. v13: topic ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from kafka_tools.broker_embedded.call import NO_REPLY, Call, CloseConnection, NoReply
from kafka_tools.broker_embedded.handlers._in_transaction import NOT_IN_ONE, InTransaction, producer_of
from kafka_tools.broker_embedded.handlers._produce_at_once import answer_at_once
from kafka_tools.broker_embedded.handlers._stored import (
    UNSTORED,
    PartitionResponse,
    TopicResponse,
    partition_error,
    store,
    unstored,
)
from kafka_tools.broker_embedded.partitions.partition import Partition
from kafka_tools.broker_embedded.partitions.produce_rules import MOST_TOLD_TOGETHER, RejectedBatch, TooLong
from kafka_tools.broker_embedded.partitions.produced_batches import take
from kafka_tools.broker_embedded.refusals import default_error, error_for
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.cluster_image.topics import Topic
from kafka_tools.errors import BrokerError, CorruptBatch
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import TRANSACTIONAL_BIT, AclOperation, AclResourceType
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.records.chain import FLAGS_POSITION, LEAST_LENGTH, MAGIC_POSITION, PREFIX_BYTES, size_at

VERSIONS = (0, 13)
AUTHORIZE = ()
AT_ONCE = answer_at_once

_BY_ID = 13
_LOOKED_AT_ONCE = 64
_WRITE, _TOPIC = AclOperation.WRITE, AclResourceType.TOPIC

_MAY_WRITE_INTERNAL = "__admin_client"  # the one client id that Kafka lets append to internal topics

PartitionData = ProduceRequest.TopicProduceData.PartitionProduceData


def handle(call: Call) -> Work[ProduceResponse | NoReply]:
    request = call.request
    topics = request.topic_data
    if len(topics) != 1 or len(topics[0].partition_data) != 1:
        topics = yield from _each_once(topics)
    transaction, refusal = NOT_IN_ONE, None
    try:
        yield from _look_at_first_batches(call)
        if request.transactional_id is not None:
            transaction = yield from producer_of(call)
    except BrokerError as error:
        refusal = error.code.code, error.broker_message
    except CorruptBatch as error:
        refusal = error_codes.CORRUPT_MESSAGE, str(error)
    if refusal is not None:
        return (yield from _all_refused(call, topics, *refusal))
    response = ProduceResponse()
    failed, may_tell = False, MOST_TOLD_TOGETHER
    found: list[Topic | int] = []
    for topic_data in topics:
        if found:
            yield
        found.append(_topic(call, topic_data))
    if transaction.producer is not None:
        yield from transaction.verify(call, _may_be_appended(call, topics, found))
    for topic_data, topic in zip(topics, found, strict=True):
        answers: list[PartitionResponse] = []
        for data in topic_data.partition_data:
            if answers or response.responses:  # each batch is a separate slice
                yield
            if isinstance(topic, int):
                answer = partition_error(data.index, topic)
            else:
                answer = yield from _append(call, topic, data, transaction)
            if answer.error_code == error_codes.KAFKA_STORAGE_ERROR and call.version < 4:
                answer.error_code = error_codes.NOT_LEADER_OR_FOLLOWER  # clients before v4 know this code
            if answer.error_code != error_codes.NONE:
                failed = True
                if isinstance(topic, Topic):
                    call.broker.counts.topics.refused(topic.name, answer.error_code, len(data.records or b""))
            if answer.record_errors:
                del answer.record_errors[may_tell:]
                may_tell -= len(answer.record_errors)
            answers.append(answer)
        response.responses.append(
            TopicResponse(name=topic_data.name, topic_id=topic_data.topic_id, partition_responses=answers)
        )
    if request.acks == 0:
        if failed:
            raise CloseConnection("a produce request with acks=0 failed")
        return NO_REPLY
    return response


def _topic(call: Call, topic_data: ProduceRequest.TopicProduceData) -> Topic | int:
    """The topic, or the error code for all of its partitions."""
    cluster = call.broker.cluster
    if call.version >= _BY_ID:
        return cluster.topics_by_id.get(topic_data.topic_id) or error_codes.UNKNOWN_TOPIC_ID
    topic = cluster.topics.get(topic_data.name)
    if topic is not None:
        return topic
    if not call.allowed(_WRITE, _TOPIC, topic_data.name):
        return error_codes.TOPIC_AUTHORIZATION_FAILED
    return error_codes.UNKNOWN_TOPIC_OR_PARTITION


def _may_be_appended(
    call: Call, topics: Sequence[ProduceRequest.TopicProduceData], found: Sequence[Topic | int]
) -> Iterator[tuple[Topic, PartitionData]]:
    for topic_data, topic in zip(topics, found, strict=True):
        if not isinstance(topic, int):
            for data in topic_data.partition_data:
                if _refusal(call, topic, data) is None:
                    yield topic, data


def _each_once(
    topic_data: Sequence[ProduceRequest.TopicProduceData],
) -> Work[Sequence[ProduceRequest.TopicProduceData]]:
    """The topics that have partitions. If a partition occurs twice, its last records count, as in Kafka's map."""
    Data = ProduceRequest.TopicProduceData
    topics: dict[tuple[str, UUID], dict[int, PartitionData]] = {}
    for topic in topic_data:
        for data in topic.partition_data:
            yield
            topics.setdefault((topic.name, topic.topic_id), {})[data.index] = data
    return [
        Data(name=name, topic_id=topic_id, partition_data=list(partitions.values()))
        for (name, topic_id), partitions in topics.items()
    ]


def _look_at_first_batches(call: Call) -> Work[None]:
    """BrokerError if the whole request is refused. Like Kafka, checks first batches until one is transactional."""
    owner = call.request.transactional_id
    looked_at = 0
    for topic in call.request.topic_data:
        for data in topic.partition_data:
            looked_at += 1
            if not looked_at % _LOOKED_AT_ONCE:
                yield
            records = data.records or b""
            if len(records) >= PREFIX_BYTES and (length := size_at(records) - PREFIX_BYTES) < LEAST_LENGTH:
                text = f"Record size {length} is less than the minimum record overhead ({LEAST_LENGTH})"
                raise error_for(error_codes.CORRUPT_MESSAGE, text)
            if len(records) <= MAGIC_POSITION:
                continue
            magic = records[MAGIC_POSITION]
            if magic > 2:
                said = magic if magic < 128 else magic - 256
                raise error_for(error_codes.CORRUPT_MESSAGE, f"Invalid magic found in record: {said}")
            is_whole = FLAGS_POSITION < len(records) >= size_at(records)
            if magic == 2 and is_whole and records[FLAGS_POSITION] & TRANSACTIONAL_BIT:
                if owner is not None and call.allowed_on_transactional_id(AclOperation.WRITE, owner):
                    return
                raise default_error(error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _all_refused(
    call: Call, topics: Sequence[ProduceRequest.TopicProduceData], code: int, message: str | None
) -> Work[ProduceResponse]:
    if call.request.acks == 0:
        raise CloseConnection("a produce request with acks=0 failed")
    response = ProduceResponse()
    for topic in topics:
        answers: list[PartitionResponse] = []
        for data in topic.partition_data:
            yield
            answers.append(partition_error(data.index, code, message))
        response.responses.append(TopicResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers))
    return response


def _refusal(call: Call, topic: Topic, data: PartitionData) -> PartitionResponse | None:
    """The response for a partition to which the request may not write, whatever the records are; otherwise None."""
    if not call.allowed(_WRITE, _TOPIC, topic.name):
        return partition_error(data.index, error_codes.TOPIC_AUTHORIZATION_FAILED)
    if data.index not in topic.partitions:
        return partition_error(data.index, error_codes.UNKNOWN_TOPIC_OR_PARTITION)
    if call.request.acks not in (-1, 0, 1):
        return partition_error(data.index, error_codes.INVALID_REQUIRED_ACKS)
    if topic.is_internal and call.client_id != _MAY_WRITE_INTERNAL:
        return partition_error(data.index, error_codes.INVALID_TOPIC_EXCEPTION, f"{topic.name} is an internal topic.")
    return None


def _append(call: Call, topic: Topic, data: PartitionData, transaction: InTransaction) -> Work[PartitionResponse]:
    core = call.broker
    refusal = _refusal(call, topic, data)
    if refusal is not None:
        return refusal
    try:
        partition = _led(call, topic, data.index)
        log_start_offset = partition.log.log_start_offset
        if transaction.producer is not None:
            transaction.check(partition, data.records)
        now_ms = core.clock.now_ms()
        try:
            views = take(data.records, call.version, partition.limits, now_ms, partition.id)
        except TooLong:
            limits, id = partition.limits.patient(), partition.id
            views = yield from to_thread(lambda: take(data.records, call.version, limits, now_ms, id))
            partition = _led(call, topic, data.index)
        if not views:
            return PartitionResponse(index=data.index, base_offset=-1, log_start_offset=partition.log.log_start_offset)
        if transaction.producer is not None:
            transaction.check_open(partition, data.records)
    except RejectedBatch as error:
        start = log_start_offset if error.records or error.code == error_codes.INVALID_TXN_STATE else -1
        return partition_error(data.index, error.code, error.message, error.records, start)
    except BrokerError as error:
        return partition_error(data.index, error.code.code, error.broker_message)
    except UNSTORED as error:
        return unstored(partition, log_start_offset, error)
    appended = store(core, partition, views, now_ms)
    if isinstance(appended, PartitionResponse):
        return appended
    return PartitionResponse(
        index=data.index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.append_time_ms,
        log_start_offset=partition.log.log_start_offset,
    )


def _led(call: Call, topic: Topic, number: int) -> Partition:
    """The partition. BrokerError if it now belongs to a new topic of the same name."""
    partition = call.broker.partitions.led(topic.name, number)
    if partition.topic_id != topic.id:
        by_id = call.version >= _BY_ID
        raise error_for(error_codes.UNKNOWN_TOPIC_ID if by_id else error_codes.UNKNOWN_TOPIC_OR_PARTITION)
    return partition
