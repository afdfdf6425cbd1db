"""Delete records: move the log start offset of partitions forward (KIP-107)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from kafka_tools.admin.driver import AdminCall, Reply
from kafka_tools.admin.lookups import LeaderLookup
from kafka_tools.clock import Deadline
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.delete_records import DeleteRecordsResponse

T = TypeVar("T")

REFUSED_BY_POLICY = "records can only be deleted if the topic's cleanup.policy contains delete"
"""The error's meaning for this API (UnifiedLog.maybeIncrementLogStartOffset); brokers send no text with it."""
HIGH_WATERMARK = -1
"""The offset that stands for "everything that can be consumed now"."""


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Topic -> partition numbers, in the order of the partitions given."""
    return grouped(partitions, lambda key: key.partition)


def grouped(partitions: Iterable[TopicPartition], item: Callable[[TopicPartition], T]) -> dict[str, list[T]]:
    """Topic -> the ``item`` of each of its partitions, in the order of the partitions given."""
    topics: dict[str, list[T]] = {}
    for key in partitions:
        topics.setdefault(key.topic, []).append(item(key))
    return topics


class DeleteRecords(AdminCall[TopicPartition, int, "DeleteRecordsResponse"]):
    """Partition -> offset before which records are deleted; the value is the new log start offset."""

    name = "delete records"
    lookup = LeaderLookup()

    offsets: Mapping[TopicPartition, int]

    def build(self, keys: list[TopicPartition], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest

        Topic = DeleteRecordsRequest.Topic
        items = grouped(keys, lambda key: Topic.Partition(partition_index=key.partition, offset=self.offsets[key]))
        topics = [Topic(name=name, partitions=partitions) for name, partitions in items.items()]
        return DeleteRecordsRequest(topics=topics, timeout_ms=deadline.left_ms())

    def interpret(self, reply: Reply[TopicPartition, int, DeleteRecordsResponse]) -> None:
        for topic in reply.response.topics:
            for item in topic.partitions:
                key = TopicPartition(topic.name, item.partition_index)
                text = REFUSED_BY_POLICY if item.error_code == error_codes.POLICY_VIOLATION else None
                reply.take(key, item.error_code, text, item.low_watermark)
