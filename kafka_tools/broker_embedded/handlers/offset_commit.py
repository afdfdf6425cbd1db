"""OffsetCommit (8): how far a group has read; each partition succeeds or fails alone.

- v0: no member and no generation, as an administrator commits. (Kafka before 4.0 kept these in ZooKeeper.)
- v1: a time per partition. v2 to v4: a retention per commit. From v5 on: the broker's retention (KIP-211).
- v6: leader epochs. v7: static members. v9: GROUP_ID_NOT_FOUND. v10: topics by id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.group_records import OffsetCommit
from kafka_tools.broker_embedded.coordinators.offset_answers import put_together
from kafka_tools.broker_embedded.coordinators.offsets import PreparedCommit
from kafka_tools.broker_embedded.handlers._offset_topics import known_topic
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.offset_commit import OffsetCommitResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 10)
AUTHORIZE = ()

ResponseTopic = OffsetCommitResponse.ResponseTopic
ResponsePartition = ResponseTopic.ResponsePartition

_BY_ID = 10
_LAST_MS = 2**63 - 1
"""The last moment that an offset's record can hold."""


def handle(call: Call) -> Work[OffsetCommitResponse]:
    request = call.request
    if not call.allowed_on_group(AclOperation.READ, request.group_id):
        raise error_for(error_codes.GROUP_AUTHORIZATION_FAILED)
    known = []
    for topic in request.topics:
        yield
        known.append(known_topic(call, topic, call.version >= _BY_ID))
    refused: list[tuple[object, ResponseTopic]] = []
    asked: list[tuple[object, ResponseTopic]] = []
    wanted: list[tuple[TopicPartition, OffsetCommit]] = []
    for topic, (name, code) in zip(request.topics, known, strict=True):
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
                wanted.append((TopicPartition(name, index), _committed(call, topic_id, partition)))
        about = topic.name or topic.topic_id
        if code or out.partitions:
            refused.append((about, out))
        if to_group.partitions:
            asked.append((about, to_group))
    codes: Iterator[int] = iter(())
    if wanted:
        prepared = yield from call.broker.groups.offsets.prepare(request.group_id, wanted)
        codes = iter(_commit(call, prepared))
    for _, answered in asked:
        for each in answered.partitions:
            yield
            each.error_code = next(codes)
    return OffsetCommitResponse(topics=put_together(refused, asked))


def _answer(topic: Any) -> ResponseTopic:
    return ResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=[])


def _commit(call: Call, prepared: PreparedCommit) -> list[int]:
    """The code of each; a group that refuses the caller refuses every partition."""
    request = call.request
    try:
        return call.broker.groups.offsets.commit(
            request.group_id,
            request.generation_id_or_member_epoch,
            request.member_id,
            request.group_instance_id,
            prepared,
            call.version,
        )
    except BrokerError as error:
        return [error.code.code] * len(prepared.codes)


def _committed(call: Call, topic_id: UUID, partition: Any) -> OffsetCommit:
    now_ms = call.broker.clock.now_ms()
    retention_ms = call.request.retention_time_ms
    return OffsetCommit(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_ms=now_ms if partition.commit_timestamp == -1 else partition.commit_timestamp,
        expire_ms=-1 if retention_ms == -1 else min(now_ms + retention_ms, _LAST_MS),
        topic_id=topic_id,
    )
