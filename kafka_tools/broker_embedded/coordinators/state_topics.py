"""The internal topics in which coordinators keep their state: made when first needed, and written by no client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kafka_tools.errors import LogError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.metadata import Cluster
    from kafka_tools.broker_embedded.partitions.hosted import Partitions
    from kafka_tools.broker_embedded.partitions.topic_changes import TopicChanges
    from kafka_tools.broker_embedded.purgatory import Purgatory
    from kafka_tools.broker_embedded.slices import Work
    from kafka_tools.records.batches import BatchView
    from kafka_tools.values import TopicPartition


IsHeld = Callable[["TopicPartition", int], bool]
"""(partition of a coordinator's topic, how many it has) -> whether it stays unread for now."""


class StateTopics:
    """Partitions of internal topics that this broker leads, as logs of somebody's state."""

    def __init__(
        self, cluster: Cluster, topics: TopicChanges, partitions: Partitions, purgatory: Purgatory, is_held: IsHeld
    ) -> None:
        """``is_held``: which partitions somebody wants to stay unread after a start."""
        self._cluster = cluster
        self._topics = topics
        self._partitions = partitions
        self._purgatory = purgatory
        self.is_held = is_held

    def partitions(self, topic: str) -> int:
        """How many partitions the topic has; 0 while it does not exist."""
        found = self._cluster.topic(topic)
        return len(found.partitions) if found else 0

    def ensured(self, topic: str) -> Work[None]:
        """Make the topic with its defaults if it is missing, in slices. BrokerError if it cannot be made."""
        if self._cluster.topic(topic) is not None:
            return
        yield from self._topics.settled(topic)
        if self._cluster.topic(topic) is None:
            yield from self._topics.auto_create(topic)

    def leader_epoch(self, topic: str, partition: int) -> int:
        """The leader epoch of a partition, which is its coordinator's epoch; -1 if it does not exist."""
        found = self._partitions.get(topic, partition)
        return -1 if found is None else found.leader_epoch

    def append(
        self, topic: str, partition: int, batch: bytes | bytearray, *, producer: tuple[int, int] | None = None
    ) -> int:
        """Append a batch of the broker's own; returns its base offset.

        ``producer``: the id and epoch of the transactional producer for whom it is. Kept when this returns. Raises
        KeyError if the partition does not exist, StaleProducerEpoch, another LogError or OSError.
        """
        found = self._partitions.get(topic, partition)
        if found is None:
            raise KeyError(f"{topic}-{partition}")
        if producer is not None:
            found.log.producers.check_epoch(*producer, found.id)
        appended = found.log.append(bytearray(batch), leader_epoch=found.leader_epoch, from_client=False)
        found.appended_bytes += len(batch)
        self._purgatory.wake(found.id)
        return appended.base_offset

    def size_bytes(self, topic: str, partition: int) -> int:
        """The size of a partition's log; 0 if it does not exist."""
        found = self._partitions.get(topic, partition)
        return 0 if found is None else found.log.size_bytes

    def keep_whole(self, topic: str, partition: int, wanted: bool) -> None:
        """Whether a partition's log is not compacted, because it is being read."""
        found = self._partitions.get(topic, partition)
        if found is not None:
            found.kept_whole = wanted

    def tail(self, topic: str, partition: int) -> Iterator[BatchView | None]:
        """Every batch of a partition from its log start on, and None whenever the end is reached.

        Between two batches the log may change: it grows, it is rolled, and what is old is deleted. Raises LogError for
        a partition that is offline.
        """
        if (topic, partition) in self._partitions.offline:
            raise LogError(f"{topic}-{partition} is offline")
        found = self._partitions.get(topic, partition)
        next_offset: int | None = None
        while found is not None:
            segments = found.log.segments
            for view in found.log.walk(next_offset):
                next_offset = view.last_offset + 1
                yield view
                if found.log.segments is not segments:
                    break
            else:
                yield None
        while True:
            yield None
