"""Topics: list, describe, create, delete, add partitions.

Names go to whichever node is at hand, changes to the controller. Describing uses DescribeTopicPartitions, page by
page, where brokers have it (3.7, KIP-966), else Metadata.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.admin.calls.permissions import operations_of
from kafka_tools.admin.driver import ALL, AdminCall, KeysRefused, Progress
from kafka_tools.admin.lookups import AnyNodeLookup, ControllerLookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError, UnsupportedVersion, WireError
from kafka_tools.net.broker_errors import broker_error, error_of
from kafka_tools.net.connection import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.schema import Request
from kafka_tools.values import ZERO_UUID, Node, uuid_text

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.create_partitions import CreatePartitionsResponse
    from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
    from kafka_tools.protocol.messages.delete_topics import DeleteTopicsResponse
    from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsResponse

TopicKey = str | uuid.UUID
DEFAULT = -1
"""Partitions or replication factor as the cluster's own setting says."""
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
    """What the principal may do with the topic, by ACL operation; None where the broker does not tell."""


class NewTopic(NamedTuple):
    """A topic to create. ``assignment``: the broker ids of each partition, in place of the two numbers."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignment: Sequence[Sequence[int]] | None = None
    configs: Mapping[str, str | None] = {}


class CreatedTopic(NamedTuple):
    """What was created; numbers are -1 and ``configs`` None where the broker does not tell (before 2.4)."""

    name: str
    topic_id: uuid.UUID
    partitions: int
    replication_factor: int
    configs: dict[str, str | None] | None


class NewPartitions(NamedTuple):
    """``total`` partitions that a topic shall have; ``assignment``: broker ids of each added one."""

    total: int
    assignment: Sequence[Sequence[int]] | None = None


class ListTopics(AdminCall[str, list[TopicListing], MetadataResponse]):
    """Every topic the principal may see."""

    name = "list topics"

    def __init__(self, include_internal: bool) -> None:
        self.lookup = AnyNodeLookup()
        self._include_internal = include_internal

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        return MetadataRequest(topics=None)

    def interpret(
        self,
        keys: list[str],
        response: MetadataResponse,
        version: int,
        node: Node,
        progress: Progress[str, list[TopicListing]],
    ) -> None:
        topics = [
            TopicListing(item.name, item.topic_id, item.is_internal)
            for item in response.topics
            if item.name is not None and (self._include_internal or not item.is_internal)
        ]
        progress.take(ALL, response.error_code, None, sorted(topics, key=lambda topic: topic.name))


class DescribeTopics(AdminCall[TopicKey, TopicDescription, MetadataResponse]):
    """Topics by name or id, from Metadata."""

    name = "describe topics"

    def __init__(self, include_authorized_operations: bool = False) -> None:
        self.lookup = AnyNodeLookup()
        self._operations = include_authorized_operations

    def build(self, keys: list[TopicKey], versions: NodeVersions, deadline: Deadline) -> Request:
        refuse_empty_names(keys)
        if any(isinstance(key, uuid.UUID) for key in keys):
            versions.require(MetadataRequest, 12, "finding topics by id")
        Topic = MetadataRequest.RequestTopic
        topics = [Topic(name=key) if isinstance(key, str) else Topic(name=None, topic_id=key) for key in keys]
        if self._operations:
            versions.require(MetadataRequest, 8, "telling the authorized operations of topics")
        return MetadataRequest(
            topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=self._operations
        )

    def interpret(
        self,
        keys: list[TopicKey],
        response: MetadataResponse,
        version: int,
        node: Node,
        progress: Progress[TopicKey, TopicDescription],
    ) -> None:
        for topic in response.topics:
            key = next((key for key in keys if key in (topic.name, topic.topic_id)), None)
            if key is not None:
                take_topic(key, topic, [partition_of(item) for item in topic.partitions], progress)
        for key in keys:
            if not any(key in part for part in (progress.completed, progress.failed, progress.again)):
                progress.failed[key] = broker_error(error_codes.UNKNOWN_TOPIC_OR_PARTITION, not_found(key))


class DescribeTopicPage(AdminCall[str, "DescribeTopicPartitionsResponse", "DescribeTopicPartitionsResponse"]):
    """One page of DescribeTopicPartitions; the value is the response."""

    name = "describe topics"

    def __init__(
        self, names: Sequence[str], cursor: DescribeTopicPartitionsResponse.Cursor | None, page_size: int
    ) -> None:
        self.lookup = AnyNodeLookup()
        self._names = names
        self._cursor = cursor
        self._page_size = page_size

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest

        cursor = None
        if self._cursor is not None:
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=self._cursor.topic_name, partition_index=self._cursor.partition_index
            )
        Topic = DescribeTopicPartitionsRequest.TopicRequest
        return DescribeTopicPartitionsRequest(
            topics=[Topic(name=name) for name in self._names], response_partition_limit=self._page_size, cursor=cursor
        )

    def interpret(
        self,
        keys: list[str],
        response: DescribeTopicPartitionsResponse,
        version: int,
        node: Node,
        progress: Progress[str, DescribeTopicPartitionsResponse],
    ) -> None:
        progress.completed[ALL] = response


def take_topic(
    key: TopicKey,
    topic: MetadataResponse.ResponseTopic | DescribeTopicPartitionsResponse.ResponseTopic,
    partitions: Sequence[PartitionDescription],
    progress: Progress[TopicKey, TopicDescription],
) -> None:
    """One described topic, or its error; a topic that does not exist is not waited for."""
    if error_codes.error(topic.error_code).topic_not_found:
        progress.failed[key] = broker_error(topic.error_code, not_found(key))
        return
    error = error_of(topic.error_code)
    if error is not None:
        progress.refuse(key, error)
        return
    if topic.name is None:
        progress.failed[key] = WireError(f"the answer for topic {key} lacks its name")
        return
    ordered = tuple(sorted(partitions, key=lambda item: item.partition))
    operations = operations_of(topic.topic_authorized_operations)
    progress.completed[key] = TopicDescription(topic.name, topic.topic_id, topic.is_internal, ordered, operations)


def not_found(key: TopicKey) -> str:
    """What is said of a topic that does not exist."""
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
    """KeysRefused for names that no request can carry; the others go on."""
    empty = [key for key in keys if key in ("", None)]
    if empty:
        text = f"The given topic name '{empty[0] or ''}' cannot be represented in a request."
        raise KeysRefused({key: broker_error(error_codes.INVALID_TOPIC_EXCEPTION, text) for key in empty})


def by_name(topics: Sequence[NewTopic]) -> dict[str, NewTopic]:
    """Name -> topic; InputError for two different topics of one name, since a request cannot hold both."""
    named: dict[str, NewTopic] = {}
    for topic in topics:
        if named.setdefault(topic.name, topic) != topic:
            raise InputError(f"topic {topic.name} is to be created twice, in different ways")
        if topic.assignment is not None and (topic.partitions, topic.replication_factor) != (DEFAULT, DEFAULT):
            raise InputError(
                f"topic {topic.name}: a replica assignment says how many partitions and replicas there are; "
                "leave out the numbers"
            )
    return named


class CreateTopics(AdminCall[str, CreatedTopic, "CreateTopicsResponse"]):
    """Topics by name."""

    name = "create topics"

    def __init__(
        self, topics: Mapping[str, NewTopic], validate_only: bool, retry_on_quota_violation: bool = True
    ) -> None:
        self.lookup = ControllerLookup()
        self._topics = topics
        self._validate_only = validate_only
        self._retry_quota = retry_on_quota_violation

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest

        refuse_empty_names(keys)
        if not versions.has(CreateTopicsRequest, 4):
            self._refuse_defaults(keys, versions)
        return CreateTopicsRequest(
            topics=[_creatable(self._topics[key]) for key in keys],
            timeout_ms=deadline.left_ms(),
            validate_only=self._validate_only,
        )

    def _refuse_defaults(self, keys: list[str], versions: NodeVersions) -> None:
        refused = {}
        for key in keys:
            topic = self._topics[key]
            if topic.assignment is None and DEFAULT in (topic.partitions, topic.replication_factor):
                text = f"{versions.peer} has no defaults for new topics (Kafka 2.4 brought them)"
                refused[key] = UnsupportedVersion(text, hint="give --partitions and --replication-factor")
        if refused:
            raise KeysRefused(dict(refused))

    def interpret(
        self,
        keys: list[str],
        response: CreateTopicsResponse,
        version: int,
        node: Node,
        progress: Progress[str, CreatedTopic],
    ) -> None:
        for item in response.topics:
            configs = None if item.configs is None else {config.name: config.value for config in item.configs}
            told = configs if version >= 5 and item.topic_config_error_code == error_codes.NONE else None
            created = CreatedTopic(item.name, item.topic_id, item.num_partitions, item.replication_factor, told)
            progress.settle(item.name, item.error_code, item.error_message, created, self._retry_quota)


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest

    Topic = CreateTopicsRequest.CreatableTopic
    assignments = [
        Topic.CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
        for number, brokers in enumerate(topic.assignment or ())
    ]
    return Topic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=assignments,
        configs=[Topic.CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


class DeleteTopics(AdminCall[TopicKey, None, "DeleteTopicsResponse"]):
    """Topics by name or id (2.8)."""

    name = "delete topics"

    def __init__(self, retry_on_quota_violation: bool = True) -> None:
        self.lookup = ControllerLookup()
        self._retry_quota = retry_on_quota_violation

    def build(self, keys: list[TopicKey], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest

        refuse_empty_names(keys)
        if versions.has(DeleteTopicsRequest, 6):
            State = DeleteTopicsRequest.DeleteTopicState
            topics = [State(name=key) if isinstance(key, str) else State(topic_id=key) for key in keys]
            return DeleteTopicsRequest(topics=topics, timeout_ms=deadline.left_ms())
        ids = [key for key in keys if isinstance(key, uuid.UUID)]
        if ids:
            error = versions.too_old(DeleteTopicsRequest, 6, "deleting topics by id")
            raise KeysRefused(dict.fromkeys(ids, error))
        return DeleteTopicsRequest(topic_names=[str(key) for key in keys], timeout_ms=deadline.left_ms())

    def interpret(
        self,
        keys: list[TopicKey],
        response: DeleteTopicsResponse,
        version: int,
        node: Node,
        progress: Progress[TopicKey, None],
    ) -> None:
        for item in response.responses:
            key = item.topic_id if item.topic_id != ZERO_UUID and item.topic_id in keys else item.name
            if key is None:
                continue  # an id that was not asked for
            unknown = error_codes.error(item.error_code).topic_not_found
            text = not_found(key) if unknown else item.error_message
            progress.settle(key, item.error_code, text, None, self._retry_quota)


class CreatePartitions(AdminCall[str, None, "CreatePartitionsResponse"]):
    """Topics that shall have more partitions."""

    name = "create partitions"

    def __init__(
        self, wanted: Mapping[str, NewPartitions], validate_only: bool, retry_on_quota_violation: bool = True
    ) -> None:
        self.lookup = ControllerLookup()
        self._wanted = wanted
        self._validate_only = validate_only
        self._retry_quota = retry_on_quota_violation

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest

        refuse_empty_names(keys)
        Topic = CreatePartitionsRequest.Topic
        topics = []
        for key in keys:
            total, assignment = self._wanted[key]
            added = None
            if assignment is not None:
                added = [Topic.Assignment(broker_ids=list(brokers)) for brokers in assignment]
            topics.append(Topic(name=key, count=total, assignments=added))
        return CreatePartitionsRequest(topics=topics, timeout_ms=deadline.left_ms(), validate_only=self._validate_only)

    def interpret(
        self,
        keys: list[str],
        response: CreatePartitionsResponse,
        version: int,
        node: Node,
        progress: Progress[str, None],
    ) -> None:
        for item in response.results:
            unknown = item.error_code == error_codes.UNKNOWN_TOPIC_OR_PARTITION
            text = not_found(item.name) if unknown else item.error_message
            progress.settle(item.name, item.error_code, text, None, self._retry_quota)
