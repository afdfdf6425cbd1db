"""Topics: list, describe, create, delete, add partitions.

Requests by name go to any node, changes to the controller. Descriptions use DescribeTopicPartitions, page by page, if
brokers support it (3.7, KIP-966), else Metadata.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.admin.calls.permissions import operations_of
from kafka_tools.admin.driver import ALL, AdminCall, KeysRefused, Progress, Reply
from kafka_tools.admin.lookups import AnyNodeLookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import WireError
from kafka_tools.net.broker_errors import broker_error, error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.schema import Request
from kafka_tools.values import uuid_text

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsResponse

TopicKey = str | uuid.UUID
PAGE_PARTITIONS = 2000


class TopicListing(NamedTuple):
    """One topic of a listing; ``topic_id`` is zero where brokers have none (before 2.8)."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool


class PartitionDescription(NamedTuple):
    """One partition. ``leader`` is None without a leader; ``elr`` and ``last_known_elr`` None where unknown."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    elr: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None


class TopicDescription(NamedTuple):
    """One topic with its partitions by number."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]
    authorized_operations: tuple[str, ...] | None = None
    """The ACL operations that the principal is authorized for; None if the broker does not return them."""


class ListTopics(AdminCall[str, list[TopicListing], MetadataResponse]):
    """Every topic the principal may see."""

    name = "list topics"
    lookup = AnyNodeLookup()

    include_internal: bool

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        return MetadataRequest(topics=None)

    def interpret(self, reply: Reply[str, list[TopicListing], MetadataResponse]) -> None:
        topics = [
            TopicListing(item.name, item.topic_id, item.is_internal)
            for item in reply.response.topics
            if item.name is not None and (self.include_internal or not item.is_internal)
        ]
        reply.take(ALL, reply.response.error_code, None, sorted(topics, key=lambda topic: topic.name))


class DescribeTopics(AdminCall[TopicKey, TopicDescription, MetadataResponse]):
    """Topics by name or id, from Metadata."""

    name = "describe topics"
    lookup = AnyNodeLookup()

    operations: bool = False

    def build(self, keys: list[TopicKey], versions: NodeVersions, deadline: Deadline) -> Request:
        refuse_empty_names(keys)
        if any(isinstance(key, uuid.UUID) for key in keys):
            versions.require(MetadataRequest, 12, "finding topics by id")
        Topic = MetadataRequest.RequestTopic
        topics = [Topic(name=key) if isinstance(key, str) else Topic(name=None, topic_id=key) for key in keys]
        if self.operations:
            versions.require(MetadataRequest, 8, "asking for the authorized operations of topics")
        return MetadataRequest(
            topics=topics,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=self.operations,
        )

    def interpret(self, reply: Reply[TopicKey, TopicDescription, MetadataResponse]) -> None:
        asked = set(reply.keys)
        for topic in reply.response.topics:
            key: TopicKey = topic.topic_id if topic.name is None or topic.name not in asked else topic.name
            if key in asked:
                take_topic(key, topic, [partition_of(item) for item in topic.partitions], reply)
        for key in reply.keys:
            if not any(key in part for part in (reply.completed, reply.failed, reply.again)):
                reply.failed[key] = broker_error(error_codes.UNKNOWN_TOPIC_OR_PARTITION, not_found(key))


class DescribeTopicPage(AdminCall[str, "DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponse"]):
    """One page of DescribeTopicPartitions; the value is the response."""

    name = "describe topics"
    lookup = AnyNodeLookup()

    names: Sequence[str]
    cursor: DescribeTopicPartitionsResponse.Cursor | None
    page_size: int

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest

        cursor = None
        if self.cursor is not None:
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=self.cursor.topic_name, partition_index=self.cursor.partition_index
            )
        Topic = DescribeTopicPartitionsRequest.TopicRequest
        return DescribeTopicPartitionsRequest(
            topics=[Topic(name=name) for name in self.names], response_partition_limit=self.page_size, cursor=cursor
        )

    def interpret(self, reply: Reply[str, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponse]) -> None:
        reply.completed[ALL] = reply.response


def take_topic(
    key: TopicKey,
    topic: MetadataResponse.ResponseTopic | DescribeTopicPartitionsResponse.ResponseTopic,
    partitions: Sequence[PartitionDescription],
    progress: Progress[TopicKey, TopicDescription],
) -> None:
    """One described topic, or its error; a topic that does not exist is not retried."""
    if error_codes.error(topic.error_code).topic_not_found:
        progress.failed[key] = broker_error(topic.error_code, not_found(key))
        return
    error = error_of(topic.error_code)
    if error is not None:
        progress.add_error(key, error)
        return
    if topic.name is None:
        progress.failed[key] = WireError(f"the response for topic {key} does not contain its name")
        return
    ordered = tuple(sorted(partitions, key=attrgetter("partition")))
    operations = operations_of(topic.topic_authorized_operations)
    progress.completed[key] = TopicDescription(topic.name, topic.topic_id, topic.is_internal, ordered, operations)


def not_found(key: TopicKey) -> str:
    """The error for a topic that does not exist."""
    return f"Topic {key} not found." if isinstance(key, str) else f"No topic has the id {uuid_text(key)}."


def partition_of(
    item: MetadataResponse.ResponseTopic.ResponsePartition
    | DescribeTopicPartitionsResponse.ResponseTopic.ResponsePartition,
) -> PartitionDescription:
    """A partition of Metadata or of DescribeTopicPartitions."""
    elr = last_known = None
    if not isinstance(item, MetadataResponse.ResponseTopic.ResponsePartition):
        elr, last_known = item.eligible_leader_replicas, item.last_known_elr
    return PartitionDescription(
        item.partition_index,
        item.leader_id if item.leader_id >= 0 else None,
        item.leader_epoch,
        tuple(item.replica_nodes),
        tuple(item.isr_nodes),
        tuple(item.offline_replicas),
        None if elr is None else tuple(elr),
        None if last_known is None else tuple(last_known),
    )


def refuse_empty_names(keys: Sequence[Any]) -> None:
    """Raise KeysRefused for names that no request can contain; the other names remain."""
    empty = [key for key in keys if key in ("", None)]
    if empty:
        text = f"The given topic name '{empty[0] or ''}' cannot be represented in a request."
        raise KeysRefused({key: broker_error(error_codes.INVALID_TOPIC_EXCEPTION, text) for key in empty})
