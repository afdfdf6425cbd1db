"""Produce (0): append record batches, each partition on its own.

- acks 0: no answer; an error closes the connection, as Kafka does, since there is no other way to tell.
- acks 1 and -1 are the same with one replica; min.insync.replicas counts at most as many as there are (KIP-966).
- A repeated batch of an idempotent producer is answered with the offset it got the first time.
- A batch of a transaction is appended once its partition is known to be in it; v12 adds it (KIP-890).
- v8: the records at fault are listed. v10: an error about the leader carries the current one. v13: topic ids.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import UUID

from kafka_tools.broker_embedded.call import NO_REPLY, Call, CloseConnection, NoReply
from kafka_tools.broker_embedded.cluster.metadata import Topic
from kafka_tools.broker_embedded.coordinators.transactions.decisions import TxnProducer
from kafka_tools.broker_embedded.partitions.partition import Partition
from kafka_tools.broker_embedded.partitions.produced_batches import Refused, TooLong, is_long, take
from kafka_tools.broker_embedded.refusals import text_of
from kafka_tools.broker_embedded.slices import Elsewhere, Work
from kafka_tools.errors import BrokerError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import TRANSACTIONAL_BIT, AclOperation, AclResourceType
from kafka_tools.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_tools.protocol.primitives import Buffer
from kafka_tools.records.batches import batches
from kafka_tools.records.chain import FLAGS_POSITION, HEADER_BYTES, MAGIC_POSITION
from kafka_tools.storage.log.partition_log import LogOffline
from kafka_tools.storage.producer_state import NotTransactional, OutOfOrderSequence, StaleProducerEpoch

VERSIONS = (0, 13)
AUTHORIZE = ()

_WRITE, _TOPIC = AclOperation.WRITE, AclResourceType.TOPIC

log = logging.getLogger(__name__)

_ABORTABLE_FROM = 11
_ADDS_FROM = 12
_MAY_WRITE_INTERNAL = "__admin_client"  # the one client id that Kafka lets append to internal topics

TopicResponse = ProduceResponse.TopicProduceResponse
PartitionResponse = TopicResponse.PartitionProduceResponse


def handle(call: Call) -> Work[ProduceResponse | NoReply]:
    request = call.request
    refused = _seen_at_once(call)
    if refused is not None:
        return _all_refused(call, *refused)
    if request.transactional_id is not None and len(_transactional_producers(request)) > 1:
        text = "Transactional records contained more than one producer ID"
        return _all_refused(call, error_codes.INVALID_PRODUCER_ID_MAPPING, text)
    response = ProduceResponse()
    failed = False
    cluster = call.broker.cluster
    for topic_data in _each_once(request.topic_data):
        if call.version >= 13:
            topic = cluster.topics_by_id.get(topic_data.topic_id)
            unknown = error_codes.UNKNOWN_TOPIC_ID
        else:
            topic = cluster.topics.get(topic_data.name)
            unknown = error_codes.UNKNOWN_TOPIC_OR_PARTITION
            if topic is None and not call.allowed(_WRITE, _TOPIC, topic_data.name):
                unknown = error_codes.TOPIC_AUTHORIZATION_FAILED
        answers = []
        for data in topic_data.partition_data:
            yield
            answer = (yield from _append(call, topic, data)) if topic is not None else _error(data.index, unknown)
            if answer.error_code == error_codes.KAFKA_STORAGE_ERROR and call.version < 4:
                answer.error_code = error_codes.NOT_LEADER_OR_FOLLOWER  # what clients knew before v4
            failed = failed or answer.error_code != error_codes.NONE
            answers.append(answer)
        response.responses.append(
            TopicResponse(name=topic_data.name, topic_id=topic_data.topic_id, partition_responses=answers)
        )
    if request.acks == 0:
        if failed:
            raise CloseConnection("a produce request with acks=0 failed")
        return NO_REPLY
    return response


def _each_once(topic_data: Sequence[ProduceRequest.TopicProduceData]) -> Sequence[ProduceRequest.TopicProduceData]:
    """The topics that have partitions; of a partition that is named twice the last records count, as in Kafka's map."""
    Data = ProduceRequest.TopicProduceData
    if len(topic_data) == 1 and len(topic_data[0].partition_data) == 1:
        return topic_data
    topics: dict[tuple[str, UUID], dict[int, ProduceRequest.TopicProduceData.PartitionProduceData]] = {}
    for topic in topic_data:
        for data in topic.partition_data:
            topics.setdefault((topic.name, topic.topic_id), {})[data.index] = data
    return [
        Data(name=name, topic_id=topic_id, partition_data=list(partitions.values()))
        for (name, topic_id), partitions in topics.items()
    ]


def _seen_at_once(call: Call) -> tuple[int, str] | None:
    """What refuses all of the request: Kafka looks at the first batch of each partition until one is transactional."""
    owner = call.request.transactional_id
    for topic in call.request.topic_data:
        for data in topic.partition_data:
            records = data.records or b""
            if len(records) <= MAGIC_POSITION:
                continue
            magic = records[MAGIC_POSITION]
            if magic > 2:
                said = magic if magic < 128 else magic - 256
                return error_codes.CORRUPT_MESSAGE, f"Invalid magic found in record: {said}"
            if magic == 2 and len(records) > FLAGS_POSITION and records[FLAGS_POSITION] & TRANSACTIONAL_BIT:
                if owner is not None and call.allowed_on_transactional_id(AclOperation.WRITE, owner):
                    return None
                code = error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                return code, text_of(code)
    return None


def _transactional_producers(request: ProduceRequest) -> set[TxnProducer]:
    """The producers whose batches, the first of each partition, say that they belong to a transaction."""
    found = set()
    for topic in request.topic_data:
        for data in topic.partition_data:
            if _is_transactional(data.records):
                view = next(batches(data.records or b""), None)
                if view is not None:
                    found.add(TxnProducer(view.producer_id, view.producer_epoch))
    return found


