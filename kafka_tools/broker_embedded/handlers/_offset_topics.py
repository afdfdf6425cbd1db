"""The topics of requests that commit or delete offsets. Newer versions name topics by their ids."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple
from uuid import UUID

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.group import Committer
from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.values import TopicPartition


class Wanted(NamedTuple):
    """A partition that is passed to the group. ``partition``: the struct in the request."""

    at: TopicPartition
    topic_id: UUID
    partition: Any

    def committed(self, commit_ms: int, expire_ms: int = -1) -> OffsetCommit:
        """The offset that the request commits."""
        _, topic_id, asked = self
        metadata = asked.committed_metadata or ""
        return OffsetCommit(
            asked.committed_offset, asked.committed_leader_epoch, metadata, commit_ms, expire_ms, topic_id
        )


def committer(request: Any) -> Committer:
    """The committing member in a request."""
    return Committer(request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)


def known_topic(call: Call, topic: Any, by_id: bool) -> tuple[str, int]:
    """The topic's name, or the error code for all of its partitions."""
    cluster = call.broker.cluster
    name: str = topic.name
    if by_id:
        found = cluster.topics_by_id.get(topic.topic_id)
        if found is None:
            return "", error_codes.UNKNOWN_TOPIC_ID
        name = found.name
    if not call.allowed_on_topic(AclOperation.READ, name):
        return name, error_codes.TOPIC_AUTHORIZATION_FAILED
    return name, error_codes.NONE if cluster.topic(name) else error_codes.UNKNOWN_TOPIC_OR_PARTITION


def answered(
    call: Call, kind: Any, ask: Callable[[list[Wanted]], Work[list[int]]], *, by_id: bool = False
) -> Work[list[Any]]:
    """The topics of the response, of class ``kind``, put together as Kafka does.

    Partitions that are refused do not reach the group. Those of one topic are put together, and what the group answers
    (``ask``: the code of each partition) is added to them. Where nothing is refused the group's answer stands as it is,
    also with a topic that was named twice.
    """
    cluster = call.broker.cluster
    refused: dict[Hashable, Any] = {}
    asked: list[tuple[Hashable, Any]] = []
    wanted: list[Wanted] = []
    for topic in call.request.topics:
        name, code = known_topic(call, topic, by_id)
        out, to_group = kind(name=topic.name, partitions=[]), kind(name=topic.name, partitions=[])
        if by_id:
            out.topic_id = to_group.topic_id = topic.topic_id
        for partition in topic.partitions:
            yield
            index = partition.partition_index
            answer = kind.ResponsePartition(partition_index=index)
            if code or cluster.partition(name, index) is None:
                answer.error_code = code or error_codes.UNKNOWN_TOPIC_OR_PARTITION
                out.partitions.append(answer)
            else:
                to_group.partitions.append(answer)
                topic_id = topic.topic_id if by_id else cluster.topics[name].id
                wanted.append(Wanted(TopicPartition(name, index), topic_id, partition))
        about = topic.topic_id if by_id else topic.name
        if code or out.partitions:
            _put(refused, about, out)
        if to_group.partitions:
            asked.append((about, to_group))
    codes = iter((yield from ask(wanted)))
    for _, topic in asked:
        for each in topic.partitions:
            yield
            each.error_code = next(codes)
    if not refused:
        return [topic for _, topic in asked]
    for about, topic in asked:
        _put(refused, about, topic)
    return list(refused.values())


def _put(topics: dict[Hashable, Any], about: Hashable, topic: Any) -> None:
    if about in topics:
        topics[about].partitions += topic.partitions
    else:
        topics[about] = topic
