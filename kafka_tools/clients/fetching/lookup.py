"""Offsets by time: log start, log end, first record at or after a time, asked of each partition's leader.

Starts ListOffsets requests through ``calls``; one answer per partition goes to the caller. Knows no positions.
Follows ``OffsetFetcher`` of Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.clients.calls import Calls
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.errors import KafkaToolsError, NetworkError
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.net.connection import Pending


class FoundOffset(NamedTuple):
    """An offset with its record's timestamp (-1 for log start and end) and leader epoch (-1: not known)."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


Answered = Callable[[TopicPartition, FoundOffset | None, KafkaToolsError | None], None]
"""(partition, offset, error): both None when there is no record at or after the time."""


class OffsetLookup:
    """Asks leaders. One request per node is in progress at a time."""

    def __init__(self, settings: ConsumerSettings, calls: Calls, metadata: ClusterMetadata) -> None:
        self._settings = settings
        self._calls = calls
        self._metadata = metadata

    def start(self, targets: Mapping[TopicPartition, int], answered: Answered) -> None:
        """Ask for timestamps (ms, EARLIEST or LATEST), but not of leaders that are unknown or busy."""
        per_node: dict[Node, dict[TopicPartition, int]] = {}
        for topic_partition, timestamp in targets.items():
            node = self._metadata.leader(topic_partition)
            if node is None:
                self._metadata.add(topic_partition.topic)
                self._metadata.request_update()
            elif not self._calls.is_under_way(("list offsets", node.id)):
                per_node.setdefault(node, {})[topic_partition] = timestamp
        for node, wanted in per_node.items():
            self._send(node, wanted, answered)

    def _send(self, node: Node, wanted: Mapping[TopicPartition, int], answered: Answered) -> None:
        rows: dict[str, list[ListOffsetsRequest.Topic.Partition]] = {}
        for topic_partition, timestamp in wanted.items():
            known = self._metadata.partition(topic_partition)
            rows.setdefault(topic_partition.topic, []).append(
                ListOffsetsRequest.Topic.Partition(
                    partition_index=topic_partition.partition,
                    current_leader_epoch=known.leader_epoch if known is not None else -1,
                    timestamp=timestamp,
                )
            )
        timeout_s = self._settings.request_timeout_ms / 1000
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=self._settings.isolation_level,
            topics=[ListOffsetsRequest.Topic(name=name, partitions=rows[name]) for name in rows],
            timeout_ms=self._settings.request_timeout_ms,
        )
        key = ("list offsets", node.id)
        self._calls.start(key, node, request, timeout_s, lambda pending: self._take(pending, wanted, answered))

    def _take(self, pending: Pending, wanted: Mapping[TopicPartition, int], answered: Answered) -> None:
        if pending.error is not None:
            if isinstance(pending.error, NetworkError):
                self._metadata.request_update()
            for topic_partition in wanted:
                answered(topic_partition, None, pending.error)
            return
        response: ListOffsetsResponse = pending.response
        left = set(wanted)
        for topic in response.topics:
            for row in topic.partitions:
                topic_partition = TopicPartition(topic.name, row.partition_index)
                if topic_partition in left:
                    left.remove(topic_partition)
                    self._take_partition(topic_partition, row, answered)
        for topic_partition in left:
            answered(
                topic_partition,
                None,
                KafkaToolsError(f"the response of {pending.node} does not contain {topic_partition}"),
            )

    def _take_partition(
        self,
        topic_partition: TopicPartition,
        row: ListOffsetsResponse.TopicResponse.PartitionResponse,
        answered: Answered,
    ) -> None:
        if row.error_code == error_codes.UNSUPPORTED_FOR_MESSAGE_FORMAT:
            answered(topic_partition, None, None)  # magic 0 has no times to look for
        elif row.error_code:
            known = error_codes.error(row.error_code)
            if known.refresh_metadata or row.error_code == error_codes.UNKNOWN_LEADER_EPOCH:
                self._metadata.request_update()
            error = refused(ListOffsetsRequest, row.error_code, f"offset of {topic_partition}")
            answered(topic_partition, None, error)
        elif row.offset < 0:
            answered(topic_partition, None, None)
        else:
            answered(topic_partition, FoundOffset(row.offset, row.timestamp, row.leader_epoch), None)
