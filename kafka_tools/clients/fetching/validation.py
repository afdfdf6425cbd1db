"""Detects that a new leader lacks records which this consumer has read: log truncation (KIP-320).

A position whose last record has an older leader epoch than the leader is compared with the leader's log before the next
fetch. Starts OffsetForLeaderEpoch requests through ``calls``. Follows ``OffsetsRequestManager`` and
``SubscriptionState.maybeCompleteValidation`` of Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.clients.calls import Calls
from kafka_tools.clients.positions import Position, Positions
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError, NetworkError, UnsupportedVersion
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.net.connection import Pending
    from kafka_tools.net.versions import NodeVersions

USABLE_VERSION = 3
"""First OffsetForLeaderEpoch that needs no right on the cluster."""

EndOffset = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult.EpochEndOffset


class LogTruncated(KafkaToolsError):
    """The leader's log ends before a position, and ``auto.offset.reset`` is ``none``.

    ``offset`` is the position, ``divergent_offset`` the end of the records that both have, None if it is not known.
    """

    def __init__(self, topic_partition: TopicPartition, offset: int, divergent_offset: int | None) -> None:
        where = "at an unknown offset" if divergent_offset is None else f"at offset {divergent_offset}"
        super().__init__(
            f"Truncated partition {topic_partition}: the log was cut {where}, before the position {offset}",
            hint="records that were read no longer exist: seek to an offset, or set auto.offset.reset",
        )
        self.topic_partition = topic_partition
        self.offset = offset
        self.divergent_offset = divergent_offset


class Validation:
    """Compares positions with their leaders' logs."""

    def __init__(
        self,
        settings: ConsumerSettings,
        calls: Calls,
        clock: Clock,
        metadata: ClusterMetadata,
        positions: Positions,
        reset: Callable[[TopicPartition], None],
    ) -> None:
        """``reset(partition)`` resets a position by policy."""
        self._settings = settings
        self._calls = calls
        self._clock = clock
        self._metadata = metadata
        self._positions = positions
        self._reset = reset

    def is_needed(self, topic_partition: TopicPartition, position: Position) -> bool:
        """Whether the position must not be fetched from before it is compared."""
        if position.leader_epoch < 0 or position.offset is None:
            return False
        partition = self._metadata.partition(topic_partition)
        return partition is not None and position.compared_with < partition.leader_epoch

    def advance(self) -> None:
        """Start the comparisons that are needed."""
        now_s = self._clock.monotonic_s()
        per_node: dict[Node, dict[TopicPartition, Position]] = {}
        for topic_partition, position in self._positions.items():
            if position.retry_at_s <= now_s and self.is_needed(topic_partition, position):
                node = self._metadata.leader(topic_partition)
                if node is None:
                    self._metadata.request_update()
                elif not self._calls.is_under_way(("validate", node.id)):
                    per_node.setdefault(node, {})[topic_partition] = position
        for node, positions in per_node.items():
            self._send(node, positions)

    def _send(self, node: Node, positions: dict[TopicPartition, Position]) -> None:
        asked: dict[TopicPartition, tuple[Position, int, int]] = {}
        rows: dict[str, list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition]] = {}
        for topic_partition, position in positions.items():
            partition = self._metadata.partition(topic_partition)
            assert partition is not None and position.offset is not None
            asked[topic_partition] = position, position.offset, partition.leader_epoch
            rows.setdefault(topic_partition.topic, []).append(
                OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition(
                    partition=topic_partition.partition,
                    current_leader_epoch=partition.leader_epoch,
                    leader_epoch=position.leader_epoch,
                )
            )
        request = OffsetForLeaderEpochRequest(
            replica_id=-1,
            topics=[
                OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=rows[name]) for name in rows
            ],
        )

        def build(versions: NodeVersions) -> OffsetForLeaderEpochRequest:
            if versions.newest(OffsetForLeaderEpochRequest) < USABLE_VERSION:
                raise UnsupportedVersion("OffsetForLeaderEpoch is too old for consumers")
            return request

        timeout_s = self._settings.request_timeout_ms / 1000
        self._calls.start(("validate", node.id), node, build, timeout_s, lambda pending: self._take(pending, asked))

    def _take(self, pending: Pending, asked: dict[TopicPartition, tuple[Position, int, int]]) -> None:
        current = {
            each: (position, leader_epoch)
            for each, (position, offset, leader_epoch) in asked.items()
            # Ignore the answer for a position that was revoked or changed meanwhile.
            if self._positions.get(each) is position and position.offset == offset
        }
        if isinstance(pending.error, UnsupportedVersion):
            for position, leader_epoch in current.values():
                position.compared_with = leader_epoch
            return
        if pending.error is not None:
            self._metadata.request_update()
            for position, _ in current.values():
                self._hold(position)
            if not isinstance(pending.error, NetworkError):
                raise pending.error
            return
        failure: KafkaToolsError | None = None
        for topic in pending.response.topics:
            for row in topic.partitions:
                topic_partition = TopicPartition(topic.topic, row.partition)
                found = current.pop(topic_partition, None)
                if found is not None:
                    try:
                        self._take_end(topic_partition, *found, row)
                    except KafkaToolsError as error:
                        failure = failure or error
        for position, _ in current.values():
            self._hold(position)
        if failure is not None:
            raise failure

    def _take_end(self, topic_partition: TopicPartition, position: Position, leader_epoch: int, row: EndOffset) -> None:
        if not row.error_code:
            position.compared_with = leader_epoch
            self.compare(topic_partition, position, row.leader_epoch, row.end_offset)
            return
        self._hold(position)
        known = error_codes.error(row.error_code)
        if not known.retriable:
            raise refused(OffsetForLeaderEpochRequest, row.error_code, f"leader epoch of {topic_partition}")
        self._metadata.request_update()

    def compare(self, topic_partition: TopicPartition, position: Position, epoch: int, end_offset: int) -> None:
        """The leader has records of the position's epoch, or of ``epoch`` before it, only up to ``end_offset``.

        Moves a position that is beyond to ``end_offset``. Raises LogTruncated if ``auto.offset.reset`` is ``none``.
        """
        assert position.offset is not None
        is_known = epoch >= 0 and end_offset >= 0
        if is_known and end_offset >= position.offset:
            return
        if self._settings.auto_offset_reset == "none":
            raise LogTruncated(topic_partition, position.offset, end_offset if is_known else None)
        if is_known:
            position.seek(end_offset, epoch, compared_with=position.compared_with)
        else:
            self._reset(topic_partition)

    def _hold(self, position: Position) -> None:
        position.retry_at_s = self._clock.monotonic_s() + self._settings.retry_backoff_ms / 1000
