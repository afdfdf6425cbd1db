"""A consumer's state in each assigned partition: position, pause, reset.

Plain state without I/O. A position is the next offset to return; a restart resumes at the committed offset.
Follows ``SubscriptionState`` of Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import OffsetSpec
from kafka_tools.values import TopicPartition

EARLIEST, LATEST = OffsetSpec.EARLIEST, OffsetSpec.LATEST
"""Timestamps of ListOffsets that mean the log start and the log end."""

NEWEST_EPOCH = 2**31 - 1
"""Above every leader epoch."""


class Position:
    """One assigned partition.

    ``offset`` is None until it is known; then ``reset`` is the timestamp to look up (EARLIEST, LATEST or
    milliseconds), or None when the committed offset is to be asked first.
    """

    def __init__(self) -> None:
        self.offset: int | None = None
        self.leader_epoch = -1
        """Leader epoch of the last record handed out, -1 when not known; committed with the offset (KIP-320)."""
        self.compared_with = -1
        """Leader epoch of the leader whose log agrees with this position, -1 if none was asked (KIP-320)."""
        self.reset: int | None = None
        self.paused = False
        self.retry_at_s = 0.0

    def seek(self, offset: int, leader_epoch: int = -1, *, compared_with: int = -1) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.compared_with = compared_with
        self.reset = None

    def request_reset(self, timestamp: int) -> None:
        self.offset = None
        self.leader_epoch = -1
        self.reset = timestamp


class Positions:
    """The assigned partitions, in order of assignment."""

    def __init__(self) -> None:
        self._positions: dict[TopicPartition, Position] = {}

    def __contains__(self, topic_partition: object) -> bool:
        return topic_partition in self._positions

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def items(self) -> Iterable[tuple[TopicPartition, Position]]:
        return self._positions.items()

    def get(self, topic_partition: TopicPartition) -> Position | None:
        return self._positions.get(topic_partition)

    def assigned(self, topic_partition: TopicPartition, what: str) -> Position:
        """The position of an assigned partition; InputError, saying what cannot be done, for another one."""
        found = self._positions.get(topic_partition)
        if found is None:
            raise InputError(f"cannot {what} {topic_partition}: it is not assigned to this consumer")
        return found

    def replace(self, partitions: Iterable[TopicPartition], *, keep: bool) -> None:
        """Make ``partitions`` the assigned ones; ``keep``: those assigned before keep their place."""
        old = self._positions if keep else {}
        self._positions = {
            topic_partition: old.get(topic_partition) or Position() for topic_partition in dict.fromkeys(partitions)
        }

    def without_position(self, now_s: float) -> tuple[list[TopicPartition], dict[TopicPartition, int]]:
        """(partitions whose committed offset is to be asked, partition -> timestamp to look up), if not in back-off."""
        ask: list[TopicPartition] = []
        resets: dict[TopicPartition, int] = {}
        for topic_partition, position in self._positions.items():
            if position.offset is None and position.retry_at_s <= now_s:
                if position.reset is None:
                    ask.append(topic_partition)
                else:
                    resets[topic_partition] = position.reset
        return ask, resets

    def retry_in_s(self, now_s: float) -> float:
        """Seconds until a partition may be fetched from again, after a failure; infinity if none failed."""
        return min(
            (each.retry_at_s - now_s for each in self._positions.values() if each.retry_at_s > now_s), default=inf
        )

    @property
    def all_known(self) -> bool:
        return all(position.offset is not None for position in self._positions.values())

    def consumed(self) -> dict[TopicPartition, tuple[int, int]]:
        """Partition -> (position, leader epoch) of every known position, for a commit of all positions."""
        return {
            topic_partition: (position.offset, position.leader_epoch)
            for topic_partition, position in self._positions.items()
            if position.offset is not None
        }