def _is_transactional(records: Buffer | None) -> bool:
    return bool(
        records
        and len(records) >= HEADER_BYTES
        and records[FLAGS_POSITION] & TRANSACTIONAL_BIT
        and records[MAGIC_POSITION] == 2
    )


def _all_refused(call: Call, code: int, message: str) -> ProduceResponse | NoReply:
    if call.request.acks == 0:
        raise CloseConnection("a produce request with acks=0 failed")
    return ProduceResponse(
        responses=[
            TopicResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[_error(data.index, code, message) for data in topic.partition_data],
            )
            for topic in _each_once(call.request.topic_data)
        ]
    )


def _append(
    call: Call, topic: Topic, data: ProduceRequest.TopicProduceData.PartitionProduceData
) -> Work[ProduceResponse.TopicProduceResponse.PartitionProduceResponse]:
    core = call.broker
    try:
        if not call.allowed(_WRITE, _TOPIC, topic.name):
            return _error(data.index, error_codes.TOPIC_AUTHORIZATION_FAILED)
        if data.index not in topic.partitions:
            return _error(data.index, error_codes.UNKNOWN_TOPIC_OR_PARTITION)
        if call.request.acks not in (-1, 0, 1):
            return _error(data.index, error_codes.INVALID_REQUIRED_ACKS)
        if topic.is_internal and call.client_id != _MAY_WRITE_INTERNAL:
            return _error(data.index, error_codes.INVALID_TOPIC_EXCEPTION, f"{topic.name} is an internal topic.")
        partition = core.partitions.led(topic.name, data.index)
        log_start_offset = partition.log.log_start_offset
        if call.request.transactional_id is not None and _is_transactional(data.records):
            _check_in_transaction(call, partition, data.records)
        now_ms = core.clock.now_ms()
        buffer = _taken_at_once(data.records, call.version, partition, now_ms)
        if buffer is None:
            limits, id = partition.limits.patient(), partition.id
            buffer = yield Elsewhere(lambda: take(data.records, call.version, limits, now_ms, id))
            partition = core.partitions.led(topic.name, data.index)  # it may be another one by now
        if not buffer:
            return PartitionResponse(index=data.index, base_offset=-1, log_start_offset=partition.log.log_start_offset)
        appended = partition.log.append(
            buffer,
            leader_epoch=partition.leader_epoch,
            append_time_ms=now_ms if partition.limits.log_append_time else None,
        )
    except Refused as error:
        start = log_start_offset if error.records or error.code == error_codes.INVALID_TXN_STATE else -1
        return _error(data.index, error.code, error.message, error.records, start)
    except OutOfOrderSequence as error:
        code = error_codes.OUT_OF_ORDER_SEQUENCE_NUMBER
        return _error(data.index, code, str(error), log_start_offset=log_start_offset)
    except NotTransactional as error:
        return _error(data.index, error_codes.INVALID_TXN_STATE, str(error), log_start_offset=log_start_offset)
    except StaleProducerEpoch as error:
        code = error_codes.INVALID_PRODUCER_EPOCH
        return _error(data.index, code, str(error), log_start_offset=log_start_offset)
    except BrokerError as error:
        return _error(data.index, error.code.code, error.broker_message)
    except (LogOffline, OSError) as error:  # the log has told it once, and does not with each request
        log.debug("append to %s-%d failed: %s", topic.name, data.index, error)
        return _error(data.index, error_codes.KAFKA_STORAGE_ERROR)
    except LogError as error:
        log.error("append to %s-%d failed: %s", topic.name, data.index, error)
        return _error(data.index, error_codes.KAFKA_STORAGE_ERROR)
    if not appended.duplicate:
        partition.appended_bytes += len(buffer)
        core.purgatory.wake(partition.id)
    return PartitionResponse(
        index=data.index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.append_time_ms,
        log_start_offset=partition.log.log_start_offset,
    )


def _check_in_transaction(call: Call, partition: Partition, records: Buffer | None) -> None:
    """BrokerError, or OutOfOrderSequence, unless the batch may be part of its producer's transaction."""
    view = next(batches(records or b""), None)
    if view is None or view.producer_id < 0:
        return  # which taking it apart will tell
    adds = call.version >= _ADDS_FROM
    producer = TxnProducer(view.producer_id, view.producer_epoch)
    tells_abortable = call.version >= _ABORTABLE_FROM
    call.broker.verification.check_produced(
        call.request.transactional_id, producer, partition.id, adds=adds, tells_abortable=tells_abortable
    )
    if adds and view.base_sequence != 0 and view.producer_id not in partition.log.producers.entries:
        raise OutOfOrderSequence(
            f"sequence {view.base_sequence} of producer {view.producer_id} at {partition.id}: it has written nothing "
            "there, so 0 is expected"
        )


def _taken_at_once(records: Buffer | None, version: int, partition: Partition, now_ms: int) -> bytearray | None:
    """``take``, or None if it takes long: then it is done where nobody waits for it."""
    if is_long(records):
        return None
    try:
        return take(records, version, partition.limits, now_ms, partition.id)
    except TooLong:
        return None


def _error(
    index: int,
    code: int,
    message: str | None = None,
    records: list[tuple[int, str]] | None = None,
    log_start_offset: int = -1,
) -> ProduceResponse.TopicProduceResponse.PartitionProduceResponse:
    return PartitionResponse(
        index=index,
        error_code=code,
        base_offset=-1,
        log_start_offset=log_start_offset,
        error_message=message,
        record_errors=[
            PartitionResponse.BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=text)
            for at, text in records or ()
        ],
    )
