"""ListOffsets (2): offsets by timestamp or by position.

- timestamp -1 latest (the last stable offset when read committed), -2 earliest, -3 the record with the
  greatest timestamp, -4 the earliest local, -5 the last tiered (none here: -1). The offset is also -1 for a record
  that a read_committed client cannot see yet.
- v0 returns a list: the base offsets of segments, newest first.
- v4: a leader epoch that is not the current one is FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.
"""

from __future__ import annotations

import logging
from collections import Counter

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.partitions.partition import Partition
from kafka_tools.broker_embedded.refusals import bad_request, error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError, LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, OffsetSpec
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

VERSIONS = (0, 11)
AUTHORIZE = ()

log = logging.getLogger(__name__)

_SINCE = {
    OffsetSpec.LATEST: 0,
    OffsetSpec.EARLIEST: 0,
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}
_NEVER = 1 << 15

Answer = ListOffsetsResponse.TopicResponse.PartitionResponse


def handle(call: Call) -> Work[ListOffsetsResponse]:
    """Each partition is answered once. A partition that occurs twice is INVALID_REQUEST."""
    times = Counter(
        (topic.name, wanted.partition_index) for topic in call.request.topics for wanted in topic.partitions
    )
    topics: dict[str, dict[int, ListOffsetsResponse.TopicResponse.PartitionResponse]] = {}
    denied: list[ListOffsetsResponse.TopicResponse] = []
    for topic in call.request.topics:
        if not call.allowed_on_topic(AclOperation.DESCRIBE, topic.name):
            denied.append(_denied(topic))
            continue
        answers = topics.setdefault(topic.name, {})
        for wanted in topic.partitions:
            yield
            answer = answers[wanted.partition_index] = Answer(partition_index=wanted.partition_index)
            try:
                if times[topic.name, wanted.partition_index] > 1 and call.version >= 1:
                    raise bad_request()
                _check_timestamp(wanted.timestamp, call.version)
                yield from _find(call, topic.name, wanted, answer)
            except BrokerError as error:
                answer.error_code = error.code.code
            except (LogError, OSError) as error:
                log.error("cannot look up an offset of %s-%d: %s", topic.name, wanted.partition_index, error)
                answer.error_code = error_codes.KAFKA_STORAGE_ERROR
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.TopicResponse(name=name, partitions=list(answers.values()))
            for name, answers in topics.items()
            if answers
        ]
        + denied
    )


def _denied(topic: ListOffsetsRequest.Topic) -> ListOffsetsResponse.TopicResponse:
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    answers = [Answer(partition_index=wanted.partition_index, error_code=code) for wanted in topic.partitions]
    return ListOffsetsResponse.TopicResponse(name=topic.name, partitions=answers)


def _check_timestamp(timestamp: int, version: int) -> None:
    """BrokerError for a negative number that this version does not define."""
    if timestamp < 0 and version < _SINCE.get(timestamp, _NEVER):
        raise error_for(error_codes.UNSUPPORTED_VERSION)


def _find(
    call: Call,
    topic: str,
    wanted: ListOffsetsRequest.Topic.Partition,
    answer: ListOffsetsResponse.TopicResponse.PartitionResponse,
) -> Work[None]:
    partition = call.broker.partitions.led(topic, wanted.partition_index, wanted.current_leader_epoch)
    if call.version == 0:
        answer.old_style_offsets = _segment_offsets(partition, wanted.timestamp, wanted.max_num_offsets)
        return
    opened, timestamp = partition.log, wanted.timestamp
    end = partition.end_for(call.request.isolation_level)
    if timestamp == OffsetSpec.LATEST:
        answer.offset, answer.leader_epoch = end, _epoch(call, opened.epochs.latest)
    elif timestamp in (OffsetSpec.EARLIEST, OffsetSpec.EARLIEST_LOCAL):
        answer.offset = opened.log_start_offset
        answer.leader_epoch = _epoch(call, opened.epochs.epoch_at(opened.log_start_offset))
    elif timestamp in (OffsetSpec.LATEST_TIERED, OffsetSpec.EARLIEST_PENDING_UPLOAD):
        return  # nothing is tiered: offset -1
    else:
        found = (
            (yield from opened.max_timestamp_record())
            if timestamp == OffsetSpec.MAX_TIMESTAMP
            else (yield from opened.offset_for_timestamp(timestamp, limit_offset=end))
        )
        if found is not None and found.offset < end:
            answer.offset, answer.timestamp = found.offset, found.timestamp
            answer.leader_epoch = _epoch(call, found.leader_epoch)


def _epoch(call: Call, epoch: int) -> int:
    return epoch if call.version >= 4 else -1


def _segment_offsets(partition: Partition, timestamp: int, count: int) -> list[int]:
    """Like ``fetchOffsetsBefore`` of Kafka 0.8: the base offsets of segments, and the log end offset, newest first."""
    opened = partition.log
    starts = [max(segment.base_offset, opened.log_start_offset) for segment in opened.segments]
    if timestamp == OffsetSpec.LATEST:
        offsets = [*starts, opened.log_end_offset]
    elif timestamp == OffsetSpec.EARLIEST:
        offsets = [opened.log_start_offset]
    else:
        offsets = [
            start for start, segment in zip(starts, opened.segments, strict=True) if segment.max_timestamp <= timestamp
        ]
    return sorted(set(offsets), reverse=True)[: max(count, 0)]
