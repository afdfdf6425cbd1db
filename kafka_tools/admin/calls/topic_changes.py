"""Topics that are created and deleted, and partitions that are added to them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.topics import TopicKey, not_found, refuse_empty_names
from kafka_tools.admin.driver import AdminCall, KeysRefused, Reply
from kafka_tools.admin.lookups import ControllerLookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError, UnsupportedVersion
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request
from kafka_tools.values import ZERO_UUID

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.create_partitions import CreatePartitionsResponse
    from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
    from kafka_tools.protocol.messages.delete_topics import DeleteTopicsResponse


DEFAULT = -1
"""The number that stands for the cluster's default, of partitions or of the replication factor."""


class NewTopic(NamedTuple):
    """A topic to create. ``assignment``: the broker ids of each partition, in place of the two numbers."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignment: Sequence[Sequence[int]] | None = None
    configs: Mapping[str, str | None] = {}


class CreatedTopic(NamedTuple):
    """The created topic; before 2.4, numbers are -1 and ``configs`` is None."""

    name: str
    topic_id: uuid.UUID
    partitions: int
    replication_factor: int
    configs: dict[str, str | None] | None


class NewPartitions(NamedTuple):
    """``total`` partitions that a topic shall have; ``assignment``: broker ids of each added one."""

    total: int
    assignment: Sequence[Sequence[int]] | None = None


def by_name(topics: Sequence[NewTopic]) -> dict[str, NewTopic]:
    """Name -> topic; InputError for two different topics of one name, because a request cannot contain both."""
    named: dict[str, NewTopic] = {}
    for topic in topics:
        if named.setdefault(topic.name, topic) != topic:
            raise InputError(f"cannot create topic {topic.name} twice with different settings", hint="pass it once")
        if topic.assignment is not None and (topic.partitions, topic.replication_factor) != (DEFAULT, DEFAULT):
            raise InputError(
                f"topic {topic.name}: a replica assignment defines partitions and replicas; leave out the numbers"
            )
    return named


class CreateTopics(AdminCall[str, CreatedTopic, "CreateTopicsResponse"]):
    """Topics by name."""

    name = "create topics"
    lookup = ControllerLookup()

    topics: Mapping[str, NewTopic]
    validate_only: bool
    retry_on_quota_violation: bool = True

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest

        refuse_empty_names(keys)
        if not versions.has(CreateTopicsRequest, 4):
            self._refuse_defaults(keys, versions)
        return CreateTopicsRequest(
            topics=[_creatable(self.topics[key]) for key in keys],
            timeout_ms=deadline.left_ms(),
            validate_only=self.validate_only,
        )

    def _refuse_defaults(self, keys: list[str], versions: NodeVersions) -> None:
        refused = {}
        for key in keys:
            topic = self.topics[key]
            if topic.assignment is None and DEFAULT in (topic.partitions, topic.replication_factor):
                text = f"{versions.peer} has no defaults for new topics (new in Kafka 2.4)"
                refused[key] = UnsupportedVersion(text, hint="give --partitions and --replication-factor")
        if refused:
            raise KeysRefused(dict(refused))

    def interpret(self, reply: Reply[str, CreatedTopic, CreateTopicsResponse]) -> None:
        for item in reply.response.topics:
            configs = None if item.configs is None else {config.name: config.value for config in item.configs}
            told = configs if reply.version >= 5 and item.topic_config_error_code == error_codes.NONE else None
            created = CreatedTopic(item.name, item.topic_id, item.num_partitions, item.replication_factor, told)
            reply.settle(item.name, item.error_code, item.error_message, created, self.retry_on_quota_violation)


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
    lookup = ControllerLookup()

    retry_on_quota_violation: bool = True

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

    def interpret(self, reply: Reply[TopicKey, None, DeleteTopicsResponse]) -> None:
        asked = set(reply.keys)
        for item in reply.response.responses:
            key = item.topic_id if item.topic_id != ZERO_UUID and item.topic_id in asked else item.name
            if key is None:
                continue  # an id that was not asked for
            unknown = error_codes.error(item.error_code).topic_not_found
            text = not_found(key) if unknown else item.error_message
            reply.settle(key, item.error_code, text, None, self.retry_on_quota_violation)


class CreatePartitions(AdminCall[str, None, "CreatePartitionsResponse"]):
    """Topics that shall have more partitions."""

    name = "create partitions"
    lookup = ControllerLookup()

    wanted: Mapping[str, NewPartitions]
    validate_only: bool
    retry_on_quota_violation: bool = True

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest

        refuse_empty_names(keys)
        Topic = CreatePartitionsRequest.Topic
        topics = []
        for key in keys:
            total, assignment = self.wanted[key]
            added = None
            if assignment is not None:
                added = [Topic.Assignment(broker_ids=list(brokers)) for brokers in assignment]
            topics.append(Topic(name=key, count=total, assignments=added))
        return CreatePartitionsRequest(topics=topics, timeout_ms=deadline.left_ms(), validate_only=self.validate_only)

    def interpret(self, reply: Reply[str, None, CreatePartitionsResponse]) -> None:
        for item in reply.response.results:
            unknown = item.error_code == error_codes.UNKNOWN_TOPIC_OR_PARTITION
            text = not_found(item.name) if unknown else item.error_message
            reply.settle(item.name, item.error_code, text, None, self.retry_on_quota_violation)
