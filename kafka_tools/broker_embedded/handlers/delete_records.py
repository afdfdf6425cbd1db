"""DeleteRecords (21): move a partition's log start offset forward; it is stored before the response is sent.

- Offset -1 is the high watermark. An offset beyond it is OFFSET_OUT_OF_RANGE. Below the log start nothing changes.
- Topics that are only compacted are refused with POLICY_VIOLATION.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.partitions.partition import Partition
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.delete_records import DeleteRecordsResponse

VERSIONS = (0, 2)
AUTHORIZE = ()

log = logging.getLogger(__name__)

HIGH_WATERMARK = -1
Result = DeleteRecordsResponse.TopicResult.PartitionResult


def handle(call: Call) -> Work[DeleteRecordsResponse]:
    response = DeleteRecordsResponse()
    # If a partition occurs twice, its last offset counts, and it is answered once, as in Kafka's map.
    topics: dict[str, dict[int, Any]] = {}
    for topic in call.request.topics:
        for each in topic.partitions:
            topics.setdefault(topic.name, {})[each.partition_index] = each
    done: dict[str, list[tuple[Result, Partition]]] = {}
    for name, partitions in topics.items():
        results = []
        for wanted in partitions.values():
            yield
            result = Result(partition_index=wanted.partition_index, low_watermark=-1)
            try:
                partition = _delete(call, name, wanted.partition_index, wanted.offset)
                result.low_watermark = partition.log.log_start_offset
                done.setdefault(partition.log_dir, []).append((result, partition))
            except BrokerError as error:
                result.error_code = error.code.code
            except (LogError, OSError) as error:
                log.error("cannot delete records of %s-%d: %s", name, wanted.partition_index, error)
                result.error_code = error_codes.KAFKA_STORAGE_ERROR
            results.append(result)
        response.topics.append(DeleteRecordsResponse.TopicResult(name=name, partitions=results))
    for in_directory in done.values():  # a directory has one file for all partitions
        yield from _keep(call, in_directory)
    return response


def _keep(call: Call, done: Sequence[tuple[Result, Partition]]) -> Work[None]:
    """Store the log starts of a directory, including those that an earlier request could not store."""
    _, partition = done[0]
    try:
        yield from call.broker.partitions.upkeep.log_starts_changed(partition)
    except OSError as error:
        log.error("cannot record the log start offsets of %s: %s", partition.log_dir, error)
        for result, _ in done:
            result.error_code, result.low_watermark = error_codes.KAFKA_STORAGE_ERROR, -1


def _delete(call: Call, topic: str, number: int, offset: int) -> Partition:
    core = call.broker
    if not call.allowed_on_topic(AclOperation.DELETE, topic):
        raise error_for(error_codes.TOPIC_AUTHORIZATION_FAILED)
    found = core.cluster.topic(topic)
    if found is not None and found.is_internal and number in found.partitions:
        raise error_for(error_codes.INVALID_TOPIC_EXCEPTION)
    partition = core.partitions.led(topic, number)
    if partition.limits.needs_keys and not partition.log.config.delete:
        raise error_for(error_codes.POLICY_VIOLATION)
    wanted = partition.high_watermark if offset == HIGH_WATERMARK else offset
    if not 0 <= wanted <= partition.high_watermark:
        raise error_for(error_codes.OFFSET_OUT_OF_RANGE)
    if wanted > partition.log.log_start_offset:
        partition.log.delete_before(wanted)
    return partition
