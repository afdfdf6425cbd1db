"""Partition reassignments (KIP-455, Kafka 2.4): start, cancel, list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.admin.calls.records import by_topic, grouped
from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import ControllerLookup
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse
    from kafka_tools.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsResponse

PER_REQUEST = 5_000
"""Partitions of one request. Kafka's controllers change at most 10,000 per request (``MAX_RECORDS_PER_USER_OP``)."""
IN_ZOOKEEPER = (
    "brokers of Kafka 2.4 and later reassign partitions for clients; with an older release, use its own "
    "kafka-reassign-partitions.sh --zookeeper"
)


class Reassignment(NamedTuple):
    """A reassignment in progress: broker ids of all replicas, and which of them are added and removed."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class AlterReassignments(AdminCall[TopicPartition, None, "AlterPartitionReassignmentsResponse"]):
    """Partition -> its new replicas, the preferred leader first; None cancels a running reassignment."""

    name = "alter partition reassignments"
    lookup = ControllerLookup()
    per_request = PER_REQUEST

    wanted: Mapping[TopicPartition, Sequence[int] | None]
    allow_replication_factor_change: bool

    def build(self, keys: list[TopicPartition], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest

        versions.require(AlterPartitionReassignmentsRequest, 0, "reassigning partitions", IN_ZOOKEEPER)
        if not self.allow_replication_factor_change:
            versions.require(AlterPartitionReassignmentsRequest, 1, "refusing changes of the replication factor")
        Topic = AlterPartitionReassignmentsRequest.ReassignableTopic

        def partition(key: TopicPartition) -> Any:
            replicas = self.wanted[key]
            return Topic.ReassignablePartition(
                partition_index=key.partition, replicas=None if replicas is None else list(replicas)
            )

        topics = [Topic(name=name, partitions=found) for name, found in grouped(keys, partition).items()]
        return AlterPartitionReassignmentsRequest(
            topics=topics,
            timeout_ms=deadline.left_ms(),
            allow_replication_factor_change=self.allow_replication_factor_change,
        )

    def interpret(self, reply: Reply[TopicPartition, None, AlterPartitionReassignmentsResponse]) -> None:
        response = reply.response
        if response.error_code != error_codes.NONE:
            for key in reply.keys:
                reply.settle(key, response.error_code, response.error_message, None)
            return
        for topic in response.responses:
            for item in topic.partitions:
                key = TopicPartition(topic.name, item.partition_index)
                reply.settle(key, item.error_code, item.error_message, None)


class ListReassignments(AdminCall[str, dict[TopicPartition, Reassignment], "ListPartitionReassignmentsResponse"]):
    """The reassignments that are running, of some partitions or (None) of all."""

    name = "list partition reassignments"
    lookup = ControllerLookup()
    any_may_answer = True

    partitions: Sequence[TopicPartition] | None

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

        versions.require(ListPartitionReassignmentsRequest, 0, "listing partition reassignments", IN_ZOOKEEPER)
        topics = None
        if self.partitions is not None:
            Topic = ListPartitionReassignmentsRequest.Topics
            topics = [Topic(name=name, partition_indexes=found) for name, found in by_topic(self.partitions).items()]
        return ListPartitionReassignmentsRequest(topics=topics, timeout_ms=deadline.left_ms())

    def interpret(
        self, reply: Reply[str, dict[TopicPartition, Reassignment], ListPartitionReassignmentsResponse]
    ) -> None:
        response = reply.response
        found = {
            TopicPartition(topic.name, item.partition_index): Reassignment(
                tuple(item.replicas), tuple(item.adding_replicas), tuple(item.removing_replicas)
            )
            for topic in response.topics
            for item in topic.partitions
        }
        if response.error_code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
            reply.failed[ALL] = broker_error(response.error_code, response.error_message)  # not worth the grace
        else:
            reply.take(ALL, response.error_code, response.error_message, found)
