"""Appends validated batches to their partition's log, and creates the response of a produce request."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_tools.errors import LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.produce import ProduceResponse
from kafka_tools.storage.log.partition_log import Appended, LogOffline
from kafka_tools.storage.producer_state import NotTransactional, OutOfOrderSequence, StaleProducerEpoch

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.partitions.partition import Partition
    from kafka_tools.records.batches import BatchView

log = logging.getLogger(__name__)

TopicResponse = ProduceResponse.TopicProduceResponse
PartitionResponse = TopicResponse.PartitionProduceResponse

UNSTORED = (LogError, OSError)
"""The errors of a failed append."""


def store(core: Core, partition: Partition, views: Sequence[BatchView], now_ms: int) -> Appended | PartitionResponse:
    """Append batches from ``take`` and wake waiting requests. Returns the partition's response if the append fails."""
    kept, buffer = partition.log, views[0].buffer
    assert not isinstance(buffer, bytes)
    log_start_offset = kept.log_start_offset
    try:
        appended = kept.append(
            buffer,
            leader_epoch=partition.leader_epoch,
            append_time_ms=now_ms if partition.limits.log_append_time else None,
            views=views,
        )
    except UNSTORED as error:
        return unstored(partition, log_start_offset, error)
    if not appended.duplicate:
        partition.appended_bytes += len(buffer)
        counts = partition.counts
        if counts is None:
            counts = partition.counts = core.counts.topics.of(partition.id.topic)
        counts.appended(appended.last_offset - appended.base_offset + 1, len(buffer))
        core.purgatory.wake(partition.id)
    return appended


def unstored(partition: Partition, log_start_offset: int, error: Exception) -> PartitionResponse:
    """The response for one of ``UNSTORED``. ``log_start_offset``: the log start before the append."""
    index = partition.id.partition
    if isinstance(error, OutOfOrderSequence):
        code = error_codes.OUT_OF_ORDER_SEQUENCE_NUMBER
        return partition_error(index, code, str(error), log_start_offset=log_start_offset)
    if isinstance(error, NotTransactional):
        return partition_error(index, error_codes.INVALID_TXN_STATE, str(error), log_start_offset=log_start_offset)
    if isinstance(error, StaleProducerEpoch):
        return partition_error(index, error_codes.INVALID_PRODUCER_EPOCH, str(error), log_start_offset=log_start_offset)
    # the log has reported that it is offline, or the disk's error, once; do not repeat it for each request
    level = logging.DEBUG if isinstance(error, LogOffline | OSError) else logging.ERROR
    log.log(level, "cannot append to %s: %s", partition.id, error)
    return partition_error(index, error_codes.KAFKA_STORAGE_ERROR)


def partition_error(
    index: int,
    code: int,
    message: str | None = None,
    records: list[tuple[int, str]] | None = None,
    log_start_offset: int = -1,
) -> PartitionResponse:
    """The response for a partition to which nothing was appended. ``records``: the errors of single records."""
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
