"""Finds the unknown positions of a consumer: committed offsets first, then the reset policy.

Starts requests through ``group`` and ``lookup`` and writes into ``positions``. Follows ``OffsetFetcher`` and
``ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`` of Kafka's Java client; by_duration is KIP-1106.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_tools.clients.fetching.lookup import FoundOffset, OffsetLookup
from kafka_tools.clients.group import GroupClient, OffsetAndMetadata, is_retriable
from kafka_tools.clients.positions import EARLIEST, LATEST, NEWEST_EPOCH, Position, Positions
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition


class Resets:
    """Looks for positions. ``group`` is None for a consumer without committed offsets."""

    def __init__(
        self,
        settings: ConsumerSettings,
        clock: Clock,
        positions: Positions,
        group: GroupClient | None,
        lookup: OffsetLookup,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._positions = positions
        self._group = group
        self._lookup = lookup

    def advance(self) -> None:
        """Start to look for every position that is not known."""
        ask, resets = self._positions.without_position(self._clock.monotonic_s())
        if ask and self._group is None:
            for topic_partition in ask:
                self.by_policy(topic_partition)
        elif ask and self._group is not None:
            wanted = tuple(ask)
            self._group.fetch_committed(wanted, lambda found, error: self._take_committed(wanted, found, error))
        if resets:
            self._lookup.start(resets, self._take_reset)

    def _take_committed(
        self,
        asked: Iterable[TopicPartition],
        found: Mapping[TopicPartition, OffsetAndMetadata | None] | None,
        error: KafkaToolsError | None,
    ) -> None:
        if error is not None and not is_retriable(error):
            raise error
        for topic_partition in asked:
            position = self._positions.get(topic_partition)
            if position is None or position.offset is not None or position.reset is not None:
                continue
            if found is None or topic_partition not in found:
                # The topic is gone: the group takes the partition away, or the topic comes back.
                self._hold(position)
                continue
            committed = found[topic_partition]
            if committed is not None:
                position.seek(committed.offset, committed.leader_epoch)
            else:
                self.by_policy(topic_partition)

    def _take_reset(
        self, topic_partition: TopicPartition, found: FoundOffset | None, error: KafkaToolsError | None
    ) -> None:
        position = self._positions.get(topic_partition)
        if error is not None and not is_retriable(error):
            raise error
        if position is None or position.offset is not None or position.reset is None:
            return
        if error is not None:
            self._hold(position)
        elif found is not None:
            # The leader itself named this offset: nothing of its log can be missing.
            position.seek(found.offset, found.leader_epoch, compared_with=NEWEST_EPOCH)
        else:
            position.request_reset(LATEST)  # nothing that young: wait for the next record

    def by_policy(self, topic_partition: TopicPartition, offset: int | None = None) -> None:
        """Do what ``auto.offset.reset`` says. ``offset``: the position that is out of range, None if there was none.

        Raises KafkaToolsError when the policy is "none".
        """
        policy = self._settings.auto_offset_reset
        position = self._positions.get(topic_partition)
        assert position is not None
        if policy == "none":
            what = (
                f"Undefined offset with no reset policy for partition {topic_partition}"
                if offset is None
                else f"Offset {offset} of partition {topic_partition} is out of range, with no reset policy"
            )
            raise KafkaToolsError(what, hint="seek to an offset, or set auto.offset.reset")
        if policy == "by_duration":
            assert self._settings.reset_duration_ms is not None
            position.request_reset(max(0, self._clock.now_ms() - self._settings.reset_duration_ms))
        else:
            position.request_reset(EARLIEST if policy == "earliest" else LATEST)

    def _hold(self, position: Position) -> None:
        position.retry_at_s = self._clock.monotonic_s() + self._settings.retry_backoff_ms / 1000
