"""OffsetFetch (9): committed offsets of groups. A partition without a commit has offset -1 and no error.

- v0: a partition without a commit is UNKNOWN_TOPIC_OR_PARTITION, as with offsets in ZooKeeper.
- v2: null topics mean all. v8: several groups. v10: topics by id.
- require_stable (v7): an offset that an open transaction may change is UNSTABLE_OFFSET_COMMIT; clients retry (KIP-447).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit
from kafka_tools.broker_embedded.handlers._repeats import Repeats
from kafka_tools.broker_embedded.handlers._rights import check_group
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 10)
AUTHORIZE = ()

_STABLE_FROM = 7
_BY_ID = 10
_NOTHING = OffsetCommit(offset=-1, leader_epoch=-1, metadata="", commit_ms=-1)
ResponseGroup = OffsetFetchResponse.ResponseGroup
Named = dict[tuple[str, object], Repeats]
"""(group, topic name or id) -> its partitions so far. The metadata of an offset may be much longer than a number."""


class _Partition(NamedTuple):
    """The fields of a partition in both forms of the response."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str
    error_code: int


def handle(call: Call) -> Work[OffsetFetchResponse]:
    request = call.request
    named: Named = {}
    if call.version < 8:
        check_group(call, AclOperation.DESCRIBE, request.group_id)
        committed = call.broker.groups.offsets.committed(request.group_id)
        return OffsetFetchResponse(topics=(yield from _topics(call, request, committed, named)))
    groups, whole = [], Repeats()
    for group in request.groups:
        yield
        if group.topics is not None or not whole.too_many(group.group_id):
            groups.append((yield from _group(call, group, named)))
    return OffsetFetchResponse(groups=groups)


def _group(call: Call, asked: Any, named: Named) -> Work[ResponseGroup]:
    response = ResponseGroup(group_id=asked.group_id)
    try:
        check_group(call, AclOperation.DESCRIBE, asked.group_id)
        committed = call.broker.groups.offsets.committed(asked.group_id, asked.member_id, asked.member_epoch)
    except BrokerError as error:
        response.error_code = error.code.code
        return response
    response.topics = yield from _topics(call, asked, committed, named)
    return response


def _topics(call: Call, asked: Any, committed: Mapping[TopicPartition, OffsetCommit], named: Named) -> Work[list[Any]]:
    """The topics of the response for one group. ``asked`` is the request, or a group of it from version 8 on."""
    cluster, by_id = call.broker.cluster, call.version >= _BY_ID
    kind, partition_kind = (
        (ResponseGroup.ResponseTopics, ResponseGroup.ResponseTopics.ResponsePartitions)
        if call.version >= 8
        else (OffsetFetchResponse.ResponseTopic, OffsetFetchResponse.ResponseTopic.ResponsePartition)
    )
    wanted: list[tuple[Any, str, list[int], int]] = []
    if asked.topics is None:
        for name, numbers in (yield from _all_topics(call, committed)).items():
            known = cluster.topic(name)
            if not by_id:
                wanted.append((kind(name=name), name, numbers, error_codes.NONE))
            elif known is not None:  # with ids, deleted topics are omitted
                wanted.append((kind(name=name, topic_id=known.id), name, numbers, error_codes.NONE))
    else:
        for entry, numbers in (yield from _wanted(call, asked.group_id, asked.topics, named)):
            if by_id:
                known = cluster.topics_by_id.get(entry.topic_id)
                name = known.name if known else ""
                code = _code(call, name) if known else error_codes.UNKNOWN_TOPIC_ID
                wanted.append((kind(name=name, topic_id=entry.topic_id), name, numbers, code))
            else:
                wanted.append((kind(name=entry.name), entry.name, numbers, _code(call, entry.name)))
    for topic, name, numbers, code in wanted:
        for found in (yield from _partitions(call, asked.group_id, committed, name, numbers, code)):
            yield
            topic.partitions.append(partition_kind(**found._asdict()))
    return [topic for topic, *_ in wanted]


def _wanted(call: Call, group_id: str, topics: list[Any], named: Named) -> Work[list[tuple[Any, list[int]]]]:
    """The topics with their partitions, without too many repeated ones."""
    found = []
    for topic in topics:
        place = topic.topic_id if call.version >= _BY_ID else topic.name
        before = named.setdefault((group_id, place), Repeats())
        numbers = []
        for number in topic.partition_indexes:
            yield
            if not before.too_many(number):
                numbers.append(number)
        found.append((topic, numbers))
    return found


def _code(call: Call, topic: str) -> int:
    return (
        error_codes.NONE
        if call.allowed_on_topic(AclOperation.DESCRIBE, topic)
        else error_codes.TOPIC_AUTHORIZATION_FAILED
    )


def _all_topics(call: Call, committed: Mapping[TopicPartition, OffsetCommit]) -> Work[dict[str, list[int]]]:
    """All committed partitions by topic, sorted, without topics that the caller may not describe."""
    topics: dict[str, list[int]] = {}
    for topic, partition in list(committed):
        yield
        topics.setdefault(topic, []).append(partition)
    found = {}
    for topic in sorted(topics):
        yield
        if call.allowed_on_topic(AclOperation.DESCRIBE, topic):
            found[topic] = sorted(topics[topic])
    return found


def _partitions(
    call: Call,
    group_id: str,
    committed: Mapping[TopicPartition, OffsetCommit],
    topic: str,
    numbers: list[int],
    code: int,
) -> Work[list[_Partition]]:
    offsets = call.broker.groups.offsets
    stable_only = call.version >= _STABLE_FROM and call.request.require_stable
    found = []
    for number in numbers:
        yield
        at = TopicPartition(topic, number)
        code_here = code
        if stable_only and not code and offsets.open.is_open(group_id, at):
            code_here = error_codes.UNSTABLE_OFFSET_COMMIT
        offset = _NOTHING if code_here else committed.get(at, _NOTHING)
        if call.version == 0 and offset.offset == -1:
            code_here = code_here or error_codes.UNKNOWN_TOPIC_OR_PARTITION
        found.append(_Partition(number, offset.offset, offset.leader_epoch, offset.metadata, code_here))
    return found
