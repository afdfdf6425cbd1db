"""OffsetFetch (9): how far groups have read. A partition without a commit has offset -1 and no error.

- v0: a partition without a commit is UNKNOWN_TOPIC_OR_PARTITION, as in ZooKeeper's days.
- v2: null topics mean all. v8: several groups. v10: topics by id.
- require_stable (v7): what an open transaction may change is UNSTABLE_OFFSET_COMMIT, and asked for again (KIP-447).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.group_records import OffsetCommit
from kafka_tools.broker_embedded.handlers._repeats import Repeats
from kafka_tools.broker_embedded.refusals import error_for
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
"""By group and topic (its name or id) the partitions; what goes with an offset may be much longer than a number."""


class _Partition(NamedTuple):
    """The fields of a partition in either shape of the response."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str
    error_code: int


def handle(call: Call) -> Work[OffsetFetchResponse]:
    request = call.request
    named: Named = {}
    if call.version >= 8:
        groups, whole = [], Repeats()
        for group in request.groups:
            yield
            if group.topics is not None or not whole.too_many(group.group_id):
                groups.append((yield from _group(call, group, named)))
        return OffsetFetchResponse(groups=groups)
    if not call.allowed_on_group(AclOperation.DESCRIBE, request.group_id):
        raise error_for(error_codes.GROUP_AUTHORIZATION_FAILED)
    committed = call.broker.groups.offsets.committed(request.group_id)
    response = OffsetFetchResponse()
    if request.topics is None:
        found_topics = yield from _all_topics(call, committed)
        wanted = [(topic, numbers, error_codes.NONE) for topic, numbers in found_topics.items()]
    else:
        wanted = []
        for topic, numbers in (yield from _wanted(call, request.group_id, request.topics, named)):
            wanted.append((topic.name, numbers, _code(call, topic.name)))
    for name, numbers, code in wanted:
        topic = response.ResponseTopic(name=name)
        for found in (yield from _partitions(call, request.group_id, committed, name, numbers, code)):
            yield
            missing = call.version == 0 and found.committed_offset == -1 and not found.error_code
            if missing:
                found = found._replace(error_code=error_codes.UNKNOWN_TOPIC_OR_PARTITION)
            topic.partitions.append(topic.ResponsePartition(**found._asdict()))
        response.topics.append(topic)
    return response


def _wanted(call: Call, group_id: str, topics: list[Any], named: Named) -> Work[list[tuple[Any, list[int]]]]:
    """The topics, with those of their partitions that are told."""
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


def _group(call: Call, wanted: Any, named: Named) -> Work[OffsetFetchResponse.ResponseGroup]:
    response = ResponseGroup(group_id=wanted.group_id)
    if not call.allowed_on_group(AclOperation.DESCRIBE, wanted.group_id):
        response.error_code = error_codes.GROUP_AUTHORIZATION_FAILED
        return response
    cluster = call.broker.cluster
    try:
        committed = call.broker.groups.offsets.committed_for(wanted.group_id, wanted.member_id, wanted.member_epoch)
    except BrokerError as error:
        response.error_code = error.code.code
        return response
    if wanted.topics is None:
        for name, numbers in (yield from _all_topics(call, committed)).items():
            known = cluster.topic(name)
            if known is not None or call.version < _BY_ID:  # an id does not name a topic that is gone
                topic = ResponseGroup.ResponseTopics(name=name)
                if known is not None:
                    topic.topic_id = known.id
                found = yield from _partitions(call, wanted.group_id, committed, name, numbers, error_codes.NONE)
                yield from _fill(topic, found)
                response.topics.append(topic)
        return response
    for entry, numbers in (yield from _wanted(call, wanted.group_id, wanted.topics, named)):
        name, code = entry.name, error_codes.NONE
        if call.version >= _BY_ID:
            by_id = cluster.topics_by_id.get(entry.topic_id)
            name, code = (by_id.name, code) if by_id else ("", error_codes.UNKNOWN_TOPIC_ID)
        topic = ResponseGroup.ResponseTopics(name=name, topic_id=entry.topic_id)
        code = code or _code(call, name)
        found = yield from _partitions(call, wanted.group_id, committed, name, numbers, code)
        yield from _fill(topic, found)
        response.topics.append(topic)
    return response


def _fill(topic: OffsetFetchResponse.ResponseGroup.ResponseTopics, partitions: list[_Partition]) -> Work[None]:
    for found in partitions:
        yield
        topic.partitions.append(topic.ResponsePartitions(**found._asdict()))


def _code(call: Call, topic: str) -> int:
    return (
        error_codes.NONE
        if call.allowed_on_topic(AclOperation.DESCRIBE, topic)
        else error_codes.TOPIC_AUTHORIZATION_FAILED
    )


def _all_topics(call: Call, committed: Mapping[TopicPartition, OffsetCommit]) -> Work[dict[str, list[int]]]:
    """Everything committed, sorted, less the topics that the caller may not see."""
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
        if stable_only and not code and offsets.is_unstable(group_id, at):
            code_here = error_codes.UNSTABLE_OFFSET_COMMIT
        offset = _NOTHING if code_here else committed.get(at, _NOTHING)
        found.append(_Partition(number, offset.offset, offset.leader_epoch, offset.metadata, code_here))
    return found
